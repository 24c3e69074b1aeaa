# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cmdlets for the preferences and the status of Microsoft Defender Antivirus.

The cmdlets exist only while the feature Windows-Defender is installed.
Source: https://learn.microsoft.com/powershell/module/defender/set-mppreference
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.commands import not_found
from simulator.machine.objects import Bound, Cmdlet, CmdletError, items
from simulator.windows.common import cim
from simulator.windows.software.features import is_installed

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_LISTS = (
    "ExclusionPath",
    "ExclusionProcess",
    "ExclusionExtension",
    "ExclusionIpAddress",
    "AttackSurfaceReductionOnlyExclusions",
    "ControlledFolderAccessAllowedApplications",
    "ControlledFolderAccessProtectedFolders",
)
_DEFAULTS: Mapping[str, object] = {
    "DisableRealtimeMonitoring": False,
    "DisableBehaviorMonitoring": False,
    "DisableIOAVProtection": False,
    "DisableScriptScanning": False,
    "DisableArchiveScanning": False,
    "DisableAutoExclusions": False,
    "MAPSReporting": 2,
    "SubmitSamplesConsent": 1,
    "ScanAvgCPULoadFactor": 50,
    "ScanScheduleDay": 0,
    "PUAProtection": 0,
    "EnableNetworkProtection": 0,
    "EnableControlledFolderAccess": 0,
    "CheckForSignaturesBeforeRunningScan": False,
}


@dataclass
class Preferences:
    """The Defender preferences that were set, and the sequence number of the current signatures, starting at 1."""

    lists: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, object] = field(default_factory=dict)
    signatures: int = 1


def _require(machine: Machine, command: str) -> Preferences:
    """Return the Defender preferences. Raise PowerShell's error if Defender is not installed or not running."""
    if not is_installed(machine, "Windows-Defender"):
        raise not_found(command)
    service = machine.services.get("WinDefend")
    if service is None or service.state != "Running":
        raise CmdletError(
            "NotSpecified",
            f"HRESULT 0x800106ba,{command}",
            "Operation failed with the following error: 0x800106ba. Operation: MpPreference. "
            "Target: ConfigListExtension.",
            "Microsoft.Management.Infrastructure.CimException",
        )
    return machine.part(Preferences)


def get_preference(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-MpPreference. An empty list is returned as null."""
    preferences = _require(machine, "Get-MpPreference")
    properties: dict[str, object] = {name: list(preferences.lists.get(name, [])) or None for name in _LISTS}
    properties |= {**_DEFAULTS, **preferences.values}
    return [cim("MSFT_MpPreference", properties, "root/Microsoft/Windows/Defender")]


def add_preference(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Add-MpPreference. An existing entry is not added again."""
    preferences = _require(machine, "Add-MpPreference")
    for name in _LISTS:
        kept = preferences.lists.setdefault(name, [])
        for text in (str(item) for item in items(bound.get(name))):
            if text.casefold() not in (known.casefold() for known in kept):
                kept.append(text)
    return []


def set_preference(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-MpPreference. A given list replaces the previous list."""
    preferences = _require(machine, "Set-MpPreference")
    for name, value in bound.items():
        known = next((item for item in _LISTS if item.casefold() == name.casefold()), None)
        if known:
            preferences.lists[known] = list(dict.fromkeys(str(item) for item in items(value)))
        elif name not in ("Force", "CimSession", "ThrottleLimit", "AsJob"):
            preferences.values[name] = value
    return []


def remove_preference(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Remove-MpPreference.

    A missing list entry is not an error. Preferences other than lists are reset to their defaults.
    """
    preferences = _require(machine, "Remove-MpPreference")
    for name in _LISTS:
        gone = {str(item).casefold() for item in items(bound.get(name))}
        preferences.lists[name] = [item for item in preferences.lists.get(name, []) if item.casefold() not in gone]
    for name in _DEFAULTS:
        if name in bound:
            preferences.values.pop(name, None)
    return []


def get_status(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-MpComputerStatus."""
    preferences = _require(machine, "Get-MpComputerStatus")
    real_time = not preferences.values.get("DisableRealtimeMonitoring", False)
    properties = {
        "AMServiceEnabled": True,
        "AMRunningMode": "Normal",
        "AntispywareEnabled": True,
        "AntivirusEnabled": True,
        "AntivirusSignatureVersion": f"1.421.{preferences.signatures}.0",
        "BehaviorMonitorEnabled": real_time,
        "IoavProtectionEnabled": real_time,
        "IsTamperProtected": False,
        "OnAccessProtectionEnabled": real_time,
        "RealTimeProtectionEnabled": real_time,
        "ComputerID": machine.sid,
    }
    return [cim("MSFT_MpComputerStatus", properties, "root/Microsoft/Windows/Defender")]


def update_signature(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Update-MpSignature. Each call finds newer signatures, whose contents are not modelled.

    Source: https://learn.microsoft.com/powershell/module/defender/update-mpsignature
    """
    preferences = _require(machine, "Update-MpSignature")
    preferences.signatures += 1
    return []


def _status(machine: Machine) -> object:
    return {name: values for name, values in machine.part(Preferences).lists.items() if values}


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-MpPreference": get_preference,
    "Add-MpPreference": add_preference,
    "Set-MpPreference": set_preference,
    "Remove-MpPreference": remove_preference,
    "Get-MpComputerStatus": get_status,
    "Update-MpSignature": update_signature,
}
STATUS = {"defender": _status}
