# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Batch files: .cmd and .bat, line by line in one cmd.exe.

https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands. Labels, goto, call, for,
setlocal and blocks in parentheses are not modelled: a file that has them is refused before its first line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from simulator.machine.core.cmd import run_line, session_of
from simulator.machine.machine import Machine
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.machine.programs import BATCH_FILE

_UNMODELLED = re.compile(r"^@?(?::(?!:)|(?:goto|call|for|shift|setlocal|endlocal)\b|\))|\($|![^!]+!", re.IGNORECASE)


def batch_file(machine: Machine, run: Invocation) -> ProgramResult:
    """Run the lines of a batch file; `exit /b N` ends it."""
    lines = [line.strip() for line in machine.files.read_text(run.program).splitlines()]
    if unknown := next((line for line in lines if _UNMODELLED.search(line)), None):
        return ProgramResult(255, "", f"the simulator does not model '{unknown}' in a batch file\r\n")
    session = session_of(machine, run)
    code, stdout, stderr = 0, "", ""
    for line in lines:
        text = _arguments(line.lstrip("@"), run)
        if not text or text.startswith("::") or text.casefold() in ("echo off", "echo on"):
            continue
        ended = re.fullmatch(r"exit(?:\s+/b)?(?:\s+(-?\d+))?", text, re.IGNORECASE)
        if ended:
            code = int(ended[1]) if ended[1] else code
            break
        result = run_line(session, text)
        code, stdout, stderr = result.exit_code, stdout + result.stdout, stderr + result.stderr
    return ProgramResult(code, stdout, stderr)


def _arguments(line: str, run: Invocation) -> str:
    """Replace %0 to %9, %* and %~dp0, and take %% for a percent sign."""
    values = {"0": run.program, **{str(place): word for place, word in enumerate(run.argv[:9], start=1)}}
    folder = run.program.rpartition("\\")[0] + "\\"

    def value(match: re.Match[str]) -> str:
        name = match[1].casefold()
        if name == "~dp0":
            return folder
        if name == "*":
            return run.command_line
        return "%" if name == "%" else values.get(name.lstrip("~"), "")

    return re.sub(r"%(~dp0|~?\d|\*|%)", value, line, flags=re.IGNORECASE)


PROGRAMS: Mapping[str, Program] = {BATCH_FILE: batch_file}
