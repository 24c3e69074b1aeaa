# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Finds out which logs and services a node has, before anything is collected (no I/O)."""

from __future__ import annotations

import dataclasses
import datetime
import re
import typing as t

from ..windows import command_line
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.messages import Call, Observation
from ..wire.scopes import Scope
from . import catalogue

_SERVICES = "HKLM:\\SYSTEM\\CurrentControlSet\\Services"
_VOLUME = "C:\\"
SCOPE = Scope("survey.")
"""The scope of the calls that find logs and services, in a batch that also contains other calls."""
_FILES = Scope("files.")
_NSSM = ("AppStdout", "AppStderr", "Application")
_LOG_FLAG = re.compile(r"--?log-file(?:=(.*))?", re.IGNORECASE)
_LOG_NAME = re.compile(r"(?i)^[a-z]:\\[^<>\"|*?/]+\.(log|txt|out|err)$")


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogFile:
    """A file that matches a path of a log source, or that a service's command line or NSSM settings name."""

    source: str
    path: str
    size: int
    """Size in bytes; -1 if only the name is known."""
    modified: datetime.datetime | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class EventLog:
    """An event log that contains at least one event."""

    channel: str
    size: int
    """Size of the log's file in bytes."""
    records: int
    oldest: int
    """Number of the oldest record in the log."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceState:
    """A Windows service as the service control manager reports it, with its program and log files."""

    name: str
    display_name: str
    status: str
    start: str
    """Start type, such as Automatic, Manual or Disabled."""
    program: str
    """Windows path of the service's program; empty if unknown."""
    log_files: tuple[str, ...]
    """Log files that the service's command line or its NSSM settings name."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Survey:
    """The observed logs and services of a node."""

    windows: WindowsInfo
    time: str
    """Time of the node's clock (UTC, ISO 8601)."""
    boot: str
    free: int
    """Free bytes on drive C, where the node copies the logs and packs the archive."""
    files: tuple[LogFile, ...]
    event_logs: tuple[EventLog, ...]
    services: tuple[ServiceState, ...]
    """All services. `program` and `log_files` are only set for the services in data/log_sources.yml."""
    problems: tuple[str, ...]
    """What could not be observed, and why."""

    def service(self, name: str) -> ServiceState | None:
        """Return the service with this name (case is ignored), or None if the node has no such service."""
        return next((service for service in self.services if service.name.casefold() == name.casefold()), None)


def calls(requested: catalogue.RequestedLogs) -> tuple[Call, ...]:
    """Return the calls that find logs and services. If one of them fails, the others still run."""
    asked = [
        query("free", "@free-space", {"path": _VOLUME}),
        query(
            "services",
            "Get-Service",
            {"ErrorAction": "SilentlyContinue"},
            select=("Name", "DisplayName", "Status", "StartType"),
        ),
        query("programs", "@read-registry", {"values": [{"path": path, "name": name} for path, name in _values()]}),
    ]
    for name, paths in requested.files().items():
        asked.append(
            query(
                _FILES.id(name),
                "Get-ChildItem",
                {"Path": paths, "File": True, "Force": True, "ErrorAction": "SilentlyContinue"},
                select=("FullName", "Length", "LastWriteTimeUtc"),
            )
        )
    if catalogue.EVENT_LOGS in requested.chosen:
        # Without SilentlyContinue, a missing log whose name has no wildcard would be an error.
        asked.append(
            query(
                "event-logs",
                "Get-WinEvent",
                {"ListLog": [*catalogue.sources().event_logs], "ErrorAction": "SilentlyContinue"},
                select=("LogName", "FileSize", "RecordCount", "OldestRecordNumber"),
            )
        )
    return tuple(asked)


def _values() -> t.Iterator[tuple[str, str]]:
    for service in catalogue.sources().services:
        key = f"{_SERVICES}\\{service.name}"
        yield key, "ImagePath"
        yield from ((f"{key}\\Parameters", name) for name in _NSSM)


