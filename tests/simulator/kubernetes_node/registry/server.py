# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate a registry of container images, which tests can make fail. It can also be a mirror of other registries.

    python -m simulator.kubernetes_node.registry.server --port 5000

See https://github.com/opencontainers/distribution-spec. In requests to a mirror, containerd names the original registry
in the `ns` parameter (https://github.com/containerd/containerd/blob/main/docs/hosts.md).
"""

from __future__ import annotations

import argparse
import contextlib
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from simulator.artifacts.faults import ArtifactFault, Faults
from simulator.http_base import HttpServer
from simulator.kubernetes_node.images.upstream import Blobs, fill
from simulator.kubernetes_node.registry.handler import RegistryHandler


class _RegistryHttpServer(HttpServer):
    owner: SimulatedRegistry


class SimulatedRegistry:
    """A registry that listens on an address. It is a context manager that closes the registry on exit.

    Args:
        address, port: the address to listen on; port 0 picks a free port.
        images: the images in the registry; by default, those of the `upstream` module.
        tls: the SSL context for HTTPS, such as one of `simulator.artifacts.certificates.PrivateCA`; None for plain
            HTTP.
        user: the `user:password` that clients need, or an empty string for anonymous access.
        auth: the authentication: `basic`, or `bearer` with a token from `/token`. The client needs `user` to get this
            token.
        rate: the maximum number of bytes per second that each connection gets; 0 for no limit.
    """

    def __init__(self, address: str = "127.0.0.1", port: int = 0, images: Blobs | None = None, *,
                 tls: ssl.SSLContext | None = None, user: str = "", auth: Literal["basic", "bearer"] = "basic",
                 rate: int = 0) -> None:  # fmt: skip
        self.images = images if images is not None else fill(Blobs())
        self.tls, self.user, self.auth, self.rate = tls, user, auth, rate
        self.counters: Counter[str] = Counter()
        """The counters `requests` (GET and HEAD), `manifests` and `blobs` (only GET), `bytes`, `tokens` and `pushed`.

        `most_at_once` is the maximum number of response bodies that were sent at the same time. Each manifest that is
        requested by tag also has a counter `NAME:TAG`.
        """
        self.faults = Faults()
        """The faults. Each has a pattern of request paths, such as `/registry.k8s.io/v2/pause/manifests/*`.

        A path begins with the host if the request has the parameter `ns`. Otherwise, it begins with `/v2`.
        """
        self.failures: dict[str, int] = {}
        """Maps each image (`host/path:tag`) whose requests must fail to the HTTP status of the responses.

        The host is the parameter `ns` of a request. Without it, the first part of the path takes the place of the
        host, as in `pause/pause:3.10`.
        """
        self._lock = threading.Lock()
        self._sending = 0
        self._server = _RegistryHttpServer((address, port), RegistryHandler, tls)
        self._server.owner = self
        self.address = address
        self.port = self._server.port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="registry", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The URL of the registry, such as `http://127.0.0.1:5000`."""
        return f"{'https' if self.tls else 'http'}://{self.address}:{self.port}"

    def stop(self) -> None:
        """Close the registry."""
        self._server.stop()

    def __enter__(self) -> SimulatedRegistry:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def fault(self, kind: str, path: str = "*", **options: Any) -> None:
        """Make the registry respond with a fault to requests for paths that match a pattern.

        Kinds: `status` (with `retry_after`), `cut`, `truncated`, `wrong`, `slow`, `silence`, `loop`, `redirect`, `html`
            and `no-range`; see `simulator.artifacts.faults`.
        """
        self.faults.add(ArtifactFault(kind, path, **options))

    def count(self, *names: str, by: int = 1) -> None:
        """Add `by` to each of the named counters."""
        with self._lock:
            for name in names:
                self.counters[name] += by

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Count a response body as being sent within the `with` block."""
        with self._lock:
            self._sending += 1
            self.counters["most_at_once"] = max(self.counters["most_at_once"], self._sending)
        try:
            yield
        finally:
            with self._lock:
                self._sending -= 1

    def reset(self) -> None:
        """Set all counters to zero."""
        with self._lock:
            self.counters.clear()

    def find(self, name: str, namespace: str, requested: str) -> str | None:
        """Return the digest of the content with this tag or digest, or None if the registry does not have it.

        If the request has no parameter `ns`, the name may be a repository's path with or without the host.
        """
        if requested.startswith("sha256:"):
            return requested if requested in self.images.content else None
        exact = (
            [f"{namespace}/{name}:{requested}"]
            if namespace
            else [f"{self.address}:{self.port}/{name}:{requested}", f"{name}:{requested}"]
        )
        for candidate in exact:
            if candidate in self.images.tags:
                return self.images.tags[candidate]
        if namespace:
            return None
        return next(
            (found for known, found in self.images.tags.items() if known.partition("/")[2] == f"{name}:{requested}"),
            None,
        )

    def tags(self, name: str, namespace: str) -> list[str]:
        """Return the tags of a repository."""
        prefix = f"{namespace}/{name}:" if namespace else f"/{name}:"
        return sorted(known.rpartition(":")[2] for known in self.images.tags if prefix in f"/{known}")

    def tag(self, name: str, tag: str, digest: str) -> None:
        """Add a tag that refers to pushed content."""
        self.images.tags[f"{self.address}:{self.port}/{name}:{tag}"] = digest


def main() -> None:
    """Run a simulated registry until it is interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5000)
    arguments = parser.parse_args()
    with SimulatedRegistry(arguments.address, arguments.port) as registry:
        print(registry.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
