# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A task of the Windows Task Scheduler."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine.changes import create, is_missing, objects, remove, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Input, Json, Results

_CLASSES = {
    "MSFT_TaskBootTrigger": "startup",
    "MSFT_TaskLogonTrigger": "logon",
    "MSFT_TaskDailyTrigger": "daily",
    "MSFT_TaskWeeklyTrigger": "weekly",
    "MSFT_TaskTimeTrigger": "once",
}
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_SYSTEM = frozenset({"system", "nt authority\\system", "s-1-5-18", "localsystem"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trigger:
    """A trigger of a scheduled task."""

    on: t.Literal["startup", "logon", "daily", "weekly", "once"] = dataclasses.field(
        metadata={"help": "The event that starts the task."}
    )
    at: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "Time of day (`03:30`) for `daily` and `weekly`; date and time (`2026-12-31T03:30`) for `once`."
        },
    )
    days: tuple[t.Literal["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"], ...] = (
        dataclasses.field(default=(), metadata={"help": "Days of the week for `weekly`."})
    )

    def __post_init__(self) -> None:
        if self.on in ("daily", "weekly", "once"):
            form = r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?" if self.on == "once" else r"([01]\d|2[0-3]):[0-5]\d"
            if self.at is None or not re.fullmatch(form, self.at, re.ASCII):
                example = "2026-12-31T03:30" if self.on == "once" else "03:30"
                raise ResourceError("at", self.at, f"expected a time such as {example} (in quotes)")
        elif self.at is not None:
            raise ResourceError("at", self.at, f"expected no time if on={self.on}")
        if bool(self.days) != (self.on == "weekly"):
            expected = "expected no days" if self.days else "expected at least one day"
            raise ResourceError("days", list(self.days), f"{expected} if on={self.on}")

    @property
    def text(self) -> str:
        """The trigger as a string, such as `daily 03:30`, `weekly 03:30 Monday Friday` or `startup`."""
        return " ".join([self.on, *([self.at[:16]] if self.at else []), *(day for day in _DAYS if day in self.days)])

    def parameters(self) -> dict[str, Json]:
        """Return the parameters with which New-ScheduledTaskTrigger creates this trigger."""
        switch = {"startup": "AtStartup", "logon": "AtLogOn", "daily": "Daily", "weekly": "Weekly", "once": "Once"}
        parameters: dict[str, Json] = {switch[self.on]: True}
        if self.at:
            parameters["At"] = self.at
        if self.days:
            parameters["DaysOfWeek"] = list(self.days)
        return parameters


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScheduledTask(Resource):
    """A task of the Windows Task Scheduler that runs one program, under an account that needs no password."""

    type: t.ClassVar[str] = "ScheduledTask"
    name: str = dataclasses.field(
        metadata={"help": "The task's name, including its folder if it has one, such as `\\winkube\\clean-up`."}
    )
    execute: str | None = dataclasses.field(default=None, metadata={"help": "Path of the program that the task runs."})
    arguments: str = dataclasses.field(default="", metadata={"help": "The program's arguments, as one string."})
    working_directory: str = dataclasses.field(default="", metadata={"help": "The program's working directory."})
    description: str = dataclasses.field(default="", metadata={"help": "What the task is for."})
    triggers: tuple[Trigger, ...] = dataclasses.field(
        default=(), metadata={"help": "When the task runs. Without triggers, it runs only on demand."}
    )
    user: str = dataclasses.field(
        default="SYSTEM", metadata={"help": "The account: `SYSTEM`, `LOCAL SERVICE` or `NETWORK SERVICE`."}
    )
    run_level: t.Literal["Limited", "Highest"] = dataclasses.field(
        default="Highest",
        metadata={"help": "Whether the task runs with the account's full rights or with limited rights."},
    )
    enabled: bool = dataclasses.field(default=True, metadata={"help": "Whether the task is enabled."})
    execution_time_limit_minutes: int = dataclasses.field(
        default=4320, metadata={"help": "Minutes after which a running task is stopped. With 0, it is never stopped."}
    )
    multiple_instances: t.Literal["IgnoreNew", "Parallel", "Queue"] = dataclasses.field(
        default="IgnoreNew", metadata={"help": "What happens if the task is triggered while it is still running."}
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the task exists."}
    )

    def __post_init__(self) -> None:
        if not self.task_name or re.search(r'[/:*?"<>|\[\]]', self.name):
            raise ResourceError("name", self.name, r"expected a name such as \folder\task")
        if self.state == "present" and not self.execute:
            raise ResourceError("execute", self.execute, "expected the path of the program that the task runs")
        if self.execution_time_limit_minutes < 0:
            raise ResourceError("execution_time_limit_minutes", self.execution_time_limit_minutes, "expected 0 or more")

    @property
    def task_name(self) -> str:
        return self.name.rpartition("\\")[2]

    @property
    def task_path(self) -> str:
        folder = self.name.rpartition("\\")[0].strip("\\")
        return f"\\{folder}\\" if folder else "\\"

    @property
    def _named(self) -> dict[str, Json]:
        return {"TaskName": self.task_name, "TaskPath": self.task_path}

    def observe(self) -> tuple[Call, ...]:
        select = (
            "State",
            "Description",
            "Actions.Execute",
            "Actions.Arguments",
            "Actions.WorkingDirectory",
            "Principal.UserId",
            "Principal.RunLevel",
            "Settings.Enabled",
            "Settings.ExecutionTimeLimit",
            "Settings.MultipleInstances",
            "Triggers.CimClass.CimClassName",
            "Triggers.StartBoundary",
            "Triggers.DaysOfWeek",
        )
        parameters: dict[str, Json] = {"TaskName": [self.task_name], "TaskPath": [self.task_path]}
        return (query("task", "Get-ScheduledTask", parameters, select=select),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        tasks = () if is_missing(seen.get("task")) else objects(self, seen, "task")
        if self.state == "absent":
            gone: dict[str, Json] = {"TaskName": [self.task_name], "TaskPath": [self.task_path], "Confirm": False}
            calls = [action("remove", "Unregister-ScheduledTask", gone)]
            return remove(self, {"execute": _one(tasks[0].get("Actions.Execute"))}, calls) if tasks else None
        desired = {
            "execute": self.execute,
            "arguments": self.arguments,
            "working_directory": self.working_directory,
            "description": self.description,
            "user": self.user,
            "run_level": self.run_level,
            "enabled": self.enabled,
            "execution_time_limit": _limit(self.execution_time_limit_minutes),
            "multiple_instances": self.multiple_instances,
            "triggers": sorted(trigger.text for trigger in self.triggers),
        }
        if not tasks:
            return create(self, desired, self._register())
        return update(self, self._observed(tasks[0]), desired, self._register())

    def _observed(self, task: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        user = str(task.get("Principal.UserId") or "")
        if (user.casefold() in _SYSTEM and self.user.casefold() in _SYSTEM) or _account(user) == _account(self.user):
            user = self.user
        limit = str(task.get("Settings.ExecutionTimeLimit") or "")
        desired_limit = _limit(self.execution_time_limit_minutes)
        return {
            "execute": _one(task.get("Actions.Execute")),
            "arguments": _one(task.get("Actions.Arguments")) or "",
            "working_directory": _one(task.get("Actions.WorkingDirectory")) or "",
            "description": task.get("Description") or "",
            "user": user,
            "run_level": task.get("Principal.RunLevel"),
            "enabled": str(task.get("State")) != "Disabled" and task.get("Settings.Enabled") is not False,
            "execution_time_limit": desired_limit if _minutes(limit) == self.execution_time_limit_minutes else limit,
            "multiple_instances": task.get("Settings.MultipleInstances"),
            "triggers": _triggers(task),
        }

    def _register(self) -> t.Iterator[Call]:
        """Yield the calls that register the task.

        Triggers and settings are set after the registration, because a call accepts only one kind of object as its
        input.
        """
        program: dict[str, Json] = {"Execute": self.execute}
        program |= {"Argument": self.arguments} if self.arguments else {}
        program |= {"WorkingDirectory": self.working_directory} if self.working_directory else {}
        yield action("action", "New-ScheduledTaskAction", program)
        for index, trigger in enumerate(self.triggers):
            parameters = trigger.parameters()
            yield action(f"trigger-{index}", "New-ScheduledTaskTrigger", parameters)
        settings: dict[str, Json] = {
            "ExecutionTimeLimit": _limit(self.execution_time_limit_minutes),
            "MultipleInstances": self.multiple_instances,
            "AllowStartIfOnBatteries": True,
            "DontStopIfGoingOnBatteries": True,
        }
        settings |= {} if self.enabled else {"Disable": True}
        yield action("settings", "New-ScheduledTaskSettingsSet", settings)
        register: dict[str, Json] = {**self._named, "User": self.user, "RunLevel": self.run_level, "Force": True}
        register |= {"Description": self.description} if self.description else {}
        made = Input(calls=("action",), parameter="Action")
        yield action("register", "Register-ScheduledTask", register, input=made)
        if self.triggers:
            triggers = Input(
                calls=tuple(f"trigger-{index}" for index in range(len(self.triggers))), parameter="Trigger"
            )
            yield action("triggers", "Set-ScheduledTask", self._named, input=triggers)
        kept = Input(calls=("settings",), parameter="Settings")
        yield action("set-settings", "Set-ScheduledTask", self._named, input=kept)


def _one(value: t.Any) -> t.Any:
    """Return a property of the task's actions as one value; PowerShell returns a list with a value for each action."""
    if isinstance(value, (list, tuple)):
        return value[0] if len(value) == 1 else ", ".join(map(str, value)) or None
    return value


def _many(value: t.Any) -> list[t.Any]:
    return [item for item in (value if isinstance(value, (list, tuple)) else [value]) if item not in (None, "")]


def _account(name: str) -> str:
    return name.casefold().rpartition("\\")[2]


def _limit(minutes: int) -> str:
    """Return a time limit as a TimeSpan in PowerShell's notation."""
    days, rest = divmod(minutes, 24 * 60)
    return f"{days}.{rest // 60:02}:{rest % 60:02}:00" if days else f"{rest // 60:02}:{rest % 60:02}:00"


def _minutes(text: str) -> float | None:
    """Return the minutes in a TimeSpan (`3.00:00:00`) or ISO 8601 duration (`P3D`, `PT72H`), or None for other text."""
    iso = re.fullmatch(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", text)
    span = re.fullmatch(r"(?:(\d+)\.)?(\d+):(\d+):(\d+)", text)
    match = iso or span
    if not match or not text.strip("PT"):
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return days * 1440 + hours * 60 + minutes + seconds / 60


def _triggers(task: t.Mapping[str, t.Any]) -> list[str]:
    """Return a task's triggers as strings such as `daily 03:30`.

    PowerShell returns the triggers' times and days as separate lists. A trigger without a time or days has no entry
    in them, so each trigger that needs an entry takes the next unused one.
    """
    kinds = [_CLASSES.get(str(name), str(name)) for name in _many(task.get("Triggers.CimClass.CimClassName"))]
    starts = iter(str(start) for start in _many(task.get("Triggers.StartBoundary")))
    masks = iter(_many(task.get("Triggers.DaysOfWeek")))
    texts: list[str] = []
    for kind in kinds:
        parts = [kind]
        if kind in ("daily", "weekly", "once"):
            start = next(starts, "")
            parts.append(start[:16] if kind == "once" else start[11:16])
        if kind == "weekly":
            mask = next(masks, 0)
            parts += [day for bit, day in enumerate(_DAYS) if isinstance(mask, int) and mask >> bit & 1]
        texts.append(" ".join(parts))
    return sorted(texts)
