# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The base class of the simulator's HTTP and HTTPS servers. They use threads, and tolerate clients that disconnect."""

from __future__ import annotations

import http.server
import logging
import socket
import ssl
from typing import Any

_LOG = logging.getLogger(__name__)


class HttpServer(http.server.ThreadingHTTPServer):
    """An HTTP or HTTPS server with a thread for each connection.

    Args:
        address: the IPv4 address and port to listen on. Port 0 picks a free port.
        handler: the class that handles the requests of one connection.
        tls: the TLS context for HTTPS, or None for HTTP.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[http.server.BaseHTTPRequestHandler],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.tls = tls
        super().__init__(address, handler)

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Bind the server's socket without HTTPServer's DNS lookup of the host name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.port

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection.

        With TLS, the connection's own thread performs the handshake when it first reads, so a silent client does not
        block other clients.
        """
        connection, peer = super().get_request()
        # A response may be several small writes, which Nagle's algorithm would delay.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls is not None:
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, peer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a connection's error only at debug level, because the client has usually just disconnected."""
        _LOG.debug("connection of %s ended", client_address, exc_info=True)

    def stop(self) -> None:
        """Stop listening. Open connections stay open."""
        self.shutdown()
        self.server_close()
