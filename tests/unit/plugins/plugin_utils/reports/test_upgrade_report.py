# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The table and the document of an upgrade."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.reports import upgrade

PLAN = {"before": "1.35.4", "after": "1.37.1", "steps": ["1.36.3", "1.37.1"]}
RECORD = {"node": "n-one", "stage": "waiting", "work": True}
KUBELET = {"type": "Archive", "name": "C:\\k", "why": "path differs", "disruption": "restarts kubelet"}


def entry(*, check_mode: bool = False, **results: t.Any) -> dict[str, t.Any]:
    """Return the entry of a host with these results."""
    empty = {"plan": PLAN, "record": {}, "staged": {}, "converged": {}, "patches": {}}
    return upgrade.node_entry(upgrade.HostResults(**{**empty, **results}), check_mode=check_mode)


@pytest.mark.parametrize(
    ("record", "check_mode", "status"),
    [
        ({**RECORD, "stage": "done"}, False, "upgraded"),
        (RECORD, True, "to_upgrade"),
        (RECORD, False, "not_started"),
        ({**RECORD, "work": False}, False, "up_to_date"),
        ({**RECORD, "work": False, "ours": True}, False, "not_started"),
        ({**RECORD, "stage": "failed", "message": "why"}, False, "failed"),
        ({**RECORD, "stage": "begun"}, False, "failed"),
        ({}, False, "failed"),
    ],
)
def test_the_status_of_a_node(record: dict[str, t.Any], check_mode: bool, status: str) -> None:
    assert entry(record=record, check_mode=check_mode)["status"] == status


def test_a_machine_that_has_not_joined_is_no_node() -> None:
    assert entry(plan={})["status"] == "not_a_node"
    # A host that could not be reached was never planned.
    assert entry(plan=None)["status"] == "failed"


@pytest.mark.parametrize(
    ("staged", "patches", "reboot"),
    [
        ({"deferred": [KUBELET]}, {}, "no"),
        ({"deferred": [KUBELET], "reboot_required": True}, {}, "yes"),
        ({"deferred": [{**KUBELET, "disruption": "reboots the node"}]}, {}, "yes"),
        ({"deferred": [{**KUBELET, "disruption": "may reboot the node"}]}, {}, "maybe"),
        ({}, {"changed": True}, "maybe"),
    ],
)
def test_a_plan_shows_whether_the_node_reboots(
    staged: dict[str, t.Any], patches: dict[str, t.Any], reboot: str
) -> None:
    assert entry(record=RECORD, staged=staged, patches=patches, check_mode=True)["reboot"] == reboot


@pytest.mark.parametrize(
    ("converged", "patches", "reboot"), [({}, {}, "no"), ({"rebooted": True}, {}, "yes"), ({}, {"reboots": 2}, "yes")]
)
def test_a_result_shows_whether_the_node_has_rebooted(
    converged: dict[str, t.Any], patches: dict[str, t.Any], reboot: str
) -> None:
    done = {**RECORD, "stage": "done"}
    assert entry(record=done, converged=converged, patches=patches)["reboot"] == reboot


def test_the_table_has_a_row_for_each_node() -> None:
    failed = {**RECORD, "stage": "failed", "message": "no\nmore", "cordoned": True, "started": 10.0, "finished": 70.0}
    lines = upgrade.table({"one": entry(record=failed), "two": entry(record=RECORD, check_mode=True)})
    assert [line.split() for line in lines] == [
        ["NODE", "NOW", "THEN", "STEPS", "REBOOT", "MINUTES", "STATUS"],
        ["one", "1.35.4", "1.37.1", "1.36.3", "->", "1.37.1", "no", "1.0", "failed,", "cordoned", "no"],
        ["two", "1.35.4", "1.37.1", "1.36.3", "->", "1.37.1", "no", "to_upgrade"],
    ]


def test_the_plan_is_shown_for_nodes_only() -> None:
    lines = upgrade.plan_table({"one": PLAN, "two": {}, "three": {**PLAN, "steps": []}})
    assert [line.split() for line in lines] == [
        ["NODE", "NOW", "THEN", "STEPS"],
        ["one", "1.35.4", "1.37.1", "1.36.3", "->", "1.37.1"],
        ["three", "1.35.4", "1.37.1", "none"],
    ]
    assert upgrade.plan_table({"two": {}}) == []
