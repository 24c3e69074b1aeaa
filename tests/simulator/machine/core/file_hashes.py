# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Get-FileHash: a function of 5.1's Microsoft.PowerShell.Utility, which finds its files with Resolve-Path."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine.core import paths
from simulator.machine.objects import Bound, Cmdlet, NotModelled, PSObject

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

MODELLED = ("SHA1", "SHA256", "SHA384", "SHA512", "MD5")
RESOLVE_PATH = "Microsoft.PowerShell.Commands.ResolvePathCommand"


def get_file_hash(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return the hashes of files, in upper case; folders are passed over in silence."""
    algorithm = bound.text("Algorithm", "SHA256").upper()
    if algorithm not in MODELLED or "InputStream" in bound:
        raise NotModelled(f"Get-FileHash with {algorithm if algorithm not in MODELLED else 'InputStream'}")
    for place in paths.selected(machine, bound):
        if place.provider != "FileSystem" or not machine.files.is_file(place.path):
            continue
        with machine.files.real(place.path).open("rb") as file:
            digest = hashlib.file_digest(file, algorithm.lower()).hexdigest().upper()
        yield PSObject(
            "Microsoft.Powershell.Utility.FileHash", {"Algorithm": algorithm, "Hash": digest, "Path": place.path}
        )
    for error in bound.errors:
        # The errors are those of the Resolve-Path inside.
        if "," not in error.error_id:
            error.error_id = f"{error.error_id},{RESOLVE_PATH}"


CMDLETS: Mapping[str, Cmdlet] = {"Get-FileHash": get_file_hash}
