# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The event logs of a machine: names, contents, and the events that match a query in a subset of XPath 1.0.

Sources: https://learn.microsoft.com/dotnet/api/system.diagnostics.eventing.reader.eventloginformation (names and sizes)
and https://learn.microsoft.com/windows/win32/wes/consuming-events (queries)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ALWAYS = (
    "Application",
    "Microsoft-Windows-PowerShell/Operational",
    "Security",
    "Setup",
    "System",
    "Windows PowerShell",
)
# The Containers feature adds these logs, just as it adds HNS.
_OF_CONTAINERS = (
    "Microsoft-Windows-Containers-CCG/Admin",
    "Microsoft-Windows-Containers-Wcifs/Operational",
    "Microsoft-Windows-Host-Network-Service-Admin",
    "Microsoft-Windows-Host-Network-Service-Operational",
    "Microsoft-Windows-Hyper-V-Compute-Admin",
    "Microsoft-Windows-Hyper-V-Compute-Operational",
    "Microsoft-Windows-Hyper-V-VmSwitch-Operational",
)
_OF_DEFENDER = ("Microsoft-Windows-Windows Defender/Operational", "Microsoft-Windows-Windows Defender/WHC")
_SERVICE_CONTROL_MANAGER = 7036
_EMPTY = 69632  # a log file starts with a header and one chunk of 64 KB
_CHUNK = 65536


@dataclass(frozen=True)
class Event:
    """One event. `level` is 2 for an error, 3 for a warning and 4 for information."""

    record: int
    created: datetime
    provider: str
    id: int
    level: int
    message: str


@dataclass
class EventLogs:
    """A machine's event logs, keyed by lower-case name. If a log is cleared, its record numbers continue."""

    events: dict[str, list[Event]] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    noted: int = 0


class QueryError(Exception):
    """Raised for an event query that Windows rejects or that the simulator does not support."""


def names(machine: Machine) -> list[str]:
    """Return the names of a machine's event logs."""
    of_containers = _OF_CONTAINERS if machine.services.get("hns") else ()
    of_defender = _OF_DEFENDER if machine.services.get("WinDefend") else ()
    return sorted(_ALWAYS + of_containers + of_defender, key=str.casefold)


def known(machine: Machine, log: str) -> str | None:
    """Return the name of an event log as Windows capitalizes it, or None if the log does not exist."""
    return next((name for name in names(machine) if name.casefold() == log.casefold()), None)


def write(
    machine: Machine,
    log: str,
    message: str,
    *,
    provider: str = "test",
    level: int = 4,
    age: timedelta = timedelta(),
    event_id: int = 1,
) -> None:
    """Write an event to an event log. `age` is the time that has passed since the event."""
    _append(machine.part(EventLogs), log, Event(0, machine.clock.now() - age, provider, event_id, level, message))


def _append(logs: EventLogs, log: str, event: Event) -> None:
    key = log.casefold()
    logs.written[key] = logs.written.get(key, 0) + 1
    numbered = Event(logs.written[key], event.created, event.provider, event.id, event.level, event.message)
    logs.events.setdefault(key, []).append(numbered)


def events(machine: Machine, log: str) -> list[Event]:
    """Return the events of an event log, starting with the oldest."""
    logs = machine.part(EventLogs)
    # Events of the service control manager since the last call.
    for text in machine.services.events[logs.noted :]:
        level = 2 if "failed" in text or "unexpectedly" in text else 4
        _append(
            logs,
            "system",
            Event(0, machine.clock.now(), "Service Control Manager", _SERVICE_CONTROL_MANAGER, level, text),
        )
    logs.noted = len(machine.services.events)
    return list(logs.events.get(log.casefold(), []))


def clear(machine: Machine, log: str) -> None:
    """Clear an event log."""
    events(machine, log)
    machine.part(EventLogs).events.pop(log.casefold(), None)


def file_size(found: list[Event]) -> int:
    """Return the size in bytes of a log file that contains the given events."""
    content = sum(200 + 2 * len(event.message) for event in found)
    return _EMPTY + content // _CHUNK * _CHUNK


def exported(found: list[Event]) -> bytes:
    """Return an exported event log: the header of .evtx files, followed by the text of the events in UTF-16."""
    lines = (f"{event.record} {event.created.isoformat()} {event.provider}: {event.message}\n" for event in found)
    return b"ElfFile\0" + "".join(lines).encode("utf-16-le")


def select(found: list[Event], query: str, moment: datetime) -> list[Event]:
    """Return the events that match a query such as `*[System[EventRecordID > 7]]`.

    Args:
        moment: the current time, for queries that compare the age of events.

    Raises:
        QueryError: the query is invalid or not modelled.
    """
    if query.strip() in ("", "*"):
        return found
    whole = re.fullmatch(r"\s*\*\[System\[(.*)\]\]\s*", query, re.DOTALL)
    if not whole:
        raise QueryError(query)
    tests = [_condition(text, moment) for text in re.split(r"\s+and\s+", whole[1].strip())]
    return [event for event in found if all(test(event) for test in tests)]


def _condition(text: str, moment: datetime) -> Callable[[Event], bool]:
    age = re.fullmatch(r"TimeCreated\[timediff\(@SystemTime\)\s*<=\s*(\d+)\]", text)
    if age:
        oldest = moment - timedelta(milliseconds=int(age[1]))
        return lambda event: event.created >= oldest
    record = re.fullmatch(r"\(?EventRecordID\s*(>=|>)\s*(\d+)\)?", text)
    if record:
        first = int(record[2]) + (record[1] == ">")
        return lambda event: event.record >= first
    raise QueryError(text)
