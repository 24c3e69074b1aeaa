# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The actions of replacements: the report about all hosts, and the shutdown of a machine."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from unit.action_run import Node, run, run_on, variables_of

from ansible_collections.winkube.node.plugins.action import node_shutdown, replace_report
from ansible_collections.winkube.node.plugins.plugin_utils.actions import rollout_report
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError

PLAN = {
    "status": "replace",
    "host": "one",
    "node": "n-one",
    "new": "one-g2",
    "begun": False,
    "old": "",
    "action": "none",
}
DONE = {"stage": "done", "started": 0.0, "finished": 90.0}


def test_a_replacement_is_planned_and_reported_for_all_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    for module in (replace_report, rollout_report):
        monkeypatch.setattr(module, "show", shown.append)
    variables = variables_of(
        {
            "one": {"node_replace_planned": PLAN, "node_maintenance_state": DONE},
            "lost": {},
            # The new machine has the groups of the old one, so the report's play has it, too.
            "one-g2": {"node_maintenance_state": DONE, "ansible_host": "10.0.0.7"},
        }
    )
    planned = run(replace_report, {"stage": "plan"}, variables)
    assert planned["plans"]["one"] == PLAN
    assert [line.split() for line in shown] == [["NODE", "NEW", "BEGUN"], ["one", "one-g2", "no"]]
    shown.clear()
    path = tmp_path / "build" / "replace.json"
    result = run(replace_report, {"path": str(path)}, variables)
    written = json.loads(path.read_text(encoding="utf-8"))["nodes"]
    assert {host: (one["status"], one["address"]) for host, one in written.items()} == {
        "one": ("replaced", "10.0.0.7"),
        "lost": ("failed", ""),
    }
    assert result["inventory"]["remove"] == ["one"]
    assert "1 replaced, 1 failed" in shown


def test_the_machine_of_a_replaced_node_shuts_down(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[t.Any] = []
    monkeypatch.setattr(node_shutdown, "shut_down", ran.append)
    assert run_on(node, node_shutdown, {}, check_mode=True)["changed"] is True
    assert ran == []
    result = run_on(node, node_shutdown, {})
    assert len(ran) == 1
    assert result["changes"][0]["why"] == "its node is replaced"


def test_a_refused_shutdown_fails_the_task(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_node: t.Any) -> None:
        raise NodeError("win1: shut down: Access is denied.(5)")

    monkeypatch.setattr(node_shutdown, "shut_down", fail)
    result = run_on(node, node_shutdown, {})
    assert (result["failed"], result["msg"]) == (True, "win1: shut down: Access is denied.(5)")
