# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rehearsed runs of verify_image.yml."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from pathlib import Path

from unit.playbooks.fleet import KUBECONFIG, LOST, cluster, facts, member
from unit.playbooks.rehearsal import Rehearsal
from unit.playbooks.replace_scenarios import joins

_HOOKS = Path(__file__).with_name("hooks")
_NAME, _RELEASE = "verify-1a2b3c4d", "20261126.1a2b3c4d"
_PLAN = {"name": _NAME, "release": _RELEASE, "host": "builder", "runtime": "containerd"}
_PLAN |= {"summary": "Windows", "started": "20261126T010203Z"}
_VARIABLES = {
    **KUBECONFIG,
    "kube_version": "1.36.3",
    "container_runtime": "containerd",
    "verify_image_release_notes": "/site/builder.json",
    "verify_image_create_command": ["make-vm", "{{ inventory_hostname }}", "{{ verify_image_plan.release }}"],
    "verify_image_delete_command": ["rm-vm", "{{ inventory_hostname }}"],
}
_E2E = {
    "verify_image_e2e_test": "/site/e2e.test",
    "verify_image_tests_dir": "/site/tests",
    "verify_image_e2e_repo_list": "/site/repos",
    "verify_image_e2e_arguments": ["--num-nodes=1"],
}
_FAILED = {"image_verification_report": {"problem": "1 check failed", "page": "build/image-verification.html"}}


def _plain() -> Rehearsal:
    """Return a run in which everything succeeds."""
    machine = {"rc": 0, "changed": True, "stdout": json.dumps({"address": "10.0.0.31"})}
    deleted = {"nodes": {_NAME: {"changed": True, "failed": False}}}
    results: dict[str, t.Any] = {
        "image_verification_plan": _PLAN,
        "cluster_info": cluster(),
        "Create the machine": machine,
        **joins({_NAME: {**member(31), "internal_ip": "10.1.0.31"}}),
        "image_verification": {"checks": [{"status": "passed"}]},
        "Delete the machine": {"rc": 0},
        "nodes_delete": deleted,
        "image_verification_report": {"problem": "", "page": "build/image-verification.html"},
    }
    return Rehearsal("verify_image.yml", {"win1": {}}, results, _VARIABLES)


def _with(run: Rehearsal, results: t.Mapping[str, t.Any], **variables: t.Any) -> Rehearsal:
    return replace(run, results={**run.results, **_FAILED, **results}, variables={**run.variables, **variables})


def verifications() -> dict[str, Rehearsal]:
    """Return all runs of the playbook."""
    run = _plain()
    return {
        "verify_image/plain": run,
        "verify_image/check": replace(run, checks=True),
        # With downloads, and Kubernetes' tests, of which some fail.
        "verify_image/tests": _with(
            run,
            {
                "Run e2e.test": {"rc": 1, "stdout": "1 failed", "stderr": ""},
            },
            **_E2E,
            artifact_mirror="http://mirror.example",
            verify_image_offline=False,
            verify_image_max_fill_percent=80,
        ),
        # The machine is deleted in each of these cases, but it is kept in the last one.
        "verify_image/not-created": _with(run, {"Create the machine": {"rc": 3, "stderr": "quota, password=s3cret"}}),
        # This task fails all hosts of a play.
        "verify_image/unsupported": _with(
            run, {f"join_info@{_NAME}": facts(_NAME, unsupported_windows="expected Windows Server 2019 or newer")}
        ),
        # The hosts to which a task of the hook and the deletion of the node are delegated.
        "verify_image/unreachable": _with(
            run,
            {"Create a virtual machine": LOST, "nodes_delete": LOST},
            verify_image_create_command=[],
            verify_image_create_tasks=str(_HOOKS / "create_machine.yml"),
            node_join_delegate="cp1",
        ),
        "verify_image/not-deleted": _with(
            run,
            {"Delete a virtual machine": LOST},
            verify_image_delete_command=[],
            verify_image_delete_tasks=str(_HOOKS / "delete_machine.yml"),
        ),
        # This task fails all hosts of a play.
        "verify_image/no-cluster": _with(run, {"cluster_info": [cluster(), LOST]}),
        "verify_image/lost": _with(run, {"Converge the node": LOST}),
        "verify_image/not-compared": _with(run, {"image_verification": LOST, "Delete the machine": {"rc": 1}}),
        "verify_image/kept": _with(run, {"Join the node": {"failed": True, "msg": "no"}}, verify_image_keep=True),
    }
