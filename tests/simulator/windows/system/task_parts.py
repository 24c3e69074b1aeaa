# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The parts of scheduled tasks: actions, triggers, principals and settings, as objects and as XML.

Sources: https://learn.microsoft.com/powershell/module/scheduledtasks/new-scheduledtask and, for the XML format,
https://learn.microsoft.com/windows/win32/taskschd/task-scheduler-schema
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from simulator.machine.objects import Bound, CmdletError, Enumeration, PSObject, items
from simulator.windows.common import cim

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

NAMESPACE = "root/Microsoft/Windows/TaskScheduler"
NEVER_RUN = 267011
_STATES = {"Disabled": 1, "Queued": 2, "Ready": 3, "Running": 4}
_LOGON = {
    "None": 0,
    "Password": 1,
    "S4U": 2,
    "Interactive": 3,
    "Group": 4,
    "ServiceAccount": 5,
    "InteractiveOrPassword": 6,
}
_ACCOUNTS = {"system": "SYSTEM", "localsystem": "SYSTEM", "s-1-5-18": "SYSTEM", "nt authority\\system": "SYSTEM"}
_TRIGGERS = ("AtStartup", "AtLogOn", "Once", "Daily", "Weekly")
_CLASSES = {
    "AtStartup": "MSFT_TaskBootTrigger",
    "AtLogOn": "MSFT_TaskLogonTrigger",
    "Once": "MSFT_TaskTimeTrigger",
    "Daily": "MSFT_TaskDailyTrigger",
    "Weekly": "MSFT_TaskWeeklyTrigger",
}


@dataclass
class RegisteredTask:
    """A registered scheduled task. Its parts are the CIM objects with which it was registered."""

    name: str
    path: str
    actions: list[PSObject]
    triggers: list[PSObject]
    principal: PSObject
    settings: PSObject
    description: str = ""
    state: str = "Ready"
    last_run: datetime | None = None
    last_result: int = NEVER_RUN
    process_id: int = 0


_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


@dataclass
class Tasks:
    """The scheduled tasks of a machine, keyed by path and name in lower case."""

    tasks: dict[str, RegisteredTask] = field(default_factory=dict)


def make(kind: str, properties: dict[str, object]) -> PSObject:
    return cim(kind, properties, NAMESPACE)


