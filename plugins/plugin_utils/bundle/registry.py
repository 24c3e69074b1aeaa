# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read container images from registries through the OCI distribution API, with basic or token authentication.

Sources: github.com/opencontainers/distribution-spec for the API,
distribution.github.io/distribution/spec/auth/token for tokens, and containerd's docs/hosts.md for the `ns` query
parameter of mirrors.
"""

from __future__ import annotations

import base64
import dataclasses
import pathlib
import re
import threading
import typing as t
import urllib.parse

from ..values.errors import refusal
from ..values.image_reference import ImageReference
from . import images
from .fetch import Checksum, Fetcher, FetchError, FetchSource
from .images import Descriptor, Manifest
from .index import BundleError

_ACCEPT = ", ".join((*images.INDEXES, *images.MANIFESTS))
_PARAMETER = re.compile(r'([a-zA-Z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_PEM = "-----BEGIN CERTIFICATE-----"
_DOCKER = ("docker.io", "registry-1.docker.io")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegistryEndpoint:
    """The URL and the settings of a registry or of a mirror."""

    url: str
    username: str = dataclasses.field(default="", repr=False)
    password: str = dataclasses.field(default="", repr=False)
    headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    ca: str = ""
    """CA certificates in PEM. If empty, the default of `FetchSource.ca` applies."""
    verify: bool = True
    override_path: bool = False
    """Whether to use the URL's path as it is, without appending `/v2`."""
    mirror: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Image:
    """A container image as a registry describes it."""

    top: Descriptor
    manifests: t.Mapping[str, tuple[Manifest, ...]]
    """Maps each version of Windows Server to the manifests for it, the best match first. The tuple is empty if nothing
    matches."""
    documents: t.Mapping[str, bytes]
    """Maps digests to the bytes of the index (if there is one) and of the manifests."""


