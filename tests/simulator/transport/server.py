# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network of one node: its address, its two ports, and everybody connected to them."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import threading
from collections.abc import Callable

from simulator.transport.authentication import ConnectionLogon
from simulator.transport.connection import NodeConnection, NodeParts
from simulator.transport.control import Control
from simulator.transport.counters import Counters
from simulator.transport.faults import Fault, FaultPlan
from simulator.transport.host import Host
from simulator.transport.http_wire import HttpConnection
from simulator.transport.service import WinrmService

HTTP_PORT = 5985
HTTPS_PORT = 5986
BACKLOG = 64
TLS_HANDSHAKE_SECONDS = 10.0

# Socket, port it came in on, client's IP address.
_Accepted = Callable[[socket.socket, int, str], None]


class NodeServer:
    """WinRM of one node. Implements `host.NodePorts`.

    Parameters:
        address: the node's own loopback address, such as 127.10.0.1.
        host: the machine behind it.
        tls: context with the fleet's certificate; without it there is no HTTPS port.
        http_port, https_port: 0 picks a free one, kept until the server is dropped.
        max_envelope_size: bytes of the largest request that is accepted.
        max_shells_per_user: shells and runspace pools that a user may have open.
    """

    def __init__(
        self,
        address: str,
        host: Host,
        tls: ssl.SSLContext | None = None,
        *,
        http_port: int = HTTP_PORT,
        https_port: int = HTTPS_PORT,
        max_envelope_size: int = 500 * 1024,
        max_shells_per_user: int = 30,
    ) -> None:
        self.address = address
        self.http_port = http_port
        self.https_port = https_port
        self.counters = Counters()
        self.faults = FaultPlan()
        self.service = WinrmService(
            host, self.counters, max_envelope_size=max_envelope_size, max_shells_per_user=max_shells_per_user
        )
        self._tls = tls
        control = Control(host, self, self.counters, self.faults, self.service)
        self._control = control
        self._parts = NodeParts(
            self.service,
            control,
            self.counters,
            self.faults,
            self,
            lambda: ConnectionLogon(host.accounts, host.name),
        )
        self._lock = threading.RLock()
        self._listeners: _Listeners | None = None
        self._connections: set[HttpConnection] = set()
        self._link_timer: threading.Timer | None = None
        self._powered = False
        host.attach(self)

    def start(self) -> None:
        """Open the ports.

        Raises:
            OSError: the address or a port is taken.
        """
        self.open_ports()

    def stop(self) -> None:
        """Close everything for good."""
        self.close_ports()

    def open_ports(self) -> None:
        """Listen; the link is up. Nothing happens if it does already."""
        with self._lock:
            self._powered = True
            self._cancel_link_timer()
            self._listen()

    def close_ports(self, *, forget_shells: bool = True) -> None:
        """Stop listening and break all connections; by default the node is off, so its shells end too."""
        with self._lock:
            self._powered = False
            self._cancel_link_timer()
            self._cut()
        if forget_shells:
            self.service.forget_shells()

    def drop_link(self, seconds: float) -> None:
        """Take the link down and bring it back by itself after this many seconds."""
        with self._lock:
            if not self._powered:
                return
            self._cancel_link_timer()
            self._cut()
            self._link_timer = threading.Timer(seconds, self._link_up)
            self._link_timer.daemon = True
            self._link_timer.start()

    def forget_shells(self) -> None:
        """End all shells; connections stay."""
        self.service.forget_shells()

    def set_fault(self, fault: Fault) -> None:
        """Set a fault, as POST /simulator/faults does."""
        action = self._control.set_fault(fault)
        if action is not None:
            action()

    def status(self) -> dict[str, object]:
        """Return what GET /simulator/status answers."""
        return self._control.status()

    @property
    def is_listening(self) -> bool:
        """Whether the ports are open right now."""
        with self._lock:
            return self._listeners is not None

    def _listen(self) -> None:
        if self._listeners is not None:
            return
        wanted = [self.http_port] if self._tls is None else [self.http_port, self.https_port]
        self._listeners = _Listeners(self.address, wanted, self._accepted)
        self.http_port = self._listeners.ports[0]
        if self._tls is not None:
            self.https_port = self._listeners.ports[1]

    def _cut(self) -> None:
        """Close the ports and break the connections. Called with the lock held."""
        listeners, self._listeners = self._listeners, None
        if listeners is not None:
            listeners.close()
        self.faults.release()
        for connection in self._connections:
            connection.cut()

    def _link_up(self) -> None:
        with self._lock:
            self._link_timer = None
            if self._powered:
                self._listen()

    def _cancel_link_timer(self) -> None:
        if self._link_timer is not None:
            self._link_timer.cancel()
            self._link_timer = None

    def _accepted(self, client: socket.socket, port: int, peer: str) -> None:
        """Serve a new connection in a thread of its own. Called by the listeners' thread."""
        threading.Thread(
            target=self._serve, args=(client, port, peer), name=f"winrm-{self.address}", daemon=True
        ).start()

    def _serve(self, client: socket.socket, port: int, peer: str) -> None:
        stream: socket.socket = client
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None and port == self.https_port:
                client.settimeout(TLS_HANDSHAKE_SECONDS)
                stream = self._tls.wrap_socket(client, server_side=True)
                stream.settimeout(None)
        except OSError:
            client.close()
            return
        connection = HttpConnection(stream, self.counters)
        with self._lock:
            if self._listeners is None:
                connection.close()
                return
            self._connections.add(connection)
        try:
            NodeConnection(self._parts, connection, peer).serve()
        finally:
            with self._lock:
                self._connections.discard(connection)


class _Listeners:
    """The listening sockets of a node and the thread that accepts from them."""

    def __init__(self, address: str, ports: list[int], accepted: _Accepted) -> None:
        self._accepted = accepted
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._sockets: list[socket.socket] = []
        try:
            for port in ports:
                self._sockets.append(_listen_on(address, port))
        except OSError:
            self._close_sockets()
            raise
        self.ports = [item.getsockname()[1] for item in self._sockets]
        for item, port in zip(self._sockets, self.ports, strict=True):
            self._selector.register(item, selectors.EVENT_READ, port)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._run, name=f"accept-{address}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close the ports; they are closed when this returns."""
        self._wake.send(b"x")
        self._thread.join()

    def _run(self) -> None:
        try:
            while True:
                for key, _ in self._selector.select():
                    if key.data is None:
                        return
                    self._accept(key.fileobj, key.data)  # type: ignore[arg-type]
        finally:
            self._selector.close()
            self._close_sockets()

    def _accept(self, listener: socket.socket, port: int) -> None:
        with contextlib.suppress(OSError):
            client, peer = listener.accept()
            client.setblocking(True)
            self._accepted(client, port, str(peer[0]))

    def _close_sockets(self) -> None:
        for item in (*self._sockets, self._wake, self._woken):
            item.close()


def _listen_on(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"cannot listen on {address}:{port}: {error.strerror}") from error
    return listener
