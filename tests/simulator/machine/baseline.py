# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create the contents of a newly installed Windows Server: folders, included programs, registry and services.

Registry paths come from Microsoft's documentation of each component. Only a small part of the registry is included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine import executables
from simulator.machine.registry import Value
from simulator.machine.rights import defaults

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

CURRENT_VERSION = r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
CONTROL = r"HKLM:\SYSTEM\CurrentControlSet\Control"
SERVICES = r"HKLM:\SYSTEM\CurrentControlSet\Services"

FOLDERS = (
    r"C:\Windows\System32\drivers\etc",
    r"C:\Windows\System32\config\systemprofile\AppData\Local\Temp",
    r"C:\Windows\System32\WindowsPowerShell\v1.0\Modules",
    r"C:\Windows\System32\Sysprep",
    r"C:\Windows\System32\OpenSSH",
    r"C:\Windows\Panther",
    r"C:\Windows\Logs\CBS",
    r"C:\Windows\SoftwareDistribution\Download",
    r"C:\Windows\TEMP",
    r"C:\Program Files\Common Files",
    r"C:\Program Files\Windows Defender",
    r"C:\Program Files (x86)",
    r"C:\ProgramData\Microsoft",
    r"C:\Users\Public",
)
# The folders of programs that are not in System32.
PLACES = {
    "sysprep.exe": r"C:\Windows\System32\Sysprep",
    "powershell.exe": r"C:\Windows\System32\WindowsPowerShell\v1.0",
    "mpcmdrun.exe": r"C:\Program Files\Windows Defender",
}
# Included programs that the simulator does not model. They must exist because services run in them.
HOSTS = ("svchost.exe", "lsass.exe", "services.exe", "spoolsv.exe")

PATH = (
    r"%SystemRoot%\system32;%SystemRoot%;%SystemRoot%\System32\Wbem;"
    r"%SYSTEMROOT%\System32\WindowsPowerShell\v1.0\;%SYSTEMROOT%\System32\OpenSSH" + "\\"
)

# name: (display name, start type, delayed, dependencies); each runs in svchost.exe.
IN_BOX_SERVICES: dict[str, tuple[str, int, bool, list[str]]] = {
    "RpcSs": ("Remote Procedure Call (RPC)", 2, False, []),
    "EventLog": ("Windows Event Log", 2, False, []),
    "Schedule": ("Task Scheduler", 2, False, ["RpcSs"]),
    "Winmgmt": ("Windows Management Instrumentation", 2, False, ["RpcSs"]),
    "Dhcp": ("DHCP Client", 2, False, []),
    "Dnscache": ("DNS Client", 2, False, []),
    "nsi": ("Network Store Interface Service", 2, False, []),
    "NlaSvc": ("Network Location Awareness", 2, False, ["RpcSs", "nsi"]),
    "iphlpsvc": ("IP Helper", 2, False, ["RpcSs", "nsi"]),
    "BFE": ("Base Filtering Engine", 2, False, ["RpcSs"]),
    "mpssvc": ("Windows Defender Firewall", 2, False, ["BFE"]),
    "LanmanServer": ("Server", 2, False, []),
    "LanmanWorkstation": ("Workstation", 2, False, ["nsi"]),
    "W32Time": ("Windows Time", 3, False, []),
    "WinRM": ("Windows Remote Management (WS-Management)", 2, False, ["RpcSs"]),
    "CryptSvc": ("Cryptographic Services", 2, False, ["RpcSs"]),
    "ProfSvc": ("User Profile Service", 2, False, ["RpcSs"]),
    "SamSs": ("Security Accounts Manager", 2, False, ["RpcSs"]),
    "BITS": ("Background Intelligent Transfer Service", 3, True, ["RpcSs"]),
    "wuauserv": ("Windows Update", 3, False, ["RpcSs"]),
    "UsoSvc": ("Update Orchestrator Service", 3, True, ["RpcSs"]),
    "TrustedInstaller": ("Windows Modules Installer", 3, False, []),
    "WinDefend": ("Microsoft Defender Antivirus Service", 2, False, ["RpcSs"]),
    "TermService": ("Remote Desktop Services", 3, False, ["RpcSs"]),
    "DiagTrack": ("Connected User Experiences and Telemetry", 2, False, ["RpcSs"]),
    "RemoteRegistry": ("Remote Registry", 3, False, ["RpcSs"]),
    "LSM": ("Local Session Manager", 2, False, ["RpcSs"]),
}


def create_baseline(machine: Machine) -> None:
    """Install Windows on an empty simulated machine."""
    files(machine)
    registry(machine)
    services(machine)
    make_users(machine)


def files(machine: Machine) -> None:
    """Create Windows' folders and the programs that Windows includes."""
    for folder in FOLDERS:
        machine.files.make_directory(folder)
    version = machine.windows.full
    for name in (*HOSTS, *machine.families.in_box):
        own = machine.windows.curl if name.casefold() == "curl.exe" else version
        folder = PLACES.get(name.casefold(), r"C:\Windows\System32")
        # Windows has many more 32-bit programs.
        for place in (folder, folder.replace("System32", "SysWOW64")) if name == "powershell.exe" else (folder,):
            machine.files.make_directory(place)
            machine.files.write_bytes(f"{place}\\{name}", executables.make(name, own))
            machine.files.is_system_file(f"{place}\\{name}")
    machine.files.write_text(r"C:\Windows\System32\drivers\etc\hosts", "# Copyright (c) 1993-2009 Microsoft Corp.\r\n")


