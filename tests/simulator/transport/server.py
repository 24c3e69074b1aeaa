# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network of one node: its address, its two ports, and all connections to them."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import threading
from collections.abc import Callable

from simulator.certificates import server_context
from simulator.transport.authentication import ConnectionLogon
from simulator.transport.connection import NodeConnection, NodeParts
from simulator.transport.control import Control
from simulator.transport.counters import Counters
from simulator.transport.faults import FaultPlan, TransportFault
from simulator.transport.host import Host
from simulator.transport.http_wire import HttpConnection
from simulator.transport.service import WinrmService

HTTP_PORT = 5985
HTTPS_PORT = 5986
BACKLOG = 64
TLS_HANDSHAKE_SECONDS = 10.0

# Called with a socket, the transport of its port (`HTTP`, `HTTPS`), and the client's IP address.
_Accepted = Callable[[socket.socket, str, str], None]


class NodeServer:
    """The WinRM server of one node, which implements `host.NodePorts`.

    Args:
        address: the node's own loopback address, such as 127.10.0.1.
        host: the machine.
        tls: the TLS context with the certificate that all nodes share. If it is None, there is no HTTPS port.
        http_port, https_port: the ports. 0 picks a free port, which stays the same for the server's lifetime.
        max_envelope_size: the size limit for requests in bytes.
        max_shells_per_user: the maximum number of open shells and runspace pools per user.
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
        self._own = (b"", tls or ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        control = Control(host, self, self.counters, self.faults, self.service)
        self._control = control
        self._parts = NodeParts(
            self.service,
            control,
            self.counters,
            self.faults,
            self,
            lambda secure: ConnectionLogon(host.accounts, host.name, host.winrm, secure=secure),
        )
        self._host = host
        self._lock = threading.RLock()
        self._listening = False
        self._listeners: dict[str, _Listener] = {}
        self._connections: dict[HttpConnection, str] = {}
        self._link_timer: threading.Timer | None = None
        self._powered = False
        host.attach(self)

    def start(self) -> None:
        """Open the ports.

        Raises:
            OSError: the address or a port is already in use.
        """
        self.open_ports()

    def stop(self) -> None:
        """Close the ports, and end all connections and shells."""
        self.close_ports()

    def open_ports(self) -> None:
        """Open a port for each of WinRM's listeners, now that the node has power and its link is up."""
        with self._lock:
            self._powered = True
            self._cancel_link_timer()
            self._listen()

    def close_ports(self, *, forget_shells: bool = True) -> None:
        """Stop listening and cut all connections; by default, the shells also end, as when a node is switched off."""
        with self._lock:
            self._powered = False
            self._cancel_link_timer()
            self._cut()
        if forget_shells:
            self.service.forget_shells()

    def drop_link(self, seconds: float) -> None:
        """Take the link down, and bring it up again automatically after a number of seconds."""
        with self._lock:
            if not self._powered:
                return
            self._cancel_link_timer()
            self._cut()
            self._link_timer = threading.Timer(seconds, self._link_up)
            self._link_timer.daemon = True
            self._link_timer.start()

    def forget_shells(self) -> None:
        """End all shells; connections stay open."""
        self.service.forget_shells()

    def set_fault(self, fault: TransportFault) -> None:
        """Set a fault, as POST /simulator/faults does."""
        action = self._control.set_fault(fault)
        if action is not None:
            action()

    def status(self) -> dict[str, object]:
        """Return the response to GET /simulator/status."""
        return self._control.status()

    def listeners_changed(self) -> None:
        """Open and close ports to match WinRM's listeners, unless the node is off or its link is down."""
        with self._lock:
            if self._listening:
                self._listen()

    @property
    def is_listening(self) -> bool:
        """Whether a port is open."""
        with self._lock:
            return bool(self._listeners)

    def _listen(self) -> None:
        """Open a port for each of WinRM's listeners, and close all other ports; the caller must hold the lock."""
        requested = self._host.winrm().transports - (set() if self._tls else {"HTTPS"})
        for transport in self._listeners.keys() - requested:
            self._listeners.pop(transport).close()
            for connection in [each for each, origin in self._connections.items() if origin == transport]:
                connection.cut()
        self._listening = True
        try:
            for transport in sorted(requested - self._listeners.keys()):
                port = self.https_port if transport == "HTTPS" else self.http_port
                listener = _Listener(self.address, port, transport, self._accepted)
                self._listeners[transport] = listener
                if transport == "HTTPS":
                    self.https_port = listener.port
                else:
                    self.http_port = listener.port
        except OSError:
            self._cut()
            raise

    def _cut(self) -> None:
        """Close the ports and cut the connections; the caller must hold the lock."""
        self._listening = False
        for listener in self._listeners.values():
            listener.close()
        self._listeners = {}
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

    def _accepted(self, client: socket.socket, transport: str, peer: str) -> None:
        """Serve a new connection in a separate thread. This is called by the listeners' threads."""
        threading.Thread(
            target=self._serve, args=(client, transport, peer), name=f"winrm-{self.address}", daemon=True
        ).start()

    def _serve(self, client: socket.socket, transport: str, peer: str) -> None:
        stream: socket.socket = client
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None and transport == "HTTPS":
                client.settimeout(TLS_HANDSHAKE_SECONDS)
                stream = self._context(self._tls).wrap_socket(client, server_side=True)
                stream.settimeout(None)
        except OSError:
            client.close()
            return
        connection = HttpConnection(stream, self.counters)
        with self._lock:
            if transport not in self._listeners:
                connection.close()
                return
            self._connections[connection] = transport
        try:
            NodeConnection(self._parts, connection, peer, secure=transport == "HTTPS").serve()
        finally:
            with self._lock:
                self._connections.pop(connection, None)

    def _context(self, default: ssl.SSLContext) -> ssl.SSLContext:
        """Return a TLS context with the listener's certificate, or `default` if the listener has no certificate."""
        certificate = self._host.winrm().certificate
        if not certificate:
            return default
        if certificate != self._own[0]:
            self._own = (certificate, server_context(certificate))
        return self._own[1]


class _Listener:
    """The listening socket of a node for HTTP or HTTPS, and the thread that accepts connections."""

    def __init__(self, address: str, port: int, transport: str, accepted: _Accepted) -> None:
        self._accepted = accepted
        self._transport = transport
        self._socket = _listen_on(address, port)
        self.port: int = self._socket.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._socket, selectors.EVENT_READ, True)
        self._selector.register(self._woken, selectors.EVENT_READ, False)
        self._thread = threading.Thread(target=self._run, name=f"accept-{address}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close the port, and wait until it is closed."""
        self._wake.send(b"x")
        self._thread.join()

    def _run(self) -> None:
        try:
            while True:
                for key, _ in self._selector.select():
                    if not key.data:
                        return
                    self._accept()
        finally:
            self._selector.close()
            for item in (self._socket, self._wake, self._woken):
                item.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            client, peer = self._socket.accept()
            client.setblocking(True)
            self._accepted(client, self._transport, str(peer[0]))


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
