# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rehearsed runs of reset_nodes.yml that reset nodes, by the names of their golden files."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import replace

from unit.playbooks.fleet import KUBECONFIG, cluster, member
from unit.playbooks.rehearsal import Rehearsal

_HOSTS: Mapping[str, Mapping[str, t.Any]] = {
    "first": {"ansible_host": "10.0.0.21", "kubernetes_node_hostname": "win-first"},
    "second": {"ansible_host": "10.0.0.22", "kubernetes_node_hostname": "win-second"},
    # It takes its name from the machine, and its node was deleted before.
    "third": {"ansible_host": "10.0.0.23"},
    "never": {"ansible_host": "10.0.0.24", "kubernetes_node_hostname": "win-never"},
}
_NAMES = ("win-first", "win-second")
_INSPECT, _RESET = "Read what there is to reset", "Reset the machine"
_JOINED = {"needed": True, "joined": True, "server": "lb.cluster.local:6443", "addresses": []}
_NEVER = {"needed": False, "joined": False, "server": "", "addresses": ["10.0.0.24"]}
_RESULTS: Mapping[str, t.Any] = {
    "cluster_info": cluster(win_first=member(21), win_second=member(99)),
    f"{_INSPECT}@first": {**_JOINED, "computer_name": "WIN-FIRST"},
    # The address of its node is one that only the machine itself reports.
    f"{_INSPECT}@second": {**_JOINED, "computer_name": "WIN-SECOND", "addresses": ["10.0.0.99"]},
    f"{_INSPECT}@third": {**_JOINED, "computer_name": "WIN-THIRD"},
    f"{_INSPECT}@never": {**_NEVER, "computer_name": "WIN-NEVER"},
    "nodes_drain": {"changed": True, "nodes": {name: {"status": "drained"} for name in _NAMES}},
    f"{_RESET}@first": {"changed": True},
    f"{_RESET}@second": {"changed": True},
    f"{_RESET}@third": {"changed": True},
    "nodes_delete": {"changed": True, "nodes": {name: {"changed": True, "failed": False} for name in _NAMES}},
}
_VERSION = {"kube_version": "v1.36.3"}
_CONFIRMED = {**KUBECONFIG, "reset_confirmation": True, **_VERSION}
_SETTINGS = {
    "node_reset_kubeconfig_context": "prod",
    "node_reset_delegate": "bastion",
    "node_reset_containers": "all",
    "node_reset_images": "remove",
    "node_reset_keep_logs": True,
    "node_reset_allow_reboot": True,
    "node_reset_timeout": 60,
    "node_maintenance_force": True,
    "node_maintenance_grace_period": 5,
    "allow_unsupported_windows": True,
    "winkube_serial": 3,
}
_RUN = Rehearsal("reset_nodes.yml", _HOSTS, _RESULTS, _CONFIRMED)


def _with(**variables: t.Any) -> Rehearsal:
    """Return a run with variables of its own."""
    return replace(_RUN, variables={**_CONFIRMED, **variables})


def _failures() -> dict[str, Rehearsal]:
    """Return runs in which a node must not be changed, or cannot be."""
    refused = {"status": "timeout", "msg": "win-first: not drained after 600 seconds"}
    kept = {"changed": False, "failed": True, "msg": "win-second: the node was not deleted"}
    trouble = {
        **_RESULTS,
        "nodes_drain": {"nodes": {"win-first": refused, "win-second": {"status": "drained"}}},
        f"{_RESET}@third": {"unreachable": True, "msg": "the connection is lost"},
        "nodes_delete": {"nodes": {"win-second": kept}},
    }
    strangers = {
        **_RESULTS,
        "cluster_info": cluster(win_first=member(98), win_second=member(22, os="linux")),
        f"{_INSPECT}@third": {**_JOINED, "computer_name": "WIN-THIRD", "server": "other:6443"},
    }
    unconfirmed = replace(_RUN, results={"pause": {"user_input": "no"}}, variables={**KUBECONFIG, **_VERSION})
    return {
        "reset_nodes/trouble": replace(_with(node_maintenance_max_failed=9), results=trouble),
        "reset_nodes/strangers": replace(_RUN, results=strangers),
        "reset_nodes/cluster-gone": replace(_RUN, results={"cluster_info": {"failed": True, "msg": "no answer"}}),
        "reset_nodes/without-kubeconfig": _with(kubeconfig=""),
        # The question is about the whole reset.
        "reset_nodes/both-tags": replace(unconfirmed, tags=["role::hns_cleanup", "role::node_reset"]),
    }


RESETS: Mapping[str, Rehearsal] = {
    "reset_nodes/plain": _RUN,
    "reset_nodes/settings": _with(**_SETTINGS),
    "reset_nodes/dry": replace(_RUN, checks=True),
    "reset_nodes/without-cluster": _with(node_reset_without_cluster=True, kubeconfig=""),
    "reset_nodes/without-drain": _with(node_reset_drain=False, node_reset_delete_node=False),
    "reset_nodes/role": replace(
        _RUN,
        playbook=[{"hosts": "first,never", "gather_facts": False, "roles": ["winkube.node.node_reset"]}],
    ),
    **_failures(),
}
