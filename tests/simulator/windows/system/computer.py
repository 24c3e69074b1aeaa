# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Rename-Computer, Get-ComputerInfo and Confirm-SecureBootUEFI cmdlets.

Source: https://learn.microsoft.com/powershell/module/microsoft.powershell.management/rename-computer
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine.machine import COMPUTER_NAME, TCPIP
from simulator.machine.objects import Bound, Cmdlet, CmdletError, Enumeration, PSObject, custom_object
from simulator.machine.wildcards import any_match, has_wildcard
from simulator.windows.directory import membership

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_NETBIOS_LENGTH = 15
_COMMANDS = "Microsoft.PowerShell.Commands"
# A DNS host name with one label, without the characters that Windows rejects.
_NAME = re.compile(r"(?!\d+$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$")


def _rename_error(command: str, error_id: str, old: str, new: str, why: str) -> CmdletError:
    return CmdletError(
        "OperationStopped" if error_id == "FailToRenameComputer" else "InvalidArgument",
        f"{error_id},{_COMMANDS}.{command}",
        f"{why.format(old=old, new=new)}",
        "System.InvalidOperationException",
    )


def rename_computer(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Rename-Computer.

    The new name takes effect at the next boot. The NetBIOS name consists of the first 15 characters of the new name,
    in upper case.
    """
    new = bound.text("NewName")
    current = str(machine.registry.data(f"{COMPUTER_NAME}\\ComputerName", "ComputerName", machine.name))
    if not _NAME.match(new):
        why = (
            "Skip computer '{old}' with new name '{new}' because the new name is not valid. The new computer name "
            "entered is not properly formatted. Standard names may contain letters (a-z, A-Z), numbers (0-9), and "
            "hyphens (-), but no spaces or periods (.). The name may not consist entirely of digits, "
            "and may not be longer than 63 characters."
        )
        raise _rename_error("RenameComputerCommand", "InvalidNewName", machine.name, new, why)
    pending = str(machine.registry.data(TCPIP, "NV Hostname", current))
    if new.casefold() == pending.casefold():
        why = "Skip computer '{old}' with new name '{new}' because the new name is the same as the current name."
        raise _rename_error("RenameComputerCommand", "NewNameIsOldName", machine.name, new, why)
    if len(new) > _NETBIOS_LENGTH and not bound.flag("Force"):
        # Rename-Computer prompts for confirmation, which is not possible in a non-interactive session.
        raise CmdletError(
            "InvalidOperation",
            f"InvalidOperation,{_COMMANDS}.RenameComputerCommand",
            "Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.",
            "System.Management.Automation.PSInvalidOperationException",
        )
    if not bound.flag("WhatIf"):
        machine.registry.set(f"{COMPUTER_NAME}\\ComputerName", "ComputerName", new[:_NETBIOS_LENGTH].upper())
        machine.registry.set(TCPIP, "NV Hostname", new)
        if bound.flag("Restart"):
            machine.power.reboot(0, "Rename-Computer -Restart")
        else:
            bound.warn(f"The changes will take effect after you restart the computer {machine.name}.")
    if not bound.flag("PassThru"):
        return []
    properties: dict[str, object] = {"HasSucceeded": True, "OldComputerName": machine.name, "NewComputerName": new}
    return [PSObject(f"{_COMMANDS}.RenameComputerChangeInfo", properties, f"True {new} {machine.name}")]


def get_computer_info(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-ComputerInfo. It returns the modelled properties; with -Property, only matching ones.

    If a name in -Property has no wildcards and matches no modelled property, its value is null.
    """
    windows, domain = machine.windows, membership.computer_properties(machine)
    known: dict[str, object] = {
        "WindowsBuildLabEx": f"{windows.build}.1.amd64fre.release",
        "WindowsCurrentVersion": "6.3",
        "WindowsEditionId": "ServerDatacenter",
        "WindowsInstallationType": str(machine.settings.option("installation_type", "Server Core")),
        "WindowsProductName": windows.product,
        "WindowsVersion": "1809" if windows.build == 17763 else "2009",
        "BiosFirmwareType": Enumeration("Uefi", 2),
        "CsName": machine.name,
        "CsDNSHostName": machine.host_name,
        "CsDomain": domain["Domain"],
        "CsPartOfDomain": domain["PartOfDomain"],
        "CsNumberOfLogicalProcessors": machine.settings.processors,
        "CsTotalPhysicalMemory": machine.settings.memory_mb << 20,
        "OsName": f"Microsoft {windows.product}",
        "OsVersion": f"10.0.{windows.build}",
        "OsBuildNumber": str(windows.build),
        "OsArchitecture": "64-bit",
        "OsLastBootUpTime": machine.power.boot_time,
        "OsServerLevel": Enumeration("ServerCore", 4),
        "HyperVisorPresent": True,
        "TimeZone": "(UTC) Coordinated Universal Time",
    }
    patterns = bound.texts("Property")
    chosen = {name: value for name, value in known.items() if not patterns or any_match(patterns, name)}
    for pattern in patterns:
        if not has_wildcard(pattern) and not any(any_match([pattern], name) for name in known):
            chosen[pattern] = None
    return [custom_object(**chosen)]


def confirm_secure_boot(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Confirm-SecureBootUEFI.

    The `secure_boot` setting is true or false, or `none` for a machine with a legacy BIOS instead of UEFI.
    """
    state = machine.settings.option("secure_boot", True)
    if state not in (True, False):
        raise CmdletError(
            "NotImplemented",
            "GetFWVarFailed,Microsoft.SecureBoot.Commands.ConfirmSecureBootUefiCommand",
            "Cmdlet not supported on this platform: 0xC0000002",
            "System.PlatformNotSupportedException",
        )
    return [bool(state)]


CMDLETS: Mapping[str, Cmdlet] = {
    "Rename-Computer": rename_computer,
    "Get-ComputerInfo": get_computer_info,
    "Confirm-SecureBootUEFI": confirm_secure_boot,
}