def registry(machine: Machine) -> None:
    """Write the registry of a new installation."""
    windows, write = machine.windows, machine.registry.write
    write(
        CURRENT_VERSION,
        {
            "CurrentBuild": str(windows.build),
            "CurrentBuildNumber": str(windows.build),
            "UBR": windows.ubr,
            "ProductName": windows.product,
            "EditionID": "ServerDatacenter",
            "InstallationType": str(machine.settings.option("installation_type", "Server Core")),
            "CurrentMajorVersionNumber": 10,
            "CurrentMinorVersionNumber": 0,
            "CurrentVersion": "6.3",
            "ReleaseId": "1809" if windows.build == 17763 else "2009",
            "BuildLabEx": f"{windows.build}.1.amd64fre.rs_release.180914-1434",
            "SystemRoot": "C:\\Windows",
            **({"DisplayVersion": windows.display} if windows.display else {}),
        },
    )
    write(r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon", {"AutoAdminLogon": "0"})
    write(r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State", {"ImageState": "IMAGE_STATE_COMPLETE"})
    write(r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Policies\System", {"EnableLUA": 1})
    write(
        r"HKLM:\SOFTWARE\Microsoft\PowerShell\3\PowerShellEngine",
        {"PowerShellVersion": windows.powershell, "RuntimeVersion": "v4.0.30319"},
    )
    name = machine.settings.name
    write(f"{CONTROL}\\ComputerName\\ComputerName", {"ComputerName": name.upper()[:15]})
    write(f"{CONTROL}\\ComputerName\\ActiveComputerName", {"ComputerName": name.upper()[:15]})
    write(f"{SERVICES}\\Tcpip\\Parameters", {"Hostname": name, "NV Hostname": name, "Domain": "", "NV Domain": ""})
    write(
        f"{CONTROL}\\Session Manager\\Environment",
        {
            "Path": Value(PATH, "ExpandString"),
            "ComSpec": Value(r"%SystemRoot%\system32\cmd.exe", "ExpandString"),
            "DriverData": r"C:\Windows\System32\Drivers\DriverData",
            "OS": "Windows_NT",
            "PATHEXT": ".COM;.EXE;.BAT;.CMD;.VBS;.VBE;.JS;.JSE;.WSF;.WSH;.MSC",
            "PROCESSOR_ARCHITECTURE": "AMD64",
            "PSModulePath": Value(
                r"%ProgramFiles%\WindowsPowerShell\Modules;%SystemRoot%\system32\WindowsPowerShell\v1.0\Modules",
                "ExpandString",
            ),
            "TEMP": Value(r"%SystemRoot%\TEMP", "ExpandString"),
            "TMP": Value(r"%SystemRoot%\TEMP", "ExpandString"),
            "USERNAME": "SYSTEM",
            "windir": Value("%SystemRoot%", "ExpandString"),
            "NUMBER_OF_PROCESSORS": str(machine.settings.processors),
        },
    )
    write(
        f"{CONTROL}\\TimeZoneInformation",
        {"TimeZoneKeyName": "UTC", "Bias": 0, "ActiveTimeBias": 0, "StandardName": "@tzres.dll,-932"},
    )
    # LanmanNT is a domain controller of any kind (gitlab.com/samba-team/samba, merge request 4063).
    product = "LanmanNT" if machine.settings.option("domain_controller") is True else "ServerNT"
    write(f"{CONTROL}\\ProductOptions", {"ProductType": product})
    machine.registry.create_key(r"HKLM:\SOFTWARE\Policies\Microsoft\Windows")
    machine.registry.create_key(r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing")
    machine.registry.create_key(r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update")


def services(machine: Machine) -> None:
    """Create the services that Windows includes."""
    for name, (display, start, delayed, dependencies) in IN_BOX_SERVICES.items():
        entries: dict[str, object] = {"DisplayName": display, "Start": start, "Type": 0x20}
        if dependencies:
            entries["DependOnService"] = dependencies
        if delayed:
            entries["DelayedAutostart"] = 1
        machine.services.create(name, r"%SystemRoot%\system32\svchost.exe -k netsvcs -p", **entries)
    machine.registry.write(
        f"{SERVICES}\\W32Time\\Parameters",
        {"NtpServer": "time.windows.com,0x8", "Type": "NTP", "ServiceDll": r"%systemroot%\system32\w32time.dll"},
    )


def make_users(machine: Machine) -> None:
    """Create the folders of the administrator's profile."""
    for folder in (r"AppData\Local\Temp", r"AppData\Roaming", "Desktop", "Documents"):
        machine.files.make_directory(f"C:\\Users\\{machine.settings.user}\\{folder}")
    profile = defaults.profile(machine.acting.token_of(machine.settings.user).user)
    machine.files.set_sddl(f"C:\\Users\\{machine.settings.user}", profile)


def at_logon(machine: Machine) -> None:
    """Create the volatile registry key that LogonUI creates when the machine is ready. win_reboot waits for it."""
    machine.registry.create_key(f"{CURRENT_VERSION}\\Winlogon\\AutoLogonChecked", volatile=True)


def at_boot(machine: Machine) -> None:
    """Complete a boot as Windows does: replace or delete files that were in use, and clear the pending reboot."""
    manager = f"{CONTROL}\\Session Manager"
    renames = machine.registry.data(manager, "PendingFileRenameOperations", [])
    if isinstance(renames, list):
        for source, target in zip(renames[::2], renames[1::2], strict=False):
            path, destination = str(source).removeprefix("\\??\\"), str(target).lstrip("!").removeprefix("\\??\\")
            if not machine.files.exists(path):
                continue
            if destination:
                machine.files.move(path, destination)
            else:
                machine.files.delete(path)
    machine.registry.delete(manager, "PendingFileRenameOperations")
    machine.registry.delete_key(
        r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending"
    )
    machine.registry.delete_key(
        r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired"
    )
