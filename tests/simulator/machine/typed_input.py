# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which programs read what a client types (WinRS with a console as standard input), and so wait for it."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.machine.objects import ConsoleInput, ProgramResult


def typed(console: ConsoleInput, program: str, argv: Sequence[str]) -> bytes | ProgramResult:
    """Return what a program takes from its console, or a refusal.

    Args:
        program: its file name.
        argv: its arguments.
    """
    name = program.casefold()
    words = [word.casefold() for word in argv]
    if name == "cmd.exe" and not any(word.startswith(("/c", "/k")) for word in words):
        # What of its prompts and of the typed lines lands in its output is not known.
        return ProgramResult(255, "", "the simulator does not model a cmd.exe that reads from a console\r\n")
    if name == "powershell.exe" and words and words[-1] == "-":
        return console.read(to_exit=True)
    if name == "findstr.exe":
        files = [word for word in words if not word.startswith("/")]
        pattern = int(not any(word.startswith(("/c:", "/g:")) for word in words))
        return console.read(to_exit=False) if len(files) <= pattern else b""
    return b""
