# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pulling container images over HTTP(S): mirrors of hosts.toml, proxies of the environment, the entry for the build.

https://github.com/containerd/containerd/blob/main/docs/hosts.md. A simulated node finds names as its other programs do
(`windows/names.py`): the settings `hosts` and `internet` of the fleet file.
"""

from __future__ import annotations

import http.client
import json
import ssl
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from simulator.kubernetes_node import oci
from simulator.kubernetes_node.image_store import K8S, Image, ImageStore
from simulator.windows.names import resolve

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ACCEPT = ", ".join((oci.DOCKER_MANIFEST, oci.DOCKER_LIST, oci.MANIFEST, oci.INDEX, "*/*"))


class PullError(Exception):
    """A pull that failed; the text is containerd's."""


@dataclass(frozen=True)
class Endpoint:
    """A place to pull from.

    Parameters:
        url: `http://127.0.0.1:5000` and perhaps a path.
        mirror: whether the original host's name is sent as `?ns=`.
        override_path: whether the path of `url` already stands for `/v2`.
    """

    url: str
    mirror: bool = False
    skip_verify: bool = False
    ca: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    override_path: bool = False


def endpoints(machine: Machine, host: str, config_paths: Sequence[str], *, plain_http: bool = False,
              mirrors: Mapping[str, Sequence[str]] | None = None) -> list[Endpoint]:  # fmt: skip
    """Return where an image of a registry host is pulled from, in order; the host itself comes last.

    Parameters:
        host: as in the image's name.
        config_paths: folders of hosts.toml.
        plain_http: `ctr --plain-http`.
        mirrors: containerd's old registry.mirrors.

    Raises: PullError if a hosts.toml cannot be read.
    """
    address = "registry-1.docker.io" if host == "docker.io" else host
    local = address.partition(":")[0] in ("localhost", "127.0.0.1", "::1")
    scheme = "http" if plain_http or (local and ":" in address) else "https"
    own = Endpoint(f"{scheme}://{address}")
    for folder in config_paths:
        for name in (host.replace(":", "_") + "_" if ":" in host else host, host.replace(":", "_"), "_default"):
            path = f"{folder}\\{name}\\hosts.toml"
            if machine.files.is_file(path):
                return _hosts(machine, path, own)
    if mirrors and not config_paths:
        wanted = mirrors.get(host, mirrors.get("*", ()))
        return [*(Endpoint(url.rstrip("/"), mirror=True) for url in wanted), own]
    return [own]


