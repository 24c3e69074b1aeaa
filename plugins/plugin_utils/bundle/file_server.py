# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Serves a bundle's files over HTTP or HTTPS while the process that wants it lives: a program of its own.

Private to the collection. Run with its settings as JSON on standard input (so that no process list shows the token);
it answers with a line of JSON, the port, and goes on in the background. It imports nothing but Python's own library.
"""

from __future__ import annotations

import contextlib
import hmac
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import socketserver
import ssl
import sys
import threading
import types
import typing as t
import urllib.parse

_BLOCK = 256 * 1024
_LOOK = 0.5
"""Seconds between two looks at the process that is watched."""


class Files:
    """What may be fetched, and whether it is still what was verified.

    Parameters:
        directory: the bundle's folder.
        files: path to (size in bytes, SHA-256).
    """

    def __init__(self, directory: str, files: t.Mapping[str, tuple[int, str]]) -> None:
        self._directory = pathlib.Path(directory)
        self._files = dict(files)
        self._seen = {path: self._mark(path) for path in self._files}

    def sha256(self, path: str) -> str:
        """The hash by which a file is known."""
        return self._files[path][1]

    def open(self, path: str) -> t.BinaryIO | None:
        """A file of the index, or None where it is none, or was changed since it was verified."""
        if path not in self._files:
            return None
        try:
            file = (self._directory / path).open("rb")
        except OSError:
            return None
        now = os.fstat(file.fileno())
        if (now.st_ino, now.st_size, now.st_mtime_ns) != self._seen[path] or now.st_size != self._files[path][0]:
            file.close()
            return None
        return file

    def _mark(self, path: str) -> tuple[int, int, int]:
        try:
            now = (self._directory / path).stat()
        except OSError:
            return (0, -1, 0)
        return (now.st_ino, now.st_size, now.st_mtime_ns)


def wanted_bytes(header: str | None, size: int) -> range | None:
    """Which bytes a Range header asks for (RFC 9110, 14.1.2); None: all. It begins at `size` where there are none."""
    match = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", (header or "").strip(), re.ASCII)
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        length = int(match[2])
        return range(max(0, size - length), size) if length else range(size, size)
    start = int(match[1])
    stop = min(size, int(match[2]) + 1) if match[2] else size
    if match[2] and int(match[2]) < start:
        return None
    return range(start, stop) if start < size else range(size, size)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Listens, a thread for each connection.

    Parameters:
        address: to listen at.
        port: 0 takes any free one.
        token: first part of every path.
        files: what there is.
        tls: for HTTPS.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: str, port: int, token: str, files: Files, tls: ssl.SSLContext | None = None) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.token, self.files, self._tls = token, files, tls
        super().__init__((address, port), _Handler)

    def server_bind(self) -> None:
        """Binds; the base class would also ask the name service for our own name, which may take its time."""
        if self.address_family == socket.AF_INET6:
            with contextlib.suppress(OSError):
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "bundle", int(self.server_address[1])

    def get_request(self) -> tuple[socket.socket, t.Any]:
        """Accepts; the TLS handshake is left to the connection's own thread: a silent client blocks nobody."""
        connection, peer = super().get_request()
        connection.settimeout(60)
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, peer

    def handle_error(self, request: t.Any, client_address: t.Any) -> None:
        """A client that goes away is no error of ours."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "winkube-bundle"
    sys_version = ""
    server: Server

    def log_message(self, format: str, *args: t.Any) -> None:  # noqa: A002 - the base class names it so
        """Says nothing: the path has the token."""

    def do_GET(self) -> None:
        """Answers with a file, or a part of it."""
        path = self._path()
        file = self.server.files.open(path) if path else None
        if file is None:
            self._head(404, {"Content-Length": "0"})
            return
        try:
            self._file(file, f'"{self.server.files.sha256(path)}"')
        finally:
            file.close()

    def _file(self, file: t.BinaryIO, tag: str) -> None:
        size = os.fstat(file.fileno()).st_size
        headers = {"ETag": tag, "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
        if tag in self.headers.get("If-None-Match", ""):
            self._head(304, headers)
            return
        part = wanted_bytes(self.headers.get("Range"), size)
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

    do_HEAD = do_GET  # noqa: N815 - the base class looks for this name

    def _path(self) -> str:
        """The path in the bundle; empty where the token is wrong."""
        token, dummy, path = urllib.parse.urlsplit(self.path).path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode()):
            return ""
        return urllib.parse.unquote(path)

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
            # It became shorter meanwhile: whoever reads must see that.
            self.close_connection = True


def birth(pid: int) -> str:
    """When a process began, as far as the system tells: a number that is given again is another process."""
    return _status(pid)[1]


def lives(pid: int, born: str) -> bool:
    """Whether a process is still there, and still the same. A zombie is gone."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    if not born:
        return True
    state, now = _status(pid)
    return state not in ("", "Z", "X") and now == born


def _status(pid: int) -> tuple[str, str]:
    """State and start of a process by proc(5); empty where the system has no such file."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        # The name, in parentheses, may hold anything. Fields 3 and 22 are the first and the 20th behind it.
        fields = text.rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""


def _serve(settings: t.Mapping[str, t.Any]) -> None:
    pid, born = int(settings["parent"]), str(settings["born"])
    tls = None
    if settings["certificate"]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(settings["certificate"], settings["key"] or None)
    files = Files(settings["directory"], {path: (size, sha) for path, size, sha in settings["files"]})
    server = Server(settings["bind"], int(settings["port"]), settings["token"], files, tls)
    ended = threading.Event()

    def end(dummy_number: int, dummy_frame: types.FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=server.serve_forever, args=(_LOOK,), daemon=True).start()
    print(json.dumps({"port": server.server_port}), flush=True)
    # Whoever started us reads one line; what comes later must not hold its pipe open.
    sys.stdout.close()
    while not ended.wait(_LOOK) and lives(pid, born):
        pass
    server.server_close()


def main() -> int:
    """Reads the settings, says the port, and serves until the watched process has ended."""
    settings = json.load(sys.stdin)
    sys.stdin.close()
    with contextlib.suppress(OSError):
        os.setsid()
    try:
        _serve(settings)
    except (OSError, ssl.SSLError, ValueError) as error:
        print(json.dumps({"error": f"{error.strerror if isinstance(error, OSError) else error}"}), flush=True)
        return 1
    return 0


if __name__ == "__main__":
    # Threads that still send are not waited for.
    os._exit(main())
