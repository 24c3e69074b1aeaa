# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Apps, packages and optional features, as the cmdlets of the DISM and Appx modules show them.

The `provisioned_apps` setting contains the names of the apps for all users. The `user_apps` setting contains the names
of the apps that a user has installed. Those that are not also provisioned make sysprep fail.

Sources: https://learn.microsoft.com/powershell/module/dism/ and https://learn.microsoft.com/powershell/module/appx/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.objects import Bound, Cmdlet, CmdletError, Enumeration, NotModelled, PSObject
from simulator.machine.wildcards import any_match
from simulator.windows.common import objects
from simulator.windows.software.feature_list import offered
from simulator.windows.software.features import install_state

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_DISM = "Microsoft.Dism.Commands"
_APPX = "Microsoft.Windows.Appx.PackageManager.Commands"
# Optional features by their names in DISM: https://learn.microsoft.com/windows/…/containers, hyper-v
OPTIONAL: Mapping[str, str] = {
    "Containers": "Containers",
    "Microsoft-Hyper-V": "Hyper-V",
    "Microsoft-Hyper-V-Management-PowerShell": "Hyper-V-PowerShell",
    "IIS-WebServerRole": "Web-Server",
    "ClientForNFS-Infrastructure": "NFS-Client",
    "Windows-Defender": "Windows-Defender",
    "SMB1Protocol": "FS-SMB1",
    "TelnetClient": "Telnet-Client",
}
_STATES = {
    "Installed": "Enabled",
    "Available": "Disabled",
    "Removed": "DisabledWithPayloadRemoved",
    "InstallPending": "EnablePending",
    "UninstallPending": "DisablePending",
}
_STATE_NUMBERS = {"Disabled": 2, "Enabled": 6, "EnablePending": 7, "DisablePending": 1, "DisabledWithPayloadRemoved": 5}


@dataclass
class Apps:
    """The lower-case names of the apps that were removed from the machine."""

    removed: set[str] = field(default_factory=set)


def _configured(machine: Machine, option: str) -> list[str]:
    names = machine.settings.option(option, [])
    removed = machine.part(Apps).removed
    return [str(name) for name in names if str(name).casefold() not in removed] if isinstance(names, list) else []


def unprovisioned(machine: Machine) -> list[str]:
    """Return the apps that a user has installed and that are not provisioned for all users. These make sysprep fail."""
    provisioned = _configured(machine, "provisioned_apps")
    return [name for name in _configured(machine, "user_apps") if name not in provisioned]


def _full_name(name: str) -> str:
    return f"{name}_1.0.0.0_x64__8wekyb3d8bbwe"


def get_packages(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-AppxPackage, which returns the apps of users and the provisioned apps."""
    patterns = bound.texts("Name")
    for name in dict.fromkeys([*_configured(machine, "user_apps"), *_configured(machine, "provisioned_apps")]):
        if patterns and not any_match(patterns, name):
            continue
        properties: dict[str, object] = {
            "Name": name,
            "PackageFullName": _full_name(name),
            "PackageFamilyName": f"{name}_8wekyb3d8bbwe",
            "Version": "1.0.0.0",
            "IsFramework": False,
            "NonRemovable": False,
            "SignatureKind": Enumeration("Store", 3),
        }
        yield PSObject(f"{_APPX}.AppxPackage", properties, text=_full_name(name))


def remove_package(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Remove-AppxPackage -AllUsers."""
    if not bound.flag("AllUsers"):
        raise NotModelled("Remove-AppxPackage without -AllUsers")
    for package in bound.texts("Package") + [str(item.get("PackageFullName")) for item in objects(bound)]:
        name = package.partition("_")[0]
        if package != _full_name(name) or name not in _configured(machine, "user_apps"):
            raise CmdletError(
                "WriteError",
                f"DeploymentError,{_APPX}.RemoveAppxPackageCommand",
                f"Deployment failed with HRESULT: 0x80073CF1, Package was not found. ({package})",
                "System.IO.IOException",
            )
        machine.part(Apps).removed.add(name.casefold())
    return []


def get_provisioned(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-AppxProvisionedPackage -Online."""
    for name in _configured(machine, "provisioned_apps"):
        package = f"{name}_1.0.0.0_neutral_~_8wekyb3d8bbwe"
        yield PSObject(
            f"{_DISM}.AppxPackageObject", {"DisplayName": name, "PackageName": package, "Version": "1.0.0.0"}
        )


def remove_provisioned(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Remove-AppxProvisionedPackage -Online."""
    names = bound.texts("PackageName") + [str(item.get("PackageName")) for item in objects(bound)]
    for package in names:
        name = package.partition("_")[0]
        if name not in _configured(machine, "provisioned_apps"):
            raise CmdletError(
                "NotSpecified",
                f"{_DISM}.RemoveAppxProvisionedPackageCommand",
                "The system cannot find the path specified.",
                "System.Runtime.InteropServices.COMException",
            )
        machine.part(Apps).removed.add(name.casefold())
    return []


def get_optional_feature(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-WindowsOptionalFeature -Online."""
    known = offered(machine.windows.contract)
    patterns = bound.texts("FeatureName")
    found = [name for name in OPTIONAL if not patterns or any_match(patterns, name)]
    if patterns and not found:
        raise CmdletError(
            "NotSpecified",
            f"{_DISM}.GetWindowsOptionalFeatureCommand",
            f"Feature name {patterns[0]} is unknown.",
            "System.Runtime.InteropServices.COMException",
        )
    for name in found:
        state = _STATES[install_state(machine, known[OPTIONAL[name].casefold()])]
        properties: dict[str, object] = {
            "FeatureName": name,
            "DisplayName": known[OPTIONAL[name].casefold()].display,
            "State": Enumeration(state, _STATE_NUMBERS[state], "Microsoft.Dism.Commands.FeatureState"),
            "RestartRequired": Enumeration("Possible", 1),
            "Online": True,
        }
        yield PSObject(f"{_DISM}.AdvancedFeatureObject", properties)


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-AppxPackage": get_packages,
    "Remove-AppxPackage": remove_package,
    "Get-AppxProvisionedPackage": get_provisioned,
    "Remove-AppxProvisionedPackage": remove_provisioned,
    "Get-WindowsOptionalFeature": get_optional_feature,
}
