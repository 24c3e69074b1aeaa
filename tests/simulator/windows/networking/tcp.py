# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Get-NetTCPConnection cmdlet for listening ports. Connections are not modelled.

Source: https://learn.microsoft.com/powershell/module/nettcpip/get-nettcpconnection
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from simulator.machine import winrm_settings
from simulator.machine.listeners import Listeners, Port
from simulator.machine.objects import Bound, Cmdlet, Enumeration, NotModelled, PSObject
from simulator.machine.text import to_text
from simulator.machine.wildcards import any_match, has_wildcard
from simulator.windows.common import cim, no_cim_object

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_LISTEN = Enumeration("Listen", 2, "State")
_SYSTEM = 4  # the process in which http.sys and the server service listen
_KEYS = ("LocalAddress", "LocalPort", "RemoteAddress", "RemotePort", "OwningProcess")


def _ports(machine: Machine) -> Iterator[tuple[int, Port]]:
    """Yield the number and the details of each listening port: those of RPC, SMB, WinRM and other programs."""
    yield 135, Port("::", "svchost")
    yield 445, Port("::", "System")
    service = machine.services.get("WinRM")
    if service is not None and service.state == "Running":
        for transport in winrm_settings.listeners(machine):
            yield 5986 if transport == "HTTPS" else 5985, Port("::", "System")
    yield from machine.part(Listeners).ports.items()


def _owner(machine: Machine, program: str) -> int:
    if program == "System":
        return _SYSTEM
    stems = {process.name.removesuffix(".exe").casefold(): process.id for process in machine.processes.all()}
    return stems.get(program, 0)


def listening(machine: Machine) -> list[tuple[int, str, int]]:
    """Return (TCP port, bound address, process id) for each listening port, sorted by port.

    The address is `::` if the program listens on all addresses. The process id is 0 if the program is not running.
    """
    ports = sorted(_ports(machine), key=lambda item: item[0])
    return [(number, port.address, _owner(machine, port.program)) for number, port in ports]


def get_tcp_connection(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-NetTCPConnection."""
    states = bound.texts("State")
    if any(state.casefold() != "listen" for state in states):
        raise NotModelled(f"TCP connections in the state {', '.join(states)}")
    found = [
        cim(
            "MSFT_NetTCPConnection",
            {
                "LocalAddress": address,
                "LocalPort": number,
                "RemoteAddress": "::" if address == "::" else "0.0.0.0",
                "RemotePort": 0,
                "State": _LISTEN,
                "AppliedSetting": None,
                "OwningProcess": owner,
            },
            "root/standardcimv2",
        )
        for number, address, owner in listening(machine)
    ]
    return _chosen(found, bound)


def _chosen(found: list[PSObject], bound: Bound) -> list[PSObject]:
    """Return the connection objects that match the parameters of Get-NetTCPConnection.

    Raises:
        CmdletError: the value of a parameter has no wildcards and matches no object.
    """
    for key in _KEYS:
        if key not in bound:
            continue
        requested = bound.texts(key)
        found = [item for item in found if any_match(requested, to_text(item.get(key)))]
        if not found and not any(map(has_wildcard, requested)):
            raise no_cim_object("MSFT_NetTCPConnection", key, requested[0], bound.command)
    return found


CMDLETS: Mapping[str, Cmdlet] = {"Get-NetTCPConnection": get_tcp_connection}
