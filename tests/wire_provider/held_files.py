# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files that others have open: what a verb tries again, and for how long; and paths that it cannot reach."""

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

PATIENCE = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
TOO_LONG = "System.IO.PathTooLongException"


def persist(machine: Machine, process: Process, action: Callable[[], None], *paths: str) -> None:
    """Do something with files, again for ten of Windows' seconds while others have them open.

    Args:
        machine: where.
        process: who does it.
        action: raises CmdletError where it fails.
        paths: the files. With a destination it is a move, and error 5 of a folder may come from what is open below it.

    Raises:
        CmdletError: it failed to the end, or not because of an open file.
    """
    scale = machine.settings.time_scale
    end, pause = time.monotonic() + PATIENCE * scale, FIRST_PAUSE
    while True:
        try:
            action()
        except CmdletError as error:
            # What is open below a folder denies access to it.
            denied = len(paths) > 1 and error.message.endswith(" is denied.")
            below = denied and machine.files.is_directory(paths[0])
            if not below and categorised(error, "").error_id != "FileInUse":
                raise
            if time.monotonic() >= end:
                holders = _holders(machine, paths[:1] if below else paths)
                # Then rights may be missing.
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
    """Return who runs from paths, or from below them, and who has a file there open."""
    found = [image.rsplit("\\", 1)[-1] for path in paths if (image := machine.processes.executing(path))]
    return found + [name for path in paths for name in machine.files.open.holders(path)]


def require_length(machine: Machine, parameters: Mapping[str, Any]) -> None:
    """Refuse paths that Windows PowerShell cannot reach: .NET Framework would say that they do not exist."""
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
