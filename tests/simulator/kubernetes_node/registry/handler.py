# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Handle the requests of one connection to the simulated image registry.

Sources: https://github.com/opencontainers/distribution-spec/blob/main/spec.md and, for authentication,
https://distribution.github.io/distribution/spec/auth/token/.
"""

from __future__ import annotations

import base64
import json
import re
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from simulator.artifacts.faults import ArtifactFault
from simulator.artifacts.handler import pieces
from simulator.kubernetes_node.images import oci

if TYPE_CHECKING:
    from simulator.kubernetes_node.registry.server import SimulatedRegistry, _RegistryHttpServer

_ROUTE = re.compile(r"^/v2/(?P<name>.+?)/(?P<kind>manifests|blobs|tags)/(?P<object>.*)$")
_TOKEN = "eyJ0ZXN0cyI6Im93biJ9"
_PORTAL = b"<!DOCTYPE html><html><body>Please sign in to the network.</body></html>\n"


class RegistryHandler(BaseHTTPRequestHandler):
    """The HTTP request handler of the simulated image registry."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60
    server: _RegistryHttpServer

    @property
    def owner(self) -> SimulatedRegistry:
        """The registry."""
        return self.server.owner

    def do_GET(self) -> None:
        """Send a manifest, a blob, a list of tags or a token."""
        self.owner.count("requests")
        parts = urlsplit(self.path)
        if parts.path == "/token":
            self._token()
            return
        fault = self._fault()
        if not self._admitted() or (fault and self._refuse(fault)):
            return
        if parts.path in ("/v2", "/v2/"):
            self._send(200, b"{}", "application/json")
            return
        route = _ROUTE.match(parts.path)
        if not route:
            self._fail(404, "NAME_UNKNOWN", "repository name not known to registry")
            return
        namespace = parse_qs(parts.query).get("ns", [""])[0]
        name, kind, requested = route["name"], route["kind"], route["object"]
        if self._failing(name, requested, namespace):
            return
        if kind == "tags":
            tags = {"name": name, "tags": self.owner.tags(name, namespace)}
            self._send(200, json.dumps(tags).encode(), "application/json")
        else:
            self._content(name, namespace, kind, requested, fault)

    do_HEAD = do_GET  # noqa: N815 - the base class looks for this name

    def _content(self, name: str, namespace: str, kind: str, requested: str, fault: ArtifactFault | None) -> None:
        digest = self.owner.find(name, namespace, requested)
        if digest is None:
            what = ("MANIFEST_UNKNOWN", "manifest unknown") if kind == "manifests" else ("BLOB_UNKNOWN", "blob unknown")
            self._fail(404, *what)
            return
        media_type, data = self.owner.images.content[digest]
        if self.command == "GET":
            self.owner.count(kind)
        if kind == "manifests" and not requested.startswith("sha256:"):
            self.owner.count(f"{namespace}/{name}:{requested}" if namespace else f"{name}:{requested}")
        if fault and fault.kind == "wrong":
            data = bytes(byte ^ 0x5A for byte in data)
        elif fault and fault.kind == "truncated":
            data = data[: fault.at]
        self._send(200, data, media_type if kind == "manifests" else "application/octet-stream", digest, fault)

    # -- faults and authentication

    def _fault(self) -> ArtifactFault | None:
        parts = urlsplit(self.path)
        namespace = parse_qs(parts.query).get("ns", [""])[0]
        return self.owner.faults.take(self.command, f"/{namespace}{parts.path}" if namespace else parts.path)

    def _refuse(self, fault: ArtifactFault) -> bool:
        """Wait or send a response as a fault requires, and return whether a response was sent."""
        if fault.kind == "silence":
            time.sleep(fault.seconds)
        elif fault.kind == "status":
            headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
            code = {429: "TOOMANYREQUESTS", 401: "UNAUTHORIZED", 404: "MANIFEST_UNKNOWN"}.get(
                fault.status, "UNAVAILABLE"
            )
            self._fail(fault.status, code, "injected", **headers)
            return True
        elif fault.kind in ("loop", "redirect"):
            self._fail(307, "UNSUPPORTED", "elsewhere", Location=self.path if fault.kind == "loop" else fault.location)
            return True
        elif fault.kind == "html":
            self._send(200, _PORTAL, "text/html")
            return True
        return False

    def _admitted(self) -> bool:
        """Return whether the client is authorized. If it is not, also send an error response."""
        owner = self.owner
        basic = "Basic " + base64.b64encode(owner.user.encode()).decode()
        expected = basic if owner.auth == "basic" else f"Bearer {_TOKEN}"
        if not owner.user or self.headers.get("Authorization") == expected:
            return True
        challenge = 'Basic realm="registry"'
        if owner.auth == "bearer":
            route = _ROUTE.match(urlsplit(self.path).path)
            scope = f',scope="repository:{route["name"]}:pull,push"' if route else ""
            challenge = f'Bearer realm="{owner.url}/token",service="registry"{scope}'
        self._fail(401, "UNAUTHORIZED", "authentication required", **{"WWW-Authenticate": challenge})
        return False

    def _token(self) -> None:
        expected = "Basic " + base64.b64encode(self.owner.user.encode()).decode()
        if self.headers.get("Authorization") != expected:
            self._fail(401, "UNAUTHORIZED", "incorrect username or password")
            return
        self.owner.count("tokens")
        self._send(200, json.dumps({"token": _TOKEN, "expires_in": 300}).encode(), "application/json")

    # -- writing

    def do_POST(self) -> None:
        """Start the upload of a blob."""
        self._body()
        if self._admitted():
            self._answer(202, {"Location": f"{urlsplit(self.path).path.rstrip('/')}/1"})

    def do_PUT(self) -> None:
        """Store a blob or a manifest."""
        data = self._body()
        parts = urlsplit(self.path)
        route = _ROUTE.match(parts.path)
        if not self._admitted():
            return
        if not route:
            self._fail(404, "NAME_UNKNOWN", "repository name not known to registry")
            return
        if self._failing(route["name"], route["object"]):
            return
        digest = oci.digest_of(data)
        if route["kind"] == "blobs":
            if parse_qs(parts.query).get("digest") != [digest]:
                self._fail(400, "DIGEST_INVALID", "provided digest did not match uploaded content")
                return
            self.owner.images.content[digest] = ("application/octet-stream", data)
        else:
            self.owner.images.content[digest] = (self.headers.get("Content-Type", oci.MANIFEST), data)
            if not route["object"].startswith("sha256:"):
                self.owner.tag(route["name"], route["object"], digest)
        self.owner.count("pushed")
        self._answer(201, {"Docker-Content-Digest": digest, "Location": parts.path})

    def _failing(self, name: str, requested: str, namespace: str = "") -> bool:
        """Send an error response if the registry is configured to fail for an image. Return whether one was sent."""
        status = self.owner.failures.get(f"{namespace or name.partition('/')[0]}/{name}:{requested}")
        if status:
            self._fail(status, "UNAVAILABLE", "injected")
        return bool(status)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    # -- responses

    def _fail(self, status: int, code: str, message: str, **headers: str) -> None:
        body = json.dumps({"errors": [{"code": code, "message": message}]}).encode()
        self._answer(status, {"Content-Type": "application/json", **headers}, body)

    def _answer(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send(
        self, status: int, data: bytes, media_type: str, digest: str = "", fault: ArtifactFault | None = None
    ) -> None:
        kind = fault.kind if fault else ""
        start = re.match(r"bytes=(\d+)-", self.headers.get("Range", "")) if kind != "no-range" else None
        total, first = len(data), int(start[1]) if start else 0
        if first >= total > 0:
            self._answer(416, {"Content-Range": f"bytes */{total}"})
            return
        if status == 200 and first:
            status, data = 206, data[first:]
        if fault and kind == "cut" and fault.at < 0:
            self.close_connection = True
            return
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{total - 1}/{total}")
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        if digest:
            self.send_header("Docker-Content-Digest", digest)
        self.end_headers()
        if self.command == "HEAD":
            return
        sent = 0
        with self.owner.sending():
            for piece in pieces(data, fault, self.owner.rate):
                self.owner.count("bytes", by=len(piece))
                self.wfile.write(piece)
                sent += len(piece)
        if sent < len(data):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Log nothing."""
