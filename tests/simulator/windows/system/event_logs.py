# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cmdlets for event logs, and wevtutil.exe. The System log contains events of the service control manager.

Sources: https://learn.microsoft.com/powershell/module/microsoft.powershell.diagnostics/get-winevent and
https://learn.microsoft.com/windows-server/administration/windows-commands/wevtutil
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine.files import DiskFullError
from simulator.machine.objects import (
    Bound,
    Cmdlet,
    CmdletError,
    Invocation,
    Program,
    ProgramResult,
    PSObject,
    items,
)
from simulator.machine.wildcards import any_match, has_wildcard
from simulator.windows.system import event_log_store as store

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_MAXIMUM = 20 * 1024 * 1024
_FILE_EXISTS = 80
_NO_CHANNEL = 15007
_INVALID_QUERY = 15001
_PATH_NOT_FOUND = 3
_DISK_FULL = 112
_LEVELS = {2: "Error", 3: "Warning", 4: "Information"}


def _no_log(log: str, command: str) -> CmdletError:
    return CmdletError(
        "ObjectNotFound",
        f"NoMatchingLogsFound,Microsoft.PowerShell.Commands.{command}",
        f'There is not an event log on the localhost computer that matches "{log}".',
        "System.Exception",
    )


def _record(machine: Machine, log: str, event: store.Event) -> PSObject:
    return PSObject(
        "System.Diagnostics.Eventing.Reader.EventLogRecord",
        {
            "Id": event.id,
            "RecordId": event.record,
            "LogName": log,
            "ProviderName": event.provider,
            "LevelDisplayName": _LEVELS[event.level],
            "Level": event.level,
            "MachineName": machine.name,
            "TimeCreated": event.created,
            "Message": event.message,
        },
    )


def _configuration(machine: Machine, log: str) -> PSObject:
    """Return an event log as Get-WinEvent -ListLog shows it, with its size and its number of records."""
    found = store.events(machine, log)
    properties: dict[str, object] = {
        "LogName": log,
        "LogMode": "Circular",
        "MaximumSizeInBytes": _MAXIMUM,
        "IsEnabled": True,
        "FileSize": store.file_size(found),
        "IsLogFull": False,
        "LastWriteTime": found[-1].created if found else None,
        "OldestRecordNumber": found[0].record if found else 0,
        "RecordCount": len(found),
    }
    return PSObject("System.Diagnostics.Eventing.Reader.EventLogConfiguration", properties, log)


def _list_logs(machine: Machine, bound: Bound) -> Iterable[object]:
    for requested in bound.texts("ListLog"):
        found = [name for name in store.names(machine) if any_match([requested], name)]
        if not found and not has_wildcard(requested):
            bound.write_error(_no_log(requested, "GetWinEventCommand"))
        yield from (_configuration(machine, name) for name in found)


def get_win_event(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-WinEvent with -ListLog, -LogName or -FilterHashtable."""
    if bound.get("ListLog"):
        yield from _list_logs(machine, bound)
        return
    tables = [table for table in items(bound.get("FilterHashtable")) if isinstance(table, Mapping)]
    given = [str(name) for table in tables for name in items(table.get("LogName"))] or store.names(machine)
    logs = bound.texts("LogName") or given
    for log in logs:
        if not has_wildcard(log) and store.known(machine, log) is None:
            raise _no_log(log, "GetWinEventCommand")
    found = [
        _record(machine, name, event)
        for name in store.names(machine)
        if any_match(logs, name)
        for event in reversed(store.events(machine, name))
        if not tables or any(_selected(event, table) for table in tables)
    ]
    if not found:
        raise CmdletError(
            "ObjectNotFound",
            "NoMatchingEventsFound,Microsoft.PowerShell.Commands.GetWinEventCommand",
            "No events were found that match the specified selection criteria.",
            "System.Exception",
        )
    yield from found[: bound.number("MaxEvents", len(found))]


def _selected(event: store.Event, table: Mapping[str, object]) -> bool:
    """Return whether an event matches the keys ProviderName, Id and Level of a filter hash table."""
    requested = {str(name).casefold(): [str(item).casefold() for item in items(value)] for name, value in table.items()}
    own = {"providername": event.provider, "id": str(event.id), "level": str(event.level)}
    return all(value.casefold() in requested.get(name, [value.casefold()]) for name, value in own.items())


def clear_event_log(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Clear-EventLog."""
    for log in bound.texts("LogName"):
        if store.known(machine, log) is None:
            raise CmdletError(
                "ObjectNotFound",
                "GetEventLogException,Microsoft.PowerShell.Commands.ClearEventLogCommand",
                f'The Log name "{log}" does not exist in the computer "localhost".',
                "System.InvalidOperationException",
            )
        store.clear(machine, log)
    return []


def wevtutil(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate `wevtutil el`, `wevtutil cl LOG` and `wevtutil epl LOG FILE [/q:QUERY] [/ow:true]`."""
    words = [word for word in run.argv if not word.startswith("/")]
    options = dict(word[1:].split(":", 1) for word in run.argv if word.startswith("/") and ":" in word)
    verb = words[0].casefold() if words else ""
    if verb in ("el", "enum-logs"):
        return ProgramResult(0, "".join(f"{name}\r\n" for name in store.names(machine)))
    if verb in ("cl", "clear-log", "epl", "export-log") and len(words) >= 2:
        log = store.known(machine, words[1])
        if log is None:
            text = f"Failed to read configuration for log {words[1]}.\r\nThe specified channel could not be found.\r\n"
            return ProgramResult(_NO_CHANNEL, "", text)
        if verb in ("cl", "clear-log"):
            store.clear(machine, log)
            return ProgramResult(0)
        if len(words) >= 3:
            return _export(machine, log, words[2], {name.casefold(): value for name, value in options.items()})
    return ProgramResult(87, "", f"the simulator does not model wevtutil {' '.join(run.argv)}\r\n")


def _export(machine: Machine, log: str, path: str, options: Mapping[str, str]) -> ProgramResult:
    def failed(code: int, why: str) -> ProgramResult:
        return ProgramResult(code, "", f"Failed to export log {log}.\r\n{why}\r\n")

    if unknown := options.keys() - {"q", "query", "ow", "overwrite"}:
        return ProgramResult(87, "", f"the simulator does not model wevtutil's {', '.join(sorted(unknown))}\r\n")
    overwrite = options.get("ow", options.get("overwrite", "false")).casefold() == "true"
    if machine.files.exists(path) and not overwrite:
        return failed(_FILE_EXISTS, "The file exists.")
    try:
        found = store.select(
            store.events(machine, log), options.get("q", options.get("query", "*")), machine.clock.now()
        )
        machine.files.write_bytes(path, store.exported(found))
    except store.QueryError:
        return failed(_INVALID_QUERY, "The specified query is invalid.")
    except FileNotFoundError:
        return failed(_PATH_NOT_FOUND, "The system cannot find the path specified.")
    except DiskFullError:
        return failed(_DISK_FULL, "There is not enough space on the disk.")
    return ProgramResult(0)


CMDLETS: Mapping[str, Cmdlet] = {"Get-WinEvent": get_win_event, "Clear-EventLog": clear_event_log}
PROGRAMS: Mapping[str, Program] = {"wevtutil.exe": wevtutil}
