# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Assign pod CIDRs to nodes, check their heartbeats, and taint them according to their conditions.

In kube-controller-manager, the nodeipam and nodelifecycle controllers do this.
"""

from __future__ import annotations

import ipaddress
import time

from .. import clock
from ..objects import Objects
from ..resources import Object, type_of
from .placement import UNSCHEDULABLE

_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_NOT_READY, _UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_TAINT_BY_CONDITION = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_MANAGED = {_NOT_READY, _UNREACHABLE, UNSCHEDULABLE, *_TAINT_BY_CONDITION.values()}


def condition(obj: Object, kind: str) -> Object:
    """Return an object's condition of a given type, or an empty dict if the object has none."""
    return next((one for one in obj.get("status", {}).get("conditions") or [] if one["type"] == kind), {})


class PodCidrController:
    """The controller that assigns a /24 of the cluster's pod network to each node."""

    watches: tuple[str, ...] = ("nodes",)
    every = 0.0

    def __init__(self, objects: Objects, network: ipaddress.IPv4Network) -> None:
        self._objects = objects
        self._network = network

    def sync(self) -> None:
        """Assign a pod CIDR to each node that has none."""
        nodes = self._objects.store.peek_all("nodes")
        taken = {one["spec"].get("podCIDR") for one in nodes}
        for node in nodes:
            if node["spec"].get("podCIDR"):
                continue
            free = next((str(one) for one in self._network.subnets(new_prefix=24) if str(one) not in taken), None)
            if free is None:
                return
            taken.add(free)
            given = {"podCIDR": free, "podCIDRs": [free]}
            self._give(node["metadata"]["name"], given)

    def _give(self, name: str, given: Object) -> None:
        self._objects.update(type_of("nodes"), "", name, lambda live: live | {"spec": live["spec"] | given})


class NodeLifecycleController:
    """The controller that detects nodes without heartbeats, and taints nodes according to their conditions."""

    watches: tuple[str, ...] = ("nodes", "leases")
    every = 0.5

    def __init__(self, objects: Objects, grace: float) -> None:
        """Create the controller.

        Args:
            objects: the interface to the cluster's objects.
            grace: the seconds without a heartbeat after which a node is considered Unknown.
        """
        self._objects = objects
        self._grace = grace
        self._heartbeats: dict[str, tuple[tuple[str, str], float]] = {}

    def sync(self) -> None:
        """Update the conditions and taints of every node."""
        nodes = self._objects.store.peek_all("nodes")
        # If no node is Ready, the real controller assumes a problem of its own, and evicts nothing.
        evicting = any(condition(node, "Ready").get("status") == "True" for node in nodes)
        for node in nodes:
            if self._silence(node) > self._grace:
                self._mark_unknown(node)
            self._taint(node["metadata"]["name"], evicting)

    def _silence(self, node: Object) -> float:
        """Return the seconds since the last observed change of a node's lease or status.

        Like the real controller, this method does not compare the clocks of different machines.
        """
        metadata = node["metadata"]
        lease = self._objects.store.peek("leases", "kube-node-lease", metadata["name"]) or {}
        renewed = str(lease.get("spec", {}).get("renewTime"))
        signs = (f"{metadata['uid']} {condition(node, 'Ready').get('lastHeartbeatTime')}", renewed)
        known, since = self._heartbeats.get(metadata["name"], (None, 0.0))
        if known != signs:
            since = time.monotonic()
            self._heartbeats[metadata["name"]] = (signs, since)
        return time.monotonic() - since

    def _mark_unknown(self, node: Object) -> None:
        if condition(node, "Ready").get("status") == "Unknown":
            return
        now, conditions = clock.now(), []
        for kind in _CONDITIONS:
            old = condition(node, kind)
            never = {"reason": "NodeStatusNeverUpdated", "message": "Kubelet never posted node status."}
            stopped = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
            new = {"type": kind, "status": "Unknown", "lastHeartbeatTime": old.get("lastHeartbeatTime", now)}
            conditions.append(new | {"lastTransitionTime": now} | (stopped if old else never))
        others = [one for one in node.get("status", {}).get("conditions") or [] if one["type"] not in _CONDITIONS]
        status = node.get("status", {}) | {"conditions": [*others, *conditions]}
        self._objects.update(
            type_of("nodes"),
            "",
            node["metadata"]["name"],
            lambda live: live | {"status": status},
            subresource="status",
        )

    def _taint(self, name: str, evicting: bool) -> None:
        node = self._objects.store.peek("nodes", "", name)
        if node is None:
            return
        existing = node["spec"].get("taints") or []
        requested = [one for one in _expected_conditions(node) if evicting or one[1] != "NoExecute"]
        kept = [one for one in existing if one["key"] not in _MANAGED or (one["key"], one["effect"]) in requested]
        present = {(one["key"], one["effect"]) for one in kept}
        added: list[Object] = []
        for key, effect in requested:
            if (key, effect) not in present:
                added.append({"key": key, "effect": effect, "timeAdded": clock.now()})
        if not added and len(kept) == len(existing):
            return
        taints = [*kept, *added]

        def changed(live: Object) -> Object:
            spec = {key: value for key, value in live["spec"].items() if key != "taints"}
            return live | {"spec": spec | ({"taints": taints} if taints else {})}

        self._objects.update(type_of("nodes"), "", name, changed)


def _expected_conditions(node: Object) -> list[tuple[str, str]]:
    found = []
    ready = condition(node, "Ready").get("status")
    if ready == "Unknown":
        found = [(_UNREACHABLE, "NoSchedule"), (_UNREACHABLE, "NoExecute")]
    elif ready == "False":
        found = [(_NOT_READY, "NoSchedule"), (_NOT_READY, "NoExecute")]
    elif ready is None:
        found = [(_NOT_READY, "NoSchedule")]  # as on a new node
    for kind, key in _TAINT_BY_CONDITION.items():
        if condition(node, kind).get("status") == "True":
            found.append((key, "NoSchedule"))
    if node["spec"].get("unschedulable"):
        found.append((UNSCHEDULABLE, "NoSchedule"))
    return found
