# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Accept a bundle server's connections, and start a thread for each complete request."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import errno
import selectors
import socket
import ssl
import threading
import time
import typing as t

from .files import Files
from .handler import Handler
from .nodes import Nodes

_CHECK_INTERVAL = 0.5
"""Seconds between two checks for connections whose time limit has passed."""
_HEAD, _HEAD_TIME = 16 * 1024, 10.0
"""Limits for receiving the header section of a request: size in bytes, and time in seconds."""
_IDLE, _STALL = 30.0, 60.0
"""Time limits in seconds for a connection without a request, and for a response that makes no progress."""
_WAITING = 256
"""Maximum number of connections from one client address that have not sent a complete request."""
_AT_ONCE, _THREADS = 64, 1024
"""Maximum number of parallel downloads for one node (a node starts 8 by default), and for all nodes together."""
_RATE, _STRANGERS = 100.0, 20.0
"""Maximum number of requests per second with a node's token, and from an address without a valid token."""
_FULL = 0.01
"""Seconds to wait before accepting the next connection if no file descriptor is left."""
_ACCEPTED = 256
"""Maximum number of new connections to accept before the waiting connections are checked again."""


@dataclasses.dataclass(eq=False)
class _Connection:
    socket: socket.socket
    address: str
    until: float
    """Deadline for receiving the next request's header section, as a value of `time.monotonic`."""
    shaken: bool
    """Whether the TLS handshake is complete."""
    head: bytearray = dataclasses.field(default_factory=bytearray)


