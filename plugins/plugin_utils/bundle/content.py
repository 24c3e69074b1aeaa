# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Derive the content of a bundle from the resources of a host (no I/O)."""

from __future__ import annotations

import dataclasses
import typing as t

from ..downloads.site import Site
from ..engine.resource import Resource
from ..patches.patch import Patch
from ..resources.artifact import Artifact
from ..resources.container_image import ContainerImage
from ..values.errors import refusal
from ..windows import windows_versions
from .fetch import Checksum, FetchSource
from .index import BundleError, bare, file_name, mirror_path


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChecksumFile:
    """A publisher's checksum file."""

    path: str
    """Path in the bundle."""
    sources: tuple[FetchSource, ...]
    """One source of the checksum file for each source of the file to verify, in the same order."""
    name: str
    """The name under which the checksum file lists the file to verify."""
    algorithm: t.Literal["SHA256", "SHA512"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class BundleFile:
    """A file that the bundle must contain."""

    path: str
    kind: str
    name: str
    version: str
    sources: tuple[FetchSource, ...] = ()
    local: str = ""
    """Path of a file on the controller to copy into the bundle. Empty if the file is downloaded instead."""
    checksum: Checksum | None = None
    sums: ChecksumFile | None = None
    windows: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The path or URL from which the file comes, without secrets. Empty if the file has no source."""
        return self.local or (bare(self.sources[-1].url) if self.sources else "")


@dataclasses.dataclass(frozen=True, kw_only=True)
class BundleImage:
    """A container image that the bundle must contain."""

    name: str
    windows: tuple[str, ...]
    digest: str = ""
    registries: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict, repr=False)
    proxy: str | None = dataclasses.field(default=None, repr=False)
    no_proxy: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class BundleContent:
    """Everything that the bundle must contain."""

    files: t.Mapping[str, BundleFile]
    """Files by path."""
    images: t.Mapping[str, BundleImage]
    """Container images by reference."""

    def joined(self, other: BundleContent) -> BundleContent:
        """Return the union of this content and other content.

        Raises:
            BundleError: the contents have different checksums for the same file, or different digests for the same
                image.
        """
        files = dict(self.files)
        for path, file in other.files.items():
            files[path] = _one(files[path], file) if path in files else file
        images = dict(self.images)
        for name, image in other.images.items():
            images[name] = _both(images[name], image) if name in images else image
        return BundleContent(files=files, images=images)


def _one(mine: BundleFile, other: BundleFile) -> BundleFile:
    if mine.checksum is not None and other.checksum is not None and mine.checksum != other.checksum:
        raise BundleError(
            f"{mine.name}: expected the same checksum of {mine.source} for all hosts, "
            f"got {mine.checksum.digest} and {other.checksum.digest}"
        )
    return mine if mine.checksum is not None or other.checksum is None else other


def _both(mine: BundleImage, other: BundleImage) -> BundleImage:
    if mine.digest and other.digest and mine.digest != other.digest:
        raise BundleError(f"{mine.name}: expected the same digest for all hosts, got {mine.digest} and {other.digest}")
    windows = tuple(version for version in windows_versions.NAMES if version in (*mine.windows, *other.windows))
    return dataclasses.replace(mine, windows=windows, digest=mine.digest or other.digest)


NOTHING = BundleContent(files={}, images={})


def of_resources(
    resources: t.Iterable[Resource],
    windows: t.Sequence[str],
    registries: t.Mapping[str, t.Any],
) -> BundleContent:
    """Return the files and container images that resources download.

    Args:
        resources: the resources of a host.
        windows: the versions of Windows Server that the bundle serves.
        registries: as in `registry.endpoints`.

    Raises:
        BundleError: a resource cannot be bundled, or two resources expect different content for the same file or image.
    """
    files: dict[str, BundleFile] = {}
    images: dict[str, BundleImage] = {}
    for resource in resources:
        fit = tuple(version for version in windows if not resource.windows or version in resource.windows)
        if not fit:
            continue
        if isinstance(resource, Artifact):
            file = _artifact(resource)
            files[file.path] = _one(files[file.path], file) if file.path in files else file
        elif isinstance(resource, ContainerImage) and resource.state == "present" and not resource.archive:
            image = _image(resource, fit, registries)
            images[image.name] = _both(images[image.name], image) if image.name in images else image
    return BundleContent(files=files, images=images)


def _artifact(artifact: Artifact) -> BundleFile:
    own = artifact.upstream or next(iter(artifact.urls), "")
    if not own:
        raise BundleError(refusal(artifact.name, None, "expected at least one of urls and upstream"))
    checksum: Checksum | None = None
    if artifact.sha256:
        checksum = Checksum(algorithm="SHA256", digest=artifact.sha256)
    elif artifact.sha512:
        checksum = Checksum(algorithm="SHA512", digest=artifact.sha512)
    # The URL of the file, the URL of its checksum file, and the site, in the order in which a node tries them.
    candidates: list[tuple[str, str | None, Site | None]] = [
        (site.url, site.checksum_url, site) for site in artifact.sites
    ]
    candidates += [(url, artifact.checksum_url, None) for url in artifact.urls]
    summed = checksum is None and any(candidate[1] for candidate in candidates)
    if summed:
        candidates = [candidate for candidate in candidates if candidate[1]]
    first, dummy, version = artifact.name.rpartition(" ")
    return BundleFile(
        path=mirror_path(own),
        kind=artifact.kind or first or artifact.name,
        name=artifact.name,
        version=artifact.version or version,
        sources=tuple(_source(artifact, candidate[0], candidate[2]) for candidate in candidates),
        checksum=checksum,
        sums=_sums(artifact, own, candidates) if summed else None,
        windows=artifact.windows,
    )


def _sums(artifact: Artifact, own: str, candidates: t.Sequence[tuple[str, str | None, Site | None]]) -> ChecksumFile:
    """Return the checksum file of an artifact, which comes from the same sources as the artifact."""
    url, sums = candidates[0][0], candidates[0][1]
    # If the publisher's checksum file is unknown, assume that it has the same suffix as at the first source.
    upstream = (
        artifact.upstream_checksum or artifact.checksum_url or bare(own) + bare(sums or "").removeprefix(bare(url))
    )
    return ChecksumFile(
        path=mirror_path(upstream),
        sources=tuple(_source(artifact, candidate[1] or "", candidate[2]) for candidate in candidates),
        name=artifact.checksum_name or file_name(mirror_path(own)),
        algorithm=artifact.checksum_algorithm,
    )


def _source(artifact: Artifact, url: str, site: Site | None) -> FetchSource:
    """Return a source of an artifact, with the same proxy settings and headers that a node would use."""
    proxy, no_proxy, headers = artifact.proxy, artifact.no_proxy, artifact.headers
    if site is not None:
        proxy = proxy if site.proxy is None else site.proxy
        no_proxy, headers = site.no_proxy or no_proxy, site.headers or headers
    # One text may contain several entries.
    exceptions = tuple(entry.strip() for text in no_proxy for entry in text.split(","))
    return FetchSource(url=url, headers=dict(headers), proxy=proxy, no_proxy=exceptions)


def _image(image: ContainerImage, windows: tuple[str, ...], registries: t.Mapping[str, t.Any]) -> BundleImage:
    environment = {name.upper(): value for name, value in image.environment.items()}
    exceptions = environment.get("NO_PROXY", "")
    return BundleImage(
        name=image.name,
        windows=windows,
        digest=image.digest or "",
        registries=registries,
        proxy=environment.get("HTTPS_PROXY") or environment.get("HTTP_PROXY") or None,
        no_proxy=tuple(exceptions.split(",")) if exceptions else (),
    )


def of_patches(
    patches: t.Iterable[Patch], windows: t.Sequence[str], proxy: str | None, no_proxy: tuple[str, ...]
) -> BundleContent:
    """Return the files of patches. Patches without a file come from Windows Update and are not bundled."""
    files: dict[str, BundleFile] = {}
    for patch in patches:
        if patch.windows and not set(patch.windows) & set(windows):
            continue
        for file in patch.files:
            bundled = BundleFile(
                path=f"patches/{file.sha256}/{file.name}",
                kind="patch",
                name=patch.name,
                version=patch.kb,
                sources=(FetchSource(url=file.url, proxy=proxy, no_proxy=no_proxy),) if file.url else (),
                local=file.local,
                checksum=Checksum(algorithm="SHA256", digest=file.sha256),
                windows=patch.windows,
            )
            files[bundled.path] = bundled
    return BundleContent(files=files, images={})


def to_data(content: BundleContent) -> dict[str, t.Any]:
    """Return the content as plain data for a task's result. The data contains secrets."""
    return {
        "files": [dataclasses.asdict(file) for file in content.files.values()],
        "images": [dataclasses.asdict(image) for image in content.images.values()],
    }


def from_data(data: t.Mapping[str, t.Any]) -> BundleContent:
    """Return the content that `to_data` turned into plain data."""
    files, images = {}, {}
    for item in data["files"]:
        sums = item["sums"]
        file = BundleFile(
            **{
                **item,
                "sources": tuple(_read_source(source) for source in item["sources"]),
                "checksum": Checksum(**item["checksum"]) if item["checksum"] else None,
                "sums": ChecksumFile(**{**sums, "sources": tuple(map(_read_source, sums["sources"]))})
                if sums
                else None,
                "windows": tuple(item["windows"]),
            }
        )
        files[file.path] = file
    for item in data["images"]:
        more = {"windows": tuple(item["windows"]), "no_proxy": tuple(item["no_proxy"])}
        images[item["name"]] = BundleImage(**{**item, **more})
    return BundleContent(files=files, images=images)


def _read_source(item: t.Mapping[str, t.Any]) -> FetchSource:
    return FetchSource(**{**item, "no_proxy": tuple(item["no_proxy"])})
