# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Respond to the HTTP requests of one connection to the artifact server."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, urlsplit

from simulator.artifacts.archives import unsafe
from simulator.artifacts.faults import ArtifactFault

if TYPE_CHECKING:
    from simulator.artifacts.server import _ArtifactHttpServer

_CHUNK = 65536
_PORTAL = (
    b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in to the network.</body></html>\n"
)
_NOT_SIGNED = (
    b"<?xml version='1.0' encoding='utf-8'?><Error><Code>AuthenticationFailed</Code>"
    b"<Message>Server failed to authenticate the request.</Message></Error>"
)
_LAST_MODIFIED = "Thu, 01 Jan 2026 00:00:00 GMT"


class ArtifactHandler(BaseHTTPRequestHandler):
    """A handler for requests to the artifact server: GET, HEAD, CONNECT, and POST, which sets faults."""

    protocol_version = "HTTP/1.1"
    server_version = "simulated-artifacts"
    sys_version = ""
    timeout = 60
    server: _ArtifactHttpServer
    # The host of a CONNECT request on this connection.
    tunnelled = ""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        """Log nothing, because counters record the requests."""

    def do_CONNECT(self) -> None:
        """Act as the requested HTTPS host, or respond with 405 if the server has no certificate authority."""
        authority = self.server.owner.authority
        if not self._admitted():
            return
        if authority is None:
            self._send(405, b"CONNECT is not supported\n", {})
            return
        self.tunnelled = self.path.rpartition(":")[0]
        self.send_response(200, "Connection established")
        self.end_headers()
        # A tunnel stays open, even for clients that request it with HTTP/1.0 (Python's http.client).
        self.close_connection = False
        context = authority.server_context([self.tunnelled])
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", buffering=0)

    def _admitted(self) -> bool:
        """Count a proxy request, and return whether its credentials are correct. If not, send an error response."""
        self.server.owner.count_proxied()
        user = self.server.owner.proxy_user
        expected = "Basic " + base64.b64encode(user.encode()).decode()
        if not user or self.headers.get("Proxy-Authorization") == expected:
            return True
        self._send(407, b"proxy authentication required\n", {"Proxy-Authenticate": 'Basic realm="proxy"'})
        return False

    def do_GET(self) -> None:
        """Send a file, or the server's status as JSON."""
        path = self._path()
        if urlsplit(self.path).netloc and not self._admitted():
            return
        if path == "simulator/status":
            self._send(200, json.dumps(self.server.owner.status()).encode(), {"Content-Type": "application/json"})
            return
        if not self._allowed():
            return
        fault = self.server.owner.faults.take(self.command, "/" + path)
        if fault is None or not self._refuse(fault):
            self._file(path, fault)

    do_HEAD = do_GET  # noqa: N815

    def _allowed(self) -> bool:
        """Return whether the client may get files. If it may not, send an error response."""
        owner = self.server.owner
        expected = "Basic " + base64.b64encode(owner.user.encode()).decode()
        if owner.user and self.headers.get("Authorization") != expected:
            self._send(401, b"authentication required\n", {"WWW-Authenticate": 'Basic realm="artifacts"'})
            return False
        given = dict(parse_qsl(urlsplit(self.path).query))
        if any(given.get(name) != value for name, value in owner.query.items()):
            # https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes
            self._send(403, _NOT_SIGNED, {"x-ms-error-code": "AuthenticationFailed", "Content-Type": "application/xml"})
            return False
        return True

    def do_POST(self) -> None:
        """Replace all faults with those that the request's JSON body lists."""
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if self._path() != "simulator/faults":
            self._send(404, b"not found\n", {})
            return
        try:
            faults = [ArtifactFault.from_data(entry) for entry in json.loads(body)]
        except (ValueError, TypeError, AttributeError) as error:
            self._send(400, f"{error}\n".encode(), {})
            return
        self.server.owner.faults.clear()
        for fault in faults:
            self.server.owner.faults.add(fault)
        self._send(204, b"", {})

    def _path(self) -> str:
        """Return the host and path of the requested file, without a leading slash.

        The request's target is one of three: an absolute URL (in a request to a proxy), a path on the host of a CONNECT
        request, or a path that begins with the host (in a request to a mirror).
        """
        parts = urlsplit(self.path)
        if self.tunnelled:
            return self.tunnelled + parts.path
        own = parts.netloc == f"{self.server.owner.address}:{self.server.owner.port}"
        return parts.path.lstrip("/") if own or not parts.netloc else parts.netloc + parts.path

    def _refuse(self, fault: ArtifactFault) -> bool:
        """Apply a fault that replaces or delays the response.

        Returns:
            Whether the request has been answered. If not, the caller sends the file, and applies the other kinds of
            faults to it.
        """
        headers: dict[str, str] = {}
        if fault.kind == "status":
            if fault.retry_after is not None:
                headers["Retry-After"] = str(fault.retry_after)
            if fault.status == 401:
                headers["WWW-Authenticate"] = 'Basic realm="artifacts"'
            self._send(fault.status, f"{self.responses.get(fault.status, ('error',))[0]}\n".encode(), headers)
        elif fault.kind == "html":
            self._send(200, _PORTAL, {"Content-Type": "text/html"})
        elif fault.kind in ("loop", "redirect"):
            self._send(302, b"", {"Location": self.path if fault.kind == "loop" else fault.location})
        elif fault.kind == "signature" and parse_qs(urlsplit(self.path).query).get("sig") != [fault.signature]:
            self._send(403, b"Server failed to authenticate the request.\n", {})
        else:
            if fault.kind == "silence":
                time.sleep(fault.seconds)
            return False
        return True

    def _file(self, path: str, fault: ArtifactFault | None) -> None:
        kind = fault.kind if fault else ""
        content = self.server.owner.content(path)
        if content is None:
            self._send(404, b"not found\n", {"Content-Type": "text/plain"})
            return
        if kind == "wrong":
            content = bytes(byte ^ 0x5A for byte in content)
        elif kind == "truncated" and fault:
            content = content[: fault.at]
        elif kind == "unsafe":
            content = unsafe(path)
        tag = _tag(content)
        headers = {"ETag": tag, "Last-Modified": _LAST_MODIFIED, "Content-Type": "application/octet-stream"}
        if tag in self.headers.get("If-None-Match", ""):
            self._send(304, b"", headers)
            return
        if kind != "no-range":
            headers["Accept-Ranges"] = "bytes"
        requested = (
            None if kind == "no-range" or self._stale(tag) else byte_range(self.headers.get("Range"), len(content))
        )
        if requested is None:
            self._send(200, content, headers, fault)
        elif requested.start >= len(content):
            self._send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
        else:
            headers["Content-Range"] = f"bytes {requested.start}-{requested.stop - 1}/{len(content)}"
            self._send(206, content[requested.start : requested.stop], headers, fault)

    def _stale(self, tag: str) -> bool:
        condition = self.headers.get("If-Range")
        return condition is not None and condition not in (tag, _LAST_MODIFIED)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], fault: ArtifactFault | None = None) -> None:
        """Send a response, and count the request and the bytes of its body."""
        path = "/" + self._path()
        self.server.owner.count_request(path)
        if fault and fault.kind == "cut" and fault.at < 0:
            self.wfile.write(f"HTTP/1.1 {status} OK\r\nContent-Le".encode()[: -1 - fault.at])
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        sent = 0
        with self.server.owner.sending():
            for piece in pieces(body, fault, self.server.owner.rate):
                self.server.owner.count_bytes(path, len(piece))
                self.wfile.write(piece)
                sent += len(piece)
        if sent < len(body):
            self.close_connection = True


