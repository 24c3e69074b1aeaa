# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The OpenSSH server: its services, and the Windows capability that installs it.

SSH is not modelled, so no port is open.

Sources: https://learn.microsoft.com/windows-server/administration/openssh/openssh_install_firstuse and, for files and
services, https://github.com/PowerShell/Win32-OpenSSH/wiki/Install-Win32-OpenSSH
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.machine import executables
from simulator.machine.objects import (
    Bound,
    Cmdlet,
    CmdletError,
    Enumeration,
    IdleService,
    IdleServiceProgram,
    NotModelled,
    PSObject,
    ServiceProgram,
)
from simulator.machine.services import Service
from simulator.machine.wildcards import any_match
from simulator.windows.networking.firewall_rules import Firewall, Rule

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_FOLDER = r"C:\Windows\System32\OpenSSH"
_DATA = r"C:\ProgramData\ssh"
_SERVER = "OpenSSH.Server~~~~0.0.1.0"
_RULE = "OpenSSH-Server-In-TCP"
_NAMESPACE = "Microsoft.Dism.Commands"


@dataclass(frozen=True)
class _Sshd:
    """The sshd service. When it starts, it creates its configuration and its host keys if they are missing."""

    def start(self, machine: Machine, service: Service) -> IdleService:
        """Start sshd: create its configuration and its host keys if they are missing."""
        machine.files.make_directory(_DATA)
        default = service.argv[0].rpartition("\\")[0] + "\\sshd_config_default"
        if not machine.files.is_file(rf"{_DATA}\sshd_config") and machine.files.is_file(default):
            machine.files.copy(default, rf"{_DATA}\sshd_config")
        for kind in ("ecdsa", "ed25519", "rsa"):
            key = rf"{_DATA}\ssh_host_{kind}_key"
            if not machine.files.is_file(key):
                machine.files.write_text(key, f"simulated {kind} host key of {machine.sid}\n")
        return IdleService()


def _installed(machine: Machine) -> bool:
    return machine.services.exists("sshd") and machine.files.is_file(rf"{_FOLDER}\sshd.exe")


def get_capability(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-WindowsCapability -Online, for the OpenSSH server only."""
    patterns = bound.texts("Name")
    if patterns and any_match(patterns, _SERVER):
        state = Enumeration("Installed", 4) if _installed(machine) else Enumeration("NotPresent", 0)
        return [PSObject(f"{_NAMESPACE}.BasicCapabilityObject", {"Name": _SERVER, "State": state, "Online": True})]
    raise NotModelled("Get-WindowsCapability for anything but OpenSSH.Server")


def add_capability(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Add-WindowsCapability -Online -Name OpenSSH.Server~~~~0.0.1.0."""
    name = bound.text("Name")
    if not name.casefold().startswith("openssh.server"):
        raise NotModelled(f"the capability {name}")
    if name.casefold() != _SERVER.casefold():
        message = "Add-WindowsCapability failed. Error code = 0x800f080c"
        kind = "System.Runtime.InteropServices.COMException"
        raise CmdletError("NotSpecified", f"{_NAMESPACE}.AddWindowsCapabilityCommand", message, kind)
    if not _installed(machine):
        _install(machine)
    properties: dict[str, object] = {"Path": "", "Online": True, "RestartNeeded": False}
    return [PSObject(f"{_NAMESPACE}.ImageObject", properties)]


def _install(machine: Machine) -> None:
    machine.files.make_directory(_FOLDER)
    for program in ("sshd", "ssh-agent", "ssh-keygen", "sftp-server"):
        machine.files.write_bytes(rf"{_FOLDER}\{program}.exe", executables.make(program, machine.windows.full))
    machine.files.write_text(
        rf"{_FOLDER}\sshd_config_default", "# This is the sshd server system-wide configuration file.\n"
    )
    for name, display, start in (
        ("sshd", "OpenSSH SSH Server", 3),
        ("ssh-agent", "OpenSSH Authentication Agent", 4),
    ):
        if not machine.services.exists(name):
            machine.services.create(name, rf"{_FOLDER}\{name}.exe", DisplayName=display, Start=start)
    rule = Rule(_RULE, "OpenSSH SSH Server (sshd)", group="OpenSSH Server", protocol="TCP", local_port=("22",))
    machine.part(Firewall).rules[_RULE.casefold()] = rule


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-WindowsCapability": get_capability,
    "Add-WindowsCapability": add_capability,
}
SERVICES: Mapping[str, ServiceProgram] = {"sshd": _Sshd(), "ssh-agent": IdleServiceProgram()}