class RequestListener:
    """A listener that receives requests in a single loop, and starts a thread only for a node's complete request.

    So a client that is silent or sends its request slowly uses only one file descriptor, for a limited time.

    Args:
        address: address to listen on.
        port: port to listen on, or 0 for any free port.
        nodes: the nodes that may download.
        files: the files of the bundle.
        tls: the TLS context for HTTPS, or None for HTTP.
        limit: maximum number of open file descriptors.
    """

    def __init__(
        self, address: str, port: int, nodes: Nodes, files: Files, tls: ssl.SSLContext | None = None, limit: int = 1024
    ) -> None:
        self._nodes, self._files, self._tls = nodes, files, tls
        # A download uses two descriptors: its connection and its file.
        threads = max(min(_THREADS, limit // 8), 1)
        self._most = max(limit - 2 * threads - 64, 16)
        self._pool = concurrent.futures.ThreadPoolExecutor(threads)
        self._busy: collections.Counter[str] = collections.Counter()
        self._waiting: dict[str, dict[_Connection, None]] = {}
        self._back: collections.deque[_Connection] = collections.deque()
        self._lock = threading.Lock()
        self._checked_at = 0.0
        self._selector = selectors.DefaultSelector()
        self._listener = _listen(address, port)
        self._woken, self._wake = socket.socketpair()
        for own in (self._listener, self._woken, self._wake):
            own.setblocking(False)
        for own in (self._listener, self._woken):
            self._selector.register(own, selectors.EVENT_READ)

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self._listener.getsockname()[1])

    def serve(self) -> None:
        """Serve forever."""
        while True:
            for key, dummy in self._selector.select(_CHECK_INTERVAL):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._woken:
                    self._take_back()
                elif self._is_waiting(key.data):
                    self._advance(key.data)
            self._expire(time.monotonic())

    def _accept(self) -> None:
        for dummy in range(_ACCEPTED):
            try:
                plain, peer = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    # No descriptor is left: close a connection that waits for a request. If no connection waits, wait
                    # until a download ends.
                    self._evict()
                    time.sleep(_FULL)
                return
            plain.setblocking(False)
            try:
                made = (
                    plain
                    if self._tls is None
                    else self._tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
                )
            except OSError:
                plain.close()
                continue
            self._wait(_Connection(made, str(peer[0]), time.monotonic() + _HEAD_TIME, self._tls is None))

    def _wait(self, connection: _Connection) -> None:
        own = self._waiting.get(connection.address, {})
        if len(own) >= _WAITING:
            self._close(next(iter(own)))
        if sum(map(len, self._waiting.values())) >= self._most:
            self._evict()
        self._waiting.setdefault(connection.address, {})[connection] = None
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)
        self._advance(connection)

    def _evict(self) -> None:
        """Close the longest-waiting connection of the client address with the most waiting connections."""
        if self._waiting:
            most = max(self._waiting, key=lambda address: len(self._waiting[address]))
            self._close(next(iter(self._waiting[most])))

    def _forget(self, connection: _Connection) -> None:
        self._selector.unregister(connection.socket)
        own = self._waiting[connection.address]
        del own[connection]
        if not own:
            del self._waiting[connection.address]

    def _close(self, connection: _Connection) -> None:
        self._forget(connection)
        connection.socket.close()

    def _is_waiting(self, connection: _Connection) -> bool:
        """Return whether the connection is still waiting for a complete request."""
        return connection in self._waiting.get(connection.address, ())

    def _expire(self, now: float) -> None:
        if now - self._checked_at < _CHECK_INTERVAL:
            return
        self._checked_at = now
        late = [one for own in self._waiting.values() for one in own if one.until < now]
        for connection in late:
            self._close(connection)

    def _advance(self, connection: _Connection) -> None:
        """Continue the TLS handshake, read the data that has arrived, and handle the request if it is complete."""
        try:
            if not connection.shaken:
                t.cast("ssl.SSLSocket", connection.socket).do_handshake()
                connection.shaken = True
            while b"\r\n\r\n" not in connection.head:
                data = connection.socket.recv(_HEAD)
                if not data or len(connection.head) > _HEAD:
                    self._close(connection)
                    return
                connection.head += data
        except (BlockingIOError, ssl.SSLWantReadError):
            self._selector.modify(connection.socket, selectors.EVENT_READ, connection)
        except ssl.SSLWantWriteError:
            self._selector.modify(connection.socket, selectors.EVENT_WRITE, connection)
        except OSError:
            self._close(connection)
        else:
            self._dispatch(connection)

    def _dispatch(self, connection: _Connection) -> None:
        head, dummy, rest = bytes(connection.head).partition(b"\r\n\r\n")
        request_line = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        node = self._nodes.of(request_line[1]) if len(request_line) > 1 else None
        now = time.monotonic()
        client, rate = (connection.address, _STRANGERS) if node is None else (f"node {node}", _RATE)
        if not self._nodes.may_ask(client, rate, now):
            self._refuse(connection, "429 Too Many Requests", "Retry-After: 1\r\n")
        elif node is None:
            self._refuse(connection, "404 Not Found")
        elif self._busy[node] >= _AT_ONCE:
            self._refuse(connection, "503 Service Unavailable", "Retry-After: 1\r\n")
        else:
            self._forget(connection)
            connection.head = bytearray(rest)
            with self._lock:
                self._busy[node] += 1
            self._pool.submit(self._answer, connection, node, head + b"\r\n\r\n")

    def _refuse(self, connection: _Connection, status: str, more: str = "") -> None:
        with contextlib.suppress(OSError):
            text = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n{more}\r\n"
            connection.socket.send(text.encode())
        self._close(connection)

    def _answer(self, connection: _Connection, node: str, head: bytes) -> None:
        """Handle a node's request. This method runs in a thread."""
        stays = False
        with contextlib.suppress(OSError):
            connection.socket.settimeout(_STALL)
            stays = not Handler(connection.socket, head, self._files).close_connection
        with self._lock:
            self._busy[node] -= 1
        if not stays:
            connection.socket.close()
            return
        connection.socket.setblocking(False)
        connection.until = time.monotonic() + _IDLE
        self._back.append(connection)
        with contextlib.suppress(OSError):
            self._wake.send(b"x")

    def _take_back(self) -> None:
        """Resume waiting for requests on connections whose last request has been answered."""
        with contextlib.suppress(OSError):
            self._woken.recv(4096)
        while self._back:
            self._wait(self._back.popleft())


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            with contextlib.suppress(OSError):
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((address, port))
        listener.listen(1024)
    except OSError:
        listener.close()
        raise
    return listener
