# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What cmdlets and programs take and give: objects, errors, bound parameters, invocations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from simulator.machine.machine import Machine
    from simulator.machine.services import Service


@dataclass(frozen=True)
class Enumeration:
    """A value of a .NET enumeration: shown by its name, written by ConvertTo-Json as its number."""

    name: str
    number: int
    type_name: str = "System.Enum"

    def __str__(self) -> str:
        return self.name


@dataclass
class PSObject:
    """An object with properties (names are case-insensitive).

    Args:
        type_name: the .NET type, e.g. `System.ServiceProcess.ServiceController`.
        properties: name to value, in the order in which they are shown.
        text: what the object becomes as a string; by default its type name, as .NET does it
            (of a PSCustomObject: `@{name=value; …}`).
    """

    type_name: str
    properties: dict[str, object]
    text: str | None = None

    def find(self, name: str) -> str | None:
        """Return the property's name in its own case, or None."""
        if name in self.properties:
            return name
        wanted = name.casefold()
        return next((key for key in self.properties if key.casefold() == wanted), None)

    def get(self, name: str, default: object = None) -> object:
        """Return a property's value, whatever the case of its name."""
        found = self.find(name)
        return default if found is None else self.properties[found]

    def __getitem__(self, name: str) -> object:
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return self.properties[found]

    def __str__(self) -> str:
        if self.text is not None:
            return self.text
        if self.type_name.endswith("PSCustomObject"):
            from simulator.machine.text import member_text

            return "@{" + "; ".join(f"{key}={member_text(value)}" for key, value in self.properties.items()) + "}"
        return self.type_name


class OrderedDictionary(dict[str, object]):
    """A dictionary that keeps its order, as `[ordered]@{}` makes it; what the verbs of a batch return."""


CUSTOM_OBJECT = "System.Management.Automation.PSCustomObject"


def custom_object(**properties: object) -> PSObject:
    """Return a PSCustomObject."""
    return PSObject(CUSTOM_OBJECT, dict(properties))


class Approximate(str):
    """A message that is not known word for word."""

    __slots__ = ()


class CmdletError(Exception):
    """A terminating error of a cmdlet, as PowerShell's error record shows it.

    Args:
        category: name of the ErrorCategory, e.g. `ObjectNotFound`.
        error_id: the error's id; the command's own half (`,Get-Service` or its .NET class) is added by the caller
            unless there is a comma in it already.
        message: the exception's message.
        exception_type: full name of the .NET exception.

    A script may know more of it: the object it is about, the command that wrote it, the exception inside the exception,
    the exception object that was thrown, and whether it ends the whole script (`throw`, `-ErrorAction Stop`);
    `approximate` says that its message is not word for word Windows', or differs between versions of PowerShell.
    """

    target: object = None
    activity: str = ""
    inner: PSObject | None = None
    thrown: PSObject | None = None
    ends_script: bool = False
    approximate: bool = False
    record: ErrorRecord | None = None

    def __init__(
        self,
        category: str,
        error_id: str,
        message: str,
        exception_type: str = "System.Management.Automation.RuntimeException",
    ) -> None:
        super().__init__(message)
        self.category = category
        self.error_id = error_id
        self.message = message
        self.exception_type = exception_type


class NotModelled(CmdletError):
    """The simulator does not know what Windows would do here."""

    def __init__(self, what: str) -> None:
        super().__init__(
            "NotImplemented",
            "SimulatorDoesNotModel",
            f"the simulator does not model {what}",
            "System.NotImplementedException",
        )


class ProcessEndedError(BaseException):
    """The process that runs this code has ended (killed, or the machine went down): unwind, touch nothing.

    A BaseException, so that no handler's `except Exception` keeps a dead process going.
    """


class Bound(Mapping[str, object]):
    """The parameters of one cmdlet call after binding and conversion; names are case-insensitive.

    `pipeline` holds the input objects, `piped` says whether there is a pipeline; `stop` is set when the process ends;
    warnings are collected in `warnings`.
    """

    def __init__(
        self,
        command: str,
        values: Mapping[str, object],
        pipeline: list[object] | None = None,
        stop: threading.Event | None = None,
        session: object = None,
    ) -> None:
        self.command = command
        self._values = dict(values)
        self._names = {name.casefold(): name for name in values}
        self.piped = pipeline is not None
        self.pipeline: list[object] = pipeline if pipeline is not None else []
        self.stop = stop or threading.Event()
        self.session = session
        self.warnings: list[str] = []
        self.errors: list[CmdletError] = []

    def __getitem__(self, name: str) -> object:
        return self._values[self._names[name.casefold()]]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.casefold() in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def text(self, name: str, default: str = "") -> str:
        """Return a parameter as a string."""
        value = self.get(name)
        return default if value is None else str(value)

    def texts(self, name: str) -> list[str]:
        """Return a list parameter as strings; empty if it is not bound."""
        value = self.get(name)
        if value is None:
            return []
        return [str(item) for item in value] if isinstance(value, list) else [str(value)]

    def flag(self, name: str) -> bool:
        """Return whether a switch is on."""
        return bool(self.get(name, False))

    def number(self, name: str, default: int = 0) -> int:
        """Return a whole-number parameter."""
        value = self.get(name)
        return value if isinstance(value, int) else default

    def write_error(self, error: CmdletError) -> None:
        """Write a non-terminating error: what comes after it still runs unless the error action is Stop."""
        self.errors.append(error)

    def warn(self, text: str) -> None:
        """Write to the warning stream."""
        self.warnings.append(text)


