# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cmdlets that write or format output: Write-*, Out-String, Out-Null, Format-Table and Format-List."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from simulator.machine.machine import Machine
from simulator.machine.objects import Bound, Cmdlet, CmdletError, ErrorRecord, NotModelled, PSObject
from simulator.machine.powershell.cmdlets.common import given, host, in_script
from simulator.machine.powershell.formatting.console import columns_of, lines, text
from simulator.machine.powershell.formatting.tables import listing, rows_of, table
from simulator.machine.powershell.running.scope import VariableScope
from simulator.machine.powershell.running.streams import HostText
from simulator.machine.powershell.types.convert import items
from simulator.machine.powershell.types.plain_text import to_text

QUIET = ("SilentlyContinue", "Ignore")
WRITE_ERROR = "Microsoft.PowerShell.Commands.WriteErrorException"


def write_error(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Write-Error."""
    record = bound.get("ErrorRecord")
    if isinstance(record, ErrorRecord):
        bound.write_error(record.error)
        return []
    exception = bound.get("Exception")
    message = bound.text("Message") or to_text(bound.pipeline[0] if bound.pipeline else "")
    if len(bound.pipeline) > 1:
        raise NotModelled("Write-Error with several objects")
    error = CmdletError(
        bound.text("Category", "NotSpecified"), bound.text("ErrorId") or WRITE_ERROR, message, WRITE_ERROR
    )
    if isinstance(exception, PSObject):
        error.exception_type, error.thrown = exception.type_name, exception
        error.error_id = bound.text("ErrorId") or exception.type_name
        error.message = message or to_text(exception.get("Message"))
    error.target = bound.get("TargetObject")
    # The error id ends with the name of the calling function instead of Write-Error.
    error.error_id += _function(bound)
    error.activity = bound.text("CategoryActivity") or "Write-Error"
    bound.write_error(error)
    return []


def _function(bound: Bound) -> str:
    """Return the suffix of an error id (`,` and the running function's name), or an empty string outside a function."""
    scope: VariableScope | None = host(bound).variables.scope
    while scope is not None:
        found = scope.variables.get("myinvocation")
        if isinstance(found, PSObject):
            command = found.get("MyCommand")
            name = to_text(command.get("Name")) if isinstance(command, PSObject) else ""
            return f",{name}" if name else ""
        scope = scope.parent
    return ""


def write_warning(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Write-Warning."""
    _stopping(bound, "WarningAction", "WarningPreference")
    for item in items(bound.get("Message")) or bound.pipeline:
        bound.warn(to_text(item))
    return []


def _stopping(bound: Bound, parameter: str, preference: str) -> str:
    action = to_text(bound.get(parameter)) or (host(bound).preference(preference) if in_script(bound) else "Continue")
    if action in ("Stop", "Inquire"):
        raise NotModelled(f"{bound.command} with {preference} {action}")
    return action


def write_host(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Write-Host. The console shows its output (the information stream) unless the stream is redirected."""
    separator = to_text(bound.get("Separator", " "))
    objects = items(bound.get("Object")) if "Object" in bound else list(bound.pipeline)
    newline = not bound.flag("NoNewline")
    sink = host(bound).sinks.information
    groups = [objects] if "Object" in bound or not objects else [[item] for item in objects]
    for group in groups:
        flat = [part for item in group for part in (item if isinstance(item, list) else [item])]
        if any(isinstance(item, dict) for item in flat):
            raise NotModelled("Write-Host with a hash table")
        sink(HostText(separator.join(host(bound).evaluator.text(item) for item in flat), newline))
    return []


def _stream(name: str) -> Cmdlet:
    def work(machine: Machine, bound: Bound) -> Iterable[object]:
        run = host(bound)
        own = bound.get(name.capitalize())
        action = run.preference(f"{name}Preference")
        shown = bool(own) if own is not None else action not in QUIET
        if shown and action in ("Stop", "Inquire") and own is None:
            raise NotModelled(f"{bound.command} with ${name}Preference {action}")
        for message in items(bound.get("Message")) or bound.pipeline if shown else []:
            getattr(run.sinks, name)(to_text(message))
        return []

    return work


def write_information(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Write-Information."""
    action = _stopping(bound, "InformationAction", "InformationPreference")
    for item in items(bound.get("MessageData")) or bound.pipeline if action != "Ignore" else []:
        # The record is stored and can be redirected, although the console does not show it.
        message = HostText(to_text(item), source="Write-Information", shown=action not in QUIET)
        host(bound).sinks.information(message)
    return []


def nothing(machine: Machine, bound: Bound) -> Iterable[object]:
    """Do nothing, because cmdlets such as Write-Progress have no effect in the simulator."""
    return []


def write_output(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Write-Output for a caller that is not a PowerShell script.

    Write-Output returns its input, including null. For scripts, `running/stages.py` simulates the cmdlet.
    """
    if "InputObject" in bound and (bound["InputObject"] is None or bound.flag("NoEnumerate")):
        return [bound["InputObject"]]
    return given(bound)


def out_string(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Out-String."""
    return lines(given(bound)) if bound.flag("Stream") else [text(given(bound))]


def _shown(bound: Bound, show: Callable[[list[PSObject], list[str]], list[str]]) -> Iterable[object]:
    objects: list[PSObject] = []
    for item in given(bound):
        if isinstance(item, dict):
            objects += rows_of(item)
        elif isinstance(item, PSObject):
            objects.append(item)
        elif item is not None:
            raise NotModelled(f"{bound.command} with values other than hash tables and objects with properties")
    if not objects:
        return []
    if any(item.type_name != objects[0].type_name for item in objects):
        raise NotModelled(f"{bound.command} with objects of several types")
    names = bound.texts("Property")
    if any(isinstance(entry, dict) for entry in items(bound.get("Property"))):
        raise NotModelled(f"{bound.command} with calculated properties")
    if any(char in name for name in names for char in "*?[") and names != ["*"]:
        raise NotModelled(f"{bound.command} with wildcards")
    columns = names if names else list(columns_of(objects[0]) or ())
    if names == ["*"] or not columns:
        columns = [key for key, value in objects[0].properties.items() if not callable(value)]
    return show(objects, columns)


def _as_table(bound: Bound, rows: list[PSObject], columns: list[str]) -> list[str]:
    sized = bound.flag("AutoSize") or "Property" in bound
    return table(rows, columns, headers=not bound.flag("HideTableHeaders"), sized=sized)


def format_table(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Format-Table."""
    if bound.flag("AutoSize") and any(isinstance(item, dict) for item in given(bound)):
        raise NotModelled("Format-Table -AutoSize with a hash table")
    return _shown(bound, lambda rows, columns: _as_table(bound, rows, columns))


def format_list(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Format-List."""
    return _shown(bound, listing)


CMDLETS: Mapping[str, Cmdlet] = {
    "Format-List": format_list,
    "Format-Table": format_table,
    "Out-Null": nothing,
    "Out-String": out_string,
    "Write-Debug": _stream("debug"),
    "Write-Error": write_error,
    "Write-Host": write_host,
    "Write-Information": write_information,
    "Write-Output": write_output,
    "Write-Progress": nothing,
    "Write-Verbose": _stream("verbose"),
    "Write-Warning": write_warning,
}
