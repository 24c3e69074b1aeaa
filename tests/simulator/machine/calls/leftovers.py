# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What killed processes left beside the files that they wrote: docs/wire.md, `@write-file` and "Detached batches"."""

from __future__ import annotations

import re
import uuid

from simulator.machine.machine import Machine

_PART = re.compile(r".*(~[0-9a-f]{8}|\.[0-9a-f]{32})\.part", re.IGNORECASE | re.DOTALL)


def part_of(path: str) -> str:
    """Return where a file is written before it takes its place."""
    return f"{path}~{uuid.uuid4().hex[:8]}.part"


def remove(machine: Machine, folder: str) -> None:
    """Delete the parts in a folder."""
    if machine.files.is_directory(folder):
        for entry in machine.files.listing(folder):
            _remove_part(machine, entry.path)


def sweep(machine: Machine, folder: str) -> None:
    """Delete the parts that notes in a folder name, and the notes.

    A simulated process that ends takes its part with it, so that no note is ever written here.
    """
    for entry in machine.files.listing(folder):
        if entry.path.casefold().endswith(".note"):
            part = machine.files.read_text(entry.path)
            _remove_part(machine, part)
            if not machine.files.exists(part):
                machine.files.delete(entry.path)


def _remove_part(machine: Machine, path: str) -> None:
    if _PART.fullmatch(path) and machine.files.is_file(path):
        machine.files.delete(path)