class ConsoleInput(Protocol):
    """What a client types: a program that reads it waits for it."""

    def read(self, *, to_exit: bool) -> bytes:
        """Return all of it up to its end, or up to a line that is `exit`; waits until that has come."""


@dataclass
class Invocation:
    r"""One run of a program.

    Args:
        argv: the arguments, without the program.
        stdin: what is written to its standard input before that is closed.
        environment: its whole environment.
        directory: the current folder.
        stop: set when the process must end; waiting programs wait on it.
        program: path of the executable.
        version: the version in the executable.
        user: who runs it, e.g. `NT AUTHORITY\SYSTEM`.
        logon: `batch` for a user's own logon on the machine (a scheduled task, become); else it is WinRM's.
        command_line: the text after the program as it was given, for programs that parse it themselves.
    """

    argv: list[str]
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = "C:\\"
    stop: threading.Event = field(default_factory=threading.Event)
    program: str = ""
    version: str = ""
    user: str = ""
    command_line: str = ""
    logon: str = ""

    def variable(self, name: str, default: str = "") -> str:
        """Return an environment variable, whatever the case of its name."""
        wanted = name.casefold()
        return next((value for key, value in self.environment.items() if key.casefold() == wanted), default)


@dataclass(frozen=True)
class ProgramResult:
    """How a program ended: its exit code (as Windows reports it, unsigned or signed) and what it printed (text)."""

    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""


class RunningService(Protocol):
    """The process behind a started service."""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""

    @property
    def exit_code(self) -> int:
        """What it ended with; 0 while it runs."""

    def stop(self) -> None:
        """End it; returns when it has ended."""


class ServiceProgram(Protocol):
    """A program that can run as a service."""

    def start(self, machine: Machine, service: Service) -> RunningService:
        """Start it; raises ServiceError if it does not come up."""


Cmdlet = Callable[["Machine", Bound], Iterable[object]]
Program = Callable[["Machine", Invocation], ProgramResult]


@dataclass
class IdleService:
    """A service's process that only waits to be stopped; the default of Windows' own services."""

    alive: bool = True
    exit_code: int = 0

    def stop(self) -> None:
        """End it."""
        self.alive = False


@dataclass(frozen=True)
class IdleServiceProgram:
    """A service that does nothing which the simulator models."""

    def start(self, machine: Machine, service: Service) -> IdleService:
        """Start it."""
        return IdleService()


@dataclass(frozen=True)
class ScriptBlock:
    """A script block as a value: its tree (a `powershell.syntax.Block`) and its text."""

    block: object
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass
class ErrorRecord(PSObject):
    """An error as a value (`$_` in a catch block, `$Error[0]`)."""

    error: CmdletError = field(default_factory=lambda: CmdletError("NotSpecified", "", ""))


def error_record(error: CmdletError) -> ErrorRecord:
    """Return an error's record, the same one each time."""
    if error.record is None:
        error.record = _make_record(error)
    return error.record


def _make_record(error: CmdletError) -> ErrorRecord:
    message = Approximate(error.message) if error.approximate else error.message
    if error.thrown is not None and error.approximate:
        error.thrown.properties["Message"] = message
    name = error.exception_type.rsplit(".", 1)[-1]
    exception = error.thrown or PSObject(
        error.exception_type,
        {"Message": message, "HResult": -2146233087, "InnerException": error.inner},
        f"{error.exception_type}: {error.message}",
    )
    category = {"Category": error.category, "Activity": error.activity, "Reason": name}
    if error.target is None:
        category |= {"TargetName": "", "TargetType": ""}
    return ErrorRecord(
        "System.Management.Automation.ErrorRecord",
        {
            "Exception": exception,
            "CategoryInfo": PSObject(
                "System.Management.Automation.ErrorCategoryInfo", dict(category), f"{error.category}: (:) [], {name}"
            ),
            "FullyQualifiedErrorId": error.error_id,
            "ErrorDetails": None,
            "ScriptStackTrace": "",
            "TargetObject": error.target,
            "InvocationInfo": PSObject(
                "System.Management.Automation.InvocationInfo", {"PositionMessage": "", "Line": ""}
            ),
        },
        error.message,
        error,
    )


def items(value: object) -> list[object]:
    """Return a parameter's value as a list; nothing bound is an empty one."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
