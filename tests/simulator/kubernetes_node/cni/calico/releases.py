# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The features and images of each Calico release, which are listed in `data/releases.yml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).parent / "data" / "releases.yml"


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, such as (3, 31, 5). A suffix such as `-windows-ltsc2022` is ignored."""
    return tuple(int(part) for part in version.removeprefix("v").partition("-")[0].split("."))


@cache
def _data() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True)
class CalicoRelease:
    """One release of Calico."""

    version: str

    def has(self, feature: str) -> bool:
        """Return whether this release has a feature. `data/releases.yml` lists ranges of releases for each feature."""
        own = numbers(self.version)
        return any(numbers(first) <= own and (not last or own < numbers(last)) for first, last in _data()[feature])

    @property
    def windows(self) -> Mapping[str, str]:
        """The images' Windows versions, such as `2022`, by the suffixes of the image tags, such as `ltsc2022`."""
        found: Mapping[str, Any] = {}
        for first, versions in _data()["windows"].items():
            if numbers(self.version)[:2] >= numbers(first):
                found = versions
        return {str(suffix): str(key) for suffix, key in found.items()}


def all_releases() -> list[CalicoRelease]:
    """Return all Calico releases that have images for HostProcess containers."""
    return [CalicoRelease(version) for versions in _data()["releases"].values() for version in versions]


def registries() -> list[str]:
    """Return the image registries to which Calico publishes its images."""
    return list(_data()["registries"])
