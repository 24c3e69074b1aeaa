# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse the manifests of container images, and determine what an image's archive in a bundle contains (no I/O).

Source: github.com/opencontainers/image-spec (image-layout.md, image-index.md).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import typing as t

from ..values.errors import ResourceError
from ..values.image_reference import DIGEST, ImageReference
from ..values.shown import shown
from ..windows import windows_versions
from .index import BundleError

INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_LARGEST = 2**50


def reference(text: str) -> ImageReference:
    """Parse the reference of a container image.

    Raises:
        BundleError: the text is not a complete reference.
    """
    try:
        return ImageReference.parse(text)
    except ResourceError as error:
        raise BundleError(str(error)) from None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Descriptor:
    """The descriptor of a manifest or blob."""

    digest: str
    size: int
    media_type: str = ""
    urls: tuple[str, ...] = ()
    """URLs of a foreign (non-distributable) layer, which the registry might not have."""
    platform: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Manifest:
    """The manifest of a container image for one platform."""

    own: Descriptor
    config: Descriptor
    layers: tuple[Descriptor, ...]

    @property
    def parts(self) -> tuple[Descriptor, ...]:
        """Every blob that the manifest names: the configuration and the layers."""
        return (self.config, *self.layers)


def digest_of(data: bytes) -> str:
    """Return the SHA-256 digest of data, in the form `sha256:…`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def document(data: bytes, what: str) -> dict[str, t.Any]:
    """Parse a JSON object from a registry.

    Raises:
        BundleError: the data is not a JSON object.
    """
    try:
        parsed = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise BundleError(f"{what}: expected a JSON object from the registry, got other data")
    return parsed


def is_index(parsed: t.Mapping[str, t.Any]) -> bool:
    """Return whether a document is an index of manifests for several platforms."""
    return "manifests" in parsed


def descriptor(value: object, what: str) -> Descriptor:
    """Parse the descriptor of a manifest or blob.

    Raises:
        BundleError: the value is not a descriptor.
    """
    if not isinstance(value, dict):
        raise BundleError(f"{what}: expected a descriptor from the registry, got {shown(value)}")
    digest, size = value.get("digest"), value.get("size")
    urls, platform = value.get("urls") or [], value.get("platform") or {}
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        raise BundleError(f"{what}: expected a sha256 digest from the registry, got {shown(digest)}")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < _LARGEST:
        raise BundleError(f"{what}: expected a size in bytes from the registry, got {shown(size)}")
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls) or not isinstance(platform, dict):
        expected = "expected urls as a list and platform as a mapping from the registry"
        raise BundleError(f"{what}: {expected}, got {shown(urls)} and {shown(platform)}")
    return Descriptor(
        digest=digest,
        size=size,
        media_type=str(value.get("mediaType") or ""),
        urls=tuple(url for url in urls if url.startswith(("http://", "https://"))),
        platform=platform,
    )


def manifest(own: Descriptor, value: t.Mapping[str, t.Any], what: str) -> Manifest:
    """Parse the manifest of an image for one platform.

    Raises:
        BundleError: the value is not a manifest.
    """
    layers = value.get("layers")
    if not isinstance(layers, list) or "config" not in value:
        raise BundleError(f"{what}: expected a manifest with layers and config from the registry, got one without them")
    return Manifest(
        own=own,
        config=descriptor(value["config"], what),
        layers=tuple(descriptor(layer, what) for layer in layers),
    )


def fits(platform: t.Mapping[str, t.Any], windows: str) -> bool:
    """Return whether a version of Windows Server can run images for a platform.

    Args:
        platform: a mapping with `os`, and optionally `architecture` (default amd64) and `os.version`.
        windows: one of windows_versions.NAMES.
    """
    if platform.get("os") != "windows" or platform.get("architecture", "amd64") != "amd64":
        return False
    image = build_of(platform)
    return image is None or windows_versions.runs_image(windows_versions.build_of(windows), image)


def build_of(platform: t.Mapping[str, t.Any]) -> int | None:
    """Return the Windows build of a platform, None if it names no version, or 0 if the version is malformed."""
    version = str(platform.get("os.version") or "")
    if not version:
        return None
    parts = version.split(".")
    return int(parts[2]) if len(parts) > 2 and re.fullmatch(r"\d{1,9}", parts[2], re.ASCII) else 0


def supported_entries(entries: t.Sequence[Descriptor], windows: str) -> list[Descriptor]:
    """Return the entries of an image index that containerd accepts on a version of Windows Server, best match first.

    An archive needs all of these entries: `ctr images import` reads every entry that matches the node's platform, and
    fails if one is not in the archive (containerd/containerd#12908, #11344). The manifests of other platforms may be
    missing from the archive (containerd/containerd#9554), so the index and its digest can stay unchanged.
    """

    def order(entry: Descriptor) -> tuple[bool, list[int]]:
        numbers = [int(part) for part in str(entry.platform.get("os.version") or "").split(".") if part.isdecimal()]
        return build_of(entry.platform) == windows_versions.build_of(windows), numbers

    return sorted((entry for entry in entries if fits(entry.platform, windows)), key=order, reverse=True)


def layout_files(name: str, top: Descriptor, best: Manifest) -> dict[str, bytes]:
    """Return oci-layout, index.json and manifest.json of an image archive, as a mapping of paths to contents.

    The archive is an OCI image layout that `docker load` also accepts. containerd prefers the layout and reads the
    image's name from an annotation (core/images/archive/importer.go). Docker's own store reads manifest.json, whose
    layers may be compressed (moby/moby image/tarexport/load.go).

    Args:
        name: the full reference of the image.
        top: the index or manifest that the reference names.
        best: the manifest that matches the version of Windows Server best.
    """
    ref = reference(name)
    annotations = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": ref.tag or ref.digest}
    entry = {
        "mediaType": top.media_type,
        "digest": top.digest,
        "size": top.size,
        "annotations": annotations,
    }
    index = {"schemaVersion": 2, "mediaType": INDEXES[0], "manifests": [entry]}
    loaded = {
        "Config": blob_path(best.config.digest),
        "RepoTags": [] if ref.digest else [name],
        "Layers": [blob_path(layer.digest) for layer in best.layers],
    }
    return {
        "oci-layout": _encoded({"imageLayoutVersion": "1.0.0"}),
        "index.json": _encoded(index),
        "manifest.json": _encoded([loaded]),
    }


def blob_path(digest: str) -> str:
    """Return the path of a blob in an archive."""
    return f"blobs/sha256/{digest.partition(':')[2]}"


def archive_path(name: str, parts: t.Iterable[str]) -> str:
    """Return the path of an image's archive in a bundle. The archive's name depends on its content.

    Args:
        name: the full reference of the image.
        parts: digests of the content.
    """
    ref = reference(name)
    key = hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:16]
    # Folder names on Windows cannot end with a dot, but tags can.
    version = ref.digest.replace(":", "-") or ref.tag.rstrip(".") or "_"
    return f"images/{ref.host.replace(':', '_')}/{ref.path}/{version}/{key}.tar"


def _encoded(value: t.Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
