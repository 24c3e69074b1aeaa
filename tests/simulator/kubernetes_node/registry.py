# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A registry of container images (the OCI distribution API, reading), also as a mirror (`?ns=`).

    python -m simulator.kubernetes_node.registry --port 5000

https://github.com/opencontainers/distribution-spec; `ns` is what containerd sends to a mirror
(https://github.com/containerd/containerd/blob/main/docs/hosts.md).
"""

from __future__ import annotations

import argparse
import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from simulator.kubernetes_node.upstream_images import Blobs, fill

_ROUTE = re.compile(r"^/v2/(?P<name>.+)/(?P<kind>manifests|blobs|tags)/(?P<object>[^/]+)$")


class Registry:
    """A registry on an address; a context manager that closes it.

    Parameters:
        address, port: where it listens; port 0 takes a free one.
        images: what it holds; by default upstream's images.
    """

    def __init__(self, address: str = "127.0.0.1", port: int = 0, images: Blobs | None = None) -> None:
        self.images = images if images is not None else fill(Blobs())
        self.counters: Counter[str] = Counter()
        """`requests`, `manifests`, `blobs`, `bytes`, and `NAME:TAG` of each manifest that was asked for by tag."""
        self.failures: dict[str, int] = {}
        """Names (`host/path:tag`) that answer with this HTTP status instead."""
        registry = self

        class Handler(_Handler):
            owner = registry

        self._server = ThreadingHTTPServer((address, port), Handler)
        self._server.daemon_threads = True
        self.address = address
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="registry", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:5000`."""
        return f"http://{self.address}:{self.port}"

    def stop(self) -> None:
        """Close it."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def find(self, name: str, namespace: str, wanted: str) -> str | None:
        """Return the digest of a tag. A name without a namespace may be any repository's path, or begin with its
        host."""
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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: Registry

    def do_GET(self) -> None:
        """Answer a request."""
        counters = self.owner.counters
        counters["requests"] += 1
        parts = urlsplit(self.path)
        if parts.path in ("/v2", "/v2/"):
            self._send(200, b"{}", "application/json")
            return
        route = _ROUTE.match(parts.path)
        if not route:
            self._fail(404, "NAME_UNKNOWN", "repository name not known to registry")
            return
        namespace = parse_qs(parts.query).get("ns", [""])[0]
        name, kind, wanted = route["name"], route["kind"], route["object"]
        if status := self.owner.failures.get(f"{namespace or name.partition('/')[0]}/{name}:{wanted}"):
            self._fail(status, "UNAVAILABLE", "injected")
            return
        if kind == "tags":
            self._tags(name, namespace)
            return
        digest = self.owner.find(name, namespace, wanted)
        if digest is None:
            what = ("MANIFEST_UNKNOWN", "manifest unknown") if kind == "manifests" else ("BLOB_UNKNOWN", "blob unknown")
            self._fail(404, *what)
            return
        media_type, data = self.owner.images.content[digest]
        counters[kind] += 1
        if kind == "manifests" and not wanted.startswith("sha256:"):
            counters[f"{namespace}/{name}:{wanted}" if namespace else f"{name}:{wanted}"] += 1
        self._send(200, data, media_type if kind == "manifests" else "application/octet-stream", digest)

    do_HEAD = do_GET  # noqa: N815 - the base class looks for this name

    def _tags(self, name: str, namespace: str) -> None:
        prefix = f"{namespace}/{name}:" if namespace else f"/{name}:"
        tags = sorted(known.rpartition(":")[2] for known in self.owner.images.tags if prefix in f"/{known}")
        self._send(200, json.dumps({"name": name, "tags": tags}).encode(), "application/json")

    def _fail(self, status: int, code: str, message: str) -> None:
        self._send(status, json.dumps({"errors": [{"code": code, "message": message}]}).encode(), "application/json")

    def _send(self, status: int, data: bytes, media_type: str, digest: str = "") -> None:
        start = re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))
        total, first = len(data), int(start[1]) if start else 0
        if status == 200 and 0 < first < total:
            status, data = 206, data[first:]
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{total - 1}/{total}")
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        if digest:
            self.send_header("Docker-Content-Digest", digest)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
            self.owner.counters["bytes"] += len(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


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
