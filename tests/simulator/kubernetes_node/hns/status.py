# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The state of HNS for the simulator's status page, and two faults that POST /simulator/faults sets.

{"kind": "pods_vanish", "count": 2}      removes the sandboxes and containers of this many pods (default: all), but not
                                         their endpoints, as if containerd had been killed and had lost its state
{"kind": "hns_refuses", "ids": [ID, …]}  these objects cannot be removed; an empty list ends the fault
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.kubernetes_node.cri import shims
from simulator.kubernetes_node.hns import hang, ports
from simulator.kubernetes_node.hns.objects import DETACHED, Endpoint, HnsState

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


def describe(machine: Machine) -> object:
    """Return the HNS objects for the simulator's status page.

    The result lists an endpoint as connected unless an older endpoint in its network has the same address.
    """
    state = machine.part(HnsState)
    networks = list(state.networks.values())
    names = {item.id: item.name for item in networks}
    first: dict[tuple[str, str], str] = {}
    for endpoint in list(state.endpoints.values()):
        first.setdefault((endpoint.network, endpoint.address), endpoint.id)
    return {
        "networks": [
            {
                "id": item.id,
                "name": item.name,
                "type": item.kind,
                "subnet": item.subnet,
                "vni": item.vni,
                "external": item.external,
                "policies": [dict(policy) for policy in item.policies],
            }
            for item in networks
        ],
        "endpoints": [
            _endpoint(item, names, first[item.network, item.address] == item.id)
            for item in list(state.endpoints.values())
            if (item.network, item.address) in first
        ],
        "policies": [
            {"id": item.id, "vip": item.vip, "port": item.port, "endpoints": list(item.endpoints)}
            for item in list(state.policies.values())
        ],
        "namespaces": [
            {
                "id": item.id,
                "default": item.default,
                "containers": list(item.containers),
                "endpoints": list(item.endpoints),
            }
            for item in list(state.namespaces.values())
        ],
        "port_pools": ports.status(machine),
        "hang": hang.status(machine),
    }


def _endpoint(item: Endpoint, names: Mapping[str, str], connected: bool) -> dict[str, object]:
    return {
        "id": item.id,
        "name": item.name,
        "network": names.get(item.network, ""),
        "address": item.address,
        "container": item.container,
        "namespace": item.namespace,
        "remote": item.remote,
        "state": item.state,
        "connected": connected,
        "policies": [dict(policy) for policy in item.policies],
    }


@dataclass
class Refusals:
    """The upper-case ids of the objects that HNS refuses to remove."""

    ids: set[str] = field(default_factory=set)


def refuse(machine: Machine, fault: Mapping[str, object]) -> None:
    """Set which HNS objects cannot be removed.

    Raises:
        ValueError: `ids` is not a list.
    """
    ids = fault.get("ids")
    if not isinstance(ids, list):
        raise ValueError(f"expected a list for `ids` of hns_refuses, got {ids!r}")
    machine.part(Refusals).ids = {str(item).upper() for item in ids}


def lose_pods(machine: Machine, fault: Mapping[str, object]) -> None:
    """Remove pods without notifying HNS or CNI.

    Raises:
        ValueError: `count` is neither 0 nor a positive integer.
    """
    found = shims.settle(machine)
    chosen = [item for item in found.sandboxes.values() if item.network]
    count = fault.get("count")
    if count is not None:
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(f"expected 0 or a positive number for `count` of pods_vanish, got {count!r}")
        chosen = chosen[:count]
    gone = {item.id for item in chosen}
    for container in [item for item in found.containers.values() if item.sandbox in gone]:
        shims.stop(machine, container)
        found.containers.pop(container.id, None)
    for sandbox in chosen:
        found.sandboxes.pop(sandbox.id, None)
    state = machine.part(HnsState)
    for endpoint in state.endpoints.values():
        if endpoint.container in gone:
            endpoint.state, endpoint.shared = DETACHED, []
    for namespace in state.namespaces.values():
        namespace.containers = [item for item in namespace.containers if item not in gone]
