# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pass typed input to programs that read from their console. A WinRS shell can give a program a console."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.machine.objects import ProgramResult
from simulator.transport.host import ConsoleInput


def typed(console: ConsoleInput, program: str, argv: Sequence[str]) -> bytes | ProgramResult:
    """Return the input that a program reads from its console, or an error result if such input is not modelled.

    Args:
        program: the file name of the program.
        argv: the arguments of the program.
    """
    name = program.casefold()
    words = [word.casefold() for word in argv]
    if name == "cmd.exe" and not any(word.startswith(("/c", "/k")) for word in words):
        # It is not known how the output of cmd.exe combines prompts and typed lines.
        return ProgramResult(255, "", "the simulator does not model a cmd.exe that reads from a console\r\n")
    if name == "powershell.exe" and words and words[-1] == "-":
        return console.read(to_exit=True)
    if name == "findstr.exe":
        files = [word for word in words if not word.startswith("/")]
        pattern = int(not any(word.startswith(("/c:", "/g:")) for word in words))
        return console.read(to_exit=False) if len(files) <= pattern else b""
    return b""
