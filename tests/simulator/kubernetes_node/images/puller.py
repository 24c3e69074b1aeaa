# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pull container images: select the index entry for the Windows build, download blobs, and unpack layers.

Sources: containerd client/pull.go and fetch.go; core/remotes/docker/{resolver,fetcher,httpreadseeker}.go. A HEAD
request to hosts with the `pull` and `resolve` capabilities resolves a tag, and hosts with the `pull` capability serve
the content by digest. If a body ends early, the rest is requested again, until 4 requests in a row return nothing.
A download continues the ingest that an earlier download left (core/content/helpers.go, Copy).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.registry_client import (
    PullError,
    RegistryAccess,
    RegistryClient,
    RegistryResponse,
    UnexpectedEndError,
    registry_errors,
    request_url,
)
from simulator.kubernetes_node.images.registry_hosts import RegistryEndpoint, endpoints
from simulator.kubernetes_node.images.store import K8S, ImageStore, StoredImage
from simulator.kubernetes_node.programs import contracts
from simulator.machine.files import DiskFullError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

__all__ = ["PullError", "PullOptions", "Puller", "RegistryAccess", "RegistryEndpoint", "endpoints", "pull"]

_WITHOUT_PROGRESS = 3


class Puller:
    """The client that downloads container images from registries.

    Args:
        machine: the machine whose network and files are used.
        environment: the environment variables of the pulling process, which may configure proxies.
        credentials: `user:password`; empty for anonymous access.
        stop: an event that is set when the pulling process must end.
        version: the version of containerd that pulls the image, or of the containerd packages in the pulling program.
    """

    def __init__(self, machine: Machine, environment: Mapping[str, str], credentials: str = "",
                 stop: threading.Event | None = None, *, version: str = "2.1") -> None:  # fmt: skip
        self._is_new = contracts.at_least(version, "2.1")
        self._client = RegistryClient(
            machine, environment, RegistryAccess(credentials), stop, retry_last_host=self._is_new
        )

    def resolve(self, places: Sequence[RegistryEndpoint], reference: oci.ImageReference) -> tuple[str, str]:
        """Return the media type and the digest to which an image reference resolves.

        Raises:
            PullError: no registry resolves the reference.
        """
        requested = ("pull",) if reference.digest else ("pull", "resolve")
        asked = [place for place in places if set(requested) <= set(place.capabilities)]
        if not asked:
            raise PullError(f"no {'pull' if reference.digest else 'resolve'} hosts: not found")
        first: PullError | None = None
        for place in asked:
            try:
                answer = self._ask(place, "HEAD", reference, "manifests", reference.object, last=place is asked[-1])
                if answer.status == 405:
                    answer = self._ask(place, "GET", reference, "manifests", reference.object, last=place is asked[-1])
                return self._resolved(answer, reference, place)
            except PullError as error:
                # A host that lacks the image is less informative than one with another error.
                first = error if first is None or _missing(first) else first
        assert first is not None
        raise first

    def _resolved(
        self, answer: RegistryResponse, reference: oci.ImageReference, place: RegistryEndpoint
    ) -> tuple[str, str]:
        with answer_closed(answer):
            if answer.status == 404:
                raise PullError(f"{reference}: not found")
            if answer.status > 299:
                url = request_url(place, _path(place, reference, "manifests", reference.object))
                message = f"unexpected status from HEAD request to {url}: {answer.status_text()}"
                denied = "pull access denied, repository does not exist or may require authorization: "
                raise PullError((denied if answer.status in (401, 403) else "") + message)
            media_type = answer.headers.get("content-type", "").partition(";")[0]
            digest = answer.headers.get("docker-content-digest", "") or oci.digest_of(answer.read())
        return media_type, reference.digest or digest

    def fetch(
        self, places: Sequence[RegistryEndpoint], reference: oci.ImageReference, kind: str, requested: str
    ) -> tuple[str, bytes]:
        """Return the media type and the content of a manifest or a small blob.

        Raises:
            PullError: a registry rejects a request, or the download fails.
        """
        answer = self._open(places, reference, kind, requested, 0)
        data = answer.read()
        return answer.headers.get("content-type", "").partition(";")[0], data

    def transfer(
        self,
        store: ImageStore,
        places: Sequence[RegistryEndpoint],
        reference: oci.ImageReference,
        kind: str,
        digest: str,
        alive: Callable[[], None],
    ) -> None:
        """Download a blob or manifest to the store, continuing an earlier download if there is one.

        Raises:
            PullError: a registry rejects a request, or the download fails.
        """
        with store.writing(digest):
            if store.has(digest):
                return
            try:
                store.append(digest, self._pieces(places, reference, kind, digest, store.ingested(digest), alive))
            except DiskFullError as error:
                path = store.ingest_path(digest)
                raise PullError(f"failed to copy: write {path}: There is not enough space on the disk.") from error
            alive()
            try:
                store.commit(digest)
            except ValueError as error:
                raise PullError(f'failed commit on ref "layer-{digest}": {error}') from error

    def _pieces(
        self,
        places: Sequence[RegistryEndpoint],
        reference: oci.ImageReference,
        kind: str,
        digest: str,
        offset: int,
        alive: Callable[[], None],
    ) -> Iterator[bytes]:
        idle = 0
        while True:
            came = False
            try:
                answer = self._open(places, reference, kind, digest, offset)
            except PullError as error:
                raise PullError(f"failed to copy: httpReadSeeker: failed open: {error}") from error
            try:
                for piece in _from(answer, offset):
                    alive()
                    came = True
                    offset += len(piece)
                    yield piece
                return
            except UnexpectedEndError as error:
                idle = 0 if came else idle + 1
                if idle > _WITHOUT_PROGRESS:
                    raise PullError(f"failed to copy: {error}") from error

    def _open(
        self, places: Sequence[RegistryEndpoint], reference: oci.ImageReference, kind: str, requested: str, offset: int
    ) -> RegistryResponse:
        asked = [place for place in places if "pull" in place.capabilities]
        if not asked:
            raise PullError("no pull hosts: not found")
        first: PullError | None = None
        for place in asked:
            try:
                answer = self._ask(place, "GET", reference, kind, requested, last=place is asked[-1], offset=offset)
            except PullError as error:
                first = first or error
                continue
            if answer.status < 300 or (offset and answer.status == 416):
                return answer
            url = request_url(place, _path(place, reference, kind, requested))
            message = self._unexpected(url, answer)
            first = first or PullError(f"content at {url} not found: not found" if answer.status == 404 else message)
        assert first is not None
        raise first

    def _unexpected(self, url: str, answer: RegistryResponse) -> str:
        """Return the given containerd version's message for a failed download, including the registry's errors."""
        errors = registry_errors(answer)
        if self._is_new:
            return f"unexpected status from GET request to {url}: {answer.status_text()}" + (errors and f"\n{errors}")
        message = f"unexpected status code {url}: {answer.status_text()}"
        return message + (errors and f" - Server message: {errors}")

    def _ask(
        self,
        place: RegistryEndpoint,
        method: str,
        reference: oci.ImageReference,
        kind: str,
        requested: str,
        *,
        last: bool,
        offset: int = 0,
    ) -> RegistryResponse:
        path = _path(place, reference, kind, requested)
        return self._client.ask(place, method, path, last=last, offset=offset)


