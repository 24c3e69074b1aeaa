# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters that lead roles to what a bundle has."""

from __future__ import annotations

import typing as t

from ..plugin_utils.bundle import use
from ..plugin_utils.values.ansible_data import plain


def bundled_patches(patches: list[t.Any], found: t.Mapping[str, str]) -> list[t.Any]:
    """The list of patches with the files that a bundle has taken from there."""
    return use.bundled_patches(plain(patches), plain(found))


class FilterModule:
    """The bundle's filters."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"bundled_patches": bundled_patches}