class RegistryClient:
    """A client that reads container images from the endpoints of a registry host.

    Args:
        fetcher: the object that sends the requests.
        endpoints: the endpoints, in the order in which to try them.
        proxy: see `FetchSource.proxy`.
        no_proxy: see `FetchSource.no_proxy`.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        endpoints: t.Sequence[RegistryEndpoint],
        *,
        proxy: str | None = None,
        no_proxy: tuple[str, ...] = (),
    ) -> None:
        self._fetcher, self._endpoints = fetcher, endpoints
        self._proxy, self._no_proxy = proxy, no_proxy
        self._answers: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def image(self, name: str, windows: t.Sequence[str], digest: str = "") -> Image:
        """Read the manifests of a container image.

        Args:
            name: the image's full reference.
            windows: the versions of Windows Server for which to return manifests.
            digest: a digest (`sha256:…`) to request instead of the tag, which may point to another image by now.

        Raises:
            BundleError: no endpoint has the image, or its manifests are malformed.
        """
        ref = images.reference(name)
        documents: dict[str, bytes] = {}
        top, described = self._document(ref, digest or ref.version, name, documents)
        if not images.is_index(described):
            one = self._own_platform(ref, images.manifest(top, described, name), name)
            alone: dict[str, tuple[Manifest, ...]] = {}
            for version in windows:
                alone[version] = (one,) if images.fits(one.own.platform, version) else ()
            return Image(top=top, manifests=alone, documents=documents)
        if not isinstance(described["manifests"], list):
            raise BundleError(f"{name}: expected a list of manifests from the registry, got something else")
        entries = [images.descriptor(entry, name) for entry in described["manifests"]]
        chosen = {version: images.supported_entries(entries, version) for version in windows}
        read: dict[str, Manifest] = {}
        for entry in (entry for entries in chosen.values() for entry in entries):
            if entry.digest not in read:
                dummy, text = self._document(ref, entry.digest, name, documents)
                read[entry.digest] = images.manifest(entry, text, name)
        fit = {version: tuple(read[entry.digest] for entry in entries) for version, entries in chosen.items()}
        return Image(top=top, manifests=fit, documents=documents)

    def blob(self, name: str, blob: Descriptor, target: pathlib.Path) -> None:
        """Download a blob to a file.

        Raises:
            BundleError: no endpoint and no URL in the descriptor delivers the blob.
        """
        ref = images.reference(name)
        checksum = Checksum(algorithm="SHA256", digest=blob.digest.partition(":")[2])

        def fetch(source: FetchSource) -> None:
            self._fetcher.file(source, target, checksum)

        try:
            self._first(ref, "blobs", blob.digest, fetch)
        except BundleError:
            if not blob.urls:
                raise
            self._foreign(name, blob, target, checksum)

    def _foreign(self, name: str, blob: Descriptor, target: pathlib.Path, checksum: Checksum) -> None:
        """Download a foreign layer from the URLs in its descriptor.

        The author of the manifest chose these URLs. So they must not lead the controller into a private network, except
        to the registry's own hosts, and they must use HTTPS if all of the registry's endpoints do.
        Source: descriptor.md in the OCI image specification.
        """
        problems = []
        own = frozenset(urllib.parse.urlsplit(endpoint.url).hostname or "" for endpoint in self._endpoints)
        encrypted = all(endpoint.url.startswith("https://") for endpoint in self._endpoints)
        for url in blob.urls:
            source = FetchSource(url=url, proxy=self._proxy, no_proxy=self._no_proxy, inside=own)
            try:
                if encrypted and not url.startswith("https://"):
                    raise FetchError(url, "a manifest from an HTTPS registry contains a layer URL without HTTPS")
                self._fetcher.file(source, target, checksum)
                return
            except FetchError as problem:
                problems.append(str(problem))
        raise BundleError(f"{name}: layer {blob.digest}: {'; '.join(problems)}")

    def _document(
        self, ref: ImageReference, version: str, name: str, documents: dict[str, bytes]
    ) -> tuple[Descriptor, dict[str, t.Any]]:
        """Download a manifest or an index, and return its descriptor and its parsed content."""
        data, headers = self._first(ref, "manifests", version, self._fetcher.document)
        digest = images.digest_of(data)
        if version.startswith("sha256:") and digest != version:
            raise BundleError(f"{name}: expected {version} from the registry, got {digest}")
        described = images.document(data, name)
        kind = str(described.get("mediaType") or headers.get("Content-Type", "").partition(";")[0].strip())
        documents[digest] = data
        return Descriptor(digest=digest, size=len(data), media_type=kind), described

    def _own_platform(self, ref: ImageReference, one: Manifest, name: str) -> Manifest:
        """Return a manifest that is not part of an index, with the platform from its image configuration."""
        data, dummy = self._first(ref, "blobs", one.config.digest, self._fetcher.document)
        if (digest := images.digest_of(data)) != one.config.digest:
            raise BundleError(
                f"{name}: expected the image configuration {one.config.digest} from the registry, got {digest}"
            )
        config = images.document(data, name)
        platform = {
            key: config[key] for key in ("os", "architecture", "os.version") if isinstance(config.get(key), str)
        }
        return dataclasses.replace(one, own=dataclasses.replace(one.own, platform=platform))

    def _first(self, ref: ImageReference, kind: str, version: str, use: t.Callable[[FetchSource], t.Any]) -> t.Any:
        """Send a request to the endpoints in turn, and return the result of the first successful request."""
        problems = []
        for endpoint in self._endpoints:
            try:
                return self._authorised(endpoint, ref, kind, version, use)
            except FetchError as problem:
                problems.append(str(problem))
        raise BundleError("; ".join(problems))

    def _authorised(
        self,
        endpoint: RegistryEndpoint,
        ref: ImageReference,
        kind: str,
        version: str,
        use: t.Callable[[FetchSource], t.Any],
    ) -> t.Any:
        source = self._source(endpoint, ref, kind, version)
        key = (endpoint.url, ref.path)
        with self._lock:
            known = self._answers.get(key, "")
        try:
            return use(_with(source, known))
        except FetchError as problem:
            if problem.status != 401:
                raise
            challenge = problem.challenge
        # The registry requires authentication, or the token has expired.
        known = self._answer(endpoint, ref, challenge, source)
        with self._lock:
            self._answers[key] = known
        return use(_with(source, known))

    def _source(self, endpoint: RegistryEndpoint, ref: ImageReference, kind: str, version: str) -> FetchSource:
        base = endpoint.url.rstrip("/")
        if not endpoint.override_path and not base.endswith("/v2"):
            base += "/v2"
        url = f"{base}/{ref.path}/{kind}/{version}"
        if endpoint.mirror:
            url += f"?ns={urllib.parse.quote(ref.host)}"
        accept = {"Accept": _ACCEPT} if kind == "manifests" else {}
        return FetchSource(
            url=url,
            headers={**endpoint.headers, **accept},
            proxy=self._proxy,
            no_proxy=self._no_proxy,
            ca=endpoint.ca,
            verify=endpoint.verify,
        )

    def _answer(self, endpoint: RegistryEndpoint, ref: ImageReference, challenge: str, asked: FetchSource) -> str:
        """Return the Authorization header for a registry.

        Raises:
            FetchError: the registry's challenge is not supported, required credentials are missing, or the token
                server returned no token.
            BundleError: the token server did not return a JSON object.
        """
        scheme, parameters = read_challenge(challenge)
        basic = _basic(endpoint)
        if scheme == "basic" and basic:
            return basic
        realm = parameters.get("realm", "")
        if endpoint.url.startswith("https://") and realm.startswith("http://"):
            raise FetchError(
                asked.url, "the registry names a token server without HTTPS, but credentials require HTTPS", 403
            )
        if scheme != "bearer" or not realm.startswith(("http://", "https://")):
            why = (
                "it requires a username and password (container_runtime_registries)"
                if scheme == "basic"
                else "HTTP 401"
            )
            raise FetchError(asked.url, why, 403)
        query = {"scope": parameters.get("scope") or f"repository:{ref.path}:pull"}
        if parameters.get("service"):
            query["service"] = parameters["service"]
        url = f"{realm}{'&' if '?' in realm else '?'}{urllib.parse.urlencode(query)}"
        headers = {"Authorization": basic} if basic else {}
        source = dataclasses.replace(asked, url=url, headers=headers)
        data, dummy = self._fetcher.document(source)
        parsed = images.document(data, ref.host)
        token = parsed.get("token") or parsed.get("access_token")
        if not isinstance(token, str) or not token.isprintable():
            raise FetchError(url, "the token server returned no token", 403)
        return f"Bearer {token}"


def endpoints(host: str, registries: t.Mapping[str, t.Any]) -> list[RegistryEndpoint]:
    """Return the endpoints of a registry host, its mirrors first.

    Args:
        host: the host in the reference.
        registries: `container_runtime_registries`, which maps hosts to entries. An entry has `server` and `mirrors`
            (URLs, or mappings with `url`). `username`, `password`, `headers`, `ca`, `skip_verify` and `override_path`
            apply to the server if they are in the entry, and to a mirror if they are in its mapping. The entry
            `_default` is for hosts without an entry, as in containerd (docs/hosts.md).

    Raises:
        BundleError: an entry has an invalid URL or CA certificate.
    """
    own = registries[host] if host in registries else registries.get("_default")
    own = own or {}
    address = _DOCKER[1] if host == _DOCKER[0] else host
    local = address.partition(":")[0] in ("localhost", "127.0.0.1") and ":" in address
    servers = []
    mirrors = own.get("mirrors") or ()
    # A single mirror does not have to be in a list.
    for mirror in [mirrors] if isinstance(mirrors, (str, t.Mapping)) else mirrors:
        about = mirror if isinstance(mirror, t.Mapping) else {"url": mirror}
        servers.append(_endpoint(host, str(about.get("url") or ""), about, mirror=True))
    server = str(own.get("server") or f"{'http' if local else 'https'}://{address}")
    servers.append(_endpoint(host, server, own, mirror=_host(server) not in (host, address)))
    return servers


def _endpoint(host: str, url: str, about: t.Mapping[str, t.Any], *, mirror: bool) -> RegistryEndpoint:
    full = url if "://" in url else f"https://{url}"
    if not full.startswith(("http://", "https://")) or not _host(full):
        raise BundleError(refusal(f"container_runtime_registries.{host}", url, "expected an http or https URL"))
    verify = not about.get("skip_verify", False)
    return RegistryEndpoint(
        url=full,
        username=str(about.get("username") or ""),
        password=str(about.get("password") or ""),
        headers={str(name): _text(value) for name, value in (about.get("headers") or {}).items()},
        ca=_authorities(host, about.get("ca")) if verify else "",
        verify=verify,
        override_path=bool(about.get("override_path", False)),
        mirror=mirror,
    )


def _authorities(host: str, given: t.Any) -> str:
    """Return all CA certificates as a single PEM string.

    Raises:
        BundleError: a value is not a certificate in PEM, for example because it is a path on the node.
    """
    texts = [str(text) for text in ([given] if isinstance(given, str) else given or []) if text]
    for text in texts:
        if _PEM not in text:
            raise BundleError(
                f"container_runtime_registries: {host}: expected ca as a certificate in PEM ({_PEM}…), got {text!r}. "
                "The bundle is built on the controller, which cannot read a path on the node; nodes accept PEM too"
            )
    return "".join(f"{text.strip()}\n" for text in texts)


def _text(value: t.Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _host(url: str) -> str:
    try:
        return urllib.parse.urlsplit(url).netloc
    except ValueError:
        return ""


def _basic(endpoint: RegistryEndpoint) -> str:
    if not endpoint.username:
        return ""
    pair = f"{endpoint.username}:{endpoint.password}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"


def _with(source: FetchSource, authorization: str) -> FetchSource:
    if not authorization:
        return source
    return dataclasses.replace(source, headers={**source.headers, "Authorization": authorization})


def read_challenge(header: str) -> tuple[str, dict[str, str]]:
    """Return the scheme (in lower case) and the parameters (by lower-case name) of a WWW-Authenticate header."""
    scheme, dummy, rest = header.strip().partition(" ")
    parameters = {}
    for name, quoted, plain in _PARAMETER.findall(rest):
        parameters[name.lower()] = _unescaped(quoted) if quoted else plain
    return scheme.lower(), parameters


def _unescaped(text: str) -> str:
    """Return the content of a quoted string without its escaping backslashes."""
    return re.sub(r"\\(.)", r"\1", text)
