# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network as cmdlets and programs show it: interfaces, addresses, routes and name servers.

Source: https://learn.microsoft.com/powershell/module/nettcpip/get-netipaddress
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import (
    Bound,
    Cmdlet,
    CmdletError,
    Enumeration,
    Invocation,
    Program,
    ProgramResult,
    PSObject,
)
from simulator.machine.text import to_text
from simulator.machine.wildcards import any_match, has_wildcard
from simulator.windows.common import cim, no_cim_object
from simulator.windows.directory import membership
from simulator.windows.networking.names import resolve
from simulator.windows.networking.network_state import Address, Interface, Route, default_gateway, settle, state_of

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_NAMESPACE = "root/standardcimv2"
_IPV4 = Enumeration("IPv4", 2, "AddressFamily")
_ORIGINS = {"Manual": 1, "WellKnown": 2, "Dhcp": 3}
_STATES = {"Tentative": 1, "Preferred": 4}
LOOPBACK = Interface("Loopback Pseudo-Interface 1", "", 1, "", [Address("127.0.0.1", 8, "WellKnown")], dhcp=False)


def interfaces(machine: Machine) -> list[Interface]:
    """Return all interfaces with TCP/IP except the loopback, starting with the one that has the machine's address."""
    bound = [item for item in state_of(machine).interfaces.values() if item.bound]
    return sorted(bound, key=lambda item: item.address != machine.address)


def _select(found: list[PSObject], bound: Bound, class_name: str, keys: tuple[str, ...]) -> list[object]:
    """Return the objects whose properties match the parameters of a cmdlet.

    Raises:
        CmdletError: the value of a parameter has no wildcards and matches no object.
    """
    for parameter in keys:
        if parameter not in bound:
            continue
        patterns = bound.texts(parameter)
        kept = [item for item in found if any_match(patterns, to_text(item.get(parameter)))]
        if not kept and patterns and not any(has_wildcard(pattern) for pattern in patterns):
            raise no_cim_object(class_name, parameter, patterns[0], bound.command)
        found = kept
    return list(found)


