# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Batches with a key: each key is claimed once, and its progress and result are stored on the node."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from simulator.machine import net_files
from simulator.machine.files import DiskFullError
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError
from simulator.machine.processes import Process
from simulator.machine.text import iso_utc
from wire_provider import leftovers
from wire_provider.batch import Call
from wire_provider.held_files import persist

FOLDER = leftovers.FOLDER
FOLDER_SDDL = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
KEPT = timedelta(days=7)
# The number of seconds to wait for a missing claim.
UNCLAIMED = 5.0


def forget(machine: Machine, keys: list[str]) -> None:
    """Delete all files of some keys."""
    for key in keys:
        for entry in machine.files.listing(FOLDER) if machine.files.is_directory(FOLDER) else []:
            if entry.name.startswith(f"{key}."):
                # A file that is in use is kept.
                with contextlib.suppress(CmdletError):
                    net_files.delete(machine, entry.path)
        # The folder that Ansible's async wrapper is configured to use.
        if machine.files.is_directory(f"{FOLDER}\\{key}"):
            machine.files.delete(f"{FOLDER}\\{key}")


def claim(machine: Machine, key: str, process: Process) -> bool:
    """Claim a key for a process, and return whether the key was free. Also delete files that are older than 7 days."""
    machine.files.make_directory(FOLDER)
    # Ansible's async wrapper may have created the folder.
    machine.files.set_sddl(FOLDER, FOLDER_SDDL)
    _sweep(machine)
    leftovers.sweep(machine, FOLDER)
    document = {
        "process_id": process.id,
        "started": iso_utc(process.started),
        "boot": iso_utc(machine.power.boot_time),
    }
    try:
        with machine.files.real(_path(key, "claim")).open("x", encoding="utf-8") as file:
            json.dump(document, file)
    except FileExistsError:
        return False
    return True


def note_progress(machine: Machine, key: str, running: Sequence[Call], done: int, total: int) -> None:
    """Store the progress of the batch."""
    watched = [{"id": call.id, "watch": call.watch} for call in running]
    document = {"id": running[0].id, "done": done, "total": total, "running": watched}
    with contextlib.suppress(DiskFullError):
        machine.files.write_text(_path(key, "progress"), json.dumps(document))


def _measured(machine: Machine, progress: dict[str, Any]) -> dict[str, Any]:
    """Return the progress with the size of each watched file."""
    running = []
    for item in progress.get("running", []):
        size = None
        # The file may be moved to its destination at this moment.
        # A path may be invalid.
        with contextlib.suppress(OSError, ValueError):
            if item["watch"] and machine.files.is_file(item["watch"]):
                size = machine.files.real(item["watch"]).stat().st_size
        running.append({"id": item["id"], "size": size})
    return {**progress, "running": running} if progress else progress


def keep(machine: Machine, key: str, observation: dict[str, Any], process: Process) -> None:
    """Store the result in a temporary file and move it, like `@write-file`.

    Raises:
        CmdletError: the file cannot be written.
        DiskFullError: the drive is full.
    """
    path = _path(key, "json")
    machine.files.write_text(f"{path}.part", json.dumps(observation))
    persist(machine, process, lambda: net_files.move_over(machine, f"{path}.part", path), path)


def collect(
    machine: Machine, key: str, wait: float, process: Process
) -> tuple[Literal["finished", "running", "unknown", "lost"], dict[str, Any]]:
    """Return a key's state with its observation (finished) or progress (running, lost), in at most `wait` seconds."""
    started = time.monotonic()
    # A process that was just detached needs a moment to claim its key.
    limits = {"running": wait * machine.settings.pause_scale, "unknown": min(wait, UNCLAIMED)}
    while True:
        process.check()
        state, document = _state(machine, key)
        left = limits.get(state, 0.0) - (time.monotonic() - started)
        if left <= 0:
            return state, document
        process.sleep(min(0.1, left))


def _state(machine: Machine, key: str) -> tuple[Literal["finished", "running", "unknown", "lost"], dict[str, Any]]:
    claimed = _read(machine, key, "claim")
    # Checked after the claim, because a batch that ends between the two checks has a result.
    result = _read(machine, key, "json")
    if result is not None:
        return "finished", result
    if claimed is None:
        return "unknown", {}
    progress = _read(machine, key, "progress") or {}
    running = machine.processes.get(int(claimed["process_id"]))
    same_boot = claimed["boot"] == iso_utc(machine.power.boot_time)
    if running and same_boot and iso_utc(running.started) == claimed["started"]:
        return "running", _measured(machine, progress)
    result = _read(machine, key, "json")
    return ("finished", result) if result is not None else ("lost", _measured(machine, progress))


def _read(machine: Machine, key: str, suffix: str) -> dict[str, Any] | None:
    if not machine.files.is_file(_path(key, suffix)):
        return None
    try:
        found: dict[str, Any] = json.loads(machine.files.read_text(_path(key, suffix)))
        return found
    except (FileNotFoundError, ValueError):
        return None


def _sweep(machine: Machine) -> None:
    limit = datetime.now(UTC) - KEPT
    for entry in machine.files.listing(FOLDER):
        if entry.modified < limit:
            machine.files.delete(entry.path)


def _path(key: str, suffix: str) -> str:
    return f"{FOLDER}\\{key}.{suffix}"
