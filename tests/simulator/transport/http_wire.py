# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The subset of HTTP/1.1 that WinRM clients use, over one socket.

This module does not use http.server, because simulated faults break responses off in the middle, and because NTLM
authenticates connections instead of requests.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.transport.counters import Counters

READ_SIZE = 65536
MAX_HEADER = 65536
MAX_BODY = 64 * 1024 * 1024
REASONS = {
    200: "OK",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Request Entity Too Large",
    500: "Internal Server Error",
}


class BadRequestError(Exception):
    """Raised if a client sends data that is not HTTP, or too much data."""


@dataclass(frozen=True)
class HttpRequest:
    """A request with header names in lower case, and its `size` in bytes including the headers."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    size: int


@dataclass(frozen=True)
class HttpResponse:
    """A response, whose headers are (name, value) pairs, because WWW-Authenticate may occur more than once."""

    status: int
    body: bytes = b""
    content_type: str = "application/soap+xml;charset=UTF-8"
    headers: tuple[tuple[str, str], ...] = field(default=())

    def pack(self) -> bytes:
        """Return the bytes to send."""
        lines = [f"HTTP/1.1 {self.status} {REASONS.get(self.status, '')}", "Server: Microsoft-HTTPAPI/2.0"]
        if self.body:
            lines.append(f"Content-Type: {self.content_type}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines.append(f"Content-Length: {len(self.body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + self.body


class HttpConnection:
    """One client's connection.

    Args:
        stream: a connected socket, with or without TLS.
        counters: the counters of the node, to which the bytes that this connection sends are added.
    """

    def __init__(self, stream: socket.socket, counters: Counters) -> None:
        self._socket = stream
        self._counters = counters
        self._buffer = bytearray()

    def read_request(self) -> HttpRequest | None:
        """Return the next request, or None if the client has disconnected.

        Raises:
            BadRequestError: the received data is not HTTP, or it is too large.
        """
        try:
            head = self._read_head()
            if head is None:
                return None
            method, path, headers = _parse_head(head)
            length = int(headers.get("content-length", "0"))
            if length > MAX_BODY:
                raise BadRequestError(f"expected a body of at most {MAX_BODY} bytes, got {length} bytes")
            if headers.get("expect", "").lower() == "100-continue":
                self._socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = self._take(length)
        except (OSError, EOFError):
            return None
        except ValueError as error:
            raise BadRequestError(str(error)) from error
        return HttpRequest(method, path, headers, body, len(head) + 4 + length)

    def send(self, response: HttpResponse, *, counted: bool = True) -> None:
        """Send a whole response; it is not an error if the client has disconnected."""
        data = response.pack()
        if counted:
            self._counters.add(bytes_out=len(data))
        with contextlib.suppress(OSError):
            self._socket.sendall(data)

    def send_half(self, response: HttpResponse) -> None:
        """Send the first half of a response, then cut the connection."""
        data = response.pack()
        with contextlib.suppress(OSError):
            self._socket.sendall(data[: len(data) // 2])
        self.close()

    def close(self) -> None:
        """Close the connection. Only the thread that reads from it may do this.

        If another thread closed it, the reader could get the data of a new connection with the same file descriptor.
        """
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self._socket.close()

    def cut(self) -> None:
        """Cut the connection from any thread; a thread that waits for data wakes up and closes the connection."""
        with contextlib.suppress(OSError):
            # Use the plain socket's method. That of a TLS socket would discard the TLS state under the reading thread.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _read_head(self) -> bytes | None:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_HEADER:
                raise BadRequestError(f"expected the headers to end within {MAX_HEADER} bytes")
            data = self._socket.recv(READ_SIZE)
            if not data:
                return None
            self._buffer += data
        head = bytes(self._buffer[:end])
        del self._buffer[: end + 4]
        return head

    def _take(self, length: int) -> bytes:
        while len(self._buffer) < length:
            data = self._socket.recv(READ_SIZE)
            if not data:
                raise EOFError
            self._buffer += data
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body


def _parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return method, path, headers
