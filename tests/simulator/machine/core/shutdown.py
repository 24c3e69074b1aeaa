# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""shutdown.exe: https://learn.microsoft.com/windows-server/administration/windows-commands/shutdown"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

ALREADY_SCHEDULED = 1190
NONE_IN_PROGRESS = 1116
BAD_NETWORK_PATH = 53
LONGEST_DELAY = 315360000
LONGEST_COMMENT = 512
DEFAULT_DELAY = 30
USAGE = (
    "Usage: shutdown [/i | /l | /s | /sg | /r | /g | /a | /p | /h | /e | /o] [/hybrid] [/soft] [/fw] [/f]\r\n"
    '    [/m \\\\computer][/t xxx][/d [p|u:]xx:yy [/c "comment"]]\r\n'
)
# The effects of the actions; `none` if the simulator does not model the action.
ACTIONS = {
    "r": "reboot", "g": "reboot", "s": "off", "sg": "off", "p": "off", "a": "abort", "l": "none", "h": "none",
    "e": "none", "i": "none", "o": "none", "?": "none",
}  # fmt: skip


@dataclass
class _Request:
    action: str = ""
    delay: int = DEFAULT_DELAY
    comment: str = ""
    computer: str = ""


def _read(argv: list[str]) -> _Request | None:
    """Parse the arguments of shutdown.exe. Return None if they are invalid."""
    request, words = _Request(), list(argv)
    while words:
        word = words.pop(0)
        name = word[1:].casefold()
        if word[:1] not in "/-" or not name:
            return None
        if name in ACTIONS:
            if request.action:
                return None
            request.action = ACTIONS[name]
            request.delay = 0 if name == "p" else request.delay
        elif name in ("f", "hybrid", "soft", "fw"):
            continue
        elif name in ("t", "c", "d", "m"):
            if not words or not _take(request, name, words.pop(0)):
                return None
        else:
            return None
    return request if request.action else None


def _take(request: _Request, name: str, value: str) -> bool:
    """Store the value of an option of shutdown.exe, and return whether the value is allowed."""
    if name == "t":
        if not value.isdigit() or int(value) > LONGEST_DELAY:
            return False
        request.delay = int(value)
    elif name == "c":
        request.comment = value
        return len(value) <= LONGEST_COMMENT
    elif name == "d":
        return re.fullmatch(r"([pu]:)?\d{1,3}:\d{1,5}", value, re.IGNORECASE) is not None
    else:
        request.computer = value.lstrip("\\")
    return True


def shutdown(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate shutdown.exe: schedule a restart or a power-off, or cancel the scheduled one."""
    if not run.argv or run.argv[0][1:] == "?":
        return ProgramResult(0, USAGE)
    request = _read(run.argv)
    if request is None:
        return ProgramResult(1, USAGE)
    if request.computer and request.computer.casefold() not in ("localhost", "127.0.0.1", machine.name.casefold()):
        return ProgramResult(BAD_NETWORK_PATH, "", f"{request.computer}: The network path was not found.(53)\r\n")
    if request.action == "abort":
        if machine.power.abort():
            return ProgramResult(0)
        message = "Unable to abort the system shutdown because no shutdown was in progress.(1116)\r\n"
        return ProgramResult(NONE_IN_PROGRESS, "", message)
    if request.action not in ("reboot", "off"):
        return ProgramResult(1, "", f"the simulator does not model shutdown {' '.join(run.argv)}\r\n")
    schedule = machine.power.reboot if request.action == "reboot" else machine.power.shutdown
    try:
        schedule(request.delay, request.comment)
    except RuntimeError:
        return ProgramResult(ALREADY_SCHEDULED, "", "A system shutdown has already been scheduled.(1190)\r\n")
    return ProgramResult(0)


PROGRAMS: Mapping[str, Program] = {"shutdown.exe": shutdown}
