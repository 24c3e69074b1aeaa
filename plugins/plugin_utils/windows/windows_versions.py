# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""List the known versions of Windows Server and their builds, from data/windows_versions.json."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..values.versions import DATA


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowsVersion:
    """One version of Windows Server."""

    name: str
    """The name that variables and options use, such as 2022."""
    build: int
    """The build number, such as 20348 (registry value CurrentBuild)."""
    supported: bool
    """Whether the collection supports nodes that run this version."""
    listed_by_kubernetes: bool
    """Whether Kubernetes' documentation lists this version as supported for nodes."""


_TABLE = json.loads((DATA / "windows_versions.json").read_text(encoding="utf-8"))

VERSIONS: t.Sequence[WindowsVersion] = tuple(WindowsVersion(**row) for row in _TABLE["versions"])
"""All known versions, the oldest build first."""

NAMES: t.Sequence[str] = tuple(version.name for version in VERSIONS)
"""Names of all known versions. Images and patches can be chosen for each of them."""

SUPPORTED: t.Mapping[int, str] = {version.build: version.name for version in VERSIONS if version.supported}
"""Names of the supported versions, by build."""

SUPPORTED_NAMES: t.Sequence[str] = tuple(SUPPORTED.values())

_OLDEST_WITH_OLDER_IMAGES: int = _TABLE["runs_older_images"]["oldest_build"]


def build_of(name: str) -> int:
    """Return the build number of a version of Windows Server.

    Args:
        name: one of NAMES.
    """
    return next(version.build for version in VERSIONS if version.name == name)


def nearest(build: int) -> WindowsVersion:
    """Return the newest known version that is not newer than a build, or the oldest known version if all are newer."""
    older = [version for version in VERSIONS if version.build <= build]
    return older[-1] if older else VERSIONS[0]


def runs_image(host: int, image: int) -> bool:
    """Return whether nodes with one build of Windows can run process-isolated containers of images with another build.

    Args:
        host: the node's build.
        image: the Windows build of the image.
    """
    if host < _OLDEST_WITH_OLDER_IMAGES:
        return image == host
    return _OLDEST_WITH_OLDER_IMAGES <= image <= host
