# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The listings of route.exe, arp.exe and netstat.exe. Changes and IPv6 are not modelled.

Source: https://learn.microsoft.com/windows-server/administration/windows-commands/route_ws2008
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import Invocation, NotModelled, Program, ProgramResult
from simulator.windows.networking.network import LOOPBACK, interfaces
from simulator.windows.networking.network_state import Interface, state_of
from simulator.windows.networking.tcp import listening

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_RULE = "=" * 75
# Windows adds the metric of the interface to that of the route.
_INTERFACE_METRIC = 15
_BROADCAST = "ff-ff-ff-ff-ff-ff"
_IGMP, _IGMP_ADDRESS = "224.0.0.22", "01-00-5e-00-00-16"


def _refuse_others(run: Invocation, program: str, modelled: str) -> None:
    if " ".join(run.argv).casefold() != modelled:
        raise NotModelled(f"{program} {' '.join(run.argv)}".rstrip())


def _active(machine: Machine) -> Iterator[tuple[str, str, str, int]]:
    """Yield (network, gateway, address of the interface, metric) for each route in use."""
    for item in interfaces(machine):
        for route in state_of(machine).routes:
            if route.alias == item.alias:
                yield route.destination, route.next_hop, item.address, route.metric + _INTERFACE_METRIC
    for item in (*interfaces(machine), LOOPBACK):
        for address in item.addresses:
            yield address.network, "On-link", address.address, 256 + _INTERFACE_METRIC


def _interface(item: Interface) -> str:
    mac = " ".join(item.mac.casefold().split("-"))
    return f"{item.index:>3}...{mac} ......{item.description}"


def route(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate route.exe print."""
    _refuse_others(run, "route", "print")
    lines = [_RULE, "Interface List", *map(_interface, interfaces(machine))]
    lines += [f"{LOOPBACK.index:>3}{'.' * 27}Software Loopback Interface 1", _RULE, ""]
    lines += ["IPv4 Route Table", _RULE, "Active Routes:"]
    lines.append("Network Destination        Netmask          Gateway       Interface  Metric")
    for destination, gateway, interface, metric in sorted(_active(machine), key=_by_network):
        network = ipaddress.ip_network(destination)
        addresses = f"{network.network_address!s:>17}{network.netmask!s:>17}{gateway:>16}{interface:>16}"
        lines.append(f"{addresses}{metric:>7}")
    lines += [_RULE, "Persistent Routes:"]
    kept = [item for item in state_of(machine).routes if item.persistent and item.origin == "Manual"]
    if kept:
        lines.append("  Network Address          Netmask  Gateway Address  Metric")
    for item in kept:
        network = ipaddress.ip_network(item.destination)
        metric_text = "Default" if item.metric == 256 else str(item.metric)
        lines.append(f"{network.network_address!s:>17}{network.netmask!s:>17}{item.next_hop:>17}{metric_text:>8}")
    lines += [*([] if kept else ["  None"]), _RULE]
    return ProgramResult(0, "\r\n".join([*lines, ""]))


def _by_network(found: tuple[str, str, str, int]) -> tuple[int, int]:
    network = ipaddress.ip_network(found[0])
    return int(network.network_address), network.prefixlen


def arp(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate arp.exe -a, with only the entries that Windows itself creates. Neighbors are not modelled."""
    _refuse_others(run, "arp", "-a")
    lines: list[str] = []
    for item in interfaces(machine):
        if not item.addresses:
            continue
        broadcast = ipaddress.ip_network(item.addresses[0].network).broadcast_address
        lines += ["", f"Interface: {item.address} --- 0x{item.index:x}"]
        lines.append("  Internet Address      Physical Address      Type")
        lines += [
            f"  {to:<21} {mac:<21} static" for to, mac in ((broadcast.exploded, _BROADCAST), (_IGMP, _IGMP_ADDRESS))
        ]
    if not lines:
        return ProgramResult(1, "No ARP Entries Found.\r\n")
    return ProgramResult(0, "\r\n".join([*lines, ""]))


def netstat(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate netstat.exe -ano, which lists listening TCP ports. Connections and UDP are not modelled."""
    _refuse_others(run, "netstat", "-ano")
    lines = ["", "Active Connections", ""]
    lines.append("  Proto  Local Address          Foreign Address        State           PID")
    for number, address, owner in listening(machine):
        local, remote = (f"[::]:{number}", "[::]:0") if address == "::" else (f"{address}:{number}", "0.0.0.0:0")
        lines.append(f"  TCP    {local:<22} {remote:<22} LISTENING       {owner}")
    return ProgramResult(0, "\r\n".join([*lines, ""]))


PROGRAMS: Mapping[str, Program] = {"route.exe": route, "arp.exe": arp, "netstat.exe": netstat}
