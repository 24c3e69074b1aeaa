# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The client side of HTTP/1.1: sending a request, and reading the head and the body of the response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulator.windows.curl import errors
from simulator.windows.curl.errors import CurlError
from simulator.windows.curl.wire import Stream

_LONGEST_HEAD = 300 * 1024


@dataclass(frozen=True)
class Head:
    """The head of a response: status, reason, headers in their original order, and the whole text."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    text: str

    def get(self, name: str, default: str = "") -> str:
        """Return the value of a header, or the default if it is missing. The name is case-insensitive."""
        return next((value for key, value in self.headers if key.casefold() == name.casefold()), default)

    @property
    def length(self) -> int | None:
        """The value of Content-Length, or None if the header is missing or its value is not a number."""
        value = self.get("Content-Length")
        return int(value) if value.isdigit() else None


def send(stream: Stream, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes = b"") -> None:
    """Send an HTTP request with its headers and body."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    stream.send("\r\n".join(lines).encode("latin-1", "replace") + body)


def read_head(stream: Stream) -> Head:
    """Read the head of the response, skipping 1xx responses.

    Raises:
        CurlError: exit code 1, 52 or 56 if there is no valid response, or 28 if it takes too long.
        ProcessEndedError: the simulated process was stopped.
    """
    while True:
        raw = b""
        while b"\r\n\r\n" not in raw:
            piece = stream.receive()
            if not piece:
                if raw:
                    raise CurlError(errors.RECV_ERROR, "Recv failure: Connection was reset")
                raise CurlError(errors.GOT_NOTHING, "Empty reply from server")
            raw += piece
            if len(raw) > _LONGEST_HEAD:
                raise CurlError(errors.RECV_ERROR, "Too large response headers: 307201 > 307200")
            if not b"HTTP/".startswith(raw[:5]) and not raw.startswith(b"HTTP/"):
                raise CurlError(errors.UNSUPPORTED_PROTOCOL, "Received HTTP/0.9 when not allowed")
        text, _, rest = raw.partition(b"\r\n\r\n")
        stream.push_back(rest)
        head = _parse(text.decode("latin-1"))
        if head.status // 100 != 1:
            return head


def _parse(text: str) -> Head:
    first, *lines = text.split("\r\n")
    parts = first.split(" ", 2)
    status = int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0
    pairs = (line.partition(":") for line in lines)
    headers = tuple((name.strip(), value.strip()) for name, _, value in pairs if name.strip())
    return Head(status, parts[2] if len(parts) > 2 else "", headers, text + "\r\n\r\n")


def body(stream: Stream, head: Head, method: str) -> Iterator[bytes]:
    """Yield the body of the response piece by piece.

    Raises:
        CurlError: exit code 18 if the body ends early, 56 if receiving fails, or 28 if it takes too long.
        ProcessEndedError: the simulated process was stopped.
    """
    if method == "HEAD" or head.status in (204, 304):
        return
    if "chunked" in head.get("Transfer-Encoding").casefold():
        yield from _chunks(stream)
        return
    left = head.length
    while left is None or left > 0:
        piece = stream.receive()
        if not piece:
            if left:
                raise CurlError(errors.PARTIAL_FILE, f"transfer closed with {left} bytes remaining to read")
            return
        if left is not None:
            piece, left = piece[:left], left - len(piece[:left])
        yield piece


def _chunks(stream: Stream) -> Iterator[bytes]:
    buffer = b""

    def line() -> bytes:
        nonlocal buffer
        while b"\r\n" not in buffer:
            piece = stream.receive()
            if not piece:
                raise CurlError(errors.PARTIAL_FILE, "transfer closed with outstanding read data remaining")
            buffer += piece
        found, _, buffer = buffer.partition(b"\r\n")
        return found

    while size := int(line().split(b";")[0] or b"0", 16):
        while len(buffer) < size + 2:
            piece = stream.receive()
            if not piece:
                raise CurlError(errors.PARTIAL_FILE, "transfer closed with outstanding read data remaining")
            buffer += piece
        yield buffer[:size]
        buffer = buffer[size + 2 :]