def get_adapter(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-NetAdapter."""
    found = [
        cim(
            "MSFT_NetAdapter",
            {
                "Name": item.alias,
                "InterfaceAlias": item.alias,
                "InterfaceDescription": item.description,
                "ifIndex": item.index,
                "InterfaceIndex": item.index,
                "Status": "Up" if machine.network.is_linked and item.plugged else "Disconnected",
                "MacAddress": item.mac,
                "LinkSpeed": "10 Gbps",
                "MtuSize": item.mtu,
                "Virtual": not item.physical,
                "HardwareInterface": item.physical,
                "PhysicalMediaType": "Unspecified",
            },
            _NAMESPACE,
        )
        for item in state_of(machine).interfaces.values()
        if item.physical or not bound.flag("Physical")
    ]
    return _select(found, bound, "MSFT_NetAdapter", ("Name", "InterfaceDescription", "InterfaceIndex"))


def _address(interface: Interface, item: Address) -> PSObject:
    origin = Enumeration(item.origin, _ORIGINS[item.origin])
    suffix = Enumeration("Link", 4) if item.origin == "WellKnown" and interface is not LOOPBACK else origin
    return cim(
        "MSFT_NetIPAddress",
        {
            "IPAddress": item.address,
            "IPv4Address": item.address,
            "InterfaceIndex": interface.index,
            "InterfaceAlias": interface.alias,
            "AddressFamily": _IPV4,
            "Type": Enumeration("Unicast", 1),
            "PrefixLength": item.prefix,
            "PrefixOrigin": origin,
            "SuffixOrigin": suffix,
            "AddressState": Enumeration(item.state, _STATES[item.state]),
            "SkipAsSource": False,
            "Store": Enumeration("ActiveStore", 1),
        },
        _NAMESPACE,
        text=item.address,
    )


ADDRESS_KEYS = (
    "IPAddress",
    "InterfaceIndex",
    "InterfaceAlias",
    "AddressFamily",
    "PrefixLength",
    "PrefixOrigin",
    "SuffixOrigin",
    "AddressState",
    "Type",
)


def get_address(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-NetIPAddress. The PersistentStore contains the addresses that were set manually."""
    persistent = bound.text("PolicyStore").casefold() == "persistentstore"
    found = [
        _address(interface, item)
        for interface in (*interfaces(machine), LOOPBACK)
        for item in interface.addresses
        if item.origin == "Manual" or not persistent
    ]
    return _select(found, bound, "MSFT_NetIPAddress", ADDRESS_KEYS)


def _route(interface: Interface, item: Route) -> PSObject:
    protocol = {"Manual": ("NetMgmt", 3), "Dhcp": ("Dhcp", 19), "WellKnown": ("Local", 2)}[item.origin]
    return cim(
        "MSFT_NetRoute",
        {
            "DestinationPrefix": item.destination,
            "NextHop": item.next_hop,
            "InterfaceAlias": item.alias,
            "InterfaceIndex": interface.index,
            "ifIndex": interface.index,
            "RouteMetric": item.metric,
            "Protocol": Enumeration(*protocol),
            "Publish": Enumeration("No", 0),
            "Store": Enumeration("PersistentStore" if item.persistent else "ActiveStore", int(not item.persistent)),
            "AddressFamily": _IPV4,
        },
        _NAMESPACE,
    )


ROUTE_KEYS = (
    "DestinationPrefix",
    "InterfaceIndex",
    "InterfaceAlias",
    "NextHop",
    "AddressFamily",
    "Protocol",
    "RouteMetric",
)


def get_route(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-NetRoute.

    The PersistentStore contains the persistent routes, but no routes that come from DHCP or result from addresses.
    """
    persistent = bound.text("PolicyStore").casefold() == "persistentstore"
    known = state_of(machine).routes
    found: list[PSObject] = []
    for interface in interfaces(machine):
        own = [Route(interface.alias, address.network, origin="WellKnown") for address in interface.addresses]
        routes = [item for item in known if item.alias == interface.alias]
        kept = [item for item in routes if item.persistent] if persistent else [*routes, *own]
        found += [_route(interface, item) for item in kept]
    return _select(found, bound, "MSFT_NetRoute", ROUTE_KEYS)


def get_configuration(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-NetIPConfiguration."""
    for item in interfaces(machine):
        requested = bound.texts("InterfaceAlias")
        if requested and not any_match(requested, item.alias):
            continue
        if "InterfaceIndex" in bound and bound.number("InterfaceIndex") != item.index:
            continue
        gateway = default_gateway(machine, item.alias)
        servers = cim("MSFT_DNSClientServerAddress", {"ServerAddresses": list(item.dns)}, _NAMESPACE)
        properties: dict[str, object] = {
            "ComputerName": machine.name,
            "InterfaceAlias": item.alias,
            "InterfaceIndex": item.index,
            "InterfaceDescription": item.description,
            "IPv4Address": [_address(item, address) for address in item.addresses],
            "IPv4DefaultGateway": [cim("MSFT_NetRoute", {"NextHop": gateway}, _NAMESPACE, "MSFT_NetRoute")]
            if gateway
            else None,
            "DNSServer": [servers],
        }
        yield PSObject("NetIPConfiguration", properties)


def get_dns_servers(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-DnsClientServerAddress."""
    found = [
        cim(
            "MSFT_DNSClientServerAddress",
            {
                "InterfaceAlias": item.alias,
                "InterfaceIndex": item.index,
                "AddressFamily": _IPV4,
                "ServerAddresses": list(item.dns),
            },
            _NAMESPACE,
        )
        for item in interfaces(machine)
    ]
    return _select(found, bound, "MSFT_DNSClientServerAddress", ("InterfaceAlias", "InterfaceIndex", "AddressFamily"))


def get_ip_interface(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-NetIPInterface."""
    found = [
        cim(
            "MSFT_NetIPInterface",
            {
                "InterfaceAlias": item.alias,
                "InterfaceIndex": item.index,
                "ifIndex": item.index,
                "AddressFamily": _IPV4,
                "NlMtu": item.mtu,
                "InterfaceMetric": 15,
                "Dhcp": Enumeration("Enabled" if item.dhcp else "Disabled", int(item.dhcp)),
                "ConnectionState": Enumeration("Connected", 1),
                "Forwarding": Enumeration("Enabled", 1) if item.forwarding else Enumeration("Disabled", 2),
            },
            _NAMESPACE,
        )
        for item in interfaces(machine)
    ]
    return _select(found, bound, "MSFT_NetIPInterface", ("InterfaceAlias", "InterfaceIndex", "AddressFamily", "Dhcp"))


def resolve_name(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Resolve-DnsName for A records and for the SRV record of a domain."""
    name = bound.text("Name")
    if str(bound.get("Type") or "A").upper() == "SRV":
        addresses = []
        if membership.resolves(machine, name):
            target = name.casefold().removeprefix("_ldap._tcp.dc._msdcs.")
            known = {"Name": name, "Type": Enumeration("SRV", 33), "NameTarget": f"dc1.{target}", "Port": 389}
            return [PSObject("Microsoft.DnsClient.Commands.DnsRecord_SRV", {**known, "Priority": 0, "Weight": 100})]
    else:
        addresses = resolve(machine, name)
    if not addresses:
        raise CmdletError(
            "ResourceUnavailable",
            "DNS_ERROR_RCODE_NAME_ERROR,Microsoft.DnsClient.Commands.ResolveDnsName",
            f"{name} : DNS name does not exist",
            "System.ComponentModel.Win32Exception",
        )
    return [
        PSObject(
            "Microsoft.DnsClient.Commands.DnsRecord_A",
            {
                "Name": name,
                "Type": Enumeration("A", 1),
                "TTL": 300,
                "Section": Enumeration("Answer", 1),
                "IPAddress": address,
                "IP4Address": address,
            },
        )
        for address in addresses
    ]


def ipconfig(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate ipconfig.exe.

    /all and /flushdns are modelled. Other known options only add the host name to the output.
    """
    known = {"/all", "/allcompartments", "/flushdns", "/registerdns", "/renew", "/release", "/displaydns"}
    words = [argument.casefold() for argument in run.argv]
    if any(word not in known for word in words):
        return ProgramResult(1, "\r\nError: unrecognized or incomplete command line.\r\n")
    if "/flushdns" in words:
        return ProgramResult(0, "\r\nWindows IP Configuration\r\n\r\nSuccessfully flushed the DNS Resolver Cache.\r\n")
    lines = ["", "Windows IP Configuration", ""]
    if words:
        lines += [f"   Host Name . . . . . . . . . . . . : {machine.host_name}", ""]
    for item in interfaces(machine):
        lines += [f"Ethernet adapter {item.alias}:", ""]
        if "/all" in words:
            lines += [
                f"   Physical Address. . . . . . . . . : {item.mac}",
                f"   DHCP Enabled. . . . . . . . . . . : {'Yes' if item.dhcp else 'No'}",
            ]
        for address in item.addresses:
            mask = ipaddress.ip_network(address.network).netmask
            lines += [
                f"   IPv4 Address. . . . . . . . . . . : {address.address}",
                f"   Subnet Mask . . . . . . . . . . . : {mask}",
            ]
        lines += [f"   Default Gateway . . . . . . . . . : {default_gateway(machine, item.alias)}", ""]
    return ProgramResult(0, "\r\n".join(lines))


def _status(machine: Machine) -> object:
    """Return the current settings of every interface with TCP/IP: addresses, DHCP, gateway, routes, name servers."""
    known = state_of(machine).routes
    return {
        item.alias: {
            "addresses": [f"{address.address}/{address.prefix}" for address in item.addresses],
            "dhcp": item.dhcp,
            "gateway": default_gateway(machine, item.alias),
            "dns": list(item.dns),
            "static_dns": bool(item.static_dns),
            **({"forwarding": True} if item.forwarding else {}),
            "routes": [
                {"destination": route.destination, "next_hop": route.next_hop, "metric": route.metric}
                for route in known
                if route.alias == item.alias and route.destination != "0.0.0.0/0"
            ],
        }
        for item in interfaces(machine)
    }


def on_boot(machine: Machine) -> None:
    """Remove the routes that are neither persistent nor from DHCP. Make the node unreachable if its address is gone."""
    state = state_of(machine)
    state.routes = [item for item in state.routes if item.persistent or item.origin == "Dhcp"]
    settle(machine)


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-NetAdapter": get_adapter,
    "Get-NetIPAddress": get_address,
    "Get-NetRoute": get_route,
    "Get-NetIPConfiguration": get_configuration,
    "Get-DnsClientServerAddress": get_dns_servers,
    "Get-NetIPInterface": get_ip_interface,
    "Resolve-DnsName": resolve_name,
}
PROGRAMS: Mapping[str, Program] = {"ipconfig.exe": ipconfig}
STATUS = {"network": _status}
ON_BOOT = on_boot
