# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Data that Windows creates once and that sysprep does not remove. Clones of a disk therefore share this data.

- Remote Desktop's self-signed certificate, in the `Remote Desktop` store. If it is missing, Windows creates a new one
  at the next boot or connection. Its private key is not modelled. Source:
  https://learn.microsoft.com/archive/blogs/askpfeplat/removing-self-signed-rdp-certificates
- The id of the Windows Update client, which the wuauserv service creates when it needs the id. Source:
  https://learn.microsoft.com/previous-versions/windows/it-pro/windows-server-2008-R2-and-2008/dd939898(v=ws.10)
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.x509.oid import NameOID

from simulator.machine import certificate_store
from simulator.machine.objects import IdleService, ServiceProgram
from simulator.machine.services import Service

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

STORE = "Remote Desktop"
_WINDOWS_UPDATE = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate"


def on_boot(machine: Machine) -> None:
    """Create Remote Desktop's certificate if it is missing."""
    if not certificate_store.certificates(machine, STORE):
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, machine.host_name[:64])])
        certificate_store.add(machine, STORE, certificate_store.self_signed(name, [])[0])


class _WindowsUpdateService:
    """The Windows Update service (wuauserv)."""

    def start(self, machine: Machine, service: Service) -> IdleService:
        """Start the Windows Update service. If the machine has no Windows Update client id, create one."""
        if machine.registry.data(_WINDOWS_UPDATE, "SusClientId") is None:
            machine.registry.set(_WINDOWS_UPDATE, "SusClientId", str(uuid.uuid4()), "String")
            machine.registry.set(_WINDOWS_UPDATE, "SusClientIdValidation", uuid.uuid4().bytes, "Binary")
        return IdleService()


SERVICES: Mapping[str, ServiceProgram] = {"svchost:wuauserv": _WindowsUpdateService()}
BASELINE = on_boot
ON_BOOT = on_boot
