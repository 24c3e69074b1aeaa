# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Executable files of simulated programs: real files that say which program they are."""

from __future__ import annotations

import json
import os

_MARK = b"SIMULATED-PROGRAM "
_HEAD = b"MZ\x90\x00\x03\x00\x00\x00"
# The mark stands at the beginning: a program of hundreds of megabytes is identified by its first bytes.
HEAD_SIZE = 4096


def make(program: str, version: str, size: int = 0) -> bytes:
    """Return the bytes of an executable.

    Args:
        program: its name, e.g. `kubelet`.
        version: its version.
        size: its size in bytes, if larger than what is needed; the filling does not compress, as code hardly does.
    """
    head = _HEAD + b"\n" + _MARK + json.dumps({"program": program, "version": version}).encode() + b"\n"
    filling = size - len(head)
    return head + os.urandom(filling) if filling > 0 else head


def identify(data: bytes) -> tuple[str, str] | None:
    """Return (program, version) of an executable's first bytes, or None if it is not a simulated program."""
    if data[:2] != b"MZ":
        return None
    start = data[:HEAD_SIZE].find(_MARK)
    if start < 0:
        return None
    line = data[start + len(_MARK) : HEAD_SIZE].split(b"\n", 1)[0]
    try:
        found = json.loads(line)
        return str(found["program"]), str(found["version"])
    except (ValueError, KeyError, TypeError):
        return None