def _hosts(machine: Machine, path: str, own: Endpoint) -> list[Endpoint]:
    folder = path.rpartition("\\")[0]
    try:
        document = tomllib.loads(machine.files.read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise PullError(f"failed to load hosts.toml: failed to parse TOML: {error}") from error
    found: list[Endpoint] = []
    for url, about in document.get("host", {}).items():
        capabilities = about.get("capabilities", ["pull", "resolve", "push"])
        if "pull" in capabilities and "resolve" in capabilities:
            found.append(_endpoint(url, about, folder, mirror=True))
    server = str(document.get("server", "") or own.url)
    return [*found, _endpoint(server, document, folder, mirror=urlsplit(server).netloc != urlsplit(own.url).netloc)]


def _endpoint(url: str, about: Mapping[str, Any], folder: str, mirror: bool) -> Endpoint:
    authority = about.get("ca", [])
    names = [authority] if isinstance(authority, str) else list(authority)
    paths = tuple(name if ":" in name else f"{folder}\\{name}" for name in names)
    full = url if "://" in url else f"https://{url}"
    headers = {
        name: str(value[0] if isinstance(value, list) else value) for name, value in about.get("header", {}).items()
    }
    return Endpoint(
        full.rstrip("/"), mirror, bool(about.get("skip_verify")), paths, headers, bool(about.get("override_path"))
    )


class Puller:
    """One pull.

    Parameters:
        machine: whose network and files are used.
        environment: of the process that pulls; its proxies count.
    """

    def __init__(self, machine: Machine, environment: Mapping[str, str]) -> None:
        self._machine = machine
        self._environment = {name.casefold(): value for name, value in environment.items()}
        self.bytes = 0

    def fetch(self, places: Sequence[Endpoint], reference: oci.Reference, kind: str, wanted: str) -> tuple[str, bytes]:
        """Return (media type, content) of a manifest or blob from the first place that has it. Raises PullError."""
        problem = ""
        for place in places:
            base = place.url if place.override_path else _with_v2(place.url)
            url = f"{base}/{reference.path}/{kind}/{wanted}"
            if place.mirror:
                url += f"?ns={reference.host}"
            try:
                status, headers, data = self._get(url, place)
            except OSError as error:
                problem = f'failed to do request: Head "{url}": {_network_text(error, url)}'
                continue
            if status == 200:
                self.bytes += len(data)
                return headers.get("content-type", "").partition(";")[0], data
            problem = f"unexpected status from GET request to {url}: {status} {http.client.responses.get(status, '')}"
            if status == 404:
                problem = f"{reference}: not found"
        raise PullError(problem or f"{reference}: no hosts to pull from")

    def _get(self, url: str, place: Endpoint) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        proxy = self._proxy(parts.scheme, parts.hostname or "")
        context = self._context(place) if parts.scheme == "https" else None
        connection: http.client.HTTPConnection
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        if proxy:
            through = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
            entry = self._address(through.hostname or ""), through.port or 80
            if context:
                connection = http.client.HTTPSConnection(*entry, timeout=30, context=context)
                connection.set_tunnel(parts.hostname or "", port)
            else:
                connection, path = http.client.HTTPConnection(*entry, timeout=30), url
        elif context:
            connection = _Pinned(parts.hostname or "", port, self._address(parts.hostname or ""), context)
        else:
            connection = http.client.HTTPConnection(self._address(parts.hostname or ""), port, timeout=30)
        try:
            connection.request("GET", path, headers={"Host": parts.netloc, "Accept": _ACCEPT, **place.headers})
            answer = connection.getresponse()
            return answer.status, {name.casefold(): value for name, value in answer.getheaders()}, answer.read()
        except http.client.HTTPException as error:
            raise OSError(str(error) or "EOF") from error
        finally:
            connection.close()

    def _address(self, name: str) -> str:
        found = resolve(self._machine, name)
        if not found:
            raise OSError(f"dial tcp: lookup {name}: no such host")
        return found[0]

    def _proxy(self, scheme: str, host: str) -> str:
        """Return the proxy for a host, by the rules of Go's ProxyFromEnvironment."""
        proxy = self._environment.get(f"{scheme}_proxy", "")
        if not proxy or host == "localhost" or host.startswith("127."):
            return ""
        for entry in self._environment.get("no_proxy", "").split(","):
            name = entry.strip().casefold().partition(":")[0]
            if name == "*" or (
                name and (host.casefold() == name.lstrip(".") or host.casefold().endswith("." + name.lstrip(".")))
            ):
                return ""
        return proxy

    def _context(self, place: Endpoint) -> ssl.SSLContext:
        context = ssl.create_default_context()
        for path in place.ca:
            context.load_verify_locations(cadata=self._machine.files.read_text(path))
        if place.skip_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


class _Pinned(http.client.HTTPSConnection):
    """HTTPS to an address, with the certificate checked against the name."""

    def __init__(self, name: str, port: int, address: str, context: ssl.SSLContext) -> None:
        super().__init__(name, port, timeout=30, context=context)
        self._pin = (address, port)
        self._name, self._tls = name, context

    def connect(self) -> None:
        """Connect to the address that the node knows."""
        import socket

        self.sock = self._tls.wrap_socket(socket.create_connection(self._pin, 30), server_hostname=self._name)


def _with_v2(url: str) -> str:
    return url if url.rstrip("/").endswith("/v2") else f"{url.rstrip('/')}/v2"


def _network_text(error: OSError, url: str) -> str:
    netloc = urlsplit(url).netloc
    if isinstance(error, ConnectionRefusedError):
        return (
            f"dial tcp {netloc}: connectex: No connection could be made because the target machine actively refused it."
        )
    if isinstance(error, TimeoutError):
        return f"dial tcp {netloc}: i/o timeout"
    if isinstance(error, ssl.SSLError):
        return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    return str(error)


@dataclass(frozen=True)
class PullOptions:
    """How an image is taken: for which build, and whether its layers stay."""

    build: int
    exact: bool
    discard_layers: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str = K8S


def pull(store: ImageStore, puller: Puller, places: Sequence[Endpoint], reference: oci.Reference, options: PullOptions,
         alive: Callable[[], None] = lambda: None) -> tuple[Image, dict[str, Any]]:  # fmt: skip
    """Pull an image: its index, the manifest for the build, configuration and layers; then unpack it.

    Parameters:
        alive: called before each write; raises when the process must end.

    Returns: the image in the store, and the manifest of the build.
    Raises: PullError.
    """
    try:
        media_type, data = puller.fetch(places, reference, "manifests", reference.object)
    except PullError as error:
        raise PullError(f'failed to resolve reference "{reference}": {error}') from error
    digest = oci.digest_of(data)
    if reference.digest and reference.digest != digest:
        raise PullError(f"unexpected digest {digest} of {reference}: failed precondition")
    alive()
    _keep(store, digest, data)
    document = _json(data)
    target = {"mediaType": document.get("mediaType") or media_type, "digest": digest, "size": len(data)}
    if "manifests" in document:
        entry = oci.best(list(document["manifests"]), options.build, options.exact)
        if entry is None:
            where = "" if options.exact else f" {digest}"
            raise PullError(f"no match for platform in manifest{where}: not found")
        _, data = puller.fetch(places, reference, "manifests", entry["digest"])
        _keep(store, str(entry["digest"]), data)
        document = _json(data)
    config = document["config"]
    if not store.has(config["digest"]):
        _keep(store, config["digest"], puller.fetch(places, reference, "blobs", config["digest"])[1])
    platform = store.document(config["digest"])
    if not oci.matches(platform, options.build, options.exact):
        raise PullError(f"no match for platform in manifest {digest}: not found")
    for layer in document.get("layers", []) if not store.unpacked(document) else []:
        if not store.has(layer["digest"]):
            alive()
            _keep(store, layer["digest"], puller.fetch(places, reference, "blobs", layer["digest"])[1])
    alive()
    name = str(reference)
    known = store.get(name, options.namespace)
    image = Image(name, target, {**(known.labels if known else {}), **options.labels})
    store.put(image, options.namespace)
    store.unpack(document, options.discard_layers)
    return image, document


def _keep(store: ImageStore, digest: str, data: bytes) -> None:
    try:
        store.write(digest, data)
    except ValueError as error:
        raise PullError(f"failed to commit: {error}") from error


def _json(data: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(data)
    except ValueError as error:
        raise PullError(f"failed to unmarshal manifest: {error}") from error
    return found
