# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Test-Path and Get-Item for the `Function:`, `Variable:` and `Alias:` drives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine import commands
from simulator.machine.objects import Bound, Enumeration, NotModelled, PSObject
from simulator.machine.powershell.types.plain_text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter

_DRIVES = ("function", "variable", "alias")


def answer(run: Interpreter, bound: Bound) -> list[object] | None:
    """Return a cmdlet's result for paths on `Function:`, `Variable:` or `Alias:`, or None if none is on these drives.

    Raises:
        NotModelled: the cmdlet is neither Test-Path nor Get-Item, a path has a wildcard or no name, only some of the
            paths are on these drives, or Get-Item finds no entry.
    """
    found: list[object] = []
    paths = [text for key in ("Path", "LiteralPath") if key in bound for text in bound.texts(key)]
    drives = [text.partition(":")[0].casefold() for text in paths if ":" in text]
    if not any(drive in _DRIVES for drive in drives):
        return None
    for text in paths:
        drive, _, name = text.partition(":")
        name = name.strip("\\/")
        if drive.casefold() not in _DRIVES or not name or any(char in name for char in "*?["):
            raise NotModelled(f"{bound.command} of {text}")
        entry = _entry(run, drive.casefold(), name)
        if bound.command == "Test-Path":
            found.append(entry is not None)
        elif bound.command == "Get-Item" and entry is not None:
            found.append(entry)
        else:
            raise NotModelled(f"{bound.command} of {text}")
    return found


def _entry(run: Interpreter, drive: str, name: str) -> PSObject | None:
    kinds = "System.Management.Automation.CommandTypes"
    if drive == "function":
        function = run.variables.function(name)
        if function is None:
            return None
        properties: dict[str, object] = {"Name": function.name, "CommandType": Enumeration("Function", 2, kinds)}
        return PSObject("System.Management.Automation.FunctionInfo", properties, function.name)
    if drive == "variable":
        if not run.variables.exists(name):
            return None
        value = run.variables.get(name)
        return PSObject("System.Management.Automation.PSVariable", {"Name": name, "Value": value})
    alias = run.runspace.aliases.get(name.casefold()) or commands.ALIASES.get(name.casefold())
    if alias is None:
        return None
    properties = {"Name": name, "Definition": to_text(alias), "CommandType": Enumeration("Alias", 1, kinds)}
    return PSObject("System.Management.Automation.AliasInfo", properties, name)
