# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""powershell.exe."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine import ansible_actions, ansible_wrapper
from simulator.machine.core.cmd import session_of
from simulator.machine.machine import Machine
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.machine.powershell.host import run_command_line
from simulator.transport.powershell_command_line import parse_command_line

# The exit code of powershell.exe for an invalid command line (0xFFFD0000).
BAD_COMMAND_LINE = 0xFFFD0000


def powershell(machine: Machine, run: Invocation) -> ProgramResult:
    """Run powershell.exe. If the script is Ansible's bootstrap wrapper, run the Ansible module from standard input."""
    try:
        parsed = parse_command_line(f"powershell.exe {run.command_line}")
    except ValueError as error:
        return ProgramResult(BAD_COMMAND_LINE, "", f"{error}\r\n")
    assert parsed is not None
    session = session_of(machine, run)
    if parsed.script is not None and ansible_wrapper.is_bootstrap(parsed.script):
        return ansible_actions.run(session, run.stdin.decode("utf-8-sig").split("\n"))
    return run_command_line(session, parsed.script, parsed.file, list(parsed.arguments), run.stdin)


PROGRAMS: Mapping[str, Program] = {"powershell.exe": powershell}
