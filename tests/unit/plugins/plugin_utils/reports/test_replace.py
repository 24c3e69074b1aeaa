# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The report about replaced nodes."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.reports import replace

PLAN = {
    "status": "replace",
    "host": "win1",
    "node": "n-win1",
    "new": "win1-g2",
    "begun": False,
    "old": "",
    "action": "reset",
}
DONE = {"stage": "done", "started": 0.0, "finished": 60.0}


def entry(*, check_mode: bool = False, address: str = "10.0.0.7", **results: t.Any) -> dict[str, t.Any]:
    given = {"plan": PLAN, "record": DONE, "new_record": DONE, **results}
    return replace.node_entry(replace.ReplacementResults(address=address, **given), check_mode=check_mode)


def test_a_replaced_node() -> None:
    assert entry() == {
        "node": "n-win1",
        "status": "replaced",
        "message": "",
        "new": "win1-g2",
        "address": "10.0.0.7",
        "new_ready": True,
        "old": "reset",
        "minutes": 2.0,
        "cordoned": False,
    }


@pytest.mark.parametrize(
    ("results", "status", "message"),
    [
        ({"record": {"stage": "waiting"}, "new_record": {}}, "not_started", ""),
        (
            {"record": {"stage": "waiting"}, "new_record": {"stage": "failed", "message": "no quota"}},
            "failed",
            "no quota",
        ),
        ({"record": {"stage": "waiting"}, "new_record": {"stage": "begun"}}, "failed", "ended early"),
        ({"record": {"stage": "failed", "message": "not drained"}}, "failed", "not drained"),
        ({"record": {"stage": "begun"}}, "failed", "ended early"),
        ({"plan": {}, "record": {}}, "failed", "an earlier step failed"),
        ({"plan": {"status": "up_to_date", "node": "a"}, "record": {"stage": "waiting"}}, "up_to_date", ""),
        ({"plan": {"status": "not_a_node", "node": "a"}, "record": {}}, "not_a_node", ""),
    ],
)
def test_other_statuses(results: dict[str, t.Any], status: str, message: str) -> None:
    found = entry(**results)
    assert found["status"] == status
    assert message in found["message"]


def test_a_dry_run_shows_what_would_be_replaced() -> None:
    assert entry(record={"stage": "waiting"}, new_record={}, check_mode=True, address="")["status"] == "to_replace"


def test_the_inventory_needs_the_new_hosts_and_not_the_old_ones() -> None:
    nodes = {
        "win1": entry(),
        # Its new machine is a node already, and the old one is left.
        "win2": entry(record={"stage": "failed"}, plan={**PLAN, "new": "win2-g2"}, address="10.0.0.8"),
        "win3": entry(record={"stage": "waiting"}, new_record={}),
    }
    changes = replace.inventory(nodes)
    assert list(changes["add"]) == ["win1-g2", "win2-g2"]
    assert changes["remove"] == ["win1"]
    assert replace.inventory_lines(changes) == [
        "Add these hosts to your inventory, in the groups of the hosts that they replace:",
        "  win1-g2 ansible_host=10.0.0.7 kubernetes_node_hostname=win1-g2",
        "  win2-g2 ansible_host=10.0.0.8 kubernetes_node_hostname=win2-g2",
        "Remove these hosts from your inventory: win1",
    ]
    assert replace.inventory_lines({"add": {}, "remove": []}) == []


def test_the_tables() -> None:
    header, row = replace.table({"win1": entry()})
    assert header.split() == ["NODE", "NEW", "ADDRESS", "OLD", "MACHINE", "MINUTES", "STATUS"]
    assert row.split() == ["win1", "win1-g2", "10.0.0.7", "reset", "2.0", "replaced"]
    lines = replace.plan_table({"win1": PLAN, "lost": {}}, {"win1": "the name is taken"})
    assert [line.split() for line in lines] == [
        ["NODE", "NEW", "BEGUN"],
        ["win1", "win1-g2", "no", "the", "name", "is", "taken"],
    ]
    assert "nothing is replaced" in replace.plan_table({"lost": {}}, {})[0]
