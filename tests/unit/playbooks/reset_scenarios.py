# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rehearsed runs of reset_nodes.yml that reset nodes, by the names of their golden files."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import replace

from unit.playbooks.fleet import KUBECONFIG, cluster, member
from unit.playbooks.rehearsal import Rehearsal


def _resets() -> dict[str, Rehearsal]:
    """Return runs of reset_nodes.yml that reset nodes."""
    hosts = {
        "first": {"ansible_host": "10.0.0.21", "kubernetes_node_hostname": "win-first"},
        "second": {"ansible_host": "10.0.0.22", "kubernetes_node_hostname": "win-second"},
        # It takes its name from the machine, and its node was deleted before.
        "third": {"ansible_host": "10.0.0.23"},
        "never": {"ansible_host": "10.0.0.24", "kubernetes_node_hostname": "win-never"},
    }
    inspect, reset = "Read what there is to reset", "Reset the machine"
    server = "lb.cluster.local:6443"
    joined = {"needed": True, "joined": True, "server": server, "addresses": []}
    never = {"needed": False, "joined": False, "server": "", "addresses": ["10.0.0.24"]}
    names = ("win-first", "win-second")
    results = {
        "cluster_info": cluster(win_first=member(21), win_second=member(99)),
        f"{inspect}@first": {**joined, "computer_name": "WIN-FIRST"},
        # The address of its node is one that only the machine itself reports.
        f"{inspect}@second": {**joined, "computer_name": "WIN-SECOND", "addresses": ["10.0.0.99"]},
        f"{inspect}@third": {**joined, "computer_name": "WIN-THIRD"},
        f"{inspect}@never": {**never, "computer_name": "WIN-NEVER"},
        "nodes_drain": {"changed": True, "nodes": {name: {"status": "drained"} for name in names}},
        f"{reset}@first": {"changed": True},
        f"{reset}@second": {"changed": True},
        f"{reset}@third": {"changed": True},
        "nodes_delete": {"changed": True, "nodes": {name: {"changed": True, "failed": False} for name in names}},
    }
    confirmed = {**KUBECONFIG, "reset_confirmation": True, "kube_version": "v1.36.3"}
    run = Rehearsal("reset_nodes.yml", hosts, results, confirmed)
    refused = {"status": "timeout", "msg": "win-first: not drained after 600 seconds"}
    kept = {"changed": False, "failed": True, "msg": "win-second: the node was not deleted"}
    trouble: Mapping[str, t.Any] = {
        **results,
        "nodes_drain": {"nodes": {"win-first": refused, "win-second": {"status": "drained"}}},
        f"{reset}@third": {"unreachable": True, "msg": "the connection is lost"},
        "nodes_delete": {"nodes": {"win-second": kept}},
    }
    strangers = {
        **results,
        "cluster_info": cluster(win_first=member(98), win_second=member(22, os="linux")),
        f"{inspect}@third": {**joined, "computer_name": "WIN-THIRD", "server": "other:6443"},
    }
    settings = {
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
    return {
        "reset_nodes/plain": run,
        "reset_nodes/settings": replace(run, variables={**confirmed, **settings}),
        "reset_nodes/trouble": replace(run, results=trouble, variables={**confirmed, "node_maintenance_max_failed": 9}),
        "reset_nodes/strangers": replace(run, results=strangers),
        "reset_nodes/dry": replace(run, checks=True),
        "reset_nodes/cluster-gone": replace(run, results={"cluster_info": {"failed": True, "msg": "no answer"}}),
        "reset_nodes/without-kubeconfig": replace(run, variables={**confirmed, "kubeconfig": ""}),
        "reset_nodes/without-cluster": replace(
            run, variables={**confirmed, "node_reset_without_cluster": True, "kubeconfig": ""}
        ),
        "reset_nodes/without-drain": replace(
            run, variables={**confirmed, "node_reset_drain": False, "node_reset_delete_node": False}
        ),
        "reset_nodes/role": replace(
            run,
            playbook=[{"hosts": "first,never", "gather_facts": False, "roles": ["winkube.node.node_reset"]}],
        ),
    }


RESETS: Mapping[str, Rehearsal] = _resets()
