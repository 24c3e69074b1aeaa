# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network as cmdlets and programs show it: interfaces, addresses, routes, name servers.

https://learn.microsoft.com/powershell/module/nettcpip/get-netipaddress
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
from simulator.windows.common import any_match, cim, has_wildcard, no_cim_object
from simulator.windows.names import resolve

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_NAMESPACE = "root/standardcimv2"
_IPV4 = Enumeration("IPv4", 2, "AddressFamily")


@dataclass(frozen=True)
class Interface:
    """A network interface with one IPv4 address."""

    alias: str
    description: str
    index: int
    mac: str
    address: str
    prefix: int = 24
    gateway: str = ""
    dns: tuple[str, ...] = ()
    dhcp: bool = True
    mtu: int = 1500


@dataclass
class Extra:
    """Interfaces that came with virtual switches (`vEthernet (…)`), by alias. Families put theirs here."""

    interfaces: dict[str, Interface] = field(default_factory=dict)


def interfaces(machine: Machine) -> list[Interface]:
    """Return the interfaces that are up, without the loopback."""
    address = ipaddress.ip_address(machine.address)
    first = str(ipaddress.ip_network(f"{address}/24", strict=False)[1])
    gateway = str(machine.settings.option("gateway", first))
    mac = "00-15-5D-" + "-".join(f"{part:02X}" for part in address.packed[-3:])
    card = Interface(
        "Ethernet", "Microsoft Hyper-V Network Adapter", 5, mac, machine.address, gateway=gateway, dns=(gateway,)
    )
    return [card, *machine.part(Extra).interfaces.values()]


def _select(found: list[PSObject], bound: Bound, class_name: str, keys: tuple[str, ...]) -> list[object]:
    """Return the objects whose properties match the bound parameters; a name that matches nothing is an error."""
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
    """Get-NetAdapter."""
    found = [
        cim(
            "MSFT_NetAdapter",
            {
                "Name": item.alias,
                "InterfaceAlias": item.alias,
                "InterfaceDescription": item.description,
                "ifIndex": item.index,
                "InterfaceIndex": item.index,
                "Status": "Up" if machine.network.is_up else "Disconnected",
                "MacAddress": item.mac,
                "LinkSpeed": "10 Gbps",
                "MtuSize": item.mtu,
                "Virtual": item.alias.startswith("vEthernet"),
                "HardwareInterface": not item.alias.startswith("vEthernet"),
                "PhysicalMediaType": "Unspecified",
            },
            _NAMESPACE,
        )
        for item in interfaces(machine)
        if not (bound.flag("Physical") and item.alias.startswith("vEthernet"))
    ]
    return _select(found, bound, "MSFT_NetAdapter", ("Name", "InterfaceDescription", "InterfaceIndex"))


def get_address(machine: Machine, bound: Bound) -> Iterable[object]:
    """Get-NetIPAddress."""
    loopback = Interface("Loopback Pseudo-Interface 1", "", 1, "", "127.0.0.1", 8)
    found = [
        cim(
            "MSFT_NetIPAddress",
            {
                "IPAddress": item.address,
                "IPv4Address": item.address,
                "InterfaceIndex": item.index,
                "InterfaceAlias": item.alias,
                "AddressFamily": _IPV4,
                "Type": Enumeration("Unicast", 1),
                "PrefixLength": item.prefix,
                "PrefixOrigin": Enumeration("Dhcp", 3) if item.dhcp else Enumeration("Manual", 1),
                "SuffixOrigin": Enumeration("Dhcp", 3) if item.dhcp else Enumeration("Manual", 1),
                "AddressState": Enumeration("Preferred", 4),
                "SkipAsSource": False,
            },
            _NAMESPACE,
            text=item.address,
        )
        for item in (*interfaces(machine), loopback)
    ]
    keys = ("IPAddress", "InterfaceIndex", "InterfaceAlias", "AddressFamily", "PrefixOrigin", "AddressState")
    return _select(found, bound, "MSFT_NetIPAddress", keys)


