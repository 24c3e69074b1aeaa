# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""OCI container images: their names, their JSON documents, and the index entry that fits a Windows build.

The formats are from https://github.com/opencontainers/image-spec. Windows builds are matched as in containerd's
platforms package: 1.6 compares builds exactly, and later versions follow hcsshim's CheckHostAndContainerCompat.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
LISTS = (INDEX, DOCKER_LIST)

# The first Windows Server build whose containers also run on later builds (stable ABI).
_STABLE = 20348


class ReferenceFormatError(ValueError):
    """Raised if containerd rejects an image name. The exception's message is containerd's."""


@dataclass(frozen=True)
class ImageReference:
    """The name of an image, such as `registry.k8s.io/pause:3.10.2`."""

    host: str
    path: str
    tag: str = ""
    digest: str = ""

    @property
    def object(self) -> str:
        """The digest or tag that is requested from the registry."""
        return self.digest or self.tag

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.host}/{self.path}{tag}" + (f"@{self.digest}" if self.digest else "")


def parse(name: str, *, familiar: bool = False) -> ImageReference:
    """Parse the name of an image.

    Args:
        name: the image's name with the registry's host and the tag.
        familiar: whether Docker's short forms such as `nginx` are also valid, as in CRI.

    Raises:
        ReferenceFormatError: the name is invalid.
    """
    text, _, digest = name.partition("@")
    head, slash, rest = text.partition("/")
    has_host = bool(slash) and ("." in head or ":" in head or head == "localhost")
    if not has_host:
        if not familiar:
            raise ReferenceFormatError(
                f"failed to resolve reference {json.dumps(name)}: invalid reference"
                if not slash
                else f'failed to resolve reference "{name}": object required'
            )
        head, rest = "docker.io", text if slash else f"library/{text}"
    path, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        path, tag = rest, ""
    if not tag and not digest:
        if not familiar:
            raise ReferenceFormatError(f'failed to resolve reference "{name}": object required')
        tag = "latest"
    if not path or not re.fullmatch(r"[a-z0-9]+([._/-]+[a-z0-9]+)*", path):
        raise ReferenceFormatError(f'failed to parse reference "{name}": invalid reference format')
    return ImageReference(head, path, tag, digest)


def digest_of(data: bytes) -> str:
    """Return the `sha256:…` digest of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def descriptor(media_type: str, data: bytes, **more: Any) -> dict[str, Any]:
    """Return the OCI descriptor of the blob `data`."""
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data), **more}


def encode(document: Mapping[str, Any]) -> bytes:
    """Encode a document as JSON. Equal documents have the same encoding."""
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def matches(platform: Mapping[str, Any], build: int, exact: bool) -> bool:
    """Return whether an image for a platform runs on a Windows build.

    Args:
        platform: the platform of the image: `os`, `architecture` and optionally `os.version`.
        build: the build of Windows.
        exact: whether the builds must be equal, as in containerd 1.6.
    """
    if platform.get("os") != "windows" or platform.get("architecture") != "amd64":
        return False
    requested = str(platform.get("os.version", ""))
    if not requested:
        return True
    parts = requested.split(".")
    image = int(parts[2]) if len(parts) > 2 and parts[2].isdigit() else 0
    if exact or build < _STABLE:
        return image == build
    return _STABLE <= image <= build


def best(entries: list[dict[str, Any]], build: int, exact: bool) -> dict[str, Any] | None:
    """Return the entry of an image index that fits a Windows build, or None if no entry fits.

    The result is an entry with exactly this build, or otherwise the matching entry with the highest version.
    """
    fitting = [entry for entry in entries if matches(entry.get("platform", {}), build, exact)]

    def order(entry: dict[str, Any]) -> tuple[bool, list[int]]:
        version = str(entry["platform"].get("os.version", ""))
        parts = [int(part) for part in version.split(".") if part.isdigit()]
        return len(parts) > 2 and parts[2] == build, parts

    return max(fitting, key=order) if fitting else None


def platform_text(platform: Mapping[str, Any]) -> str:
    """Return a platform in the format of ctr 2.0 and later: `windows(10.0.20348.2849)/amd64`."""
    version = platform.get("os.version")
    system = f"{platform.get('os')}({version})" if version else str(platform.get("os"))
    return f"{system}/{platform.get('architecture')}"
