# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the role node_replace refuses, decides about old machines, and records in annotations."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible.template import Templar
from unit.playbooks.fleet import member
from unit.roles.templates import holds, rendered, task, templar, value

GOOD: dict[str, t.Any] = {
    "inventory_hostname": "win1",
    "node_replace_generation": "2026-11",
    "node_replace_create_command": ["make-vm"],
}
LOST = {"unreachable": True, "msg": "no route to host"}
PLAN = {
    "status": "replace",
    "host": "win1",
    "node": "n-win1",
    "new": "win1-b",
    "begun": False,
    "old": "",
    "problem": "",
}


def known(**variables: t.Any) -> Templar:
    return templar(["node_maintenance", "node_reset", "node_replace"], {**GOOD, "hostvars": {}, **variables})


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({}, ""),
        ({"node_replace_surge": "25%", "node_replace_delete_tasks": "/x.yml", "node_replace_old": "none"}, ""),
        ({"node_replace_generation": ""}, "node_replace_generation: expected the name"),
        ({"node_replace_generation": "New Image"}, "node_replace_generation: expected the name"),
        ({"node_replace_create_command": []}, "expected exactly one of them, to create the new machine, got nothing"),
        ({"node_replace_create_tasks": "/x.yml"}, "got 'node_replace_create_command and node_replace_create_tasks'"),
        ({"node_replace_delete_command": ["x"], "node_replace_delete_tasks": "/x"}, "expected at most one of them"),
        ({"node_replace_surge": 0}, "node_replace_surge: expected a number of machines, 1 or more"),
        ({"node_replace_old": "none"}, "node_replace_old: expected reset or shutdown"),
        ({"ansible_limit": "win1"}, "--limit: expected no limit, got 'win1'"),
    ],
)
def test_variables_that_are_refused_before_any_machine_is_contacted(variables: dict[str, t.Any], text: str) -> None:
    problem = value(known(**variables), "node_replace_problem")
    if text:
        assert problem.startswith("win1: ")
        assert text in problem
        assert problem.endswith("No machine was contacted.")
    else:
        assert problem == ""


@pytest.mark.parametrize(
    ("variables", "action"),
    [
        ({}, "reset"),
        ({"node_replace_delete_command": ["rm-vm"]}, "none"),
        ({"node_replace_delete_tasks": "/x.yml"}, "none"),
        ({"node_replace_delete_command": ["rm-vm"], "node_replace_old": "reset"}, "reset"),
        ({"node_replace_old": "shutdown"}, "shutdown"),
    ],
)
def test_old_machines_are_reset_unless_a_hook_deletes_them(variables: dict[str, t.Any], action: str) -> None:
    assert value(known(**variables), "node_replace_old_action") == action


def planned(own: dict[str, t.Any], **variables: t.Any) -> Templar:
    """Return a host whose node is `n-win1`, with a plan as the role records it."""
    cluster = {"nodes": {"n-win1": {"generation": "", "replacement": {}, **member(21), **own}}}
    more = {
        "kubernetes_node_hostname": "n-win1",
        "ansible_host": "10.0.0.21",
        "node_reset_cluster": cluster,
        **variables,
    }
    plan = value(known(**more), "node_replace_plan")
    hosts = {"win1": {"node_replace_planned": plan}, "win2": {"node_replace_planned": {"host": "win2", "new": "b-win"}}}
    groups = {"all": ["win1", "win2", "taken"]}
    return known(
        hostvars=hosts,
        groups=groups,
        ansible_play_hosts=["win1", "win2"],
        node_reset_node_name="n-win1",
        **more,
    )


