# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files that killed processes leave next to their targets: docs/wire.md, `@write-file` and "Batches with a key"."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Iterator

from simulator.machine import net_files
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError
from simulator.machine.processes import Process
from simulator.machine.rights.guard import RightsError
from wire_provider.held_files import persist

FOLDER = r"C:\ProgramData\winkube\batches"
"""The folder for the files of keys, and for notes: files that name a temporary file."""
_PART = re.compile(r".*(?:~([0-9a-f]{8})|\.[0-9a-f]{32})\.part", re.IGNORECASE | re.DOTALL)


def part_of(path: str) -> str:
    """Return the temporary path to which a file is written first."""
    return f"{path}~{uuid.uuid4().hex[:8]}.part"


@contextlib.contextmanager
def tidied(machine: Machine, process: Process, part: str) -> Iterator[None]:
    """Delete a temporary file at the end of the `with` block, unless the process was killed.

    Until then, a note (a small file) contains the path of the temporary file, and its writer keeps the note open, so
    that `sweep` does not delete it. No note is written before the first batch with a key, because that batch creates
    the folder of the notes.
    """
    note = _note_of(part)
    noted = note is not None and machine.files.is_directory(FOLDER)
    with contextlib.ExitStack() as handles:

        def tidy() -> None:
            with contextlib.suppress(CmdletError):
                persist(machine, process, lambda: net_files.delete(machine, part), part)
            handles.close()
            if note and noted and machine.files.exists(note) and not machine.files.exists(part):
                machine.files.delete(note)

        if note and noted:
            # If the drive is full, there is no note.
            with contextlib.suppress(OSError):
                machine.files.write_text(note, part)
            handles.enter_context(machine.files.open.hold(note, "w", "r"))
        try:
            yield
        except Exception:
            tidy()
            raise
        # ProcessEndedError is not an Exception, so the files of a killed process stay.
        tidy()


def _note_of(part: str) -> str | None:
    found = _PART.fullmatch(part)
    return f"{FOLDER}\\{found[1].lower()}.note" if found and found[1] else None


def remove(machine: Machine, folder: str) -> None:
    """Delete the temporary files in a folder, if it can be listed."""
    with contextlib.suppress(RightsError):
        for entry in machine.files.listing(folder) if machine.files.is_directory(folder) else ():
            _remove_part(machine, entry.path)


def sweep(machine: Machine, folder: str) -> None:
    """Delete the notes in a folder and the temporary files that they name, unless their writer is still running."""
    for entry in machine.files.listing(folder):
        if entry.path.casefold().endswith(".note") and not machine.files.open.blocks(entry.path, "r", ""):
            part = machine.files.read_text(entry.path)
            _remove_part(machine, part)
            if not machine.files.exists(part):
                machine.files.delete(entry.path)


def _remove_part(machine: Machine, path: str) -> None:
    if not _PART.fullmatch(path):
        return
    note = _note_of(path)
    if note and machine.files.open.blocks(note, "r", ""):
        return
    with contextlib.suppress(CmdletError):
        net_files.delete(machine, path)