@functools.lru_cache(maxsize=64)
def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


def pieces(body: bytes, fault: ArtifactFault | None, rate: int = 0) -> Iterator[bytes]:
    """Yield a response body in pieces at a limited rate. A `cut` fault ends the body early.

    Args:
        body: the whole body.
        fault: the fault that applies to the request, if any.
        rate: the server's rate in bytes per second, which a `slow` fault overrides. 0 means no limit.
    """
    end = min(len(body), fault.at) if fault and fault.kind == "cut" else len(body)
    rate = fault.rate if fault and fault.kind == "slow" else rate
    # A slow link still delivers data ten times per second.
    step = min(_CHUNK, max(1, rate // 10)) if rate else _CHUNK
    started = time.monotonic()
    for start in range(0, end, step):
        stop = min(start + step, end)
        yield body[start:stop]
        ahead = stop / rate - (time.monotonic() - started) if rate else 0.0
        if ahead > 0:
            time.sleep(ahead)


def byte_range(header: str | None, size: int) -> range | None:
    """Return the range of bytes that a Range header requests, or None for the whole file.

    The whole file is sent if the header is missing or malformed, or requests more than one range.

    If the requested range cannot be satisfied, the returned range begins at or after the end of the file.
    """
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", (header or "").strip())
    if not found or found.group(0) == "bytes=-":
        return None
    first, last = found.groups()
    if not first:
        return range(max(0, size - int(last)), size)
    start = int(first)
    if last and int(last) < start:
        return None
    stop = min(size, int(last) + 1) if last else size
    return range(start, max(stop, start))
