# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cmdlets that change addresses, routes, DHCP and name servers.

Adding an address to an interface with DHCP disables DHCP. Without -PolicyStore, addresses and routes are added to both
the active and the persistent store. Source: https://learn.microsoft.com/powershell/module/nettcpip/new-netipaddress
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import Bound, Cmdlet, CmdletError, PSObject
from simulator.machine.text import to_text
from simulator.windows.common import no_cim_object, objects
from simulator.windows.networking.network import get_address, get_dns_servers, get_ip_interface, get_route, interfaces
from simulator.windows.networking.network_state import (
    Address,
    Interface,
    Route,
    renew,
    settle,
    state_of,
    usable_from,
)

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_EXCEPTION = "Microsoft.Management.Infrastructure.CimException"


def _refused(message: str, number: int, category: str = "InvalidArgument") -> CmdletError:
    return CmdletError(category, f"Windows System Error {number}", message, _EXCEPTION)


def _interface(machine: Machine, bound: Bound, class_name: str) -> Interface:
    """Return the interface that -InterfaceAlias or -InterfaceIndex selects.

    Raises:
        CmdletError: the interface does not exist.
    """
    for item in interfaces(machine):
        if "InterfaceAlias" in bound and item.alias.casefold() == bound.text("InterfaceAlias").casefold():
            return item
        if "InterfaceIndex" in bound and item.index == bound.number("InterfaceIndex"):
            return item
    key = "InterfaceAlias" if "InterfaceAlias" in bound else "InterfaceIndex"
    raise no_cim_object(class_name, key, bound.text(key), bound.command)


def _chosen_interfaces(machine: Machine, bound: Bound, class_name: str) -> list[Interface]:
    """Return the interfaces that the input objects or the given names and indexes select.

    Raises:
        CmdletError: an interface does not exist.
    """
    given = objects(bound, "InputObject")
    known = interfaces(machine)
    if given:
        aliases = [to_text(item.get("InterfaceAlias")) for item in given]
        return [item for item in known if item.alias in aliases]
    found: list[Interface] = []
    for key, read in (("InterfaceAlias", lambda item: item.alias), ("InterfaceIndex", lambda item: str(item.index))):
        for requested in bound.texts(key):
            matching = [item for item in known if read(item).casefold() == requested.casefold()]
            if not matching:
                raise no_cim_object(class_name, key, requested, bound.command)
            found += matching
    return found


