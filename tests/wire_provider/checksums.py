# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Checksum files in the formats of publishers: a bare hash, or lines `HASH NAME`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from simulator.machine import net_files
from simulator.machine.machine import Machine
from wire_provider.verb_parameters import failure, missing, text

LENGTHS = {"SHA256": 64, "SHA512": 128}


def expected(machine: Machine, parameters: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return (algorithm, expected hash). The hash is None if the call does not specify one.

    Raises:
        CmdletError: the algorithm is unknown, or the checksum file cannot be read or does not contain the file.
    """
    sha256 = text(parameters, "sha256")
    algorithm = "SHA256" if sha256 else (text(parameters, "algorithm") or "SHA256").upper()
    if algorithm not in LENGTHS:
        raise failure("InvalidArgument", "UnknownAlgorithm", f"unknown algorithm: {algorithm}")
    if sha256:
        return algorithm, sha256.lower()
    path = text(parameters, "checksum_path")
    if not path:
        return algorithm, None
    if not net_files.exists(machine, path):
        raise missing(path)
    net_files.open_to_read(machine, path, "r")
    found = find(machine.files.read_text(path), parameters.get("checksum_name"), LENGTHS[algorithm])
    if found is None:
        name = parameters.get("checksum_name")
        raise failure("InvalidData", "ChecksumNotFound", f"{path} holds no {algorithm} checksum of {name}")
    return algorithm, found


def find(text: str, name: str | None, length: int) -> str | None:
    """Return a file's hash in lower case from a checksum file, by the rules of `@commit-file` (docs/wire.md).

    A bare hash counts only if it is the only line. A name is the text after the last slash of either kind, and is
    case-insensitive. If there is no hash for the file, return None.
    """
    bare: list[str] = []
    lines = [line for line in text.removeprefix("\ufeff").replace("\r", "\n").split("\n") if line.strip(" \t")]
    for line in lines:
        checksum, *rest = re.split(r"[ \t]+", line.strip(" \t"), maxsplit=1)
        if not re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", checksum):
            continue
        if not rest:
            bare.append(checksum.lower())
            continue
        # An asterisk before a name marks a binary file. An asterisk alone is a name.
        named = rest[0][1:] if re.match(r"[*][^ \t]", rest[0]) else rest[0]
        if name and named.replace("\\", "/").rpartition("/")[2].casefold() == name.casefold():
            return checksum.lower()
    return bare[0] if bare and len(lines) == 1 else None