def _path(place: RegistryEndpoint, reference: oci.ImageReference, kind: str, requested: str) -> str:
    return f"{reference.path}/{kind}/{requested}" + (f"?ns={reference.host}" if place.mirror else "")


@contextlib.contextmanager
def answer_closed(answer: RegistryResponse) -> Iterator[None]:
    """Close a response's connection at the end of the `with` block."""
    try:
        yield
    finally:
        answer.stream.close()


def _missing(error: PullError) -> bool:
    return str(error).endswith(": not found")


def _from(answer: RegistryResponse, offset: int) -> Iterator[bytes]:
    """Yield a response's body from an offset on, even if the server ignores the range and sends the whole body."""
    if answer.status == 416:
        answer.stream.close()
        return
    skip = offset if answer.status == 200 else 0
    for piece in answer.pieces():
        rest = piece[skip:]
        skip = max(0, skip - len(piece))
        if rest:
            yield rest


@dataclass(frozen=True)
class PullOptions:
    """The options of a pull: the build, and which parts are downloaded and kept.

    Args:
        build: the Windows build by which the entry of an index is selected.
        exact: whether the image must have exactly this build.
        discard_layers: whether to delete the layers after they are unpacked.
        labels: labels to add to the image.
        namespace: containerd's namespace for the image's name.
        metadata_only: whether to download the index, manifests and configurations of all platforms, without layers
            (`ctr content fetch --metadata-only`).
        unpack: whether to unpack the layers.
    """

    build: int
    exact: bool
    discard_layers: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str = K8S
    metadata_only: bool = False
    unpack: bool = True


