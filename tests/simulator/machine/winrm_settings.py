# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read from a machine's registry the settings that decide which requests WinRM accepts.

`simulator.windows.system.winrm` changes these settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.machine import certificate_store
from simulator.transport.host import WinrmSettings

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

KEY = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN"
# setting: (value in the registry, Windows' default)
AUTH = {
    "Basic": ("auth_basic", False),
    "Kerberos": ("auth_kerberos", True),
    "Negotiate": ("auth_negotiate", True),
    "Certificate": ("auth_certificate", False),
    "CredSSP": ("auth_credssp", False),
}
SERVICE = {"AllowUnencrypted": ("allow_unencrypted", False), "AllowRemoteAccess": ("allow_remote_requests", True)}


def switches(machine: Machine, table: Mapping[str, tuple[str, bool]]) -> dict[str, bool]:
    """Map the name of each setting in `table` (AUTH or SERVICE) to whether the setting is on."""
    data = machine.registry.data
    return {name: bool(data(f"{KEY}\\Service", value, default)) for name, (value, default) in table.items()}


def basic_allowed(machine: Machine) -> bool:
    """Return whether WinRM accepts basic authentication."""
    return switches(machine, AUTH)["Basic"]


def cbt_hardening_level(machine: Machine) -> str:
    """Return how strictly logons must be bound to their TLS connection: `None`, `Relaxed` or `Strict`."""
    return str(machine.registry.data(f"{KEY}\\Service", "cbt_hardening_level", "Relaxed"))


def listeners(machine: Machine) -> list[str]:
    """Return the transports on which WinRM listens (`HTTP`, `HTTPS`)."""
    if not machine.registry.key_exists(f"{KEY}\\Listener"):
        return ["HTTP"]
    return sorted(name.rpartition("+")[2] for name in machine.registry.subkeys(f"{KEY}\\Listener"))


def certificate_of(machine: Machine) -> str:
    """Return the thumbprint of the HTTPS listener's certificate, or an empty string if no thumbprint is set."""
    return str(machine.registry.data(f"{KEY}\\Listener\\*+HTTPS", "certThumbprint", ""))


def wire_settings(machine: Machine) -> WinrmSettings:
    """Return the settings that the transport needs. HTTPS is on only if the machine has the listener's certificate."""
    transports = set(listeners(machine))
    if not certificate_store.contains(machine, "My", certificate_of(machine)):
        transports.discard("HTTPS")
    auth, service = switches(machine, AUTH), switches(machine, SERVICE)
    certificate = certificate_store.with_key(machine, certificate_of(machine))
    return WinrmSettings(
        frozenset(transports), auth["Basic"], auth["Negotiate"], service["AllowUnencrypted"], certificate
    )
