# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The modelled CIM classes: those of root/cimv2, and Win32_DeviceGuard.

Source: https://learn.microsoft.com/windows/win32/cimwin32prov/win32-provider. Properties have the units that
Microsoft documents (for example, memory sizes in Win32_OperatingSystem are in KB).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulator.machine import accounts
from simulator.machine.objects import PSObject
from simulator.windows.common import cim
from simulator.windows.directory import membership
from simulator.windows.networking import azure_metadata
from simulator.windows.networking.network import interfaces
from simulator.windows.networking.network_state import default_gateway
from simulator.windows.updates.hot_fixes import hot_fixes
from simulator.windows.wmi import page_file

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_SERVICE_MODES = {"Automatic": "Auto", "Manual": "Manual", "Disabled": "Disabled", "Boot": "Boot", "System": "System"}
_SERVICE_STATES = {"StartPending": "Start Pending", "StopPending": "Stop Pending"}


def _operating_system(machine: Machine) -> list[PSObject]:
    windows, memory = machine.windows, machine.settings.memory_mb << 10
    used = (1 << 20) + 65536 * len(machine.processes.all())
    properties: dict[str, object] = {
        "Caption": f"Microsoft {windows.product}",
        "Version": f"10.0.{windows.build}",
        "BuildNumber": str(windows.build),
        "CSName": machine.name,
        "OSArchitecture": "64-bit",
        # 2: domain controller, 3: server (Win32_OperatingSystem).
        "ProductType": 2 if machine.settings.option("domain_controller") is True else 3,
        "OperatingSystemSKU": 8,
        "SystemDirectory": r"C:\Windows\system32",
        "SystemDrive": "C:",
        "WindowsDirectory": r"C:\Windows",
        "LastBootUpTime": machine.power.boot_time,
        "LocalDateTime": machine.clock.now(),
        "InstallDate": datetime(2024, 12, 1, tzinfo=UTC),
        "TotalVisibleMemorySize": memory,
        "FreePhysicalMemory": max(memory // 10, memory - used),
        "TotalVirtualMemorySize": memory * 2,
        "FreeVirtualMemory": memory,
        "Locale": "0409",
        "OSLanguage": 1033,
        "CurrentTimeZone": 0,
        "NumberOfProcesses": len(machine.processes.all()),
        "Status": "OK",
    }
    return [cim("Win32_OperatingSystem", properties, text=f"Win32_OperatingSystem: Microsoft {windows.product}")]


def _computer_system(machine: Machine) -> list[PSObject]:
    properties = {
        "Name": machine.name,
        "DNSHostName": machine.host_name,
        **membership.computer_properties(machine),
        "Manufacturer": "Microsoft Corporation",
        "Model": "Virtual Machine",
        "SystemType": "x64-based PC",
        "NumberOfProcessors": 1,
        "NumberOfLogicalProcessors": machine.settings.processors,
        "TotalPhysicalMemory": machine.settings.memory_mb << 20,
        "AutomaticManagedPagefile": page_file.is_automatic(machine),
        "HypervisorPresent": True,
        "UserName": None,
    }
    return [
        cim("Win32_ComputerSystem", properties, text=f'Win32_ComputerSystem: {machine.name} (Name = "{machine.name}")')
    ]


def _page_file_settings(machine: Machine) -> list[PSObject]:
    return [
        cim(
            "Win32_PageFileSetting",
            {
                "Caption": f"{file.path[:2]}\\ '{file.path[3:]}'",
                "Description": f"'{file.path[3:]}' @ {file.path[:2]}\\",
                "SettingID": f"{file.path[3:]} @ {file.path[:2]}",
                "InitialSize": file.initial,
                "MaximumSize": file.maximum,
                "Name": file.path,
            },
            text=f'Win32_PageFileSetting: {file.path} (Name = "{file.path}")',
        )
        for file in page_file.configured(machine)
    ]


def _page_file_usage(machine: Machine) -> list[PSObject]:
    return [
        cim(
            "Win32_PageFileUsage",
            {"Name": file.path, "AllocatedBaseSize": file.initial or 1408, "CurrentUsage": 0, "PeakUsage": 0},
        )
        for file in page_file.active(machine)
    ]


def _disks(machine: Machine) -> list[PSObject]:
    return [
        cim(
            "Win32_LogicalDisk",
            {
                "DeviceID": f"{letter}:",
                "Name": f"{letter}:",
                "DriveType": 3,
                "FileSystem": "NTFS",
                "FreeSpace": machine.files.free_space(letter),
                "Size": machine.files.size(letter),
                "VolumeName": "Windows" if letter == "C" else "Temporary Storage",
            },
            text=f'Win32_LogicalDisk: {letter}: (DeviceID = "{letter}:")',
        )
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        if machine.files.drive_exists(f"{letter}:\\")
    ]


def _services(machine: Machine) -> list[PSObject]:
    found = []
    for name in machine.services.names():
        service = machine.services.get(name)
        if service is None:
            continue
        properties = {
            "Name": service.name,
            "DisplayName": service.display_name,
            "Description": service.description,
            "State": _SERVICE_STATES.get(service.state, service.state),
            "Status": "OK",
            "StartMode": _SERVICE_MODES[service.start_mode],
            "DelayedAutoStart": service.delayed,
            "StartName": service.account,
            "PathName": service.command_line,
            "ProcessId": service.process_id,
            "ExitCode": service.exit_code,
            "Started": service.state == "Running",
        }
        found.append(cim("Win32_Service", properties, text=f'Win32_Service: {name} (Name = "{name}")'))
    return found


def _processes(machine: Machine) -> list[PSObject]:
    return [
        cim(
            "Win32_Process",
            {
                "Name": process.name,
                "ProcessId": process.id,
                "Handle": str(process.id),
                "CreationDate": process.started,
                "CommandLine": process.name,
                "ExecutablePath": None,
            },
            text=f'Win32_Process: {process.name} (Handle = "{process.id}")',
        )
        for process in machine.processes.all()
    ]


def _updates(machine: Machine) -> list[PSObject]:
    return [cim("Win32_QuickFixEngineering", fix) for fix in hot_fixes(machine)]


def _network(machine: Machine) -> list[PSObject]:
    return [
        cim(
            "Win32_NetworkAdapterConfiguration",
            {
                "Description": item.description,
                "Index": item.index,
                "InterfaceIndex": item.index,
                "IPEnabled": True,
                "IPAddress": [address.address for address in item.addresses],
                "MACAddress": item.mac.replace("-", ":"),
                "DefaultIPGateway": [gateway] if (gateway := default_gateway(machine, item.alias)) else None,
                "DHCPEnabled": item.dhcp,
                "DNSServerSearchOrder": list(item.dns),
            },
        )
        for item in interfaces(machine)
    ]


def _profiles(machine: Machine) -> list[PSObject]:
    """Return the instances of Win32_UserProfile.

    Source: https://learn.microsoft.com/previous-versions/windows/desktop/userprofileprov
    """
    found = []
    for folder in machine.files.listing(r"C:\Users"):
        if folder.name.casefold() in ("public", "default"):
            continue
        account = accounts.find(machine, folder.name, "User")
        properties: dict[str, object] = {
            "LocalPath": f"C:\\Users\\{folder.name}",
            "SID": accounts.sid(machine, account) if account else None,
            "Loaded": False,
            "Special": False,
        }
        found.append(cim("Win32_UserProfile", properties))
    return found


def _device_guard(machine: Machine) -> list[PSObject]:
    """Return the Win32_DeviceGuard object, which shows the status of code integrity (0 off, 1 audit, 2 enforced).

    Source:
    https://learn.microsoft.com/windows/security/hardware-security/enable-virtualization-based-protection-of-code-integrity
    """
    enforced = machine.settings.option("user_mode_code_integrity", 0)
    properties = {
        "CodeIntegrityPolicyEnforcementStatus": enforced,
        "UsermodeCodeIntegrityPolicyEnforcementStatus": enforced,
        "VirtualizationBasedSecurityStatus": 0,
    }
    return [cim("Win32_DeviceGuard", properties)]


def _enclosure(machine: Machine) -> list[PSObject]:
    tag = azure_metadata.asset_tag(machine)
    return [cim("Win32_SystemEnclosure", {"Manufacturer": "Microsoft Corporation", "SMBIOSAssetTag": tag})]


def _single(class_name: str, **properties: object) -> Callable[[Machine], list[PSObject]]:
    return lambda _: [cim(class_name, dict(properties))]


CLASSES: Mapping[str, Callable[[Machine], list[PSObject]]] = {
    "Win32_OperatingSystem": _operating_system,
    "Win32_ComputerSystem": _computer_system,
    "Win32_PageFileSetting": _page_file_settings,
    "Win32_PageFileUsage": _page_file_usage,
    "Win32_LogicalDisk": _disks,
    "Win32_Service": _services,
    "Win32_Process": _processes,
    "Win32_QuickFixEngineering": _updates,
    "Win32_NetworkAdapterConfiguration": _network,
    "Win32_UserProfile": _profiles,
    "Win32_DeviceGuard": _device_guard,
    "Win32_SystemEnclosure": _enclosure,
    "Win32_BIOS": _single(
        "Win32_BIOS", Manufacturer="Microsoft Corporation", SerialNumber="0000-0001", Version="VRTUAL - 1"
    ),
    "Win32_Processor": _single(
        "Win32_Processor", Name="Virtual processor", NumberOfCores=2, NumberOfLogicalProcessors=4
    ),
    "Win32_ComputerSystemProduct": _single(
        "Win32_ComputerSystemProduct", Name="Virtual Machine", Vendor="Microsoft Corporation"
    ),
}
