# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Retries for files that other processes have open, and the check for paths that are too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError
from simulator.machine.processes import Process
from simulator.machine.windows_paths import MAX_PATH
from wire_provider.net_failures import categorised
from wire_provider.verb_parameters import failure, several, text

RETRY_SECONDS = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
TOO_LONG = "System.IO.PathTooLongException"


def persist(machine: Machine, process: Process, action: Callable[[], None], *paths: str) -> None:
    """Run an operation on files. Retry it for ten seconds of Windows' time while another process has them open.

    Args:
        machine: the machine.
        process: the process that runs the operation.
        action: the operation; raises CmdletError if it fails.
        paths: the file or folder and, for a move, its destination. Open files in a folder may make a move fail with
            error 5.

    Raises:
        CmdletError: the last attempt failed, or an attempt failed for a reason other than an open file.
    """
    scale = machine.settings.time_scale
    end, pause = time.monotonic() + RETRY_SECONDS * scale, FIRST_PAUSE
    while True:
        try:
            action()
        except CmdletError as error:
            # A move of a folder that contains an open file fails with "access denied".
            denied = len(paths) > 1 and error.message.endswith(" is denied.")
            below = denied and machine.files.is_directory(paths[0])
            if not below and categorised(error, "").error_id != "FileInUse":
                raise
            if time.monotonic() >= end:
                holders = _holders(machine, paths[:1] if below else paths)
                # Without an open file, the reason may be a missing right.
                if below and not holders:
                    raise
                who = ", ".join(holders) or "another process"
                message = f"{' or '.join(paths)} is held open by {who}: {error.message}"
                raise failure("ResourceBusy", "FileInUse", message) from None
        else:
            return
        process.sleep(pause * scale)
        pause = min(2 * pause, LONGEST_PAUSE)


def _holders(machine: Machine, paths: Sequence[str]) -> list[str]:
    """Return the processes whose executable is at or below the paths, and those that have files open there."""
    found = [image.rsplit("\\", 1)[-1] for path in paths if (image := machine.processes.executing(path))]
    return found + [name for path in paths for name in machine.files.open.holders(path)]


def require_length(machine: Machine, parameters: Mapping[str, Any]) -> None:
    """Reject paths that Windows PowerShell cannot access. .NET Framework would report that they do not exist."""
    if machine.windows.is_core:
        return
    given = [text(parameters, name) for name in ("path", "destination", "checksum_path")]
    given += [str(path) for path in several(parameters, "paths")]
    for file in several(parameters, "files"):
        given += [text(file, name) for name in ("path", "destination")] if isinstance(file, Mapping) else []
    for path in given:
        if len(path) >= MAX_PATH:
            message = f"Windows PowerShell reaches paths of up to 259 characters; this one has {len(path)}: {path}"
            raise failure("InvalidArgument", "PathTooLongException", message, TOO_LONG)
