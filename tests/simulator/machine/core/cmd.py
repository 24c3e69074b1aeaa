# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate cmd.exe, which runs a line (/c or /k), the lines on its standard input, or a batch file.

See https://learn.microsoft.com/windows-server/administration/windows-commands/cmd.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from simulator.machine.cmd.running import run_line
from simulator.machine.machine import Machine
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.machine.programs import BATCH_FILE
from simulator.machine.session import Session

# Of the modelled versions of Windows, only Server 2019 has a year in the copyright notice.
_WITHOUT_YEAR = 20348
__all__ = ["PROGRAMS", "cmd", "run_line", "session_of"]


def cmd(machine: Machine, run: Invocation) -> ProgramResult:
    """Run cmd.exe with a line (/c or /k), or with the lines on its standard input.

    The simulated cmd.exe ends after the line even with /k.
    """
    match = re.search(r"/[ck]\s*(.*)$", run.command_line, re.IGNORECASE | re.DOTALL)
    if not match:
        return _interactive(machine, run)
    line = match[1].strip()
    if line.startswith('"') and line.endswith('"') and len(line) > 1:
        line = line[1:-1]
    return run_line(session_of(machine, run), line, run.stdin)


def _interactive(machine: Machine, run: Invocation) -> ProgramResult:
    """Run the lines on standard input. Each line is echoed after the prompt."""
    session = session_of(machine, run)
    year = "2018 " if machine.windows.build < _WITHOUT_YEAR else ""
    version = f"Microsoft Windows [Version {machine.windows.full}]"
    text = f"{version}\r\n(c) {year}Microsoft Corporation. All rights reserved.\r\n"
    code, errors = 0, ""
    for line in run.stdin.decode(errors="replace").splitlines():
        text += f"\r\n{session.directory}>{line}\r\n"
        leaving = re.fullmatch(r"\s*exit(?:\s+/b)?(?:\s+(-?\d+))?\s*", line, re.IGNORECASE)
        if leaving:
            return ProgramResult(int(leaving[1] or code), text, errors)
        result = run_line(session, line)
        code, text, errors = result.exit_code, text + result.stdout, errors + result.stderr
    return ProgramResult(code, f"{text}\r\n{session.directory}>", errors)


def batch_file(machine: Machine, run: Invocation) -> ProgramResult:
    """Run a .cmd or .bat file as `cmd.exe /c "FILE ARGUMENTS"` does."""
    return run_line(session_of(machine, run), f'"{run.program}" {run.command_line}', run.stdin)


def session_of(machine: Machine, run: Invocation) -> Session:
    """Return a new session for the commands that a program runs."""
    name = run.program.rsplit("\\", 1)[-1] or "cmd.exe"
    process = machine.processes.begin(name, run.user, run.stop, run.program)
    machine.processes.end(process)
    return Session(machine, process, run.user, dict(run.environment), run.directory, run.logon)


PROGRAMS: Mapping[str, Program] = {"cmd.exe": cmd, BATCH_FILE: batch_file}
