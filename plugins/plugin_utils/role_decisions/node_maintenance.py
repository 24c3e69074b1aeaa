# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the node_maintenance role which nodes to drain and to restore, in which batches and rings, and when."""

from __future__ import annotations

import datetime
import time
import types
import typing as t

from ..lifecycle import maintenance, rings, rollout_times
from ..lifecycle.maintenance import Record, Stage
from ..node_resources.variables import Variables


def _records(host: Variables, hosts: str) -> list[dict[str, t.Any]]:
    """Return the records of the hosts that a variable lists. The record of a host outside the cluster is empty."""
    return [host.of_host(name, "node_maintenance_state", default={}) for name in host.value(hosts)]


def _initial_record(host: Variables) -> dict[str, t.Any]:
    return maintenance.begin(
        str(host.value("inventory_hostname")),
        str(host.value("node_maintenance_node_name")),
        host.value("node_maintenance_cluster_node"),
        str(host.value("node_maintenance_owner")),
        str(host.value("node_maintenance_ring_label")),
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


def _batch_sizes(host: Variables) -> list[int]:
    chosen = host.value("node_maintenance_selection")["chosen"]
    places = {one["host"]: rings.ring_of(one) for one in host.value("node_maintenance_records")}
    return rollout_times.batch_sizes([places[name] for name in chosen], str(host.value("node_maintenance_serial")))


def _ring_name(host: Variables) -> str:
    labels = host.value("node_maintenance_seen").get("labels", {})
    own, label = str(host.value("node_maintenance_ring")), str(host.value("node_maintenance_ring_label"))
    return rings.ring_name(own, label, labels)


def _ring_fields(host: Variables) -> dict[str, t.Any]:
    """Return the fields of the host's record that describe its ring."""
    name, order = _ring_name(host), [str(one) for one in host.value("node_maintenance_ring_order")]
    place = rings.ring_place(name, order, by_label=bool(host.value("node_maintenance_ring_label")))
    return {"ring": name, "ring_place": place} if place else {"ring": name}


def _rings(host: Variables) -> list[str]:
    records = {one["host"]: one for one in host.value("node_maintenance_records")}
    return rings.overview([records[name] for name in host.value("node_maintenance_selection")["chosen"]])


def _ring_problem(host: Variables) -> str:
    inspected = host.part("node_maintenance_inspected", "nodes", default={})
    seen = [one.get("seen") or inspected.get(one["node"]) for one in host.value("node_maintenance_records")]
    return rings.label_problem(
        str(host.value("node_maintenance_ring_label")), [one["labels"] for one in seen if one and "labels" in one]
    )


def _closed(host: Variables) -> str:
    windows, zone = host.value("node_maintenance_windows"), str(host.value("node_maintenance_time_zone"))
    return rollout_times.closed([str(one) for one in windows], zone, datetime.datetime.now(datetime.UTC))


def _earlier(host: Variables) -> list[Record]:
    return rollout_times.earlier_rings(host.value("node_maintenance_batch"), host.value("node_maintenance_records"))


def gate_problem(ready: t.Mapping[str, t.Any], gate: t.Mapping[str, t.Any]) -> str:
    """Return why the rollout must not begin with the next ring, or an empty string if it may begin.

    Args:
        ready: result of nodes_ready for the nodes of earlier rings; empty if there was no such check.
        gate: result of the user's own check; empty if there is none.
    """
    stopped = "the rollout stopped before the next ring"
    if ready.get("msg"):
        return f"{stopped}: {ready['msg']}"
    if waiting := ready.get("waiting"):
        reasons = ", ".join(f"{name} ({ready['nodes'][name]['reason']})" for name in waiting)
        return f"{stopped}: nodes of other rings are no longer ready: {reasons}"
    if gate and not gate.get("skipped") and gate.get("rc") != 0:
        output = str(gate.get("stderr") or gate.get("stdout") or gate.get("msg") or "").strip()[-500:]
        return f"{stopped}: node_maintenance_gate ended with {gate.get('rc', 'an error')}: {output}"
    return ""


def _gate_problem(host: Variables) -> str:
    if not host.value("node_maintenance_begins_ring"):
        return ""
    return gate_problem(
        host.optional("node_maintenance_earlier_ready", {}), host.optional("node_maintenance_gate_result", {})
    )


def _failure(host: Variables) -> str:
    """Return why a block failed: the message of the failed task, or a substitute if it is empty or must not be shown.

    The message of a task with `no_log` must not be shown. Ansible itself does not hide it from the rescue section.
    """
    hidden = host.part("ansible_failed_task", "no_log", default=False)
    if host.part("ansible_failed_result", "_ansible_no_log", default=hidden):
        return "the task's message is hidden (no_log)"
    return str(host.part("ansible_failed_result", "msg", default="") or "an earlier step failed; see the output")


def _kubelet_versions(host: Variables) -> dict[str, str]:
    """Return the new kubelet version of each node that the run upgrades in this batch, by node name."""
    plans = {one["node"]: one.get("found") or {} for one in host.value("node_maintenance_batch") if one}
    return {node: str(plan["after"]) for node, plan in plans.items() if plan.get("after")}


def _in_batch(field: str, value: object) -> t.Callable[[Variables], list[str]]:
    """Return a function that lists the nodes of the batch whose records have the given value in the given field."""
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
        "node_maintenance_batch_sizes": _batch_sizes,
        "node_maintenance_ring_fields": _ring_fields,
        "node_maintenance_ring_problem": _ring_problem,
        "node_maintenance_rings": _rings,
        "node_maintenance_closed": _closed,
        "node_maintenance_begins_ring": lambda host: bool(_earlier(host)),
        "node_maintenance_earlier_nodes": lambda host: [
            one["node"]
            for one in _earlier(host)
            # A replaced node was deleted.
            if one.get("stage") == Stage.DONE.value and not one.get("deleted")
        ],
        "node_maintenance_soak_left": lambda host: rollout_times.soak_left(
            _earlier(host), float(host.value("node_maintenance_soak")), time.time()
        ),
        "node_maintenance_gate_problem": _gate_problem,
        "node_maintenance_failure": _failure,
        "node_maintenance_nodes_to_drain": _in_batch("work", value=True),
        "node_maintenance_worked_nodes": _in_batch("stage", "worked"),
        "node_maintenance_ready_nodes": _in_batch("stage", "ready"),
    }
)
