# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""List the components of an image, with their package URLs, for the bill of materials that sbom.py writes.

Source for package URLs: package-url/purl-spec, PURL-TYPES.rst (generic, github, golang, oci). What scanners read:

* Grype and Trivy look up `golang`, and ignore `github` and `generic`. So an artifact that is built from a Go module has
  a second component, the module (anchore/syft syft/format/internal/cyclonedxutil/helpers/decoder.go;
  aquasecurity/trivy pkg/sbom/cyclonedx/unmarshal.go).
* Grype and Dependency-Track look up an operating system by its CPE.
* Trivy reads no nested components, and accepts only one operating system (pkg/sbom/io/decode.go). So the list is flat,
  and the image itself is a platform.
* No scanner looks into the container images. They are listed with the digests by which they can be scanned.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import typing as t

from ..artifacts.catalogue import catalogue
from ..values.image_reference import ImageReference, is_whole
from ..values.versions import DATA
from .contents import ImageContents, NotedArtifact, NotedImage, NotedWindows

_RELEASE_ASSET = re.compile(
    r"https://github\.com/([\w.-]+)/([\w.-]+)/(?:releases/download/([^/]+)/|archive/(.+)\.tar\.gz$)"
)
_URL = re.compile(r"https?://(?:[A-Za-z0-9._~:/@!$&()*+,;=-]|%[0-9A-Fa-f]{2})+")
"""A URL that is valid in a bill of materials in JSON and in XML. All other URLs are left out."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PackageName:
    """The parts of a package URL."""

    type: t.Literal["generic", "github", "golang", "oci"]
    name: str
    namespace: str = ""
    version: str = ""
    qualifiers: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SbomComponent:
    """A component of the bill of materials."""

    type: t.Literal["operating-system", "application", "library", "container"]
    name: str
    version: str
    package: PackageName
    sha256: str = ""
    cpe: str = ""
    url: str = ""
    """The URL at which the publisher offers the file, or from which a user's own file was downloaded."""
    properties: tuple[tuple[str, str], ...] = ()
    parts: tuple[SbomComponent, ...] = ()
    """The components that this component contains. They become its dependencies in the bill of materials."""


def components(contents: ImageContents) -> tuple[SbomComponent, ...]:
    """Return the components of an image: Windows, the cached artifacts, and the container images."""
    updates = tuple(("winkube:update", update.id) for update in contents.updates)
    return (
        _windows(contents.windows, updates),
        *(_artifact(artifact) for artifact in contents.artifacts),
        *(_image(image) for image in contents.container_images),
    )


def _windows(windows: NotedWindows, updates: tuple[tuple[str, str], ...]) -> SbomComponent:
    # NVD's names and versions, such as windows_server_2022 and 10.0.20348.2849 (nvd.nist.gov, CVE-2024-38063).
    product = re.sub(r"[^a-z0-9]+", "_", f"windows_server_{windows.version}".lower())
    version = f"10.0.{windows.build}"
    numeric = re.fullmatch(r"[0-9.]+", version)
    return SbomComponent(
        type="operating-system",
        name=windows.product,
        version=version,
        package=PackageName(type="generic", namespace="microsoft", name=product, version=version),
        cpe=f"cpe:2.3:o:microsoft:{product}:{version}:*:*:*:*:*:x64:*" if numeric else "",
        properties=(("winkube:edition", windows.edition), ("winkube:installation", windows.installation), *updates),
    )


def _artifact(artifact: NotedArtifact) -> SbomComponent:
    published = _published(artifact)
    url = published or artifact.source
    url = url if _URL.fullmatch(url) else ""
    sha256 = artifact.sha256 if _SHA256.fullmatch(artifact.sha256) else ""
    module = None if artifact.custom else _go_module(artifact)
    return SbomComponent(
        type="application",
        name=artifact.kind,
        version=artifact.version,
        package=_github(published) or _generic(artifact, url, sha256),
        sha256=sha256,
        url=url,
        properties=(
            ("winkube:path", artifact.path),
            ("winkube:size", "" if artifact.size is None else str(artifact.size)),
            ("winkube:source", artifact.source),
            ("winkube:verified", str(artifact.verified).lower()),
            ("winkube:custom", str(artifact.custom).lower()),
        ),
        parts=(module,) if module else (),
    )