@pytest.mark.parametrize(
    ("own", "variables", "contacted", "text"),
    [
        ({}, {}, True, ""),
        # The role node_reset compares the addresses of a machine that is contacted with those that it reports.
        ({"addresses": ["10.0.0.99"]}, {}, True, ""),
        ({"addresses": ["10.0.0.99"]}, {"node_replace_old": "shutdown"}, False, "expected one of 10.0.0.21"),
        ({"generation": "2026-11"}, {}, False, ""),
        ({"replacement": {"name": "n-win1-2026-11", "generation": "2026-11", "old": "reset"}}, {}, False, ""),
        ({}, {"node_replace_name": "taken"}, True, "expected one that no host of the inventory has, got taken"),
        ({}, {"node_replace_name": "b-win"}, True, "got b-win for win1, win2"),
    ],
)
def test_which_machines_are_contacted_and_which_nodes_are_refused(
    own: dict[str, t.Any], variables: dict[str, t.Any], contacted: bool, text: str
) -> None:
    found = planned(own, **variables)
    assert value(found, "node_replace_is_contacted") is contacted
    problem = value(found, "node_replace_plan_problem")
    assert (text in problem) if text else problem == ""


@pytest.mark.parametrize(
    ("plan", "seen", "resumed"),
    [
        ({}, {}, False),
        ({"begun": True}, {}, True),
        ({}, {"ours": True}, True),
        # The user has excluded a node that an earlier run cordoned.
        ({"status": "up_to_date", "new": ""}, {"ours": True}, False),
    ],
)
def test_replacements_that_have_begun_come_first(plan: dict[str, t.Any], seen: dict[str, t.Any], resumed: bool) -> None:
    found = known(node_replace_planned={**PLAN, **plan}, node_maintenance_state={"stage": "waiting", "seen": seen})
    assert value(found, "node_replace_is_resumed") is resumed


def test_a_new_machine_belongs_to_the_ring_of_the_old_one() -> None:
    old = {"stage": "waiting", "host": "win1", "ring": "b", "ring_place": 1, "ours": True, "cordoned": True}
    found = known(
        inventory_hostname="win1-b", winkube_replaces_host="win1", hostvars={"win1": {"node_maintenance_state": old}}
    )
    record = value(found, "node_replace_new_record")
    assert (record["host"], record["ring"], record["ring_place"], record["ours"]) == ("win1-b", "b", 1, True)
    assert (record["stage"], record["work"], record["cordoned"]) == ("waiting", True, False)


def created(hosts: dict[str, t.Any], *batch: str, **variables: t.Any) -> dict[str, t.Any]:
    """Return what the first host of a batch reads from the answers of the hook."""
    known_hosts = {"win1": {"ansible_host": "10.0.0.21"}, **hosts}
    found = known(
        inventory_hostname=batch[0],
        groups={"all": list(known_hosts)},
        hostvars=known_hosts,
        ansible_play_batch=list(batch),
        **variables,
    )
    machine: dict[str, t.Any] = value(found, "node_replace_machine")
    return machine


def printed(address: str) -> dict[str, t.Any]:
    return {"node_replace_command_result": {"rc": 0, "stdout": json.dumps({"address": address})}}


def test_the_hook_of_tasks_returns_the_same_document() -> None:
    hosts = {"win1-b": {"node_replace_created": {"name": "win1-b", "address": "10.0.0.31"}}}
    found = created(hosts, "win1-b", node_replace_create_command=[])
    assert found == {"variables": {"ansible_host": "10.0.0.31"}, "problem": ""}


def test_the_old_machines_address_is_refused() -> None:
    assert "win1 has this address" in created({"win1-b": printed("10.0.0.21")}, "win1-b")["problem"]


def test_two_new_machines_cannot_have_the_same_address() -> None:
    # No host has its ansible_host yet.
    hosts = {
        "a-b": printed("10.0.0.31"),
        "b-b": printed("10.0.0.31"),
        "c-b": {"node_replace_command_result": {"rc": 1}},
    }
    assert "b-b has this address" in created(hosts, "a-b", "b-b", "c-b")["problem"]
    assert "a-b has this address" in created(hosts, "b-b", "a-b", "c-b")["problem"]
    assert created({**hosts, "b-b": printed("10.0.0.32")}, "a-b", "b-b", "c-b")["problem"] == ""


