# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Normalize, split and check paths by Windows' rules.

Source: https://learn.microsoft.com/windows/win32/fileio/naming-a-file
"""

from __future__ import annotations

import functools
import re
from pathlib import PureWindowsPath

LONG = "\\\\?\\"
"""The prefix that disables the limit on a path's length."""
MAX_PATH = 260
r"""The shortest length at which .NET Framework rejects a path without the prefix `\\?\`.

Source: https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation
"""
MAX_FOLDER = 248
"""The shortest path length at which .NET Framework refuses to create or move a folder.

The limit is lower than for files because a file with an 8.3 name must fit into the folder.

Source: CreateDirectory and Move in https://referencesource.microsoft.com/#mscorlib/system/io/directory.cs
"""
MAX_NAME = 255
_ILLEGAL = re.compile(r'[<>"|?*\x00-\x1f]')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[1-9\u00b9\u00b2\u00b3])(?:\..*)?", re.IGNORECASE)
"""Reserved device names. Their digits may be superscript. After the prefix \\\\?\\, these names are ordinary names."""


@functools.lru_cache(maxsize=4096)
def normalise(path: str) -> str:
    """Return the normal form of a path: backslashes, upper-case drive, no `.` or `..`, no trailing backslash."""
    text = path.strip().strip('"').replace("/", "\\")
    for prefix in (LONG, "Microsoft.PowerShell.Core\\FileSystem::", "FileSystem::"):
        if text.casefold().startswith(prefix.casefold()):
            text = text[len(prefix) :]
    pure = PureWindowsPath(text)
    if not pure.drive:
        pure = PureWindowsPath("C:\\") / text.lstrip("\\")
    parts: list[str] = []
    for part in pure.parts[1:]:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            # Windows removes trailing dots and spaces from every name.
            parts.append(part.rstrip(". ") or part)
    return pure.drive.upper() + "\\" + "\\".join(parts)


def ancestry(normal: str) -> list[str]:
    """Return the parent folders of a normalized path from the top down, without the drive, then the path itself."""
    parts = normal[3:].split("\\")
    return [normal[:3] + "\\".join(parts[:count]) for count in range(1, len(parts) + 1)]


def parent(path: str) -> str:
    """Return the parent folder of a path. The parent of a drive is the drive itself."""
    normal = normalise(path)
    return normal[:3] if normal.count("\\") < 2 else normal.rpartition("\\")[0]


def is_rooted(path: str) -> bool:
    """Return whether a path contains a folder or a drive, and not only a name."""
    return bool(re.search(r"[\\/:]", path))


def is_on_share(path: str) -> bool:
    r"""Return whether a path is on a server's share (`\\SERVER\SHARE\...`)."""
    slashed = path.replace("/", "\\")
    if slashed.startswith((LONG, "\\\\.\\")):
        return slashed.casefold().startswith(f"{LONG}unc\\")
    return slashed.startswith("\\\\")


def root(path: str) -> str:
    r"""Return the root of a path in lower case, such as `c:\`, including any prefix `\\?\`."""
    prefix = LONG if path.startswith(LONG) else ""
    return (prefix + normalise(path)[:3]).casefold()


def is_too_long(path: str) -> bool:
    """Return whether a path is too long for .NET Framework."""
    return len(path) >= MAX_PATH and not path.startswith(LONG)


def is_illegal(path: str) -> bool:
    """Return whether a path is invalid.

    The possible reasons are invalid characters, a device name, and a name that is too long.
    """
    text = path.removeprefix(LONG)
    names = re.split(r"[\\/]", text)
    device = text == path and any(_DEVICE.fullmatch(name) for name in names)
    return device or bool(_ILLEGAL.search(text)) or any(len(name) > MAX_NAME for name in names)
