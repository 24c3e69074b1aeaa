# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Interfaces, addresses, routes and name servers of one machine, and whether they make the machine reachable.

The node's entry in the fleet file may contain `uplink`:

    uplink:
      static: true                  # the address is set manually, so resetting the adapter to DHCP removes it
      addresses: [127.5.0.11/24]    # if static; by default only the node's own address, which must be the first
      gateway: 127.5.0.1
      dns: [127.5.0.2, 127.5.0.3]
      routes: [{destination: 10.9.0.0/16, next_hop: 127.5.0.254, metric: 5}]      # if static
      dhcp: null                    # what DHCP offers to this node; by default nothing if static is true

Without `uplink`, the node gets its address from DHCP, which always offers the same address.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

Origin = Literal["Manual", "Dhcp", "WellKnown"]
UPLINK = "Ethernet"
# Simulated seconds until duplicate address detection makes a new address usable.
DETECTION = 1.0


@dataclass
class Address:
    """An IPv4 address of an interface. `usable` is the monotonic time at which duplicate address detection ends."""

    address: str
    prefix: int
    origin: Origin = "Manual"
    usable: float = 0.0

    @property
    def state(self) -> str:
        """The state `Tentative` or `Preferred`."""
        return "Preferred" if time.monotonic() >= self.usable else "Tentative"

    @property
    def network(self) -> str:
        """The network to which the address belongs, in CIDR notation."""
        return str(ipaddress.ip_network(f"{self.address}/{self.prefix}", strict=False))


@dataclass
class Route:
    """A route of an interface. A `persistent` route is in the PersistentStore, so it survives a reboot."""

    alias: str
    destination: str
    next_hop: str = "0.0.0.0"
    metric: int = 256
    persistent: bool = True
    origin: Origin = "Manual"


@dataclass
class Interface:
    """A network interface.

    Args:
        bound: whether TCP/IP is bound to the interface. TCP/IP is not bound to an adapter that a virtual switch uses.
        physical: whether the interface is a physical adapter.
        plugged: whether the interface's cable is plugged in.
        forwarding: whether the interface forwards packets for other hosts. A node with an L2Bridge network needs
            forwarding unless the network fabric routes to the node's pods.
        static_dns: the name servers that were set manually. If empty, the name servers from DHCP are used.
    """

    alias: str
    description: str
    index: int
    mac: str
    addresses: list[Address] = field(default_factory=list)
    dhcp: bool = True
    static_dns: list[str] = field(default_factory=list)
    lease_dns: list[str] = field(default_factory=list)
    mtu: int = 1500
    bound: bool = True
    physical: bool = False
    plugged: bool = True
    forwarding: bool = False

    @property
    def address(self) -> str:
        """The first address, or an empty string if the interface has none."""
        return self.addresses[0].address if self.addresses else ""

    @property
    def dns(self) -> list[str]:
        """The name servers that the interface uses."""
        return self.static_dns or self.lease_dns


@dataclass(frozen=True)
class DhcpLease:
    """The settings that DHCP offers to the node's uplink."""

    address: str
    prefix: int
    gateway: str
    dns: list[str]


@dataclass
class NetworkState:
    """The network settings of a machine.

    Args:
        owner: the address of the machine. A machine that is deployed from this machine's disk has a different address,
            and gets new settings.
        interfaces: the interfaces by alias, in display order.
        routes: the routes, except those that follow from the address of an interface.
    """

    owner: str = ""
    interfaces: dict[str, Interface] = field(default_factory=dict)
    routes: list[Route] = field(default_factory=list)


def uplink_settings(machine: Machine) -> Mapping[str, object]:
    """Return the value of `uplink` from the node's entry in the fleet file.

    Raises:
        ValueError: the value is not a mapping.
    """
    found = machine.settings.option("uplink", {})
    if not isinstance(found, Mapping):
        raise ValueError(f"expected a mapping for uplink of {machine.settings.name}, got {found!r}")
    return found


def is_static(machine: Machine) -> bool:
    """Return whether the node's address is static according to the fleet file."""
    return bool(uplink_settings(machine).get("static", False))


def state_of(machine: Machine) -> NetworkState:
    """Return the machine's network settings. The first call reads the settings from the fleet file."""
    state = machine.part(NetworkState)
    if state.owner != machine.address:
        state.owner = machine.address
        state.interfaces.clear()
        state.routes.clear()
        _set_up(machine, state)
    return state


