# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The streams of a running script, and their redirection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from simulator.machine.objects import CmdletError, PSObject, error_record

Emit = Callable[[object], None]


@dataclass(frozen=True)
class HostText:
    """Text that was written directly to the console, for example by Write-Host or as a warning.

    Args:
        newline: whether a line ending follows the text.
        source: the cmdlet that wrote the text, if the text is an information record.
        shown: whether the console shows the text. Some information records are stored but not shown.
    """

    text: str
    newline: bool = True
    source: str = "Write-Host"
    shown: bool = True


@dataclass
class Written:
    """The output of a script on all streams, and the exit code that it set with `$Host.SetShouldExit()`."""

    errors: list[CmdletError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    verbose: list[str] = field(default_factory=list)
    debug: list[str] = field(default_factory=list)
    information: list[HostText] = field(default_factory=list)
    # The output, and what was written directly to the console, in order.
    console: list[object] = field(default_factory=list)
    standard_error: list[str] = field(default_factory=list)
    exit_code: int | None = None


@dataclass(frozen=True)
class Sinks:
    """The current targets of streams 2 to 6 (errors, warnings, verbose, debug, information), and of standard error."""

    error: Callable[[CmdletError], None]
    warning: Callable[[str], None]
    verbose: Callable[[str], None]
    debug: Callable[[str], None]
    information: Callable[[HostText], None]
    standard_error: Callable[[str], None]


def to_console(written: Written) -> Sinks:
    """Return sinks for a script without redirections. The sinks collect the script's streams in `written`."""

    def warn(text: str) -> None:
        written.warnings.append(text)
        written.console.append(HostText(f"WARNING: {text}"))

    def say(kind: str, kept: list[str]) -> Callable[[str], None]:
        def write(text: str) -> None:
            kept.append(text)
            written.console.append(HostText(f"{kind}: {text}"))

        return write

    def inform(text: HostText) -> None:
        written.information.append(text)
        if text.shown:
            written.console.append(text)

    return Sinks(
        error=written.errors.append,
        warning=warn,
        verbose=say("VERBOSE", written.verbose),
        debug=say("DEBUG", written.debug),
        information=inform,
        standard_error=written.standard_error.append,
    )


_NAMES = {"2": "error", "3": "warning", "4": "verbose", "5": "debug", "6": "information"}


def _record(kind: str, text: str) -> PSObject:
    name = f"System.Management.Automation.{kind}"
    return PSObject(name, {"Message": text, "MessageData": text}, text)


def native_record(line: str) -> object:
    """Return the object to which PowerShell converts a line of a program's standard error."""
    kind = "System.Management.Automation.RemoteException"
    return error_record(CmdletError("NotSpecified", "NativeCommandError", line, kind))


def _lines(text: str, emit: Emit) -> None:
    for line in text.splitlines():
        emit(native_record(line))


def _into(stream: str, emit: Emit) -> dict[str, Callable[..., None]]:
    """Return functions that pass a stream's data to `emit` as objects, keyed by the fields of Sinks to replace."""
    if stream == "2":
        return {
            "error": lambda error: emit(error_record(error)),
            "standard_error": lambda text: _lines(text, emit),
        }
    if stream == "6":
        return {"information": lambda text: emit(_record("InformationRecord", text.text))}
    kind = {"3": "WarningRecord", "4": "VerboseRecord", "5": "DebugRecord"}[stream]
    return {_NAMES[stream]: lambda text: emit(_record(kind, text))}


def redirected(sinks: Sinks, stream: str, emit: Emit) -> Sinks:
    """Return a copy of `sinks` in which a stream is redirected to `emit`. The stream `*` means all streams."""
    for each in _NAMES if stream == "*" else [stream]:
        sinks = replace(sinks, **_into(each, emit))
    return sinks


def drop(item: object) -> None:
    """Discard an object."""
