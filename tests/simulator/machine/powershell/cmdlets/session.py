# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cmdlets for variables, aliases, commands, modules and strict mode, and for running code, such as Invoke-Command."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import timedelta

from simulator.machine import commands
from simulator.machine.machine import Machine
from simulator.machine.objects import Bound, Cmdlet, CmdletError, Enumeration, NotModelled, PSObject, ScriptBlock
from simulator.machine.powershell.cmdlets.common import host, terminating
from simulator.machine.powershell.types.convert import items, single
from simulator.machine.powershell.types.plain_text import to_text

_NOT_FOUND = "System.Management.Automation.ItemNotFoundException"


def _scoped(bound: Bound, name: str) -> str:
    scope = bound.text("Scope").casefold()
    if scope and scope not in ("global", "script", "local"):
        raise NotModelled(f"{bound.command} -Scope {scope}")
    return f"{scope}:{name}" if scope else name


def set_variable(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-Variable."""
    value = bound.get("Value") if "Value" in bound else single(bound.pipeline)
    for name in bound.texts("Name"):
        host(bound).variables.set(_scoped(bound, name), value)
    return []


def new_variable(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-Variable."""
    run = host(bound)
    for name in bound.texts("Name"):
        if name.casefold() in run.variables.scope.variables and not bound.flag("Force"):
            message = f"A variable with name '{name}' already exists."
            kind = "System.Management.Automation.SessionStateException"
            bound.write_error(CmdletError("ResourceExists", "VariableAlreadyExists", message, kind))
            continue
        run.variables.set(_scoped(bound, name), bound.get("Value"))
    return []


def get_variable(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Variable."""
    variables = host(bound).variables
    if "Name" not in bound or any(char in name for name in bound.texts("Name") for char in "*?["):
        raise NotModelled("Get-Variable for all variables")
    for name in bound.texts("Name"):
        if not variables.exists(_scoped(bound, name)):
            message = f"Cannot find a variable with the name '{name}'."
            bound.write_error(CmdletError("ObjectNotFound", "VariableNotFound", message, _NOT_FOUND))
            continue
        value = variables.get(_scoped(bound, name))
        entry = PSObject("System.Management.Automation.PSVariable", {"Name": name, "Value": value})
        yield value if bound.flag("ValueOnly") else entry


def remove_variable(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Remove-Variable."""
    for name in bound.texts("Name"):
        if any(char in name for char in "*?["):
            raise NotModelled("Remove-Variable with wildcards")
        if not host(bound).variables.remove(_scoped(bound, name)):
            message = f"Cannot find a variable with the name '{name}'."
            bound.write_error(CmdletError("ObjectNotFound", "VariableNotFound", message, _NOT_FOUND))
    return []


def set_alias(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-Alias and New-Alias."""
    aliases = host(bound).runspace.aliases
    name, value = bound.text("Name"), bound.text("Value")
    if bound.command == "New-Alias" and (name.casefold() in aliases or name.casefold() in commands.ALIASES):
        message = f"The alias is not allowed, because an alias with the name '{name}' already exists."
        kind = "System.Management.Automation.SessionStateException"
        raise CmdletError("ResourceExists", "AliasAlreadyExists", message, kind)
    aliases[name.casefold()] = value
    return []


def get_alias(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Alias with a name."""
    if "Name" not in bound or "Definition" in bound:
        raise NotModelled("Get-Alias for all aliases")
    aliases = host(bound).runspace.aliases
    for name in bound.texts("Name"):
        found = aliases.get(name.casefold()) or commands.ALIASES.get(name.casefold())
        if found is None:
            message = (
                f"This command cannot find a matching alias because an alias with the name '{name}' does not exist."
            )
            bound.write_error(CmdletError("ObjectNotFound", "ItemNotFoundException", message, _NOT_FOUND))
            continue
        yield _alias(name, found)


def _alias(name: str, definition: str) -> PSObject:
    kind = Enumeration("Alias", 1, "System.Management.Automation.CommandTypes")
    properties: dict[str, object] = {"Name": name, "Definition": definition, "CommandType": kind}
    return PSObject("System.Management.Automation.AliasInfo", properties, name)


def set_strict_mode(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-StrictMode, in the current scope."""
    requested = bound.text("Version").casefold()
    scope = host(bound).variables.scope
    scope.strict = 0.0 if bound.flag("Off") else 99.0 if requested == "latest" else float(requested.split(".")[0])
    return []


def get_command(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Command for aliases, functions, cmdlets, and programs on PATH."""
    names = bound.texts("Name")
    if not names or any(char in name for name in names for char in "*?["):
        raise NotModelled("Get-Command for all commands")
    for name in names:
        found = _command(machine, bound, name)
        if found is None:
            error = commands.not_found(name)
            error.error_id += ",Microsoft.PowerShell.Commands.GetCommandCommand"
            bound.write_error(error)
        else:
            yield found


def _command(machine: Machine, bound: Bound, name: str) -> PSObject | None:
    kinds = "System.Management.Automation.CommandTypes"
    run = host(bound)
    alias = run.runspace.aliases.get(name.casefold()) or commands.ALIASES.get(name.casefold())
    if alias:
        return _alias(name, alias)
    function = run.variables.function(name)
    if function:
        properties: dict[str, object] = {"CommandType": Enumeration("Function", 2, kinds), "Name": function.name}
        properties["Definition"] = function.block.text
        return PSObject("System.Management.Automation.FunctionInfo", properties, function.name)
    description = commands.describe(machine, name)
    if description is not None:
        kind = Enumeration("Function", 2, kinds) if description.function else Enumeration("Cmdlet", 8, kinds)
        properties = {"CommandType": kind, "Name": description.command}
        properties["Parameters"] = {item.name: item.type for item in description.parameters.values()}
        return PSObject("System.Management.Automation.CmdletInfo", properties, description.command)
    path = machine.programs.locate(name)
    if path is None:
        return None
    file_name = path.rsplit("\\", 1)[-1]
    properties = {"CommandType": Enumeration("Application", 32, kinds), "Name": file_name}
    properties |= {"Source": path, "Path": path, "Version": machine.programs.find(path).version}
    return PSObject("System.Management.Automation.ApplicationInfo", properties, file_name)


def import_module(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Import-Module. The functions of a module file are not modelled; only its import is recorded.

    Importing a module by its name, without a path, has no effect, because its cmdlets are available anyway.
    """
    for name in bound.texts("Name"):
        if "\\" not in name:
            continue
        if not machine.files.is_file(name):
            message = (
                f"The specified module '{name}' was not loaded because no valid module file was found in any module "
                "directory."
            )
            error_id = "Modules_ModuleNotFound,Microsoft.PowerShell.Commands.ImportModuleCommand"
            bound.write_error(CmdletError("ResourceUnavailable", error_id, message, "System.IO.FileNotFoundException"))
            continue
        host(bound).runspace.modules.add(name.casefold())
    return []


def invoke_command(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Invoke-Command on the local computer."""
    block = bound.get("ScriptBlock")
    if not isinstance(block, ScriptBlock) or "ComputerName" in bound or "Session" in bound:
        raise NotModelled("Invoke-Command on other computers")
    run = host(bound)
    stage = getattr(bound, "stage", None)
    arguments = items(bound.get("ArgumentList"))
    pipeline = bound.pipeline or None
    if stage is None:
        return run.call_block(block, arguments, pipeline=pipeline)
    run.calls.run_block(block, stage.write, arguments, pipeline=pipeline, new_scope=not bound.flag("NoNewScope"))
    return []


def invoke_expression(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Invoke-Expression, in the scope of its caller."""
    from simulator.machine.powershell.parsing.parser import Parser

    run = host(bound)
    stage = getattr(bound, "stage", None)
    for text in bound.texts("Command") or [to_text(item) for item in bound.pipeline]:
        try:
            block = Parser().script(text)
        except NotModelled:
            raise
        except CmdletError as error:
            if "does not model" in error.message:
                raise NotModelled("the syntax of the script passed to Invoke-Expression") from None
            raise terminating(error) from None
        if stage is None:
            yield from run.call_block(block, new_scope=False)
        else:
            run.calls.run_block(block, stage.write, new_scope=False)


def measure_command(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Measure-Command."""
    block = bound.get("Expression")
    started = time.monotonic()
    if isinstance(block, ScriptBlock):
        host(bound).call_block(block, new_scope=False)
    return [timedelta(seconds=time.monotonic() - started)]


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-Alias": get_alias,
    "Get-Command": get_command,
    "Get-Variable": get_variable,
    "Import-Module": import_module,
    "Invoke-Command": invoke_command,
    "Invoke-Expression": invoke_expression,
    "Measure-Command": measure_command,
    "New-Alias": set_alias,
    "New-Variable": new_variable,
    "Remove-Variable": remove_variable,
    "Set-Alias": set_alias,
    "Set-StrictMode": set_strict_mode,
    "Set-Variable": set_variable,
}