@pytest.mark.parametrize(
    ("result", "old", "ready", "why"),
    [
        ({"changed": True}, "", True, ""),
        (LOST, "", False, "node_replace_old: none"),
        # An earlier run has requested the shutdown.
        (LOST, "shutdown", False, ""),
        # Or it did not reach the machine, which still runs.
        (LOST, "shutdown", True, "its node was still Ready"),
        ({"skipped": True}, "", True, ""),
    ],
)
def test_a_machine_that_is_off_already_need_not_be_reached(
    result: dict[str, t.Any], old: str, ready: bool, why: str
) -> None:
    cluster = {"nodes": {PLAN["node"]: {"ready": ready}}}
    found = known(node_replace_shut_down=result, node_replace_planned={**PLAN, "old": old}, node_reset_cluster=cluster)
    failure = task("node_replace", "leave.yml", "Fail if the machine was not shut down")
    assert holds(found, failure["when"]) is bool(why)
    if why:
        text = rendered(found, failure["ansible.builtin.fail"]["msg"])
        assert "no route to host" in text
        assert why.lower() in text.lower()


@pytest.mark.parametrize(("stage", "ready"), [("done", True), ("failed", False), ("worked", False), (None, False)])
def test_a_node_leaves_only_when_its_new_machine_is_ready(stage: str | None, ready: bool) -> None:
    hosts = {"win1-b": {"node_maintenance_state": {"stage": stage}} if stage else {}}
    found = known(node_replace_planned=PLAN, hostvars=hosts)
    assert value(found, "node_replace_new_is_ready") is ready
    keep = task("node_replace", "keep.yml", "Keep the node if its new machine is not ready")
    assert holds(found, keep["when"]) is not ready


def test_only_nodes_with_nothing_left_to_do_are_deleted() -> None:
    facts = {"node_replace_planned": PLAN, "node_replace_addresses": ["10.0.0.21"]}
    hosts = {
        "win1": {**facts, "node_replace_left": True},
        "win2": {**facts, "node_replace_planned": {**PLAN, "node": "x"}},
    }
    found = known(hostvars=hosts, ansible_play_batch=["win1", "win2"])
    assert value(found, "node_replace_nodes_to_delete") == {"n-win1": ["10.0.0.21"]}


def test_the_record_keeps_what_was_done_to_the_old_machine() -> None:
    hosts = {
        "win1": {"node_replace_planned": {**PLAN, "old": "reset"}, "node_replace_old_done": "shutdown"},
        "win1-b": {"winkube_replaces_host": "win1"},
    }
    found = known(hostvars=hosts, ansible_play_batch=["win1-b"])
    (record,) = value(found, "node_replace_records").values()
    text = record["annotations"]["winkube.node/replaced-by"]
    assert json.loads(text) == {"name": "win1-b", "generation": "2026-11", "old": "reset"}
    found = known(hostvars=hosts, ansible_play_batch=["win1"])
    (record,) = value(found, "node_replace_old_records").values()
    assert json.loads(record["annotations"]["winkube.node/replaced-by"])["old"] == "shutdown"


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ({"rc": 0}, ""),
        ({"rc": 1, "stderr": "no answer"}, "node_replace_verify_command ended with 1: no answer"),
        ({"failed": True, "msg": "No such file"}, "node_replace_verify_command did not end: No such file"),
    ],
)
def test_a_new_node_must_pass_the_users_check(result: dict[str, t.Any], problem: str) -> None:
    found = known(node_replace_verify_result=result, node_replace_verify_command=["test-node"])
    assert value(found, "node_replace_verify_problem") == problem
    failure = task("node_replace", "verify.yml", "Fail if your check did not succeed")
    assert holds(found, failure["when"]) is bool(problem)