def iso_duration(value: object) -> str | None:
    """Return a TimeSpan in ISO 8601 (`P3D`, `P1DT5M`), as tasks store it.

    None is returned unchanged, and any other value as a string.
    """
    if not isinstance(value, timedelta):
        return None if value is None else str(value)
    seconds = int(value.total_seconds())
    days, rest = divmod(seconds, 86400)
    clock = "".join(f"{n}{u}" for n, u in ((rest // 3600, "H"), (rest // 60 % 60, "M"), (rest % 60, "S")) if n)
    day = f"{days}D" if days else ""
    return f"P{day}{'T' + clock if clock else ''}" if day or clock else "PT0S"


def new_action(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-ScheduledTaskAction."""
    properties: dict[str, object] = {
        "Id": bound.get("Id"),
        "Arguments": bound.get("Argument"),
        "Execute": bound.text("Execute"),
        "WorkingDirectory": bound.get("WorkingDirectory"),
        "PSComputerName": None,
    }
    return [make("MSFT_TaskExecAction", properties)]


def new_trigger(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-ScheduledTaskTrigger."""
    kind = next(kind for kind in _TRIGGERS if bound.flag(kind))
    at = bound.get("At")
    repetition = make(
        "MSFT_TaskRepetitionPattern",
        {
            "Duration": iso_duration(bound.get("RepetitionDuration")),
            "Interval": iso_duration(bound.get("RepetitionInterval")),
            "StopAtDurationEnd": None,
        },
    )
    properties: dict[str, object] = {
        "Enabled": True,
        "EndBoundary": "",
        "ExecutionTimeLimit": None,
        "Id": None,
        "Repetition": repetition,
        "StartBoundary": at.strftime("%Y-%m-%dT%H:%M:%S") if isinstance(at, datetime) else "",
        "Delay": None,
        "RandomDelay": iso_duration(bound.get("RandomDelay")),
        "UserId": bound.get("User"),
    }
    if kind == "Daily":
        properties["DaysInterval"] = bound.number("DaysInterval", 1)
    if kind == "Weekly":
        properties |= {"WeeksInterval": bound.number("WeeksInterval", 1), "DaysOfWeek": _day_mask(bound)}
    return [make(_CLASSES[kind], properties)]


def _day_mask(bound: Bound) -> int:
    """Return the days in -DaysOfWeek as the bit mask of MSFT_TaskWeeklyTrigger. Bit 0 is Sunday."""
    return sum(1 << _DAYS.index(day) for day in {day.casefold() for day in bound.texts("DaysOfWeek")})


def new_principal(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-ScheduledTaskPrincipal."""
    return [_principal(bound.text("UserId"), bound.text("GroupId"), bound.text("LogonType"), bound.text("RunLevel"))]


def _principal(user: str, group: str = "", logon: str = "", level: str = "") -> PSObject:
    account = _ACCOUNTS.get(user.casefold(), user.split("\\")[-1])
    kind = logon or ("Group" if group else "ServiceAccount" if account == "SYSTEM" else "Interactive")
    return make(
        "MSFT_TaskPrincipal2",
        {
            "DisplayName": None,
            "GroupId": group or None,
            "Id": "Author",
            "LogonType": Enumeration(kind, _LOGON.get(kind, 0), "LogonTypeEnum"),
            "RunLevel": Enumeration(level or "Limited", int(level == "Highest"), "RunLevelEnum"),
            "UserId": account or None,
        },
    )


def new_settings(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-ScheduledTaskSettingsSet."""
    limit = bound.get("ExecutionTimeLimit")
    multiple = bound.text("MultipleInstances", "IgnoreNew")
    properties: dict[str, object] = {
        "AllowDemandStart": not bound.flag("DisallowDemandStart"),
        "AllowHardTerminate": not bound.flag("DisallowHardTerminate"),
        "Compatibility": bound.text("Compatibility", "Vista"),
        "DeleteExpiredTaskAfter": iso_duration(bound.get("DeleteExpiredTaskAfter")) or "",
        "DisallowStartIfOnBatteries": not bound.flag("AllowStartIfOnBatteries"),
        "Enabled": not bound.flag("Disable"),
        "ExecutionTimeLimit": "PT72H" if limit is None else iso_duration(limit),
        "Hidden": bound.flag("Hidden"),
        "MultipleInstances": Enumeration(multiple, {"Parallel": 0, "Queue": 1, "IgnoreNew": 2}.get(multiple, 2)),
        "Priority": bound.number("Priority", 7),
        "RestartCount": bound.number("RestartCount", 0),
        "RestartInterval": iso_duration(bound.get("RestartInterval")) or "",
        "RunOnlyIfIdle": bound.flag("RunOnlyIfIdle"),
        "RunOnlyIfNetworkAvailable": bound.flag("RunOnlyIfNetworkAvailable"),
        "StartWhenAvailable": bound.flag("StartWhenAvailable"),
        "StopIfGoingOnBatteries": not bound.flag("DontStopIfGoingOnBatteries"),
        "WakeToRun": bound.flag("WakeToRun"),
    }
    return [make("MSFT_TaskSettings3", properties)]


def cim_list(bound: Bound, name: str) -> list[PSObject]:
    return [item for item in items(bound.get(name)) if isinstance(item, PSObject)]


def from_parameters(machine: Machine, bound: Bound, name: str, path: str) -> RegisteredTask:
    principal = cim_list(bound, "Principal")
    user = bound.text("User", machine.settings.user)
    settings = cim_list(bound, "Settings") or [
        item for item in new_settings(machine, Bound("", {})) if isinstance(item, PSObject)
    ]
    logon = "Password" if bound.get("Password") else ""
    return RegisteredTask(
        name,
        path,
        cim_list(bound, "Action"),
        cim_list(bound, "Trigger"),
        principal[0] if principal else _principal(user, "", logon, bound.text("RunLevel")),
        settings[0],
        bound.text("Description"),
    )


def from_object(name: str, path: str, item: PSObject) -> RegisteredTask:
    def parts(key: str) -> list[PSObject]:
        return [part for part in items(item.get(key)) if isinstance(part, PSObject)]

    return RegisteredTask(
        name,
        path,
        parts("Actions"),
        parts("Triggers"),
        parts("Principal")[0],
        parts("Settings")[0],
        str(item.get("Description") or ""),
    )


def from_xml(name: str, path: str, text: str) -> RegisteredTask:
    """Parse the XML of a scheduled task, and return the task.

    Source: https://learn.microsoft.com/windows/win32/taskschd/task-scheduler-schema
    """
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise failure("HRESULT 0x8004131a", f"The task XML is malformed. ({error})", "InvalidOperation") from error
    space = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"

    def find(where: str) -> str:
        return root.findtext("/".join(space + part for part in where.split("/"))) or ""

    actions = [
        make(
            "MSFT_TaskExecAction",
            {
                "Id": None,
                "Arguments": action.findtext(f"{space}Arguments"),
                "Execute": action.findtext(f"{space}Command"),
                "WorkingDirectory": action.findtext(f"{space}WorkingDirectory"),
            },
        )
        for action in root.iter(f"{space}Exec")
    ]
    triggers = []
    for tag, kind in (
        ("BootTrigger", "AtStartup"),
        ("LogonTrigger", "AtLogOn"),
        ("TimeTrigger", "Once"),
        ("CalendarTrigger", "Daily"),
    ):
        triggers += [
            make(_CLASSES[kind], {"Enabled": True, "StartBoundary": found.findtext(f"{space}StartBoundary") or ""})
            for found in root.iter(f"{space}{tag}")
        ]
    level = "Highest" if find("Principals/Principal/RunLevel") == "HighestAvailable" else "Limited"
    principal = _principal(find("Principals/Principal/UserId") or "SYSTEM", "", "", level)
    settings = make(
        "MSFT_TaskSettings3",
        {"Enabled": find("Settings/Enabled") != "false", "Hidden": find("Settings/Hidden") == "true"},
    )
    return RegisteredTask(name, path, actions, triggers, principal, settings, find("RegistrationInfo/Description"))


def failure(error_id: str, message: str, category: str, command: str = "Register-ScheduledTask") -> CmdletError:
    return CmdletError(category, f"{error_id},{command}", message, "Microsoft.Management.Infrastructure.CimException")


def task_object(task: RegisteredTask) -> PSObject:
    return cim(
        "MSFT_ScheduledTask",
        {
            "Actions": task.actions,
            "Author": None,
            "Date": None,
            "Description": task.description or None,
            "Documentation": None,
            "Principal": task.principal,
            "SecurityDescriptor": None,
            "Settings": task.settings,
            "Source": None,
            "State": Enumeration(task.state, _STATES[task.state], "StateEnum"),
            "TaskName": task.name,
            "TaskPath": task.path,
            "Triggers": task.triggers,
            "URI": task.path + task.name,
            "Version": None,
        },
        NAMESPACE,
        f'MSFT_ScheduledTask (TaskName = "{task.name}", TaskPath = "{task.path}")',
    )
