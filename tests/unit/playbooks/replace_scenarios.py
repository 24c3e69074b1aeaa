# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rehearsed runs of replace_nodes.yml."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from pathlib import Path

from unit.playbooks.fleet import KUBECONFIG, LOST, MAINTAINED, NETWORK, NEW_PODS, NEW_PODS_RUN, cluster, facts, member
from unit.playbooks.rehearsal import Rehearsal

_HOOKS = Path(__file__).with_name("hooks")
_OLD = ("old", "begun")
_CREATE, _DELETE, _INSPECT = "Create the machine", "Delete the machine", "Read what there is to reset"
_GENERATION = "g2"
_VARIABLES = {
    **KUBECONFIG,
    "kube_version": "1.36.3",
    "container_runtime": "containerd",
    "node_replace_generation": _GENERATION,
    "node_replace_create_command": ["make-vm", "{{ inventory_hostname }}", "{{ node_replace_old_host }}"],
    "replace_confirmation": True,
}


def _machine(name: str, number: int) -> dict[str, t.Any]:
    # Ansible must not evaluate what a program prints.
    variables = {"ansible_password": "{{ 6 * 7 }}s3cret"}
    document = {"name": name, "address": f"10.0.0.{number}", "variables": variables}
    return {"rc": 0, "changed": True, "stdout": json.dumps(document)}


def _hosts() -> dict[str, dict[str, t.Any]]:
    """Return an old node, one whose replacement has begun, a replaced one, and a machine without a node."""
    return {
        name: {"ansible_host": f"10.0.0.{number}", "kubernetes_node_hostname": f"{name}-win"}
        for number, name in enumerate(("old", "begun", "done", "none"), start=21)
    }


def _nodes(**record: str) -> dict[str, t.Any]:
    """Return the nodes of the cluster, with these fields in the record of the replacement that has begun."""
    begun = {"name": "begun-win-g2", "generation": _GENERATION, "old": "", **record}
    return cluster(
        old_win=member(21, generation="", replacement={}),
        begun_win=member(22, generation="g1", replacement=begun, ready=begun["old"] != "shutdown"),
        done_win=member(23, generation=_GENERATION, replacement={}),
    )


def joins(new: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the results of the tasks that join the new machines."""
    token_ids = {name: f"{number:06}" for number, name in enumerate(new)}
    return {
        **{f"join_info@{name}": facts(name, cni=NETWORK) for name in new},
        "Create a bootstrap token for each node": {
            "changed": True,
            "tokens": {name: f"{token}.s" for name, token in token_ids.items()},
            "token_ids": token_ids,
        },
        "node_csr_approval": {"ansible_job_id": "job.1", "started": True, "finished": False},
        "Read which certificates were approved": {"finished": True, "approved": dict.fromkeys(new), "refused": {}},
        "Join the node": {"changed": True},
        "Wait until the nodes are registered": {"nodes": new, "waiting": []},
        "Wait until the nodes are Ready": {"nodes": {}, "waiting": []},
        MAINTAINED: {"nodes": {name: {"reason": ""} for name in new}, "waiting": []},
        NEW_PODS: NEW_PODS_RUN,
        "Uncordon": {"nodes": {name: {"failed": False, "unschedulable": False} for name in new}},
    }


def _removals() -> dict[str, t.Any]:
    """Return the results of the tasks that remove the old machines and their nodes."""
    seen = {"needed": True, "joined": True, "server": "lb.cluster.local:6443", "addresses": []}
    drained = {f"{name}-win": {"status": "drained", "cordoned_by": "replace_nodes", "pods": []} for name in _OLD}
    return {
        **{f"{_INSPECT}@{name}": {**seen, "computer_name": f"{name}-win".upper()} for name in _OLD},
        "Cordon and drain": {"changed": True, "nodes": drained},
        "Reset the machine": {"changed": True},
        "Delete the nodes": {"nodes": {f"{name}-win": {"changed": True, "failed": False} for name in _OLD}},
        _DELETE: {"rc": 0, "changed": True},
    }


def _plain() -> Rehearsal:
    """Return a run in which everything succeeds."""
    hosts = _hosts()
    new = {f"{name}-win-g2": member(number) for number, name in enumerate(_OLD, start=31)}
    results = {
        "cluster_info": _nodes(),
        **{f"{_CREATE}@{name}": _machine(name, number) for number, name in enumerate(new, start=31)},
        **joins(new),
        **_removals(),
        "Report": {"nodes": {name: {"status": "replaced", "message": ""} for name in hosts}},
    }
    return Rehearsal("replace_nodes.yml", hosts, results, _VARIABLES)


def _with(run: Rehearsal, results: t.Mapping[str, t.Any], **variables: t.Any) -> Rehearsal:
    """Return a run with other results of modules and other variables."""
    return replace(run, results={**run.results, **results}, variables={**run.variables, **variables})


def _off(run: Rehearsal) -> Rehearsal:
    """Return a run after one that has shut down the old machine. The hooks are tasks."""
    results = {
        "cluster_info": _nodes(old="shutdown"),
        "node_shutdown": LOST,
        "Create a virtual machine": {"stdout": "10.0.0.32"},
    }
    variables = {
        "node_replace_old": "shutdown",
        "node_replace_create_command": [],
        "node_replace_create_tasks": str(_HOOKS / "create_machine.yml"),
        "node_replace_delete_tasks": str(_HOOKS / "delete_machine.yml"),
    }
    return _with(replace(run, hosts={"begun": run.hosts["begun"]}), results, **variables)


def replacements() -> dict[str, Rehearsal]:
    """Return all runs of the playbook."""
    run = _plain()
    quota = {"rc": 3, "stderr": "quota exceeded, password=s3cret"}
    not_drained = {"nodes": {"old-win": {"status": "timeout", "msg": "old-win: not drained after 600 seconds"}}}
    one_fails = {
        "Join the node@begun-win-g2": {"failed": True, "msg": "kubeadm join: no"},
        "Run your own check of the new node": {"rc": 0},
        f"{_DELETE}@old": {"rc": 1, "stderr": "locked"},
    }
    unconfirmed = {name: value for name, value in _VARIABLES.items() if name != "replace_confirmation"}
    return {
        "replace_nodes/plain": run,
        "replace_nodes/check": replace(run, checks=True),
        # One hook fails, and the old node of the other machine is not drained.
        "replace_nodes/trouble": _with(
            run, {f"{_CREATE}@begun-win-g2": quota, "Cordon and drain": not_drained}, node_maintenance_max_failed=9
        ),
        # Two at a time: one machine does not join, and the other one's old machine is not deleted.
        "replace_nodes/surge": _with(
            run,
            one_fails,
            node_replace_delete_command=["rm-vm", "{{ inventory_hostname }}"],
            node_replace_surge="60%",
            node_replace_verify_command=["test-node"],
        ),
        "replace_nodes/off": _off(run),
        "replace_nodes/unconfirmed": replace(_with(run, {"pause": {"user_input": "no"}}), variables=unconfirmed),
        "replace_nodes/refused": _with(run, {}, node_replace_old="none"),
    }