def pull(
    store: ImageStore,
    puller: Puller,
    places: Sequence[RegistryEndpoint],
    reference: oci.ImageReference,
    options: PullOptions,
    alive: Callable[[], None] = lambda: None,
) -> tuple[StoredImage, dict[str, Any]]:
    """Download an image's index, and the manifest, configuration and layers for a Windows build.

    Unpack the layers if `options.unpack` is set.

    Args:
        store: the store to which the image is downloaded.
        puller: the client that sends the requests.
        places: the endpoints to try, in this order.
        reference: the image's name.
        options: the options of the pull.
        alive: a function that is called before each write. It raises an exception if the process must end.

    Returns:
        The image in the store, and the manifest for the build (with `metadata_only`, the document that the name refers
        to: an index or a manifest).

    Raises:
        PullError: the pull failed.
    """
    try:
        media_type, digest = puller.resolve(places, reference)
    except PullError as error:
        raise PullError(f'failed to resolve reference "{reference}": {error}') from error
    with store.lease():
        fetch = _Fetch(store, puller, places, reference, alive)
        document = fetch.manifest(digest)
        target = {
            "mediaType": document.get("mediaType") or media_type,
            "digest": digest,
            "size": len(store.read(digest)),
        }
        if options.metadata_only:
            fetch.metadata(document)
        else:
            document = _build(fetch, document, digest, options)
        alive()
        name = str(reference)
        known = store.get(name, options.namespace)
        image = StoredImage(name, target, {**(known.labels if known else {}), **options.labels})
        store.put(image, options.namespace)
        if options.unpack and not options.metadata_only:
            unpack(store, document, options.discard_layers)
    return image, document


def _build(fetch: _Fetch, document: dict[str, Any], digest: str, options: PullOptions) -> dict[str, Any]:
    """Download the parts of an image for a Windows build, and return the manifest.

    Raises:
        PullError: the image has no manifest for the build, a registry rejects a request, or the download fails.
    """
    store = fetch.store
    if "manifests" in document:
        entry = oci.best(list(document["manifests"]), options.build, options.exact)
        if entry is None:
            where = "" if options.exact else f" {digest}"
            raise PullError(f"no match for platform in manifest{where}: not found")
        document = fetch.manifest(entry["digest"])
    fetch.blob(document["config"]["digest"])
    platform = store.document(document["config"]["digest"])
    if not oci.matches(platform, options.build, options.exact):
        raise PullError(f"no match for platform in manifest {digest}: not found")
    for layer in document.get("layers", []) if not store.unpacked(document) else []:
        fetch.blob(layer["digest"])
    return document


def unpack(store: ImageStore, document: Mapping[str, Any], discard_layers: bool) -> None:
    """Unpack an image's layers.

    Raises:
        PullError: a layer is missing or invalid, or the drive is full.
    """
    try:
        store.unpack(document, discard_layers)
    except DiskFullError as error:
        layer = next(iter(document.get("layers", [])), document["config"])["digest"]
        message = "hcsshim::ImportLayer failed in Win32: There is not enough space on the disk. (0x70): unknown"
        raise PullError(f"failed to extract layer {layer}: {message}") from error
    except ValueError as error:
        raise PullError(str(error)) from error


@dataclass
class _Fetch:
    """The downloads that one pull makes into the store."""

    store: ImageStore
    puller: Puller
    places: Sequence[RegistryEndpoint]
    reference: oci.ImageReference
    alive: Callable[[], None]

    def manifest(self, digest: str) -> dict[str, Any]:
        """Download a manifest or index, and return it.

        Raises:
            PullError: a registry rejects a request, or the download fails.
        """
        self.puller.transfer(self.store, self.places, self.reference, "manifests", digest, self.alive)
        try:
            return self.store.document(digest)
        except ValueError as error:
            raise PullError(f"failed to unmarshal manifest: {error}") from error

    def blob(self, digest: str) -> None:
        """Download a configuration or a layer.

        Raises:
            PullError: a registry rejects a request, or the download fails.
        """
        self.puller.transfer(self.store, self.places, self.reference, "blobs", digest, self.alive)

    def metadata(self, document: Mapping[str, Any]) -> None:
        """Download all manifests and configurations to which an index or manifest refers, but no layers.

        Raises:
            PullError: a registry rejects a request, or the download fails.
        """
        for entry in document.get("manifests", []):
            self.metadata(self.manifest(entry["digest"]))
        if "config" in document:
            self.blob(document["config"]["digest"])
