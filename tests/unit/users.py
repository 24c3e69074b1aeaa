# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What an ordinary user of a simulated server can do."""

from __future__ import annotations

from simulator.machine.files import FileSystem

USER = "S-1-5-21-1-2-3-1001"


def plant(files: FileSystem, path: str, content: bytes = b"evil") -> None:
    """Create a file and its parent folders, all owned by the user."""
    folder = path.rpartition("\\")[0]
    mine = [path]
    while not files.exists(folder):
        mine.append(folder)
        folder = folder.rpartition("\\")[0]
    files.make_directory(path.rpartition("\\")[0])
    files.write_bytes(path, content)
    own(files, *mine)


def own(files: FileSystem, *paths: str) -> None:
    """Make items the user's, as if the user had created them."""
    for path in paths:
        files.set_sddl(path, f"O:{USER}")
