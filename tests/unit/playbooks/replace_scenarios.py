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


def replacements() -> dict[str, Rehearsal]:
    """Return runs on an old node, one whose replacement has begun, a replaced one, and a machine without a node."""
    hosts = {
        name: {"ansible_host": f"10.0.0.{number}", "kubernetes_node_hostname": f"{name}-win"}
        for number, name in enumerate(("old", "begun", "done", "none"), start=21)
    }
    record = {"name": "begun-win-g2", "generation": _GENERATION, "old": ""}
    nodes = {
        "old_win": member(21, generation="", replacement={}),
        "begun_win": member(22, generation="g1", replacement=record),
        "done_win": member(23, generation=_GENERATION, replacement={}),
    }
    new = {f"{name}-win-g2": member(number) for number, name in enumerate(_OLD, start=31)}
    drained = {f"{name}-win": {"status": "drained", "cordoned_by": "replace_nodes", "pods": []} for name in _OLD}
    token_ids = {name: f"{number:06}" for number, name in enumerate(new)}
    results: dict[str, t.Any] = {
        "cluster_info": cluster(**nodes),
        **{
            f"{_INSPECT}@{name}": {
                "needed": True,
                "joined": True,
                "server": "lb.cluster.local:6443",
                "addresses": [],
                "computer_name": f"{name}-win".upper(),
            }
            for name in _OLD
        },
        f"{_CREATE}@old-win-g2": _machine("old-win-g2", 31),
        f"{_CREATE}@begun-win-g2": _machine("begun-win-g2", 32),
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
        "Cordon and drain": {"changed": True, "nodes": drained},
        "Reset the machine": {"changed": True},
        "Delete the nodes": {"nodes": {f"{name}-win": {"changed": True, "failed": False} for name in _OLD}},
        _DELETE: {"rc": 0, "changed": True},
        "Report": {"nodes": {name: {"status": "replaced", "message": ""} for name in hosts}},
    }
    run = Rehearsal("replace_nodes.yml", hosts, results, _VARIABLES)
    deletes = {**_VARIABLES, "node_replace_delete_command": ["rm-vm", "{{ inventory_hostname }}"]}
    quota = {"rc": 3, "stderr": "quota exceeded, password=s3cret"}
    not_drained = {"nodes": {"old-win": {"status": "timeout", "msg": "old-win: not drained after 600 seconds"}}}
    off = member(22, replacement={**record, "old": "shutdown"})
    unconfirmed = {name: value for name, value in _VARIABLES.items() if name != "replace_confirmation"}
    return {
        "replace_nodes/plain": run,
        "replace_nodes/check": replace(run, checks=True),
        # One hook fails, and the old node of the other machine is not drained.
        "replace_nodes/trouble": replace(
            run,
            results={**results, f"{_CREATE}@begun-win-g2": quota, "Cordon and drain": not_drained},
            variables={**_VARIABLES, "node_maintenance_max_failed": 9},
        ),
        # Two at a time: one machine does not join, and the other one's old machine is not deleted.
        "replace_nodes/surge": replace(
            run,
            results={
                **results,
                "Join the node@begun-win-g2": {"failed": True, "msg": "kubeadm join: no"},
                "Run your own check of the new node": {"rc": 0},
                f"{_DELETE}@old": {"rc": 1, "stderr": "locked"},
            },
            variables={**deletes, "node_replace_surge": "60%", "node_replace_verify_command": ["test-node"]},
        ),
        # An earlier run has shut down the old machine. The hooks are tasks.
        "replace_nodes/off": replace(
            run,
            hosts={"begun": hosts["begun"]},
            results={
                **results,
                "cluster_info": cluster(**{**nodes, "begun_win": off}),
                "node_shutdown": LOST,
                "Create a virtual machine": {"stdout": "10.0.0.32"},
            },
            variables={
                **_VARIABLES,
                "node_replace_old": "shutdown",
                "node_replace_create_command": [],
                "node_replace_create_tasks": str(_HOOKS / "create_machine.yml"),
                "node_replace_delete_tasks": str(_HOOKS / "delete_machine.yml"),
            },
        ),
        "replace_nodes/unconfirmed": replace(
            run, results={**results, "pause": {"user_input": "no"}}, variables=unconfirmed
        ),
        "replace_nodes/refused": replace(run, variables={**_VARIABLES, "node_replace_old": "none"}),
    }
