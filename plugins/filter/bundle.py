# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters that replace sources by the content of a bundle."""

from __future__ import annotations

import typing as t

from ..plugin_utils.bundle import use
from ..plugin_utils.values.ansible_data import plain


def bundled_patches(patches: list[t.Any], locations: t.Mapping[str, str]) -> list[t.Any]:
    """Return the list of patches with their files taken from a bundle where it has them."""
    return use.bundled_patches(plain(patches), plain(locations))


class FilterModule:
    """The bundle's filters."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"bundled_patches": bundled_patches}
