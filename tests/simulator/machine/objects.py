# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Input and output of simulated cmdlets, programs and services: objects, errors, parameters and exit codes."""

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
    """A value of a .NET enumeration. It is displayed as its name, and ConvertTo-Json writes its number."""

    name: str
    number: int
    type_name: str = "System.Enum"

    def __str__(self) -> str:
        return self.name


@dataclass
class PSObject:
    """An object with properties, whose names are case-insensitive.

    Args:
        type_name: the .NET type, e.g. `System.ServiceProcess.ServiceController`.
        properties: values by name, in display order.
        text: the object as a string; by default its type name, as in .NET
            (`@{name=value; …}` for a PSCustomObject).
    """

    type_name: str
    properties: dict[str, object]
    text: str | None = None

    def find(self, name: str) -> str | None:
        """Return a property's name with its original capitalization, or None if the property does not exist."""
        if name in self.properties:
            return name
        requested = name.casefold()
        return next((key for key in self.properties if key.casefold() == requested), None)

    def get(self, name: str, default: object = None) -> object:
        """Return a property's value. The name is case-insensitive."""
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


class OrderedOutput(dict[str, object]):
    """A command's output in the form of an ordered dictionary (`[ordered]@{}`) with strings as keys."""


CUSTOM_OBJECT = "System.Management.Automation.PSCustomObject"


def custom_object(**properties: object) -> PSObject:
    """Return a PSCustomObject with the given properties."""
    return PSObject(CUSTOM_OBJECT, dict(properties))


class Approximate(str):
    """A message whose exact wording is not known, or differs between versions of PowerShell."""

    __slots__ = ()


class CmdletError(Exception):
    """An error of a cmdlet or script, with the contents of PowerShell's error record.

    Args:
        category: the name of the ErrorCategory, e.g. `ObjectNotFound`.
        error_id: the error's id. The caller of a cmdlet appends the command's name or .NET class (`,Get-Service`),
            unless the id already contains a comma or is one that PowerShell writes without this suffix.
        message: the exception's message.
        exception_type: the full name of the .NET exception.

    Further fields are set later: the target object, the command that wrote the error, the inner exception, the thrown
    object, and whether the error ends the whole script (`throw`, `-ErrorAction Stop`). `approximate` means that the
    message is not exactly the message of Windows, or that it differs between versions of PowerShell.
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
    """Raised if the simulator does not know how Windows behaves."""

    def __init__(self, what: str) -> None:
        super().__init__(
            "NotImplemented",
            "SimulatorDoesNotModel",
            f"the simulator does not model {what}",
            "System.NotImplementedException",
        )


class ProcessEndedError(BaseException):
    """Raised if the process that runs this code was killed or its machine went down.

    It is a BaseException, so that no `except Exception` keeps a dead process running.
    """


class Bound(Mapping[str, object]):
    """The parameters of one cmdlet call after binding and conversion. Parameter names are case-insensitive.

    `pipeline` contains the input objects. `piped` is true if the call follows a `|`, even if there are no input
    objects. `stop` is set when the process ends. `warnings` and `errors` collect the warnings and the non-terminating
    errors.
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
        """Return a parameter as a string, or `default` if it is not bound."""
        value = self.get(name)
        return default if value is None else str(value)

    def texts(self, name: str) -> list[str]:
        """Return a list parameter as strings, or an empty list if it is not bound."""
        value = self.get(name)
        if value is None:
            return []
        return [str(item) for item in value] if isinstance(value, list) else [str(value)]

    def flag(self, name: str) -> bool:
        """Return whether a switch is on."""
        return bool(self.get(name, False))

    def number(self, name: str, default: int = 0) -> int:
        """Return an integer parameter, or `default` if it is not bound."""
        value = self.get(name)
        return value if isinstance(value, int) else default

    def write_error(self, error: CmdletError) -> None:
        """Write a non-terminating error. The cmdlet continues, but with `-ErrorAction Stop` it fails when it ends."""
        self.errors.append(error)

    def warn(self, text: str) -> None:
        """Write to the warning stream."""
        self.warnings.append(text)


@dataclass
class Invocation:
    r"""One run of a program.

    Args:
        argv: the arguments, without the program.
        stdin: the whole standard input.
        environment: all environment variables of the program.
        directory: the current folder.
        stop: an event that is set when the process must end. Programs that wait check the event.
        program: the path of the executable.
        version: the version of the executable.
        user: the user that runs the program, e.g. `NT AUTHORITY\SYSTEM`.
        logon: `batch` for a logon on the machine itself (a scheduled task or become); empty for a logon over WinRM.
        command_line: the raw text after the program, for programs that parse it themselves.
        emit: a function that receives output while the program runs, for a reader that does not wait for the program's
            end (such as a container's log). A program that passes output to `emit` does not return this output again.
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
    emit: Callable[[str], None] | None = None

    def variable(self, name: str, default: str = "") -> str:
        """Return the value of an environment variable, or `default` if it is not set. Names are case-insensitive."""
        requested = name.casefold()
        return next((value for key, value in self.environment.items() if key.casefold() == requested), default)


@dataclass(frozen=True)
class ProgramResult:
    """The result of a program: its exit code (as Windows reports it, unsigned or signed) and its output as text."""

    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""


class RunningService(Protocol):
    """The process of a started service."""

    @property
    def alive(self) -> bool:
        """Whether the process is running."""

    @property
    def exit_code(self) -> int:
        """The exit code, or 0 while the process is running."""

    def stop(self) -> None:
        """End the process, and wait until it has ended.

        Raises:
            ServiceError: the process does not respond, and keeps running.
        """


class ServiceProgram(Protocol):
    """A program that can run as a service."""

    def start(self, machine: Machine, service: Service) -> RunningService:
        """Start the process.

        Raises:
            ServiceError: the process does not start.
        """


Cmdlet = Callable[["Machine", Bound], Iterable[object]]
Program = Callable[["Machine", Invocation], ProgramResult]


@dataclass
class IdleService:
    """A service process that does nothing until it is stopped. This is the default for Windows' own services."""

    alive: bool = True
    exit_code: int = 0

    def stop(self) -> None:
        """End the process."""
        self.alive = False


@dataclass(frozen=True)
class IdleServiceProgram:
    """A service that only starts and stops, because the simulator models no other behavior of it."""

    def start(self, machine: Machine, service: Service) -> IdleService:
        """Start the process."""
        return IdleService()


@dataclass(frozen=True)
class ScriptBlock:
    """A script block as a value: its syntax tree (a `powershell.parsing.syntax.Block`) and its text."""

    block: object
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass
class ErrorRecord(PSObject):
    """An error as a value (`$_` in a catch block, `$Error[0]`)."""

    error: CmdletError = field(default_factory=lambda: CmdletError("NotSpecified", "", ""))


def error_record(error: CmdletError) -> ErrorRecord:
    """Return the error record of an error. All calls for one error return the same object."""
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
    """Return a parameter's value as a list, which is empty if the parameter is not bound."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