def _set_up(machine: Machine, state: NetworkState) -> None:
    packed = ipaddress.ip_address(machine.address).packed
    mac = "00-15-5D-" + "-".join(f"{part:02X}" for part in packed[-3:])
    card = Interface(UPLINK, "Microsoft Hyper-V Network Adapter", 5, mac, physical=True)
    state.interfaces[UPLINK] = card
    if not is_static(machine):
        renew(machine, card, usable=0.0)
        return
    settings = uplink_settings(machine)
    card.dhcp = False
    for text in _texts(settings.get("addresses")) or [f"{machine.address}/24"]:
        interface = ipaddress.ip_interface(text)
        card.addresses.append(Address(str(interface.ip), interface.network.prefixlen))
    card.static_dns = _texts(settings.get("dns"))
    gateway = str(settings.get("gateway") or _first(card.addresses[0].network))
    state.routes.append(Route(UPLINK, "0.0.0.0/0", gateway))
    routes = settings.get("routes")
    for entry in routes if isinstance(routes, list) else []:
        metric = int(entry.get("metric", 256))
        state.routes.append(Route(UPLINK, str(entry["destination"]), str(entry["next_hop"]), metric))


def lease(machine: Machine) -> DhcpLease | None:
    """Return the settings that DHCP offers to the uplink, or None if DHCP offers none.

    By default, DHCP offers the node's address, or nothing if that address is static.
    """
    settings = uplink_settings(machine)
    offered = settings.get("dhcp") if is_static(machine) else settings.get("dhcp", machine.address)
    if not offered:
        return None
    address = ipaddress.ip_interface(str(offered) if "/" in str(offered) else f"{offered}/24")
    gateway = str(settings.get("gateway") or machine.settings.option("gateway") or _first(str(address.network)))
    dns = _texts(settings.get("dns")) or [gateway]
    return DhcpLease(str(address.ip), address.network.prefixlen, gateway, dns)


def renew(machine: Machine, interface: Interface, usable: float | None = None) -> None:
    """Configure an interface with DHCP, replacing its addresses. If DHCP offers nothing, Windows chooses an address.

    The chosen address is in 169.254.0.0/16 (RFC 3927), as in microsoft/SDN#498.
    """
    state = machine.part(NetworkState)
    interface.dhcp = True
    interface.addresses = []
    state.routes = [item for item in state.routes if item.alias != interface.alias or item.origin == "Manual"]
    found = lease(machine)
    if found is None:
        last = ipaddress.ip_address(machine.address).packed[-2:]
        interface.addresses = [Address(f"169.254.{last[0]}.{last[1] or 1}", 16, "WellKnown")]
        interface.lease_dns = []
        return
    moment = usable_from(machine) if usable is None else usable
    interface.addresses = [Address(found.address, found.prefix, "Dhcp", moment)]
    interface.lease_dns = found.dns
    state.routes.append(Route(interface.alias, "0.0.0.0/0", found.gateway, 0, persistent=False, origin="Dhcp"))


def usable_from(machine: Machine) -> float:
    """Return the monotonic time at which an address that is added now becomes usable."""
    return time.monotonic() + DETECTION * machine.settings.time_scale


def uplink(machine: Machine) -> Interface:
    """Return the external interface of the node: the physical adapter, or the interface of the virtual switch."""
    state = state_of(machine)
    switch = state.interfaces.get(f"vEthernet ({UPLINK})")
    return switch if switch is not None else state.interfaces[UPLINK]


def next_index(state: NetworkState) -> int:
    """Return an unused index for a new interface."""
    return max(20, *(item.index + 1 for item in state.interfaces.values()))


def reachable(machine: Machine) -> bool:
    """Return whether an interface has the address of the node. Duplicate address detection may still be running."""
    return any(
        address.address == machine.address
        for item in state_of(machine).interfaces.values()
        if item.bound
        for address in item.addresses
    )


def settle(machine: Machine) -> None:
    """Make the machine reachable or unreachable after a change to its addresses."""
    machine.network.set_addressed(reachable(machine))


def default_gateway(machine: Machine, alias: str) -> str:
    """Return the gateway of an interface, or an empty string if it has none."""
    return next(
        (item.next_hop for item in state_of(machine).routes if (item.alias, item.destination) == (alias, "0.0.0.0/0")),
        "",
    )


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _first(network: str) -> str:
    return str(ipaddress.ip_network(network)[1])
