# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A registry of container images (the OCI distribution API), also as a mirror (`?ns=`), with faults.

    python -m simulator.kubernetes_node.registry.server --port 5000

https://github.com/opencontainers/distribution-spec; `ns` is what containerd sends to a mirror
(https://github.com/containerd/containerd/blob/main/docs/hosts.md).
"""

from __future__ import annotations

import argparse
import contextlib
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from simulator.artifacts.faults import Fault, Faults
from simulator.http_base import HttpServer
from simulator.kubernetes_node.images.upstream import Blobs, fill
from simulator.kubernetes_node.registry.handler import Handler


class _Server(HttpServer):
    owner: Registry


class Registry:
    """A registry on an address; a context manager that closes it.

    Args:
        address, port: where it listens; port 0 takes a free one.
        images: what it holds; by default upstream's images.
        tls: serve HTTPS with this context (`simulator.artifacts.certificates.PrivateCA`).
        user: `user:password` that whoever asks must give; empty: anybody may.
        auth: how: `basic`, or `bearer`: with a token of `/token`, which wants the user.
        rate: bytes per second of each connection at most; 0: no limit.
    """

    def __init__(self, address: str = "127.0.0.1", port: int = 0, images: Blobs | None = None, *,
                 tls: ssl.SSLContext | None = None, user: str = "", auth: Literal["basic", "bearer"] = "basic",
                 rate: int = 0) -> None:  # fmt: skip
        self.images = images if images is not None else fill(Blobs())
        self.tls, self.user, self.auth, self.rate = tls, user, auth, rate
        self.counters: Counter[str] = Counter()
        """`requests`, `manifests`, `blobs` (each without HEAD), `bytes`, `tokens`, `pushed`, `most_at_once` (bodies
        that were sent at the same time), and `NAME:TAG` of each manifest that was asked for by tag."""
        self.faults = Faults()
        """Faults by path: `/registry.k8s.io/v2/pause/manifests/3.10.2`, without the host where none was asked for."""
        self.failures: dict[str, int] = {}
        """Names (`host/path:tag`) that answer with this HTTP status instead."""
        self._lock = threading.Lock()
        self._sending = 0
        self._server = _Server((address, port), Handler, tls)
        self._server.owner = self
        self.address = address
        self.port = self._server.port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="registry", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:5000`."""
        return f"{'https' if self.tls else 'http'}://{self.address}:{self.port}"

    def stop(self) -> None:
        """Close it."""
        self._server.stop()

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def fault(self, kind: str, path: str = "*", **options: Any) -> None:
        """Set a fault.

        Kinds: `status` (with `retry_after`), `cut`, `truncated`, `wrong`, `slow`, `silence`, `loop`, `html` and
        `no-range`; see `simulator.artifacts.faults`.
        """
        self.faults.add(Fault(kind, path, **options))

    def count(self, *names: str, by: int = 1) -> None:
        """Add to counters."""
        with self._lock:
            for name in names:
                self.counters[name] += by

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Count a body as under way, for as long as the context lasts."""
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

    def find(self, name: str, namespace: str, wanted: str) -> str | None:
        """Return the digest of a tag.

        A name without a namespace may be any repository's path, or begin with its host.
        """
        if wanted.startswith("sha256:"):
            return wanted if wanted in self.images.content else None
        exact = (
            [f"{namespace}/{name}:{wanted}"]
            if namespace
            else [f"{self.address}:{self.port}/{name}:{wanted}", f"{name}:{wanted}"]
        )
        for candidate in exact:
            if candidate in self.images.tags:
                return self.images.tags[candidate]
        if namespace:
            return None
        return next(
            (found for known, found in self.images.tags.items() if known.partition("/")[2] == f"{name}:{wanted}"), None
        )

    def tags(self, name: str, namespace: str) -> list[str]:
        """Return the tags of a repository."""
        prefix = f"{namespace}/{name}:" if namespace else f"/{name}:"
        return sorted(known.rpartition(":")[2] for known in self.images.tags if prefix in f"/{known}")

    def tag(self, name: str, tag: str, digest: str) -> None:
        """Name what was pushed."""
        self.images.tags[f"{self.address}:{self.port}/{name}:{tag}"] = digest


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5000)
    arguments = parser.parse_args()
    with Registry(arguments.address, arguments.port) as registry:
        print(registry.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
