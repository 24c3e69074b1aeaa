# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Access to the real folder that stores a simulated drive's files: case-insensitive names, links and sizes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def below(folder: Path, names: Sequence[str]) -> Path:
    """Append names to a folder's path, with the capitalization of the existing files and folders.

    Names of missing items stay as given.
    """
    exact = folder.joinpath(*names)
    if not names or exact.exists():
        return exact
    parent, requested = below(folder, names[:-1]), names[-1].casefold()
    if not parent.is_dir():
        return parent / names[-1]
    with os.scandir(parent) as entries:
        # A link without a target does not exist, but is found by its exact name.
        found = [entry.name for entry in entries if entry.name.casefold() == requested]
    return parent / (names[-1] if names[-1] in found or not found else found[0])


def link_target(root: Path, place: Path) -> Path | None:
    """Follow all links in a path, and return the path of the target relative to the root.

    Return None if the path contains no links, or if the target is outside the root.
    """
    at = root
    for part in place.relative_to(root).parts:
        at = at / part
        if at.is_symlink():
            target, top = Path(os.path.realpath(place)), Path(os.path.realpath(root))
            return target.relative_to(top) if target.is_relative_to(top) else None
    return None


def total_size(place: Path) -> int:
    """Return the size of a file, or of all files below a folder."""
    if place.is_file():
        return place.stat().st_size
    total = 0
    for folder, _, names in os.walk(place):
        for name in names:
            try:
                total += Path(folder, name).lstat().st_size
            except FileNotFoundError:  # deleted by another thread in the meantime
                continue
    return total
