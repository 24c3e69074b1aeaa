# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Get-HotFix cmdlet and the Win32_QuickFixEngineering class, which do not list all installed updates.

An update of .NET Framework is listed under the article of the child update that it contains. Definition updates,
superseded updates and pending updates are not listed.

Sources: https://learn.microsoft.com/powershell/module/microsoft.powershell.management/get-hotfix, mondoohq/mql#7501 and
the lists in vhdbuilder/release-notes/AKSWindows of Azure/AgentBaker
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import Bound, Cmdlet, CmdletError, PSObject
from simulator.machine.wildcards import any_match
from simulator.windows.updates.component_store import StoredUpdate, store_of
from simulator.windows.updates.update_catalogue import DOTNET

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


def hot_fixes(machine: Machine) -> list[dict[str, object]]:
    """Return the properties of the updates that Windows lists as hot fixes."""
    entries = store_of(machine).entries.values()
    return [_properties(machine, entry) for entry in entries if entry.state == "Installed" and entry.update.hot_fix]


def _properties(machine: Machine, entry: StoredUpdate) -> dict[str, object]:
    update = entry.update
    security = update.category == "Security Updates" and update.chain != DOTNET
    return {
        "PSComputerName": machine.name,
        "CSName": machine.name,
        "Description": "Security Update" if security else "Update",
        "HotFixID": update.hot_fix,
        "InstalledBy": "NT AUTHORITY\\SYSTEM",
        "InstalledOn": entry.installed_on,
        "Caption": f"https://support.microsoft.com/help/{update.hot_fix.removeprefix('KB')}",
    }


def get_hot_fix(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-HotFix."""
    ids, descriptions = bound.texts("Id"), bound.texts("Description")
    found = [
        fix
        for fix in hot_fixes(machine)
        if (not ids or any_match(ids, str(fix["HotFixID"])))
        and (not descriptions or any_match(descriptions, str(fix["Description"])))
    ]
    if ids and not found:
        raise CmdletError(
            "ObjectNotFound",
            "GetHotFixNoEntriesFound,Microsoft.PowerShell.Commands.GetHotFixCommand",
            "Cannot find the requested hotfix on the 'localhost' computer. Verify the input and run the command again.",
            "System.ArgumentException",
        )
    for properties in found:
        key = properties["HotFixID"]
        text = f'\\\\{machine.name}\\root\\cimv2:Win32_QuickFixEngineering.HotFixID="{key}"'
        yield PSObject("System.Management.ManagementObject#root\\cimv2\\Win32_QuickFixEngineering", properties, text)


CMDLETS: Mapping[str, Cmdlet] = {"Get-HotFix": get_hot_fix}
