# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rehearsed runs of upgrade_nodes.yml."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from unit.playbooks.fleet import (
    KUBECONFIG,
    LOST,
    MAINTAINED,
    NETWORK,
    NEW_PODS,
    NEW_PODS_RUN,
    PODS,
    cluster,
    facts,
    member,
)
from unit.playbooks.rehearsal import Rehearsal

_STAGE = "Download the new version, and determine what changes"
_REPLACE = "Replace the programs, and restart the kubelet"
_KUBEADM = "Upgrade the kubelet's configuration, step by step"
_CHECK, _INSTALL = "Check which patches are missing", "Install Windows patches"
_ARCHIVE = {"type": "Archive", "name": "C:\\k", "why": "path differs", "disruption": "restarts kubelet"}


def upgrades() -> dict[str, Rehearsal]:
    """Return runs on an old node, an interrupted one, one that is up to date, and a machine that has not joined."""
    hosts = {
        name: {"ansible_host": f"10.0.0.{number}", "kubernetes_node_hostname": f"win-{name}"}
        for number, name in enumerate(("old", "cut", "done", "new"), start=21)
    }
    nodes = {
        "win_old": member(21, version="v1.35.4", network_pods=PODS),
        "win_cut": member(22, version="v1.36.3", unschedulable=True, cordon_owner="upgrade_nodes"),
        "win_done": member(23, version="v1.36.3"),
    }
    drained = {f"win-{name}": {"status": "drained", "cordoned_by": "upgrade_nodes", "pods": []} for name in hosts}
    results: dict[str, t.Any] = {
        "cluster_info": cluster(**nodes),
        **{f"join_info@{name}": facts(f"win-{name}", joined=name != "new", cni=NETWORK) for name in hosts},
        f"{_STAGE}@old": {"changed": True, "deferred": [_ARCHIVE]},
        "Cordon and drain": {"changed": True, "nodes": drained},
        f"{_KUBEADM}@old": {"changed": True},
        f"{_REPLACE}@old": {"changed": True, "rebooted": False, "changes": [_ARCHIVE]},
        NEW_PODS: NEW_PODS_RUN,
        MAINTAINED: {"nodes": {}, "waiting": []},
        "Uncordon": {"nodes": {name: {"failed": False, "unschedulable": False} for name in drained}},
    }
    run = Rehearsal("upgrade_nodes.yml", hosts, results, KUBECONFIG)
    patches = {
        "node_upgrade_patches": "yes",
        "windows_patches_public": ["KB1"],
        "winkube_upgrade_report": "/site/u.json",
    }
    return {
        "upgrade_nodes/plain": run,
        "upgrade_nodes/check": replace(run, checks=True),
        "upgrade_nodes/missing-version": replace(
            run, results={**results, "cluster_info": cluster(**{**nodes, "win_old": member(21, version="v1.34.4")})}
        ),
        "upgrade_nodes/with-patches": replace(
            run,
            variables={
                **KUBECONFIG,
                **patches,
                "node_upgrade_roles": ["container_runtime", "kubernetes_node"],
                "winkube_upgrade_report": "/site/u.json",
            },
            results={
                **results,
                f"{_CHECK}@done": {"changed": True},
                f"{_CHECK}@old": {"changed": False, "failed": True, "msg": "no answer of Windows Update"},
                f"{_INSTALL}@done": {"changed": True, "reboots": 1},
            },
        ),
        "upgrade_nodes/one-fails": replace(
            run, results={**results, f"{_KUBEADM}@old": {"failed": True, "msg": "kubeadm upgrade node of 1.36.3: no"}}
        ),
        "upgrade_nodes/lost": replace(
            run,
            results={**results, f"{_STAGE}@done": LOST, f"{_REPLACE}@old": LOST},
            variables={**KUBECONFIG, "node_maintenance_max_failed": 2},
        ),
    }
