# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""When the role node_maintenance continues and stops, and the arguments of its modules."""

from __future__ import annotations

import typing as t

import pytest
from ansible.template import Templar
from unit.roles.templates import holds, rendered, task, templar, value

NOTES = {"host": "one", "node": "n-one", "stage": "worked", "work": True, "cordoned": False, "rebooted": True}


def known(**variables: t.Any) -> Templar:
    """Return what templates see on the host `one`, whose node is `n-one`."""
    fleet = {"one": {"node_maintenance_state": NOTES}}
    run = {"inventory_hostname": "one", "hostvars": fleet, "ansible_play_batch": ["one"], "ansible_check_mode": False}
    return templar(["node_maintenance"], {**run, "node_maintenance_state": NOTES, **variables})


@pytest.mark.parametrize(
    ("failed", "limit", "dry", "stops"),
    [(0, 0, False, False), (1, 0, False, True), (1, 1, False, False), (2, 1, False, True), (0, 0, True, True)],
)
def test_a_rollout_stops_when_more_nodes_have_failed_than_are_allowed(
    failed: int, limit: int, dry: bool, stops: bool
) -> None:
    found = known(
        node_maintenance_failed=[f"n{number}" for number in range(failed)],
        node_maintenance_max_failed=limit,
        ansible_check_mode=dry,
    )
    assert (
        holds(
            found,
            task("node_maintenance", "check_limit.yml", "Stop the rollout when too many nodes have failed")["when"],
        )
        is stops
    )


@pytest.mark.parametrize(("grace_period", "argument"), [(-1, "left out"), (0, 0), (30, 30), ("0", "0")])
def test_pods_get_their_own_grace_period_unless_another_one_is_given(grace_period: object, argument: object) -> None:
    arguments = task("node_maintenance", "drain.yml", "Cordon and drain")["winkube.node.nodes_drain"]
    found = known(node_maintenance_grace_period=grace_period)
    # The same text, with a visible value in place of the one that omits the argument.
    text = arguments["grace_period"].replace("omit", "'left out'")
    assert rendered(found, text) == argument


@pytest.mark.parametrize(
    ("drained", "stops"),
    [
        ({"nodes": {"n-one": {"status": "drained"}}}, False),
        ({"nodes": {"n-one": {"status": "timeout"}}}, True),
        ({"nodes": {"n-one": {"status": "refused"}}}, True),
        ({"nodes": {"other": {"status": "drained"}}}, True),
        ({"msg": "no cluster"}, True),
    ],
)
def test_nothing_is_done_on_a_node_that_is_not_drained(drained: dict[str, t.Any], stops: bool) -> None:
    stop = task("node_maintenance", "drain.yml", "Fail if the node is not drained")["when"]
    found = {"node_maintenance_drained": drained, "node_maintenance_drain": True}
    assert holds(known(**found), stop) is stops
    assert not holds(known(**{**found, "node_maintenance_drain": False}), stop)
    assert not holds(known(**found, node_maintenance_state={**NOTES, "work": False}), stop)


def test_only_nodes_that_were_rebooted_have_to_report_again() -> None:
    arguments = task(
        "node_maintenance", "restore.yml", "Wait until the nodes and their HostProcess DaemonSets are ready"
    )
    fleet = {
        "one": NOTES,
        "two": {**NOTES, "node": "n-two", "rebooted": False},
        "three": {"node": "n-three", "stage": "begun"},
    }
    before = {name: {"boot_id": f"boot of {name}"} for name in ("n-one", "n-two", "n-three")}
    found = known(
        hostvars={host: {"node_maintenance_state": notes} for host, notes in fleet.items()},
        ansible_play_batch=list(fleet),
        node_maintenance_drained={"nodes": before},
    )
    waits = arguments["winkube.node.nodes_ready"]
    assert rendered(found, waits["before"]) == {"n-one": before["n-one"]}
    assert rendered(found, waits["nodes"]) == ["n-one", "n-two"]


def test_cordons_are_lifted_for_the_owner_that_made_them() -> None:
    begin = task("node_maintenance", "drain.yml", "Cordon and drain")["winkube.node.nodes_drain"]
    end = task("node_maintenance", "restore.yml", "Uncordon")["winkube.node.nodes_uncordon"]
    found = known(node_maintenance_owner="patch_nodes")
    assert rendered(found, begin["owner"]) == rendered(found, end["owner"]) == "patch_nodes"


