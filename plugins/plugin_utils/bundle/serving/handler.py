# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The HTTP handler of a bundle server."""

from __future__ import annotations

import http.server
import io
import os
import socket
import typing as t
import urllib.parse

from .files import BusyError, Files, requested_range

_BLOCK = 256 * 1024


class _Writer(io.BufferedIOBase):
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def writable(self) -> bool:
        return True

    def write(self, data: t.Any) -> int:
        self._connection.sendall(data)
        return len(data)


class Handler(http.server.BaseHTTPRequestHandler):
    """The handler of one HTTP request, whose header section has already been received."""

    protocol_version = "HTTP/1.1"
    server_version = "winkube-bundle"
    sys_version = ""

    def __init__(self, connection: socket.socket, head: bytes, files: Files) -> None:
        self.connection, self._files = connection, files
        self.client_address = ("", 0)
        self.rfile, self.wfile = io.BufferedReader(io.BytesIO(head)), _Writer(connection)
        self.close_connection = True
        self.handle_one_request()

    def log_message(self, format: str, *args: t.Any) -> None:  # noqa: A002 - a name of the base class
        """Log nothing, because the path of a request contains the node's token."""

    def do_GET(self) -> None:
        """Respond with a file or a part of it."""
        if self.headers.get("Content-Length") or self.headers.get("Transfer-Encoding"):
            # The body of a request is not read, so the connection cannot be used for a second request.
            self.close_connection = True
        target = urllib.parse.urlsplit(self.path).path
        path = urllib.parse.unquote(target.removeprefix("/").partition("/")[2])
        try:
            file = self._files.open(path) if path else None
        except BusyError:
            self._head(503, {"Content-Length": "0", "Retry-After": "1"})
            return
        if file is None:
            self._head(404, {"Content-Length": "0"})
            return
        try:
            self._file(file, f'"{self._files.sha256(path)}"')
        finally:
            file.close()

    def _file(self, file: t.BinaryIO, tag: str) -> None:
        size = os.fstat(file.fileno()).st_size
        headers = {"ETag": tag, "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
        if tag in self.headers.get("If-None-Match", ""):
            self._head(304, headers)
            return
        part = requested_range(self.headers.get("Range"), size)
        if part is not None and self.headers.get("If-Range", tag) != tag:
            part = None
        if part is None:
            self._head(200, {**headers, "Content-Length": str(size)})
            self._body(file, 0, size)
        elif not part:
            self._head(416, {"Content-Range": f"bytes */{size}", "Content-Length": "0"})
        else:
            more = {"Content-Range": f"bytes {part.start}-{part.stop - 1}/{size}"}
            self._head(206, {**headers, **more, "Content-Length": str(len(part))})
            self._body(file, part.start, len(part))

    do_HEAD = do_GET  # noqa: N815 - the base class calls this name

    def _head(self, status: int, headers: t.Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _body(self, file: t.BinaryIO, start: int, length: int) -> None:
        if self.command == "HEAD":
            return
        file.seek(start)
        while length and (block := file.read(min(_BLOCK, length))):
            self.wfile.write(block)
            length -= len(block)
        if length:
            # The file has become shorter. Close the connection, so that the client notices.
            self.close_connection = True
