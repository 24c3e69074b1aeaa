# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The actions of upgrades: kubeadm on a node, and the report about all hosts."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from unit.action_run import Node, run, run_on, variables_of

from ansible_collections.winkube.node.plugins.action import kubeadm_upgrade, upgrade_report
from ansible_collections.winkube.node.plugins.plugin_utils.actions import rollout_report
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError


def test_an_upgrade_is_planned_and_reported_for_all_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    for module in (upgrade_report, rollout_report):
        monkeypatch.setattr(module, "show", shown.append)
    plan = {"before": "1.35.4", "after": "1.36.3", "steps": ["1.36.3"], "problem": ""}
    record = {"host": "one", "node": "n-one", "stage": "done", "started": 0.0, "finished": 90.0, "found": plan}
    variables = variables_of(
        {
            "one": {"node_upgrade_planned": plan, "node_maintenance_state": record},
            "two": {"node_upgrade_planned": {}, "node_maintenance_state": {}},
            "lost": {},
        }
    )
    planned = run(upgrade_report, {"stage": "plan"}, variables)
    assert planned["plans"] == {"one": plan, "two": {}, "lost": {}}
    assert [line.split() for line in shown] == [["NODE", "NOW", "THEN", "STEPS"], ["one", "1.35.4", "1.36.3", "1.36.3"]]
    shown.clear()
    path = tmp_path / "build" / "upgrade.json"
    result = run(upgrade_report, {"path": str(path)}, variables)
    written = json.loads(path.read_text(encoding="utf-8"))["nodes"]
    assert {host: entry["status"] for host, entry in written.items()} == {
        "one": "upgraded",
        "two": "not_a_node",
        "lost": "failed",
    }
    assert result["nodes"] == written
    assert shown[-1] == "1 upgraded, 1 failed, 1 not_a_node"


def test_kubeadm_runs_for_the_steps_of_a_node(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[t.Any, ...]] = []
    monkeypatch.setattr(kubeadm_upgrade, "upgrade_node", lambda _node, *arguments: ran.append(arguments))
    options = {"steps": ["1.36.3", "1.37.1"], "end_processes": ["kube-proxy"], "kubeadm_timeout": 60}
    result = run_on(node, kubeadm_upgrade, options)
    assert ran == [(["1.36.3", "1.37.1"], 60, ["kube-proxy"])]
    assert result["changed"] is True
    assert [change["why"] for change in result["changes"]] == [
        "kubeadm upgrade node of 1.36.3",
        "kubeadm upgrade node of 1.37.1",
    ]


def test_nothing_runs_in_check_mode(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubeadm_upgrade, "upgrade_node", lambda *_: pytest.fail("kubeadm ran"))
    assert run_on(node, kubeadm_upgrade, {"steps": ["1.37.1"]}, check_mode=True)["changed"] is True
    assert run_on(node, kubeadm_upgrade, {"steps": []})["changed"] is False
    assert node.remote_commands == 0


def test_a_step_that_failed_fails_the_task(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: t.Any) -> None:
        raise NodeError("win1: kubeadm upgrade node of 1.37.1: no")

    monkeypatch.setattr(kubeadm_upgrade, "upgrade_node", fail)
    result = run_on(node, kubeadm_upgrade, {"steps": ["1.37.1"]})
    assert (result["failed"], result["msg"]) == (True, "win1: kubeadm upgrade node of 1.37.1: no")
