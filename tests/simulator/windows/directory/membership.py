# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""A machine's membership in a domain: online and offline joins, and their completion at the next boot.

A join changes the primary domain immediately. The DNS suffix and the services follow at the next boot. Until then,
the registry key `Netlogon\JoinDomain` shows tools that a join is waiting for a reboot. NetSetup.LOG records
each attempt. Source: "Domain Join log analysis" at learn.microsoft.com/troubleshoot/windows-server/active-directory
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.machine.machine import COMPUTER_NAME, TCPIP
from simulator.windows.directory import offline_data
from simulator.windows.directory.domain_directory import NO_SUCH_DOMAIN, DomainDirectory, NetJoinError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

NETLOGON = r"HKLM:\SYSTEM\CurrentControlSet\Services\Netlogon"
_TIME = r"HKLM:\SYSTEM\CurrentControlSet\Services\W32Time\Parameters"
_LOG = r"C:\Windows\debug\NetSetup.LOG"
WORKGROUP = "WORKGROUP"


@dataclass
class DomainMembership:
    """The domain to which the machine belongs."""

    domain: str = ""
    """The DNS name; empty for a machine in a workgroup."""
    provisioned: tuple[str, str] | None = None
    """The domain name and the computer name that an offline join has stored for the next boot."""


def directory(machine: Machine) -> DomainDirectory | None:
    """Return the domain on the machine's network, or None if the network has no domain."""
    known = machine.settings.option("directory")
    return known if isinstance(known, DomainDirectory) else None


def resolves(machine: Machine, query: str) -> bool:
    """Return whether the machine's DNS servers answer a query for the SRV record of the domain.

    The servers do not answer if the `domain_dns` setting is False.
    """
    known = directory(machine)
    return known is not None and machine.settings.option("domain_dns", True) is True and known.answers_dns(query)


def computer_properties(machine: Machine) -> dict[str, object]:
    """Return the properties of Win32_ComputerSystem that concern the domain."""
    domain = machine.part(DomainMembership).domain
    return {
        "Domain": domain or WORKGROUP,
        "Workgroup": None if domain else WORKGROUP,
        "PartOfDomain": bool(domain),
        # 5: primary domain controller, 3: member server, 2: standalone server (Win32_ComputerSystem).
        "DomainRole": 5 if machine.settings.option("domain_controller") is True else 3 if domain else 2,
    }


def join(machine: Machine, domain: str, user: str, password: str, unit: str = "") -> None:
    """Join a domain, as Add-Computer and NetJoinDomain do. The next boot completes the join.

    Raises:
        NetJoinError: the machine's DNS servers do not know the domain, or the domain controller refuses the join.
    """
    with _logged(machine, "NetpDoDomainJoin"):
        known = directory(machine)
        if known is None or not known.is_called(domain) or machine.settings.option("domain_dns", True) is not True:
            raise NetJoinError(NO_SUCH_DOMAIN)
        known.create_account(machine.name, user, password, unit)
        machine.part(DomainMembership).domain = known.name
        machine.registry.set(TCPIP, "NV Domain", known.name)
        machine.registry.set(f"{NETLOGON}\\JoinDomain", "DomainControllerName", f"\\\\dc1.{known.name}")
        # Members take the time from their domain controller (Windows Time Service Tools and Settings, `Type`).
        machine.registry.set(_TIME, "Type", "NT5DS")


def join_offline(machine: Machine, data: bytes) -> None:
    """Store the data of an offline join, as NetRequestOfflineDomainJoin does. The next boot applies the data.

    Raises:
        NetJoinError: the data is damaged.
    """
    with _logged(machine, "NetRequestOfflineDomainJoin"):
        machine.part(DomainMembership).provisioned = offline_data.decode(data)


@contextmanager
def _logged(machine: Machine, function: str) -> Iterator[None]:
    code = 0
    try:
        yield
    except NetJoinError as error:
        code = error.code
        raise
    finally:
        stamp = machine.clock.now().strftime("%m/%d/%Y %H:%M:%S:000")
        old = machine.files.read_text(_LOG) if machine.files.is_file(_LOG) else ""
        machine.files.make_directory(_LOG.rpartition("\\")[0])
        machine.files.write_text(_LOG, f"{old}{stamp} {function}\r\n{stamp} {function}: status: {code:#x}\r\n")


def on_boot(machine: Machine) -> None:
    """Complete a domain join at boot. An offline join also sets the computer name from its data."""
    member = machine.part(DomainMembership)
    if member.provisioned is not None:
        (member.domain, name), member.provisioned = member.provisioned, None
        for key in ("ComputerName", "ActiveComputerName"):
            machine.registry.set(f"{COMPUTER_NAME}\\{key}", "ComputerName", name[:15].upper())
        for value in ("Hostname", "NV Hostname"):
            machine.registry.set(TCPIP, value, name)
        machine.registry.set(_TIME, "Type", "NT5DS")
    machine.registry.set(TCPIP, "NV Domain", member.domain)
    machine.registry.set(TCPIP, "Domain", member.domain)
    machine.registry.delete_key(f"{NETLOGON}\\JoinDomain")


def _status(machine: Machine) -> object:
    return machine.part(DomainMembership).domain


STATUS: Mapping[str, Callable[[Machine], object]] = {"domain": _status}
ON_BOOT = on_boot
