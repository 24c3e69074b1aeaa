# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run a cmdlet: find it, bind the arguments to its parameters, and call the function that simulates it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine import contract
from simulator.machine.binding import bind
from simulator.machine.files import DiskFullError
from simulator.machine.objects import Bound, CmdletError, NotModelled, PSObject
from simulator.machine.registry import RegistryDeniedError
from simulator.machine.rights import cmdlet_errors
from simulator.machine.rights.guard import AccessDeniedError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# https://learn.microsoft.com/powershell/scripting/learn/compatibility-aliases and Get-Alias of 5.1
ALIASES = {
    "add-windowsfeature": "Install-WindowsFeature",
    "remove-windowsfeature": "Uninstall-WindowsFeature",
    "cat": "Get-Content",
    "gc": "Get-Content",
    "type": "Get-Content",
    "cd": "Set-Location",
    "chdir": "Set-Location",
    "sl": "Set-Location",
    "copy": "Copy-Item",
    "cp": "Copy-Item",
    "cpi": "Copy-Item",
    "del": "Remove-Item",
    "erase": "Remove-Item",
    "rd": "Remove-Item",
    "ri": "Remove-Item",
    "rm": "Remove-Item",
    "rmdir": "Remove-Item",
    "dir": "Get-ChildItem",
    "gci": "Get-ChildItem",
    "ls": "Get-ChildItem",
    "echo": "Write-Output",
    "write": "Write-Output",
    "%": "ForEach-Object",
    "foreach": "ForEach-Object",
    "?": "Where-Object",
    "where": "Where-Object",
    "gcm": "Get-Command",
    "gi": "Get-Item",
    "gp": "Get-ItemProperty",
    "gps": "Get-Process",
    "ps": "Get-Process",
    "gsv": "Get-Service",
    "gu": "Get-Unique",
    "kill": "Stop-Process",
    "spps": "Stop-Process",
    "mi": "Move-Item",
    "move": "Move-Item",
    "mv": "Move-Item",
    "ni": "New-Item",
    "md": "mkdir",
    "pwd": "Get-Location",
    "gl": "Get-Location",
    "select": "Select-Object",
    "sort": "Sort-Object",
    "measure": "Measure-Object",
    "group": "Group-Object",
    "sleep": "Start-Sleep",
    "sasv": "Start-Service",
    "spsv": "Stop-Service",
    "sc": "Set-Content",
    "sp": "Set-ItemProperty",
    "rp": "Remove-ItemProperty",
    "rni": "Rename-Item",
    "ren": "Rename-Item",
    "fl": "Format-List",
    "ft": "Format-Table",
    "gm": "Get-Member",
    "oh": "Out-Host",
    "iwr": "Invoke-WebRequest",
    "curl": "Invoke-WebRequest",
    "wget": "Invoke-WebRequest",
    "gwmi": "Get-WmiObject",
    "gcim": "Get-CimInstance",
    "tnc": "Test-NetConnection",
    "saps": "Start-Process",
    "start": "Start-Process",
    "icm": "Invoke-Command",
    "iex": "Invoke-Expression",
    "diff": "Compare-Object",
    "compare": "Compare-Object",
    "ac": "Add-Content",
    "clc": "Clear-Content",
    "cli": "Clear-Item",
    "clv": "Clear-Variable",
    "epcsv": "Export-Csv",
    "ipcsv": "Import-Csv",
    "fw": "Format-Wide",
    "gal": "Get-Alias",
    "gdr": "Get-PSDrive",
    "gv": "Get-Variable",
    "ii": "Invoke-Item",
    "ipmo": "Import-Module",
    "irm": "Invoke-RestMethod",
    "nal": "New-Alias",
    "nv": "New-Variable",
    "popd": "Pop-Location",
    "pushd": "Push-Location",
    "rv": "Remove-Variable",
    "rvpa": "Resolve-Path",
    "sal": "Set-Alias",
    "set": "Set-Variable",
    "si": "Set-Item",
    "sls": "Select-String",
    "sv": "Set-Variable",
    "tee": "Tee-Object",
}


IO_EXCEPTION = "System.IO.IOException"