@pytest.mark.parametrize(
    ("answer", "stops"),
    [
        ({"nodes": {"n-one": {"failed": False}}}, False),
        ({"nodes": {"n-one": {"failed": True}}}, True),
        ({"nodes": {"n-one": {}}}, True),
        ({"nodes": {"other": {"failed": False}}}, True),
        ({"nodes": {}}, True),
    ],
)
def test_a_node_without_a_reported_uncordon_is_a_failure(answer: dict[str, t.Any], stops: bool) -> None:
    stop = task("node_maintenance", "restore.yml", "Fail if the node is not uncordoned")["when"]
    found = {"node_maintenance_uncordoned": answer, "node_maintenance_drain": True}
    assert holds(known(**found), stop) is stops
    assert not holds(known(**{**found, "node_maintenance_drain": False}), stop)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("drained", "by_this_run"),
    [
        ({"nodes": {"n-one": {"cordoned_by": "patch_nodes on here since noon"}}}, True),
        ({"nodes": {"n-one": {"cordoned_by": ""}}}, False),
        ({"nodes": {}}, False),
    ],
)
def test_the_notes_of_a_failed_node_state_whether_it_is_cordoned(
    before: bool, drained: dict[str, t.Any], by_this_run: bool
) -> None:
    notes = task("node_maintenance", "mark_failed.yml")["ansible.builtin.set_fact"]["node_maintenance_state"]
    found = known(
        node_maintenance_state={**NOTES, "cordoned": before},
        node_maintenance_drained=drained,
        ansible_failed_result={"msg": "broken"},
    )
    state = rendered(found, notes)
    assert (state["stage"], state["message"]) == ("failed", "broken")
    assert state["cordoned"] is (before or by_this_run)


@pytest.mark.parametrize(
    ("no_log", "result", "message"),
    [
        (False, {"msg": "broken"}, "broken"),
        (False, {}, "an earlier step failed; see the output"),
        (True, {"msg": "s3cret"}, "the task's message is hidden (no_log)"),
        # Ansible records in the result whether a template hides it, or an item of a loop.
        ("{{ hides }}", {"msg": "broken", "_ansible_no_log": False}, "broken"),
        (False, {"msg": "s3cret", "_ansible_no_log": True}, "the task's message is hidden (no_log)"),
    ],
)
def test_a_failure_does_not_contain_hidden_messages(no_log: object, result: dict[str, t.Any], message: str) -> None:
    # The arguments of the task cannot be templated any more.
    failed = {"name": "x", "no_log": no_log, "args": {"msg": "{{ item }}"}}
    found = known(ansible_failed_task=failed, ansible_failed_result=result)
    assert value(found, "node_maintenance_failure") == message


def test_nodes_of_earlier_rings_are_checked_unless_they_failed_or_were_replaced() -> None:
    about = {
        "old": {"stage": "done", "ring": "1", "started": 1.0, "deleted": True},
        "new": {"stage": "done", "ring": "1", "started": 1.0},
        "bad": {"stage": "failed", "ring": "1", "started": 1.0},
        "next": {"stage": "waiting", "ring": "2"},
    }
    hosts = {
        host: {"node_maintenance_state": {"host": host, "node": f"n-{host}", **one}} for host, one in about.items()
    }
    run = {"hostvars": hosts, "ansible_play_hosts_all": list(hosts), "ansible_play_batch": ["next"]}
    found = templar(["node_maintenance"], {**run, **hosts["next"]})
    assert value(found, "node_maintenance_earlier_nodes") == ["n-new"]


ZONE = "topology.kubernetes.io/zone"
LABELS: dict[str, dict[str, str]] = {"n-one": {ZONE: "b"}, "n-two": {ZONE: "a"}, "n-three": {}}


def of_rings(name: str, host: str, *, seen: bool, label: str = ZONE) -> t.Any:
    """Return a variable of one of three hosts whose nodes were read by cluster_info (`seen`) or by nodes_drain."""
    states: dict[str, dict[str, t.Any]] = {}
    for node, labels in LABELS.items():
        record: dict[str, t.Any] = {"host": node[2:], "node": node, "stage": "waiting"}
        states[node[2:]] = {**record, **({"seen": {"labels": labels}} if seen else {})}
    inspected = {"nodes": {node: {"labels": labels} for node, labels in LABELS.items()}}
    found = known(
        inventory_hostname=host,
        hostvars={name: {"node_maintenance_state": state} for name, state in states.items()},
        ansible_play_hosts_all=list(states),
        node_maintenance_state=states[host],
        node_maintenance_ring_label=label,
        node_maintenance_ring_order=["b"],
        **({} if seen else {"node_maintenance_inspected": inspected}),
    )
    return value(found, name)


@pytest.mark.parametrize("seen", [True, False])
def test_the_label_of_a_ring_is_read_from_either_view_of_the_cluster(seen: bool) -> None:
    hosts = ("one", "two", "three")
    fields = [of_rings("node_maintenance_ring_fields", host, seen=seen) for host in hosts]
    assert fields == [{"ring": "b"}, {"ring": "a", "ring_place": 1}, {"ring": "", "ring_place": 2}]
    assert of_rings("node_maintenance_ring_problem", "one", seen=seen) == ""
    problem = of_rings("node_maintenance_ring_problem", "one", seen=seen, label="site")
    assert "None of the 3 nodes has it" in problem
