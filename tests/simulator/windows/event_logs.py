# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Event logs, lightly: what the service control manager noted, and what a role clears.

https://learn.microsoft.com/powershell/module/microsoft.powershell.diagnostics/get-winevent and …/wevtutil.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulator.machine.objects import (
    Bound,
    Cmdlet,
    CmdletError,
    Invocation,
    Program,
    ProgramResult,
    PSObject,
)
from simulator.windows.common import any_match, has_wildcard

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_LOGS = ("Application", "Security", "Setup", "System", "Windows PowerShell")
_SERVICE_CONTROL_MANAGER = 7036


@dataclass
class Cleared:
    """How many of the service control manager's notes each log has lost, by its name in lower case."""

    logs: dict[str, int] = field(default_factory=dict)


def _notes(machine: Machine, log: str) -> list[str]:
    """Return the events of a log, oldest first."""
    if log.casefold() != "system":
        return []
    return machine.services.events[machine.part(Cleared).logs.get("system", 0) :]


def _clear(machine: Machine, log: str) -> None:
    machine.part(Cleared).logs[log.casefold()] = len(machine.services.events)


def _known(log: str) -> str | None:
    return next((name for name in _LOGS if name.casefold() == log.casefold()), None)


def _no_log(log: str, command: str) -> CmdletError:
    return CmdletError(
        "ObjectNotFound",
        f"NoMatchingLogsFound,Microsoft.PowerShell.Commands.{command}",
        f'There is not an event log on the localhost computer that matches "{log}".',
        "System.Exception",
    )


def _events(machine: Machine, log: str) -> list[PSObject]:
    newest_first = list(enumerate(_notes(machine, log), 1))[::-1]
    return [
        PSObject(
            "System.Diagnostics.Eventing.Reader.EventLogRecord",
            {
                "Id": _SERVICE_CONTROL_MANAGER,
                "RecordId": number,
                "LogName": "System",
                "ProviderName": "Service Control Manager",
                "LevelDisplayName": "Error" if "failed" in text or "unexpectedly" in text else "Information",
                "Level": 2 if "failed" in text or "unexpectedly" in text else 4,
                "MachineName": machine.name,
                "TimeCreated": datetime.now(UTC),
                "Message": text,
            },
        )
        for number, text in newest_first
    ]


def get_win_event(machine: Machine, bound: Bound) -> Iterable[object]:
    """Get-WinEvent -ListLog, -LogName, -FilterHashtable."""
    if bound.get("ListLog"):
        for name in _LOGS:
            if any_match(bound.texts("ListLog"), name):
                properties: dict[str, object] = {
                    "LogName": name,
                    "RecordCount": len(_notes(machine, name)),
                    "IsEnabled": True,
                }
                yield PSObject("System.Diagnostics.Eventing.Reader.EventLogConfiguration", properties)
        return
    table = bound.get("FilterHashtable")
    logs = bound.texts("LogName") or ([str(table.get("LogName", ""))] if isinstance(table, Mapping) else list(_LOGS))
    for log in logs:
        if not has_wildcard(log) and _known(log) is None:
            raise _no_log(log, "GetWinEventCommand")
    found = [event for name in _LOGS if any_match(logs, name) for event in _events(machine, name)]
    if not found:
        raise CmdletError(
            "ObjectNotFound",
            "NoMatchingEventsFound,Microsoft.PowerShell.Commands.GetWinEventCommand",
            "No events were found that match the specified selection criteria.",
            "System.Exception",
        )
    yield from found[: bound.number("MaxEvents", len(found))]


def clear_event_log(machine: Machine, bound: Bound) -> Iterable[object]:
    """Clear-EventLog."""
    for log in bound.texts("LogName"):
        if _known(log) is None:
            raise CmdletError(
                "ObjectNotFound",
                "GetEventLogException,Microsoft.PowerShell.Commands.ClearEventLogCommand",
                f'The Log name "{log}" does not exist in the computer "localhost".',
                "System.InvalidOperationException",
            )
        _clear(machine, log)
    return []


def wevtutil(machine: Machine, run: Invocation) -> ProgramResult:
    """wevtutil.exe el, cl LOG, epl LOG FILE."""
    words = run.argv
    verb = words[0].casefold() if words else ""
    if verb in ("el", "enum-logs"):
        return ProgramResult(0, "".join(f"{name}\r\n" for name in _LOGS))
    if verb in ("cl", "clear-log", "epl", "export-log") and len(words) >= 2:
        log = _known(words[1])
        if log is None:
            text = f"Failed to read configuration for log {words[1]}.\r\nThe specified channel could not be found.\r\n"
            return ProgramResult(15007, "", text)
        if verb in ("cl", "clear-log"):
            _clear(machine, log)
        elif len(words) >= 3:
            machine.files.write_text(words[2], "".join(f"{note}\r\n" for note in _notes(machine, log)))
        return ProgramResult(0)
    return ProgramResult(87, "", f"the simulator does not model wevtutil {' '.join(words)}\r\n")


CMDLETS: Mapping[str, Cmdlet] = {"Get-WinEvent": get_win_event, "Clear-EventLog": clear_event_log}
PROGRAMS: Mapping[str, Program] = {"wevtutil.exe": wevtutil}
