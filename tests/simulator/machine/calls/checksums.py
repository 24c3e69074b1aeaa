# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Checksum files as publishers write them: a bare hash, or lines `HASH  NAME`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError

LENGTHS = {"SHA256": 64, "SHA512": 128}


def expected(machine: Machine, parameters: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return (algorithm, the hash that a file must have, or None if nothing is asked of it).

    Raises: CmdletError if the checksum file is missing or does not name the file.
    """
    algorithm = str(parameters.get("algorithm") or "SHA256").upper()
    if algorithm not in LENGTHS:
        raise _error("InvalidArgument", "UnknownAlgorithm", f"unknown algorithm: {algorithm}")
    if parameters.get("sha256"):
        return "SHA256", str(parameters["sha256"]).lower()
    path = parameters.get("checksum_path")
    if not path:
        return algorithm, None
    if not machine.files.is_file(str(path)):
        raise _error("ObjectNotFound", "PathNotFound", f"Cannot find path '{path}' because it does not exist.")
    found = find(machine.files.read_text(str(path)), parameters.get("checksum_name"), LENGTHS[algorithm])
    if found is None:
        name = parameters.get("checksum_name")
        raise _error("InvalidData", "ChecksumNotFound", f"{path} holds no {algorithm} checksum of {name}")
    return algorithm, found


def find(text: str, name: str | None, length: int) -> str | None:
    """Return the hash of a file in a checksum file's text, in lower case."""
    pattern = re.compile(rf"^\s*([0-9a-fA-F]{{{length}}})(?:\s+[*]?(\S.*?))?\s*$", re.MULTILINE)
    lines = [(match[1].lower(), match[2]) for match in pattern.finditer(text)]
    for checksum, file_name in lines:
        if name and file_name and re.split(r"[\\/]", file_name)[-1].casefold() == name.casefold():
            return checksum
    bare = [checksum for checksum, file_name in lines if file_name is None]
    return bare[0] if bare else None


def _error(category: str, error_id: str, message: str) -> CmdletError:
    return CmdletError(category, error_id, message, "System.IO.InvalidDataException")
