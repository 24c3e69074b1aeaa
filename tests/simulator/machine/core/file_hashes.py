# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Get-FileHash, a function in Windows PowerShell 5.1 and a compiled cmdlet in PowerShell 7.

For a missing file, the function writes the error of Resolve-Path, which it calls. The function silently skips folders.
The compiled cmdlet writes an error for a folder. Source:
https://github.com/PowerShell/PowerShell/blob/master/src/Microsoft.PowerShell.Commands.Utility/commands/utility/GetHash.cs
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine import net_files
from simulator.machine.core import paths
from simulator.machine.objects import Bound, Cmdlet, CmdletError, NotModelled, PSObject

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

MODELLED = ("SHA1", "SHA256", "SHA384", "SHA512", "MD5")
RESOLVE_PATH = "Microsoft.PowerShell.Commands.ResolvePathCommand"


def get_file_hash(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-FileHash, which returns hashes with upper-case letters."""
    algorithm = bound.text("Algorithm", "SHA256").upper()
    if algorithm not in MODELLED or "InputStream" in bound:
        raise NotModelled(f"Get-FileHash with {algorithm if algorithm not in MODELLED else 'InputStream'}")
    for place in paths.selected(machine, bound):
        if place.provider != "FileSystem":
            continue
        if machine.files.is_directory(place.path) and not machine.windows.is_core:
            continue
        try:
            digest = hash_file(machine, place.path, algorithm).upper()
        except CmdletError as unread:
            bound.write_error(unread)
            continue
        yield PSObject(
            "Microsoft.Powershell.Utility.FileHash", {"Algorithm": algorithm, "Hash": digest, "Path": place.path}
        )
    for error in bound.errors:
        # In Windows PowerShell, the errors come from the inner Resolve-Path.
        if "," not in error.error_id:
            error.error_id = f"{error.error_id},{RESOLVE_PATH}"


def hash_file(machine: Machine, path: str, algorithm: str = "SHA256") -> str:
    """Return the hash of a file's contents, with its letters in lower case.

    Raises:
        CmdletError: the file cannot be read.
    """
    suffix = "Microsoft.PowerShell.Commands.GetFileHashCommand" if machine.windows.is_core else "Get-FileHash"
    try:
        place = net_files.open_to_read(machine, path, "r")
    except CmdletError as error:
        folder = error.exception_type == net_files.DENIED
        category, error_id = ("InvalidData", "UnauthorizedAccessError") if folder else ("ReadError", "FileReadError")
        raise CmdletError(category, f"{error_id},{suffix}", error.message, error.exception_type) from None
    with place.open("rb") as file:
        return hashlib.file_digest(file, algorithm.lower()).hexdigest()


CMDLETS: Mapping[str, Cmdlet] = {"Get-FileHash": get_file_hash}
