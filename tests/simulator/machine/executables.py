# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Executable files of simulated programs: real files whose contents identify the program."""

from __future__ import annotations

import json
import os

_MARK = b"SIMULATED-PROGRAM "
_HEAD = b"MZ\x90\x00\x03\x00\x00\x00"
# The marker comes first, so that the first bytes identify a program of hundreds of megabytes.
HEAD_SIZE = 4096


def make(program: str, version: str, size: int = 0) -> bytes:
    """Return the contents of an executable file.

    Args:
        program: the name of the program, e.g. `kubelet`.
        version: the version of the program.
        size: the size to which the file is padded, in bytes. The padding is random, so that the file does not shrink
            when it is compressed.
    """
    head = _HEAD + b"\n" + _MARK + json.dumps({"program": program, "version": version}).encode() + b"\n"
    filling = size - len(head)
    return head + os.urandom(filling) if filling > 0 else head


def identify(data: bytes) -> tuple[str, str] | None:
    """Return (program, version) from a file's first bytes, or None if the file is not a simulated program."""
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
