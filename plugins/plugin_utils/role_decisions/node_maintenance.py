# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decisions of role node_maintenance: which nodes to drain, to wait for, and to make schedulable again."""

from __future__ import annotations

import types
import typing as t

from ..lifecycle import maintenance
from ..lifecycle.maintenance import Record
from ..node_resources.variables import Variables


def _records(host: Variables, hosts: str) -> list[dict[str, t.Any]]:
    """Return the record of each host that a variable lists; empty for a host that is not a node of the cluster."""
    return [host.of_host(name, "node_maintenance_state", default={}) for name in host.value(hosts)]


def _initial_record(host: Variables) -> dict[str, t.Any]:
    return maintenance.begin(
        str(host.value("inventory_hostname")),
        str(host.value("node_maintenance_node_name")),
        host.value("node_maintenance_cluster_node"),
        str(host.value("node_maintenance_owner")),
    )


def _seen(host: Variables) -> Record:
    """Return the node's state before the run, from its record or from the role's own query of the cluster."""
    state: Record = host.value("node_maintenance_state")
    if "seen" in state or not host.has("node_maintenance_inspected"):
        return dict(state.get("seen", {}))
    record: Record = host.part("node_maintenance_inspected", "nodes", str(state.get("node", "")), default={})
    return record


def _failed(host: Variables) -> list[str]:
    earlier = host.part("groups", "node_maintenance_refused", default=[])
    return list(dict.fromkeys([*earlier, *host.value("node_maintenance_selection")["failed"]]))


def _kubelet_versions(host: Variables) -> dict[str, str]:
    """Return the expected version of the kubelet of each node of the batch whose playbook upgrades the kubelet."""
    plans = {one["node"]: one.get("found") or {} for one in host.value("node_maintenance_batch") if one}
    return {node: str(plan["after"]) for node, plan in plans.items() if plan.get("after")}


def _in_batch(field: str, value: object) -> t.Callable[[Variables], list[str]]:
    """Return a decision that lists the batch's nodes whose record has this value in this field."""
    return lambda host: [one["node"] for one in host.value("node_maintenance_batch") if one.get(field) == value]


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "node_maintenance_batch": lambda host: _records(host, "ansible_play_batch"),
        "node_maintenance_records": lambda host: [one for one in _records(host, "ansible_play_hosts_all") if one],
        "node_maintenance_unseen_nodes": lambda host: [
            one["node"] for one in host.value("node_maintenance_records") if "seen" not in one
        ],
        "node_maintenance_failed": _failed,
        "node_maintenance_cluster_node": lambda host: host.part(
            "node_maintenance_nodes", str(host.value("node_maintenance_node_name")), default={}
        ),
        "node_maintenance_initial_state": _initial_record,
        "node_maintenance_seen": _seen,
        "node_maintenance_kubelet_versions": _kubelet_versions,
        "node_maintenance_nodes_to_drain": _in_batch("work", value=True),
        "node_maintenance_worked_nodes": _in_batch("stage", "worked"),
        "node_maintenance_ready_nodes": _in_batch("stage", "ready"),
    }
)