def _published(artifact: NotedArtifact) -> str:
    """Return the publisher's URL of an official release, or an empty string for any other file.

    The publisher's URL is returned even if the file came from a mirror.
    """
    kind = catalogue().get(artifact.kind)
    if artifact.custom or kind is None or not artifact.version:
        return ""
    return kind.filled(kind.url, artifact.version)


def _github(url: str) -> PackageName | None:
    """Return the package name for the URL of a file in a GitHub release, or None for any other URL.

    The package's version is the tag of the release.
    """
    match = _RELEASE_ASSET.match(url)
    if match is None:
        return None
    # Neither name is case-sensitive; the specification requires lower case.
    owner, repository = match[1].lower(), match[2].lower()
    return PackageName(type="github", namespace=owner, name=repository, version=match[3] or match[4])


def _generic(artifact: NotedArtifact, url: str, sha256: str) -> PackageName:
    qualifiers = {"download_url": url, "checksum": sha256 and f"sha256:{sha256}"}
    return PackageName(
        type="generic",
        name=_name(artifact.kind),
        version=artifact.version,
        qualifiers={key: value for key, value in qualifiers.items() if value},
    )


def _name(name: str) -> str:
    """Return a package's name without white space and slashes at its ends, or `unnamed` if nothing is left.

    A package URL must have a name, and loses these characters when it is parsed.
    """
    return re.sub(r"^[\s/]+|[\s/]+$", "", name) or "unnamed"


@functools.cache
def _go_modules() -> t.Mapping[str, t.Mapping[str, t.Any]]:
    data = json.loads((DATA / "go_modules.json").read_text(encoding="utf-8"))
    return t.cast("t.Mapping[str, t.Mapping[str, t.Any]]", data["modules"])


def _go_module(artifact: NotedArtifact) -> SbomComponent | None:
    """Return the Go module from which an artifact's programs are built, or None if the module is unknown."""
    about = _go_modules().get(artifact.kind)
    major = artifact.version.partition(".")[0]
    if about is None or not major.isdigit() or int(major) > about.get("last_major", int(major)):
        return None
    path = str(about["module"])
    if about.get("suffix") and int(major) >= 2:
        path += f"/v{int(major)}"
    version = f"v{artifact.version}{'+incompatible' if about.get('incompatible') else ''}"
    namespace, dummy, name = path.rpartition("/")
    package = PackageName(type="golang", namespace=namespace, name=name, version=version)
    return SbomComponent(type="library", name=path, version=version, package=package)


def _image(image: NotedImage) -> SbomComponent:
    # The runtime's answer may contain any text as a name.
    first = next((name for name in image.names if is_whole(name)), "")
    if first:
        reference = ImageReference.parse(first)
        host, path, tag = reference.host, reference.path, reference.tag
        repository = {"repository_url": f"{host}/{path}"}
    else:
        path, tag, repository = image.names[0], "", {}
    return SbomComponent(
        type="container",
        name=first or image.names[0],
        version=image.digest or tag,
        package=PackageName(
            type="oci",
            name=_name(path.rpartition("/")[2].lower()),
            version=image.digest,
            qualifiers={**repository, **({"tag": tag} if tag else {}), "arch": "amd64"},
        ),
        sha256=sha256 if _SHA256.fullmatch(sha256 := image.digest.removeprefix("sha256:")) else "",
        properties=(
            *(("winkube:name", name) for name in image.names),
            ("winkube:size", "" if image.size is None else str(image.size)),
        ),
    )
