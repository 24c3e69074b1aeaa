# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Keep the routes to the pods of other nodes up to date, as flanneld does.

The host-gw backend uses routes of the host, and vxlan uses policies of the HNS network. Every node announces its subnet
in its annotations. host-gw creates a route through the other node's address even if that address is in another subnet.
Windows accepts such a route, but no packets arrive (`unreachable` on the status page), because host-gw requires that
the nodes share a layer-2 network.

Sources: flannel-io/flannel pkg/backend/route_network_windows.go, pkg/backend/vxlan/vxlan_network_windows.go and
pkg/subnet/kube.
"""

from __future__ import annotations

import ipaddress
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.api.client import ApiError, Client
from simulator.kubernetes_node.api.watching import interval
from simulator.kubernetes_node.cni.flannel_network import VNI, Backend, Log
from simulator.windows.networking.network_state import Route, state_of, uplink

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_SECONDS = 5.0  # seconds of real time between two queries of the nodes (flanneld checks its routes every 10 seconds)
_PREFIX = "flannel.alpha.coreos.com"


@dataclass(frozen=True)
class FlannelLease:
    """A flannel lease, which another node announces: the subnet of that node's pods, and how to reach the subnet."""

    subnet: str
    address: str
    kind: str
    data: str


def leases(nodes: list[dict[str, Any]], own: str) -> list[FlannelLease]:
    """Return the flannel leases of all nodes except the one with the name `own`."""
    found = []
    for node in nodes:
        notes: Mapping[str, str] = node["metadata"].get("annotations") or {}
        subnet = (node.get("spec") or {}).get("podCIDR")
        if subnet and node["metadata"]["name"] != own and notes.get(f"{_PREFIX}/kube-subnet-manager") == "true":
            values = [notes.get(f"{_PREFIX}/{key}", "") for key in ("public-ip", "backend-type", "backend-data")]
            found.append(FlannelLease(subnet, *values))
    return found


class Leases:
    """The routes that one flanneld process keeps in line with the flannel leases of the other nodes."""

    def __init__(self, machine: Machine, backend: Backend, node: str, log: Log) -> None:
        self._machine, self._backend, self._node, self._log = machine, backend, node, log
        self._known: set[FlannelLease] = set()

    def follow(self, client: Client, stop: threading.Event) -> None:
        """Keep the routes in line with the flannel leases in the cluster, until flanneld is stopped."""
        while not stop.is_set():
            try:
                nodes = client.get("/api/v1/nodes", resourceVersion="0").get("items") or []
                self.apply(leases(nodes, self._node))
            except (ApiError, OSError, hns.HnsError):
                # The watch of client-go starts again without a message from flanneld.
                pass
            stop.wait(interval(self._machine, _SECONDS))

    def apply(self, found: list[FlannelLease]) -> None:
        """Create routes for new leases, and remove the routes of leases that no longer exist."""
        current = set(found)
        for lease in sorted(self._known - current, key=lambda item: item.subnet):
            self._remove(lease)
        for lease in found:
            if self._backend.vni:
                self._policy(lease, is_new=lease not in self._known)
            else:
                self._route(lease, is_new=lease not in self._known)
        self._known = current

    def _route(self, lease: FlannelLease, *, is_new: bool) -> None:
        if lease.kind != "host-gw":
            if is_new:
                self._log.write("W", f"Ignoring non-host-gw subnet({lease.subnet}): type={lease.kind}")
            return
        state, alias = state_of(self._machine), uplink(self._machine).alias
        route = Route(alias, lease.subnet, lease.address, persistent=False)
        same = [item for item in state.routes if item.destination == lease.subnet and item.alias == alias]
        if any(item.next_hop == lease.address for item in same):
            return
        for item in same:
            state.routes.remove(item)
        self._log.write("I", f"Subnet added: {lease.subnet} via {lease.address}")
        state.routes.append(route)

    def _policy(self, lease: FlannelLease, *, is_new: bool) -> None:
        if lease.kind != "vxlan":
            if is_new:
                self._log.write("W", f"ignoring non-vxlan subnet({lease.subnet}): type={lease.kind}")
            return
        data = json.loads(lease.data or "null") or {}
        vni = int(data.get("VNI") or 0)
        if vni < VNI:
            if is_new:
                message = f"VNI is {vni} but it is required to be greater than or equal to {VNI} on Windows."
                self._log.write("E", message)
            return
        network = hns.store(self._machine).network_named(self._backend.name)
        if network is None:
            self._log.write("E", f'Unable to find network {self._backend.name}, error: Network name '
                                 f'"{self._backend.name}" not found')  # fmt: skip
            return
        settings = {
            "IsolationId": data["VNI"],
            "DistributedRouterMacAddress": data.get("VtepMAC", ""),
            "ProviderAddress": lease.address,
            "DestinationPrefix": lease.subnet,
        }
        policy: dict[str, object] = {"Type": "RemoteSubnetRoute", "Settings": settings}
        if policy not in network.policies:
            network.policies = [*_without(network.policies, lease.subnet), policy]

    def _remove(self, lease: FlannelLease) -> None:
        if self._backend.vni:
            network = hns.store(self._machine).network_named(self._backend.name)
            if network:
                network.policies = _without(network.policies, lease.subnet)
            return
        state = state_of(self._machine)
        self._log.write("I", f"Subnet removed: {lease.subnet}")
        gone = (lease.subnet, lease.address)
        state.routes = [item for item in state.routes if (item.destination, item.next_hop) != gone]


def _without(policies: list[dict[str, object]], subnet: str) -> list[dict[str, object]]:
    """Return all policies of an HNS network except the route to the given subnet."""
    return [item for item in policies if _destination(item) != subnet]


def _destination(policy: Mapping[str, object]) -> object:
    settings = policy.get("Settings")
    return settings.get("DestinationPrefix") if isinstance(settings, Mapping) else None


def unreachable(machine: Machine) -> list[str]:
    """Return the destinations of routes that cannot work, because the next hop is in none of the machine's subnets."""
    state = state_of(machine)
    subnets = [
        ipaddress.ip_network(address.network)
        for interface in state.interfaces.values()
        for address in interface.addresses
    ]
    found = []
    for route in state.routes:
        hop = ipaddress.ip_address(route.next_hop)
        if not hop.is_unspecified and not any(hop in subnet for subnet in subnets):
            found.append(route.destination)
    return found