def new_address(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-NetIPAddress."""
    state = state_of(machine)
    try:
        address = str(ipaddress.IPv4Address(bound.text("IPAddress")))
    except ValueError:
        raise _refused("The parameter is incorrect.", 87) from None
    interface = _interface(machine, bound, "MSFT_NetIPInterface")
    if bound.text("PolicyStore").casefold() == "persistentstore" and interface.dhcp:
        raise _refused("Inconsistent parameters PolicyStore PersistentStore and Dhcp Enabled", 87)
    if any(item.address == address for known in interfaces(machine) for item in known.addresses):
        raise _refused("The object already exists.", 5010, "ResourceExists")
    gateway = bound.text("DefaultGateway")
    if interface.dhcp:
        _leave_dhcp(machine, interface)
    if gateway and any((item.alias, item.destination) == (interface.alias, "0.0.0.0/0") for item in state.routes):
        raise _refused("Instance DefaultGateway already exists", 87)
    prefix = bound.number("PrefixLength", 32)
    interface.addresses.append(Address(address, prefix, "Manual", usable_from(machine)))
    if gateway:
        state.routes.append(Route(interface.alias, "0.0.0.0/0", gateway))
    settle(machine)
    shown = Bound("Get-NetIPAddress", {"IPAddress": [address], "InterfaceAlias": [interface.alias]})
    return list(get_address(machine, shown))


def _leave_dhcp(machine: Machine, interface: Interface) -> None:
    """Turn off DHCP. Remove the settings that DHCP provided, or that Windows chose because no DHCP server responded."""
    state = state_of(machine)
    interface.dhcp = False
    interface.addresses = [item for item in interface.addresses if item.origin == "Manual"]
    interface.lease_dns = []
    state.routes = [item for item in state.routes if item.alias != interface.alias or item.origin != "Dhcp"]


def remove_address(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Remove-NetIPAddress. The default route is kept unless -DefaultGateway selects it."""
    state = state_of(machine)
    given = objects(bound, "InputObject") or [
        item for item in get_address(machine, bound) if isinstance(item, PSObject)
    ]
    gone = {(to_text(item.get("InterfaceAlias")), to_text(item.get("IPAddress"))) for item in given}
    for interface in interfaces(machine):
        interface.addresses = [item for item in interface.addresses if (interface.alias, item.address) not in gone]
    gateway = bound.text("DefaultGateway")
    aliases = {alias for alias, _ in gone}
    state.routes = [
        item
        for item in state.routes
        if not (gateway and item.alias in aliases and (item.destination, item.next_hop) == ("0.0.0.0/0", gateway))
    ]
    settle(machine)
    return given if bound.flag("PassThru") else []


def set_ip_interface(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-NetIPInterface with -Dhcp, -Forwarding and -NlMtuBytes. Other settings have no effect."""
    for interface in _chosen_interfaces(machine, bound, "MSFT_NetIPInterface") or interfaces(machine):
        requested = bound.text("Dhcp").casefold()
        if requested == "enabled" and not interface.dhcp:
            renew(machine, interface)
        elif requested == "disabled" and interface.dhcp:
            _leave_dhcp(machine, interface)
        interface.mtu = bound.number("NlMtuBytes", interface.mtu)
        if "Forwarding" in bound:
            interface.forwarding = bound.text("Forwarding").casefold() == "enabled"
    settle(machine)
    return list(get_ip_interface(machine, bound)) if bound.flag("PassThru") else []


def new_route(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-NetRoute."""
    state = state_of(machine)
    interface = _interface(machine, bound, "MSFT_NetIPInterface")
    try:
        destination = str(ipaddress.IPv4Network(bound.text("DestinationPrefix")))
        hop = str(ipaddress.IPv4Address(bound.text("NextHop", "0.0.0.0")))
    except ValueError:
        raise _refused("The parameter is incorrect.", 87) from None
    key = (interface.alias, destination, hop)
    if any((item.alias, item.destination, item.next_hop) == key for item in state.routes):
        raise _refused("Instance MSFT_NetRoute already exists", 87)
    persistent = bound.text("PolicyStore").casefold() != "activestore"
    metric = bound.number("RouteMetric", 256)
    state.routes.append(Route(interface.alias, destination, hop, metric, persistent))
    shown = Bound("Get-NetRoute", {"DestinationPrefix": [destination], "InterfaceAlias": [interface.alias]})
    return [item for item in get_route(machine, shown) if isinstance(item, PSObject) and item.get("NextHop") == hop]


def remove_route(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Remove-NetRoute."""
    state = state_of(machine)
    given = objects(bound, "InputObject") or [item for item in get_route(machine, bound) if isinstance(item, PSObject)]
    gone = {
        tuple(to_text(item.get(key)) for key in ("InterfaceAlias", "DestinationPrefix", "NextHop")) for item in given
    }
    state.routes = [item for item in state.routes if (item.alias, item.destination, item.next_hop) not in gone]
    return given if bound.flag("PassThru") else []


def set_dns_servers(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-DnsClientServerAddress with -ServerAddresses or -ResetServerAddresses."""
    for interface in _chosen_interfaces(machine, bound, "MSFT_DNSClientServerAddress"):
        if bound.flag("ResetServerAddresses"):
            interface.static_dns = []
            continue
        for text in bound.texts("ServerAddresses"):
            _check_server(text)
        interface.static_dns = bound.texts("ServerAddresses")
    return _shown_dns(machine, bound)


def _check_server(text: str) -> None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        raise _refused(f"{text} is not a valid address", 87) from None


def _shown_dns(machine: Machine, bound: Bound) -> Iterator[object]:
    if bound.flag("PassThru"):
        yield from get_dns_servers(machine, Bound("Get-DnsClientServerAddress", {}))


CMDLETS: Mapping[str, Cmdlet] = {
    "New-NetIPAddress": new_address,
    "Remove-NetIPAddress": remove_address,
    "Set-NetIPInterface": set_ip_interface,
    "New-NetRoute": new_route,
    "Remove-NetRoute": remove_route,
    "Set-DnsClientServerAddress": set_dns_servers,
}
