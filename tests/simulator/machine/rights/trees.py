# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the acting user's rights on a folder and all of its contents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.machine.rights import check
from simulator.machine.windows_paths import normalise

if TYPE_CHECKING:
    from simulator.machine.files import FileSystem


def undeletable(files: FileSystem, path: str) -> list[str]:
    """Return the paths of those items in a folder that the acting user may not delete.

    If the user may delete all items but not the folder or file `path` itself, the list contains only `path`.
    """
    guard = files.guard
    if guard.token is None:
        return []
    inside: list[str] = []
    if files.is_directory(path) and not files.real(path).is_symlink():
        inside = [entry.path for entry in files.walk(path) if normalise(entry.path) != normalise(path)]
    kept = [place for place in inside if not guard.may_delete(place)]
    return kept if kept or guard.may_delete(path) else [path]


def delete_others(files: FileSystem, path: str, kept: Sequence[str]) -> None:
    """Delete the items in a folder, except those in `kept` and the folders that contain them.

    The result is the same as after a failed recursive deletion.
    """
    stay = [f"{place}\\".casefold() for place in kept]
    deepest_first = sorted((entry.path for entry in files.walk(path)), key=len, reverse=True)
    for place in deepest_first:
        if not any(each.startswith(f"{place}\\".casefold()) for each in stay):
            files.delete(place)


def require_copy(files: FileSystem, path: str, destination: str) -> None:
    """Raise AccessDeniedError unless the acting user may copy a file, or a folder with all of its contents."""
    guard = files.guard
    if guard.token is None:
        return
    if not files.is_directory(path):
        files.require(path, check.READ_DATA)
        files.require_write(destination)
        return
    for entry in files.walk(path):
        guard.require(entry.path, check.LIST if entry.is_directory else check.READ_DATA)
    if files.exists(destination):
        guard.require(destination, check.ADD_FILE | check.ADD_FOLDER)
    else:
        guard.require_child(destination, folder=True)