def read(seen: Observation, windows: WindowsInfo) -> Survey:
    """Parse the logs and services of a node from the results of `calls`.

    Args:
        seen: the observation, with only the results of `calls`.
        windows: the node's version of Windows, which was read at the same time.
    """
    problems = [f"{call_id}: {result.error or 'failed'}" for call_id, result in seen.calls.items() if not result.ok]
    free = seen.calls["free"].first if "free" in seen.calls else None
    return Survey(
        windows=windows,
        time=seen.time,
        boot=seen.boot,
        free=int((free or {}).get("free") or 0),
        files=tuple(_files(seen)),
        event_logs=tuple(_event_logs(seen)),
        services=tuple(_services(seen)),
        problems=tuple(problems),
    )


def moment(text: t.Any) -> datetime.datetime | None:
    """Parse an ISO 8601 time that a node reported. Return None if the string is not a time.

    .NET writes up to seven decimal places, of which six are kept.
    """
    try:
        return datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", str(text)))
    except ValueError:
        return None


def _files(seen: Observation) -> t.Iterator[LogFile]:
    known: set[str] = set()
    for source, result in _FILES.results(seen.calls).items():
        for item in result.output:
            path = str(item.get("FullName") or "")
            if path and path.casefold() not in known:
                known.add(path.casefold())
                yield LogFile(
                    source=source,
                    path=path,
                    size=int(item.get("Length") or 0),
                    modified=moment(item.get("LastWriteTimeUtc")),
                )


def _event_logs(seen: Observation) -> t.Iterator[EventLog]:
    result = seen.calls.get("event-logs")
    for item in result.output if result else ():
        channel, records = str(item.get("LogName") or ""), int(item.get("RecordCount") or 0)
        if channel and records and not catalogue.sources().forbids_event_log(channel):
            oldest = int(item.get("OldestRecordNumber") or 0)
            yield EventLog(channel=channel, size=int(item.get("FileSize") or 0), records=records, oldest=oldest)


def _services(seen: Observation) -> t.Iterator[ServiceState]:
    states = {str(item.get("Name") or ""): item for item in _output(seen, "services")}
    lines = {
        (str(item.get("path") or "").casefold(), str(item.get("name") or "")): str(item.get("value") or "")
        for item in _output(seen, "programs")
    }
    ours = {service.name.casefold() for service in catalogue.sources().services}
    for name, item in sorted(states.items(), key=lambda pair: (pair[0].casefold() not in ours, pair[0].casefold())):
        key = f"{_SERVICES}\\{name}".casefold()
        arguments = command_line.split(lines.get((key, "ImagePath"), ""))
        # If the service's program is NSSM, the value Application names the program that NSSM starts.
        program = lines.get((f"{key}\\parameters", "Application")) or (arguments[0] if arguments else "")
        given = [lines.get((f"{key}\\parameters", value), "") for value in _NSSM[:2]]
        yield ServiceState(
            name=name,
            display_name=str(item.get("DisplayName") or ""),
            status=str(item.get("Status") or ""),
            start=str(item.get("StartType") or ""),
            program=_real_program(program, arguments),
            log_files=tuple(dict.fromkeys(path for path in [*_flagged(arguments), *given] if _LOG_NAME.match(path))),
        )


def _output(seen: Observation, call_id: str) -> tuple[t.Any, ...]:
    result = seen.calls.get(call_id)
    return result.output if result else ()


def _real_program(program: str, arguments: t.Sequence[str]) -> str:
    """Return a service's program. If it is kube-log-runner, return the program that kube-log-runner starts."""
    if program.casefold().endswith("kube-log-runner.exe"):
        return next((word for word in arguments[1:] if word.casefold().endswith(".exe")), program)
    return program


def _flagged(arguments: t.Sequence[str]) -> t.Iterator[str]:
    for position, word in enumerate(arguments):
        match = _LOG_FLAG.fullmatch(word)
        if match and match[1] is not None:
            yield match[1].replace("/", "\\")
        elif match and position + 1 < len(arguments):
            yield arguments[position + 1].replace("/", "\\")