def get_route(machine: Machine, bound: Bound) -> Iterable[object]:
    """Get-NetRoute."""
    found = []
    for item in interfaces(machine):
        own = str(ipaddress.ip_network(f"{item.address}/{item.prefix}", strict=False))
        for prefix, hop in ((("0.0.0.0/0", item.gateway) if item.gateway else ("", "")), (own, "0.0.0.0")):
            if prefix:
                properties: dict[str, object] = {
                    "DestinationPrefix": prefix,
                    "NextHop": hop,
                    "InterfaceAlias": item.alias,
                    "InterfaceIndex": item.index,
                    "ifIndex": item.index,
                    "RouteMetric": 0,
                    "AddressFamily": _IPV4,
                }
                found.append(cim("MSFT_NetRoute", properties, _NAMESPACE))
    return _select(
        found,
        bound,
        "MSFT_NetRoute",
        ("DestinationPrefix", "InterfaceIndex", "InterfaceAlias", "NextHop", "AddressFamily"),
    )


def get_configuration(machine: Machine, bound: Bound) -> Iterable[object]:
    """Get-NetIPConfiguration."""
    for item in interfaces(machine):
        wanted = bound.texts("InterfaceAlias")
        if wanted and not any_match(wanted, item.alias):
            continue
        address = cim(
            "MSFT_NetIPAddress", {"IPAddress": item.address, "PrefixLength": item.prefix}, _NAMESPACE, item.address
        )
        gateway = cim("MSFT_NetRoute", {"NextHop": item.gateway}, _NAMESPACE, "MSFT_NetRoute")
        servers = cim("MSFT_DNSClientServerAddress", {"ServerAddresses": list(item.dns)}, _NAMESPACE)
        properties: dict[str, object] = {
            "ComputerName": machine.name,
            "InterfaceAlias": item.alias,
            "InterfaceIndex": item.index,
            "InterfaceDescription": item.description,
            "IPv4Address": [address],
            "IPv4DefaultGateway": [gateway] if item.gateway else None,
            "DNSServer": [servers],
        }
        yield PSObject("NetIPConfiguration", properties)


def get_dns_servers(machine: Machine, bound: Bound) -> Iterable[object]:
    """Get-DnsClientServerAddress."""
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
    """Get-NetIPInterface."""
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
                "Forwarding": Enumeration("Disabled", 2),
            },
            _NAMESPACE,
        )
        for item in interfaces(machine)
    ]
    return _select(found, bound, "MSFT_NetIPInterface", ("InterfaceAlias", "InterfaceIndex", "AddressFamily"))


def resolve_name(machine: Machine, bound: Bound) -> Iterable[object]:
    """Resolve-DnsName: A records."""
    name = bound.text("Name")
    addresses = resolve(machine, name)
    if not addresses:
        raise CmdletError(
            "ResourceUnavailable",
            "DNS_ERROR_RCODE_NAME_ERROR,Microsoft.DnsClient.Commands.ResolveDnsName",
            f"{name} : DNS name does not exist",
            "System.ComponentModel.Win32Exception",
        )
    for address in addresses:
        properties: dict[str, object] = {
            "Name": name,
            "Type": Enumeration("A", 1),
            "TTL": 300,
            "Section": Enumeration("Answer", 1),
            "IPAddress": address,
            "IP4Address": address,
        }
        yield PSObject("Microsoft.DnsClient.Commands.DnsRecord_A", properties)


def ipconfig(machine: Machine, run: Invocation) -> ProgramResult:
    """ipconfig.exe: plain, /all, /flushdns."""
    known = {"/all", "/flushdns", "/registerdns", "/renew", "/release", "/displaydns"}
    if any(argument.casefold() not in known for argument in run.argv):
        return ProgramResult(1, "\r\nError: unrecognized or incomplete command line.\r\n")
    if "/flushdns" in (argument.casefold() for argument in run.argv):
        return ProgramResult(0, "\r\nWindows IP Configuration\r\n\r\nSuccessfully flushed the DNS Resolver Cache.\r\n")
    lines = ["", "Windows IP Configuration", ""]
    if run.argv:
        lines += [f"   Host Name . . . . . . . . . . . . : {machine.host_name}", ""]
    for item in interfaces(machine):
        mask = ipaddress.ip_network(f"{item.address}/{item.prefix}", strict=False).netmask
        lines += [
            f"Ethernet adapter {item.alias}:",
            "",
            f"   IPv4 Address. . . . . . . . . . . : {item.address}",
            f"   Subnet Mask . . . . . . . . . . . : {mask}",
            f"   Default Gateway . . . . . . . . . : {item.gateway}",
            "",
        ]
    return ProgramResult(0, "\r\n".join(lines))


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
