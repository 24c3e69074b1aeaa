# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources that let administrators reach a machine: Remote Desktop, OpenSSH, and WinRM's start mode."""

from __future__ import annotations

import hashlib

from ..role_variables.windows_settings import SystemVariables
from ..windows.registry_keys import CONTROL
from ..windows.sddl import ADMINISTRATORS_ONLY_FILE
from .downloads import Proxy, ResourceMapping

_TERMINAL = f"{CONTROL}\\Terminal Server"
"""The registry key that contains the settings of Remote Desktop. Source: learn.microsoft.com
(Microsoft-Windows-TerminalServices-LocalSessionManager, fDenyTSConnections;
Microsoft-Windows-TerminalServices-RDP-WinStationExtensions, UserAuthentication)."""
_SSH_DATA = "C:\\ProgramData\\ssh"
_SSH_FOLDER = "C:\\Program Files\\OpenSSH"
_SSH_ACL = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;AU)"
"""The access list that sshd gives to its folder. Source: github.com/PowerShell/openssh-portable
contrib/win32/win32compat/wmain_sshd.c (create_prgdata_ssh_folder)."""
_CAPABILITY = "OpenSSH.Server~~~~0.0.1.0"
"""Windows' optional feature that contains the OpenSSH server. Source:
learn.microsoft.com/windows-server/administration/openssh/openssh_install_firstuse."""
_KEYS = f"{_SSH_DATA}\\administrators_authorized_keys"
"""File with the public keys of all administrators. sshd ignores the file if other users can write to it. Source:
learn.microsoft.com/windows-server/administration/openssh/openssh_keymanagement."""
_SSHD_CONFIG = """PubkeyAuthentication yes
PasswordAuthentication {passwords}
Subsystem sftp sftp-server.exe
Match Group administrators
       AuthorizedKeysFile __PROGRAMDATA__/ssh/administrators_authorized_keys
"""
"""The contents of sshd_config. The settings for SFTP and for administrators' keys are copied from
github.com/PowerShell/openssh-portable contrib/win32/openssh/sshd_config."""


def resources(settings: SystemVariables, proxy: Proxy) -> list[ResourceMapping]:
    """Return the resources of remote access.

    Args:
        settings: the role's variables.
        proxy: the proxy for downloads.
    """
    delayed = {"type": "Service", "name": "WinRM", "start_mode": "delayed-auto"}
    return [
        *([delayed] if settings.winrm_delayed_start else []),
        *_remote_desktop(settings.remote_desktop),
        *(_ssh(settings, proxy) if settings.ssh_server else _keys(settings)),
    ]


def _remote_desktop(setting: str) -> list[ResourceMapping]:
    if not setting:
        return []
    enabled = setting == "enabled"
    values = [(_TERMINAL, "fDenyTSConnections", int(not enabled))]
    if enabled:
        values.append((f"{_TERMINAL}\\WinStations\\RDP-Tcp", "UserAuthentication", 1))
    return [
        *(
            {"type": "Registry", "key": key, "value_name": name, "value_type": "DWord", "value": value}
            for key, name, value in values
        ),
        *(
            _rule(f"winkube-remote-desktop-{protocol.lower()}", "Remote Desktop", protocol, 3389, present=enabled)
            for protocol in ("TCP", "UDP")
        ),
    ]


def _rule(name: str, purpose: str, protocol: str, port: int, *, present: bool = True) -> ResourceMapping:
    if not present:
        return {"type": "FirewallRule", "name": name, "state": "absent"}
    return {
        "type": "FirewallRule",
        "name": name,
        "display_name": f"{purpose} ({protocol}-In, winkube.node)",
        "protocol": protocol,
        "local_ports": [str(port)],
    }


def _ssh(settings: SystemVariables, proxy: Proxy) -> list[ResourceMapping]:
    """Return the resources of the OpenSSH server. sshd creates its host keys when it starts."""
    config = _SSHD_CONFIG.format(passwords="no" if _listed(settings) else "yes")
    folder, keys = _keys(settings, always=True)
    return [
        *(_capability() if settings.ssh_server == "capability" else _archive(settings, proxy)),
        folder,
        {
            "type": "File",
            "name": f"{_SSH_DATA}\\sshd_config",
            "content": config,
            "line_ending": "crlf",
            "restarts": ["sshd"],
        },
        keys,
        _rule("winkube-ssh", "OpenSSH server", "TCP", 22),
        _service(settings),
    ]


def _listed(settings: SystemVariables) -> list[str]:
    return [key.strip() for key in settings.ssh_authorized_keys if key.strip()]


def _keys(settings: SystemVariables, *, always: bool = False) -> list[ResourceMapping]:
    """Return the resources for the administrators' SSH keys.

    Without keys, return an empty list unless `always` is true.

    If a machine's image already has the OpenSSH server, the machine needs only these resources.
    """
    keys = _listed(settings)
    if not keys and not always:
        return []
    return [
        {"type": "Directory", "name": _SSH_DATA, "acl": _SSH_ACL},
        {
            "type": "File",
            "name": _KEYS,
            "content": "".join(f"{key}\n" for key in keys),
            "line_ending": "crlf",
            "acl": ADMINISTRATORS_ONLY_FILE,
        },
    ]


def _capability() -> list[ResourceMapping]:
    return [{"type": "WindowsCapability", "name": _CAPABILITY}]


def _archive(settings: SystemVariables, proxy: Proxy) -> list[ResourceMapping]:
    # The URL contains the version, so another URL is another file.
    version = hashlib.sha256(settings.ssh_url.encode()).hexdigest()[:12]
    path = f"{settings.artifact_cache}\\openssh\\{version}\\OpenSSH-Win64.zip"
    return [
        {
            "type": "Artifact",
            "name": "OpenSSH",
            "path": path,
            "urls": [settings.ssh_url],
            "sha256": settings.ssh_sha256 or None,
            "proxy": proxy.https_proxy or proxy.http_proxy or None,
            "no_proxy": [entry for entry in proxy.no_proxy.split(",") if entry],
        },
        {
            "type": "Archive",
            "name": _SSH_FOLDER,
            "path": path,
            "strip_components": 1,
            "exclusive": True,
            "check": ["sshd.exe"],
            "stops": ["sshd"],
        },
    ]


def _service(settings: SystemVariables) -> ResourceMapping:
    running = {"type": "Service", "name": "sshd", "start_mode": "auto", "state": "running"}
    if settings.ssh_server == "capability":
        # The capability creates the service.
        return {**running, "if_exists": True}
    return {**running, "path": f"{_SSH_FOLDER}\\sshd.exe", "display_name": "OpenSSH SSH Server"}
