# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the role node_upgrade refuses, and what it does if a node cannot be reached."""

from __future__ import annotations

import typing as t

import pytest
from unit.roles.templates import holds, rendered, task, templar

PLAN = {"before": "1.36.3", "after": "1.37.1", "steps": ["1.37.1"], "problem": ""}
LOST = {"unreachable": True, "msg": "the connection is lost"}


@pytest.mark.parametrize(
    ("plan", "drains", "text"),
    [
        (PLAN, True, ""),
        (PLAN, "yes", ""),
        ({}, False, ""),
        (PLAN, False, "one: node_maintenance_drain: expected true for an upgrade, got false"),
        (PLAN, "no", "one: node_maintenance_drain: expected true for an upgrade, got false"),
        ({**PLAN, "problem": "too old"}, True, "one: too old. No node was changed."),
    ],
)
def test_upgrades_that_are_refused(plan: dict[str, t.Any], drains: object, text: str) -> None:
    run = {"inventory_hostname": "one", "node_upgrade_plan": plan, "node_maintenance_drain": drains}
    found = str(rendered(templar(["node_upgrade"], run), "{{ node_upgrade_problem }}"))
    assert (text in found) if text else found == ""


@pytest.mark.parametrize(
    ("results", "runs"),
    [
        ({"node_upgrade_kubeadm": {"changed": True}, "node_upgrade_converged": {"changed": True}}, True),
        ({"node_upgrade_kubeadm": {"skipped": True}, "node_upgrade_converged": {"changed": True}}, True),
        ({"node_upgrade_kubeadm": {"changed": True}, "node_upgrade_converged": LOST}, False),
        ({"node_upgrade_kubeadm": LOST, "node_upgrade_converged": {"skipped": True}}, False),
    ],
)
def test_pods_are_not_replaced_on_a_node_that_is_unreachable(results: dict[str, t.Any], runs: bool) -> None:
    condition = task(
        "node_upgrade", "upgrade.yml", "Replace the pods of the network and kube-proxy that are out of date"
    )
    assert holds(templar(["node_upgrade"], results), condition["when"]) is runs
