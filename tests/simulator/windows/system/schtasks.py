# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The options /run, /end and /query of schtasks.exe for one task on the local machine.

Source: https://learn.microsoft.com/windows-server/administration/windows-commands/schtasks-run
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.windows.system import tasks
from simulator.windows.system.task_parts import RegisteredTask, Tasks

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_MISSING = "ERROR: The system cannot find the file specified.\r\n"
_VERBS = ("/run", "/end", "/query")


def _find(machine: Machine, name: str) -> RegisteredTask | None:
    """Return the task with the given name or path, or None if there is none. A bare name refers to the root folder."""
    full = name if name.startswith("\\") else f"\\{name}"
    return machine.part(Tasks).tasks.get(full.casefold())


def schtasks(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate schtasks.exe."""
    words = list(run.argv)
    verbs = [word.casefold() for word in words if word.casefold() in _VERBS]
    names = [words[place + 1] for place, word in enumerate(words[:-1]) if word.casefold() == "/tn"]
    known = len(words) - len(verbs) - 2 * len(names)
    if len(verbs) != 1 or len(names) != 1 or known:
        return ProgramResult(1, "", f"the simulator does not model schtasks {' '.join(words)}\r\n")
    task = _find(machine, names[0])
    if task is None:
        return ProgramResult(1, "", _MISSING)
    if verbs[0] == "/run":
        if task.state == "Disabled":
            return ProgramResult(1, "", "ERROR: The task is disabled.\r\n")
        tasks.run(machine, task)
        return ProgramResult(0, f'SUCCESS: Attempted to run the scheduled task "{names[0]}".\r\n')
    if verbs[0] == "/end":
        tasks.end(machine, task)
        text = f'SUCCESS: The scheduled task "{names[0]}" has been terminated successfully.\r\n'
        return ProgramResult(0, text)
    return ProgramResult(0, f"\r\nFolder: {task.path}\r\n{task.name:<40} {'N/A':<22} {task.state}\r\n")


PROGRAMS: Mapping[str, Program] = {"schtasks.exe": schtasks}