# Error ids that do not end with the name of the command.
_BARE_IDS = ("SimulatorDoesNotModel", "CommandNotFoundException")


@dataclass
class CmdletOutput:
    """The output of a cmdlet: objects, warnings, and errors that did not end the cmdlet."""

    objects: list[object] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[CmdletError] = field(default_factory=list)


def not_found(name: str) -> CmdletError:
    """Return PowerShell's error for a command that does not exist."""
    error = CmdletError(
        "ObjectNotFound",
        "CommandNotFoundException",
        f"The term '{name}' is not recognized as the name of a cmdlet, function, script file, or operable program. "
        "Check the spelling of the name, or if a path was included, verify that the path is correct and try again.",
        "System.Management.Automation.CommandNotFoundException",
    )
    properties: dict[str, object] = {"Message": error.message, "CommandName": name, "InnerException": None}
    error.thrown = PSObject(error.exception_type, properties, f"{error.exception_type}: {error.message}")
    error.target = name
    # PowerShell 7 words it differently.
    error.approximate = True
    return error


def exists(machine: Machine, name: str) -> bool:
    """Return whether the machine has a cmdlet or function with this name, even if the simulator does not model it."""
    return describe(machine, name) is not None


def describe(machine: Machine, name: str) -> contract.Contract | None:
    """Return the parameters of a cmdlet or function on the machine, or None if the machine does not have it."""
    own = machine.families.contracts.get(name.casefold())
    return own or contract.find(name, machine.windows.contract, is_core=machine.windows.is_core)


def run(
    machine: Machine,
    name: str,
    parameters: Mapping[str, object],
    *,
    positional: Sequence[object] = (),
    pipeline: list[object] | None = None,
    stop: threading.Event | None = None,
    session: object = None,
    error_action: str = "Stop",
) -> CmdletOutput:
    """Run a cmdlet, and return its output.

    Args:
        name: a cmdlet, function or alias.
        parameters: the named parameters.
        positional: the arguments without a name.
        pipeline: the pipeline input, or None if there is none.
        stop: an event that is set when the process that runs the cmdlet must end.
        session: the PowerShell session, for cmdlets that need one.
        error_action: the error action if the call has no ErrorAction parameter. With `Stop`, the first error is raised.
            With `SilentlyContinue` or `Ignore`, errors are dropped. Otherwise, they are returned. If the command does
            not exist or is not modelled, or if parameter binding fails, the error is always raised.

    Raises:
        CmdletError: the call fails. The exception contains PowerShell's error with the full error id.
    """
    name = ALIASES.get(name.casefold(), name)
    description = describe(machine, name)
    if description is None:
        raise not_found(name)
    values = bind(description, parameters, positional, has_pipeline=pipeline is not None)
    entry = machine.families.cmdlets.get(description.command.casefold())
    if entry is None:
        raise NotModelled(f"the cmdlet {description.command}")
    bound = Bound(description.command, values, pipeline, stop, session)
    objects: list[object] = []
    try:
        for item in entry[1](machine, bound):
            objects.append(item)  # noqa: PERF402 - keep the output before an error
    except NotModelled:
        raise
    except CmdletError as error:
        bound.errors.append(error)
    except AccessDeniedError as error:
        wants_folder = bound.text("ItemType").casefold() in ("directory", "container")
        folder = wants_folder or machine.files.is_directory(error.path)
        bound.errors.append(cmdlet_errors.denied(description.command, error, folder=folder))
    except RegistryDeniedError as error:
        bound.errors.append(cmdlet_errors.key_denied(error))
    except DiskFullError as error:
        bound.errors.append(CmdletError("WriteError", "System.IO.IOException", str(error.strerror), IO_EXCEPTION))
    for written in bound.errors:
        if "," not in written.error_id and written.error_id not in _BARE_IDS:
            written.error_id = f"{written.error_id},{description.suffix}"
    if bound.errors and str(values.get("ErrorAction", error_action)) == "Stop":
        raise bound.errors[0]
    quiet = str(values.get("ErrorAction", error_action)) in ("SilentlyContinue", "Ignore")
    return CmdletOutput(objects, bound.warnings, [] if quiet else bound.errors)
