# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The private folder that contains a drive: case-insensitive names, sizes."""

from __future__ import annotations

import os
from pathlib import Path


def child(folder: Path, name: str) -> Path:
    """Return a child by its name, ignoring case. A path that does not exist keeps the given case."""
    exact = folder / name
    if exact.exists() or not folder.is_dir():
        return exact
    requested = name.casefold()
    return next((child for child in folder.iterdir() if child.name.casefold() == requested), exact)


def link_target(root: Path, place: Path) -> Path | None:
    """Return the path below the root after following all links; None without links, or if a link leaves the root."""
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
