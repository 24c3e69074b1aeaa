# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A server for artifacts, with options, counters and faults. `handler.py` responds to its requests.

`http://ADDRESS:PORT/dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar.gz` serves the same file as
`https://dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar.gz`. The server is also a forward proxy that serves the
same files (`GET http://dl.k8s.io/…`; `CONNECT dl.k8s.io:443` requires a certificate authority).
`GET /simulator/status` returns the counters, and `POST /simulator/faults` replaces all faults with the JSON list in its
body.
"""

from __future__ import annotations

import collections
import contextlib
import ssl
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl

from simulator.artifacts import catalog
from simulator.artifacts.certificates import PrivateCA
from simulator.artifacts.faults import ArtifactFault, Faults
from simulator.artifacts.handler import ArtifactHandler
from simulator.http_base import HttpServer


class _ArtifactHttpServer(HttpServer):
    owner: ArtifactServer


class ArtifactServer:
    """A server for simulated release files, on one address. It is also a forward proxy.

    Args:
        address: the IPv4 address to listen on.
        port: the port to listen on; 0 picks a free port.
        tls: the context for HTTPS (see `certificates.py`). If it is None, the server uses HTTP.
        authority: if set, the forward proxy also handles CONNECT for any host, with certificates of this authority.
        proxy_user: the `user:password` that proxy clients must send; the response to all other clients is 407.
        user: the `user:password` that clients must send (basic authentication); all other clients get 401.
        query: the required query, such as Azure's shared access signature `sig=…&se=…`; without it, clients get 403.
        rate: the maximum number of bytes per second of each connection. 0 means no limit.
    """

    def __init__(
        self,
        address: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        *,
        authority: PrivateCA | None = None,
        proxy_user: str = "",
        user: str = "",
        query: str = "",
        rate: int = 0,
    ) -> None:
        self.tls = tls
        self.user = user
        self.query = dict(parse_qsl(query))
        self.rate = rate
        self.authority = authority
        self.proxy_user = proxy_user
        self._proxied = 0
        self.faults = Faults()
        self._files: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._requests: collections.Counter[str] = collections.Counter()
        self._bytes: collections.Counter[str] = collections.Counter()
        self._now, self._most = 0, 0
        self._server = _ArtifactHttpServer((address, port), ArtifactHandler, tls)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    @property
    def address(self) -> str:
        """The address on which the server listens."""
        return str(self._server.server_address[0])

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The base of all URLs, without a trailing slash."""
        return f"{'https' if self.tls else 'http'}://{self.address}:{self.port}"

    def start(self) -> ArtifactServer:
        """Start serving in a thread."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving, and close the port."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> ArtifactServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def put(self, path: str, content: bytes) -> None:
        """Serve the given content at a path, instead of any release file there. The path begins with the host."""
        self._files[path.lstrip("/")] = content

    def fault(self, kind: str, path: str = "*", **options: Any) -> None:
        """Add a fault (see `ArtifactFault`)."""
        self.faults.add(ArtifactFault(kind, path, **options))

    def content(self, path: str) -> bytes | None:
        """Return the file at a path (beginning with the host, without a leading slash), or None if there is no file."""
        found = self._files.get(path)
        return catalog.content(path) if found is None else found

    def count_request(self, path: str) -> None:
        """Count a request for a path."""
        with self._lock:
            self._requests[path] += 1

    def count_proxied(self) -> None:
        """Count a request to the proxy."""
        with self._lock:
            self._proxied += 1

    def count_bytes(self, path: str, size: int) -> None:
        """Count the bytes of a body before they are sent, so that all bytes that a client has received are counted."""
        with self._lock:
            self._bytes[path] += size

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Count one more response body as being sent for as long as the `with` block runs."""
        with self._lock:
            self._now += 1
            self._most = max(self._most, self._now)
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1

    def status(self) -> dict[str, Any]:
        """Return the counters.

        Returns:
            `requests` and `bytes`: the number of requests and of bytes in response bodies, by path; `proxied`: the
            number of requests to the proxy; `total`: the number of all requests; `most_at_once`: the maximum number of
            response bodies that were sent at the same time.
        """
        with self._lock:
            return {
                "requests": dict(self._requests),
                "bytes": dict(self._bytes),
                "proxied": self._proxied,
                "total": sum(self._requests.values()),
                "most_at_once": self._most,
            }

    def reset(self) -> None:
        """Reset all counters to zero, except `most_at_once`, which is set to the number of responses in progress."""
        with self._lock:
            self._requests.clear()
            self._bytes.clear()
            self._proxied, self._most = 0, self._now
