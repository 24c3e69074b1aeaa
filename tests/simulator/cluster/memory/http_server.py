# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The HTTPS server of the API, with optional client certificates, keep-alive and streamed watches."""

from __future__ import annotations

import http.server
import json
import logging
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from simulator.http_base import HttpServer

from .api import ClusterApi
from .errors import ApiErrorResponse, unsupported_media_type
from .requests import ApiRequest, Response
from .resources import Object

_LOG = logging.getLogger(__name__)
_SECONDS_IDLE = 120.0
_NO_CHECK_TIME = 0x200000  # X509_V_FLAG_NO_CHECK_TIME, for which ssl.VerifyFlags has no name
_SECONDS_HANDSHAKE = 10.0


def server_context(certificate: Path, key: Path, ca: Path) -> ssl.SSLContext:
    """Return the server's TLS context. Clients may send a certificate, which the cluster's CA must have signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(ca)
    context.verify_mode = ssl.CERT_OPTIONAL
    # Go's server does not check the validity period. The authenticator does, and responds with 401.
    context.verify_flags = ssl.VerifyFlags(context.verify_flags | _NO_CHECK_TIME)
    context.set_alpn_protocols(["http/1.1"])
    return context


class _ApiHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one response, one packet

    def setup(self) -> None:
        self.request.settimeout(_SECONDS_HANDSHAKE)
        self.request.do_handshake()
        self.request.settimeout(_SECONDS_IDLE)
        super().setup()

    def handle_any(self) -> None:
        """Handle one HTTP request, whatever its method."""
        length = int(self.headers.get("Content-Length") or 0)
        body = self._chunked_body() if self.headers.get("Transfer-Encoding") == "chunked" else self.rfile.read(length)
        try:
            response = self._answer(body)
        except ApiErrorResponse as error:
            response = Response(error.code, error.status())
        except Exception as error:
            _LOG.exception("%s %s", self.command, self.path)
            response = Response(
                500, ApiErrorResponse(500, "InternalError", f"Internal error occurred: {error!r}").status()
            )
        if isinstance(response.body, Iterator):
            self._stream(response.body)
        else:
            self._send(response)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any  # noqa: N815  # named by http.server

    def _answer(self, body: bytes) -> Response:
        api = cast("ApiServer", self.server).api
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        certificate = self.request.getpeercert(binary_form=True)
        user = api.authenticator.authenticate(certificate, self.headers.get("Authorization", ""))
        path = urllib.parse.unquote(url.path)
        content_type = self.headers.get("Content-Type", "application/json")
        if "protobuf" in content_type or "cbor" in content_type:
            raise unsupported_media_type(("application/json", "application/yaml"))
        return api.handle(ApiRequest(self.command, path, query, body, content_type, user))

    def _chunked_body(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, response: Response) -> None:
        text = isinstance(response.body, str)
        data = str(response.body).encode() if text else json.dumps(response.body).encode() + b"\n"
        self.send_response(response.code)
        self.send_header("Content-Type", "text/plain; charset=utf-8" if text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        if response.code == 429:
            self.send_header("Retry-After", str(_retry_after(response.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, events: Iterator[Object]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        for event in events:
            if event:
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            elif self._client_left():
                return
            else:
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _client_left(self) -> bool:
        """Return whether the client has closed its side of the connection.

        This method is for watches, during which clients send no data.
        """
        self.request.setblocking(False)
        try:
            return bool(self.request.recv(1) == b"")
        except (ssl.SSLWantReadError, BlockingIOError):
            return False
        except OSError:
            return True
        finally:
            self.request.settimeout(_SECONDS_IDLE)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        _LOG.debug(format, *args)


def _retry_after(body: object) -> int:
    details = body.get("details") if isinstance(body, dict) else None
    return int((details or {}).get("retryAfterSeconds", 0))


class ApiServer(HttpServer):
    """The HTTPS server for a cluster's API."""

    def __init__(self, address: str, port: int, tls: ssl.SSLContext, api: ClusterApi) -> None:
        self.api = api
        self._connections: set[socket.socket] = set()
        self._connections_lock = threading.Lock()
        super().__init__((address, port), _ApiHandler, tls)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Record the connection, so that `close` can end it."""
        with self._connections_lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Shut down a connection, and remove it from the set of open connections."""
        with self._connections_lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def close(self) -> None:
        """Stop listening and end all connections."""
        self.stop()
        with self._connections_lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
