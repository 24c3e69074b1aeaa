# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The effects of HNS networks and host endpoints on the node's interfaces and its link.

The first external network creates a virtual switch on the physical adapter, and TCP/IP moves from `Ethernet` to
`vEthernet (Ethernet)`. Removing the last external network removes the switch. In both cases the link is down for
`link_drop_seconds`, and a manually set address is lost, because the interface that gets TCP/IP uses DHCP
(microsoft/SDN#498, ovn-kubernetes/ovn-kubernetes#2530). According to reports, Windows versions 2004 and 20H2 lose the
address, while 1909 keeps the address. In the simulator, all versions lose the address. With `uplink: {loses: [appear]}`
in the fleet file, the address is lost only when the switch is created; with `[vanish]`, only when the switch is
removed; with `[]`, never.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.kubernetes_node.hns.objects import Endpoint, Network
from simulator.windows.networking.network_state import (
    Address,
    Interface,
    NetworkState,
    is_static,
    next_index,
    renew,
    settle,
    state_of,
    uplink_settings,
)

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# The switch takes over the adapter after this many seconds, so the caller may still get a response.
_DELAY = 0.3
_DESCRIPTION = "Hyper-V Virtual Ethernet Adapter"


def appeared(machine: Machine, network: Network, others: Sequence[Network]) -> None:
    """Apply the effects of a new HNS network to the machine's interfaces and link."""
    if network.external and not _shared(network, others):
        make_switch(machine, network.adapter, keeps=not _loses(machine, "appear"))
        _drop(machine, _DELAY)
    elif network.kind == "NAT":
        _add(machine, network.name, network.gateway, network.subnet)


def vanished(machine: Machine, network: Network, others: Sequence[Network]) -> None:
    """Immediately apply the effects of an HNS network's removal to the machine's interfaces and link.

    If the link goes down, the client that removed the network gets no response.
    """
    if network.external and not _shared(network, others):
        _remove_switch(machine, network.adapter, keeps=not _loses(machine, "vanish"))
        _drop(machine, 0.0)
    elif network.kind == "NAT":
        _take(machine, network.name)


def forgotten(machine: Machine, network: Network, others: Sequence[Network]) -> None:
    """Update the machine's interfaces and link after a boot that an HNS network did not survive.

    It is not documented whether a manually set address survives the loss of the network. The simulator keeps it.
    """
    if network.external and not _shared(network, others):
        _remove_switch(machine, network.adapter, keeps=True)
        settle(machine)


def host_endpoint(machine: Machine, endpoint: Endpoint, *, present: bool) -> None:
    """Add or remove the interface for an endpoint of the host itself, such as `cbr0_ep` on an L2Bridge."""
    if not endpoint.name.endswith("_ep") or endpoint.remote:
        return
    if present:
        _add(machine, endpoint.name, endpoint.address, f"{endpoint.address}/24")
    else:
        _take(machine, endpoint.name)


def make_switch(machine: Machine, adapter: str, *, keeps: bool) -> None:
    """Create a virtual switch on an adapter, and move TCP/IP from the adapter to the switch's interface.

    If `keeps` is set and the adapter does not use DHCP, the switch's interface keeps the adapter's address, routes and
    DNS servers. Otherwise, it requests an address by DHCP, and routes and manually set DNS servers are lost.
    """
    state = state_of(machine)
    card = state.interfaces[adapter]
    switch = replace(
        card, alias=_alias(adapter), description=_DESCRIPTION, index=next_index(state), physical=False, bound=True
    )
    card.bound = False
    state.interfaces[switch.alias] = switch
    _move(machine, state, card, switch, keeps=keeps)


def _remove_switch(machine: Machine, adapter: str, *, keeps: bool) -> None:
    state = state_of(machine)
    switch = state.interfaces.pop(_alias(adapter), None)
    if switch is None:
        return
    card = state.interfaces[adapter]
    card.bound = True
    _move(machine, state, switch, card, keeps=keeps)


def _move(machine: Machine, state: NetworkState, before: Interface, after: Interface, *, keeps: bool) -> None:
    """Move TCP/IP settings from one interface to another.

    If `keeps` is not set, or if the old interface uses DHCP, routes and manual DNS servers are lost, and the new
    interface requests an address.
    """
    after.addresses, after.dhcp = before.addresses, before.dhcp
    after.static_dns, after.lease_dns = before.static_dns, before.lease_dns
    before.addresses, before.static_dns, before.lease_dns = [], [], []
    own = [item for item in state.routes if item.alias == before.alias]
    state.routes = [item for item in state.routes if item.alias != before.alias]
    if keeps and not after.dhcp:
        state.routes += [replace(item, alias=after.alias) for item in own]
        return
    after.static_dns = []
    renew(machine, after)


def _loses(machine: Machine, when: str) -> bool:
    found = uplink_settings(machine).get("loses", ["appear", "vanish"])
    return is_static(machine) and isinstance(found, list) and when in found


def _drop(machine: Machine, delay: float) -> None:
    seconds = machine.settings.option("link_drop_seconds", 2.0)
    down = float(seconds) if isinstance(seconds, (int, float)) else 2.0

    def drop() -> None:
        machine.network.drop_link(down)
        settle(machine)

    if not delay:
        drop()
        return
    timer = threading.Timer(delay, drop)
    timer.daemon = True
    timer.start()


def _shared(network: Network, others: Sequence[Network]) -> bool:
    """Return whether another external network uses the same adapter as the given network.

    Calico creates the `External` network so that its other networks share an adapter with it.
    """
    return any(item.external and item.adapter == network.adapter for item in others)


def _alias(name: str) -> str:
    return f"vEthernet ({name})"


def _add(machine: Machine, name: str, address: str, network: str) -> None:
    if not address:
        return
    state = state_of(machine)
    prefix = int(network.partition("/")[2] or 24)
    mac = "00-15-5D-" + "-".join(f"{int(part):02X}" for part in address.split(".")[1:])
    found = Interface(_alias(name), _DESCRIPTION, next_index(state), mac, [Address(address, prefix)], dhcp=False)
    state.interfaces[found.alias] = found


def _take(machine: Machine, name: str) -> None:
    state = state_of(machine)
    if state.interfaces.pop(_alias(name), None):
        state.routes = [item for item in state.routes if item.alias != _alias(name)]
