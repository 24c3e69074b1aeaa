# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The HTTP side of the artifact server: mirror layout, ranges, ETags, counters, faults.

`http://ADDRESS:PORT/dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar.gz` is what upstream has at
`https://dl.k8s.io/v1.37.1/kubernetes-node-windows-amd64.tar.gz`. Asked as a forward proxy
(`GET http://dl.k8s.io/…`, or `CONNECT dl.k8s.io:443` where it has an authority) it answers the same.
`GET /simulator/status` returns the counters, `POST /simulator/faults` sets faults (a JSON list; none removes all).
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
from simulator.artifacts.faults import Fault, Faults
from simulator.artifacts.handler import Handler
from simulator.http_base import HttpServer


class _Server(HttpServer):
    owner: ArtifactServer


class ArtifactServer:
    """Serves upstream's files on one address.

    :param address: IPv4 address to listen on; `port`: 0 takes any free one.
    :param tls: serve HTTPS with this context (see `certificates.py`), else HTTP.
    :param authority: as a forward proxy, answer CONNECT too, as any host, with certificates of this authority.
    :param proxy_user: `user:password` that whoever asks as a proxy must give, else 407.
    :param user: `user:password` that whoever asks must give by basic authentication, else 401.
    :param query: `sig=…&se=…`: what the query must hold, as a shared access signature of Azure's does, else 403.
    :param rate: bytes per second of each connection at most; 0: no limit.
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
        self._server = _Server((address, port), Handler, tls)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    @property
    def address(self) -> str:
        """The address it listens on."""
        return str(self._server.server_address[0])

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The base of all URLs, without a slash at its end."""
        return f"{'https' if self.tls else 'http'}://{self.address}:{self.port}"

    def start(self) -> ArtifactServer:
        """Begin to serve, in a thread."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving and free the port."""
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
        """Serve `content` at `path` (host first, without a leading slash), over what upstream has there."""
        self._files[path.lstrip("/")] = content

    def fault(self, kind: str, path: str = "*", **options: Any) -> None:
        """Set a fault (see `Fault`)."""
        self.faults.add(Fault(kind, path, **options))

    def content(self, path: str) -> bytes | None:
        """Return the file at `path` (host first, without a leading slash), or None."""
        found = self._files.get(path)
        return catalog.content(path) if found is None else found

    def count_request(self, path: str) -> None:
        """Count a request for `path`."""
        with self._lock:
            self._requests[path] += 1

    def count_proxied(self) -> None:
        """Count a request that was made as to a proxy."""
        with self._lock:
            self._proxied += 1

    def count_bytes(self, path: str, size: int) -> None:
        """Count bytes of an answer's body: before they go out, so that whoever has them finds them counted."""
        with self._lock:
            self._bytes[path] += size

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Count an answer's body as under way, for as long as the context lasts."""
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

        :returns: `requests` and `bytes` (of bodies), each by path; `proxied`: how many were made as to a proxy;
            `total`: all requests; `most_at_once`: the greatest number of bodies that were sent at the same time.
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
        """Set all counters to zero."""
        with self._lock:
            self._requests.clear()
            self._bytes.clear()
            self._proxied, self._most = 0, self._now
