# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Convert the options of the winrm and psrp connection plugins to one common form.

The defaults are the plugins' own. Source: ansible-core, plugins/connection/winrm.py and psrp.py.
"""

from __future__ import annotations

import dataclasses
import typing as t

WINRM_EXTRAS = (
    "ansible_winrm_server_cert_validation",
    "ansible_winrm_message_encryption",
    "ansible_winrm_ca_trust_path",
)
"""Variables that the winrm plugin passes to pywinrm without declaring them as options."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConnectionSettings:
    """Settings of the connection to one host."""

    plugin: str
    """Short name of the connection plugin: `psrp`, `winrm`, `ssh`, …"""
    host: str = ""
    port: int = 5986
    https: bool = True
    auth: tuple[str, ...] = ()
    """Authentication methods that the plugin tries, in order: `ntlm`, `kerberos`, `basic`, …"""
    validates: bool = True
    """Whether the server's certificate is checked."""
    encryption: str = "auto"
    """Message encryption: `always`, `never`, or `auto` to encrypt messages only if TLS is not used."""
    ca_file: str = ""
    """File with the trusted certificates. If empty, the plugin's library decides which certificates are trusted."""
    shell: str = ""
    """Type of the remote shell. Only ssh supports shells other than PowerShell."""


def read_settings(
    plugin: str, options: t.Mapping[str, t.Any], extras: t.Mapping[str, t.Any], shell: str = ""
) -> ConnectionSettings:
    """Return the connection settings that the options of a connection plugin describe.

    Args:
        plugin: name of the plugin, with or without the name of its collection.
        options: the plugin's options by name, as Ansible resolved them.
        extras: values of the host's variables that WINRM_EXTRAS lists.
        shell: type of the remote shell, for ssh.

    Returns:
        The settings. For plugins other than psrp and winrm, only the plugin's name and the shell are set.
    """
    name = plugin.rpartition(".")[2]
    if name == "psrp":
        return _psrp(options)
    if name == "winrm":
        return _winrm(options, extras)
    return ConnectionSettings(plugin=name, shell=shell)


def _psrp(options: t.Mapping[str, t.Any]) -> ConnectionSettings:
    https, port = _scheme_and_port(options.get("protocol"), options.get("port"))
    return ConnectionSettings(
        plugin="psrp",
        host=str(options.get("remote_addr") or ""),
        port=port,
        https=https,
        auth=(str(options.get("auth") or "negotiate"),),
        validates=options.get("cert_validation") != "ignore",
        encryption=str(options.get("message_encryption") or "auto"),
        ca_file=str(options.get("ca_cert") or ""),
    )


def _winrm(options: t.Mapping[str, t.Any], extras: t.Mapping[str, t.Any]) -> ConnectionSettings:
    https, port = _scheme_and_port(options.get("scheme"), options.get("port"))
    transports = [str(name) for name in options.get("transport") or () if name]
    if not transports and "@" in str(options.get("remote_user") or ""):
        transports = ["kerberos"]
    trust = str(extras.get("ansible_winrm_ca_trust_path") or "")
    return ConnectionSettings(
        plugin="winrm",
        host=str(options.get("remote_addr") or ""),
        port=port,
        https=https,
        # pywinrm's ssl and plaintext mean basic authentication, unless there is a client certificate.
        auth=tuple("basic" if name in ("ssl", "plaintext") else name for name in transports or ["basic"]),
        validates=extras.get("ansible_winrm_server_cert_validation") != "ignore",
        encryption=str(extras.get("ansible_winrm_message_encryption") or "auto"),
        ca_file="" if trust == "legacy_requests" else trust,
    )


def _scheme_and_port(scheme: t.Any, port: t.Any) -> tuple[bool, int]:
    """Return whether HTTPS is used, and the port.

    Without a scheme, psrp and winrm use HTTP on port 5985 and HTTPS on any other port.
    """
    number = int(port) if port is not None else None
    if scheme is None:
        return number != 5985, number or 5986
    https = str(scheme) == "https"
    return https, number or (5986 if https else 5985)
