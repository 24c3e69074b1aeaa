# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""When a rollout works on nodes: maintenance windows, rings, and the time between rings."""

from __future__ import annotations

import datetime
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import maintenance, rings, rollout_times
from ansible_collections.winkube.node.plugins.plugin_utils.preflight.variables import rollout_problems
from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions.node_maintenance import gate_problem


def moment(text: str) -> datetime.datetime:
    """Return a time of the week of 23 November 2026, such as `Sun 01:30`, in UTC."""
    day, _, clock = text.partition(" ")
    date = 23 + rollout_times.DAYS.index(day.lower())
    hour, minute = (int(part) for part in clock.split(":"))
    return datetime.datetime(2026, 11, date, hour, minute, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("windows", "now", "is_open"),
    [
        ([], "Wed 12:00", True),
        (["01:00-05:00"], "Wed 01:00", True),
        (["01:00-05:00"], "Wed 04:59", True),
        (["01:00-05:00"], "Wed 05:00", False),
        (["01:00-05:00"], "Wed 00:59", False),
        (["Sat,Sun 22:00-04:00"], "Sat 22:00", True),
        (["Sat,Sun 22:00-04:00"], "Sun 03:59", True),
        (["Sat,Sun 22:00-04:00"], "Mon 03:59", True),
        (["Sat,Sun 22:00-04:00"], "Sat 03:59", False),
        (["Mon-Fri 01:00-05:00"], "Fri 02:00", True),
        (["Mon-Fri 01:00-05:00"], "Sat 02:00", False),
        (["Fri-Mon 00:00-24:00"], "Sun 23:59", True),
        (["Fri-Mon 00:00-24:00"], "Tue 00:00", False),
        (["Tue 01:00-02:00", "Wed 01:00-02:00"], "Wed 01:30", True),
    ],
)
def test_work_begins_in_a_window_only(windows: list[str], now: str, is_open: bool) -> None:
    assert (rollout_times.closed(windows, "UTC", moment(now)) == "") is is_open


def test_windows_are_in_their_time_zone() -> None:
    assert rollout_times.closed(["Sun 00:00-01:00"], "Europe/Berlin", moment("Sat 23:30")) == ""
    assert rollout_times.closed(["Sun 00:00-01:00"], "UTC", moment("Sat 23:30")) == (
        "Sat 23:30 (UTC) is outside the maintenance windows: Sun 00:00-01:00"
    )


@pytest.mark.parametrize("text", ["", "night", "Sam 22:00-04:00", "22:00", "22:61-23:00", "25:00-26:00", "24:00-01:00"])
def test_malformed_windows_are_refused_before_any_node_is_touched(text: str) -> None:
    (problem,) = rollout_problems({"node_maintenance_windows": ["01:00-02:00", text]})
    assert problem.variable == "node_maintenance_windows[1]"
    assert "DAYS HH:MM-HH:MM" in problem.expected


def test_an_unknown_time_zone_is_refused() -> None:
    (problem,) = rollout_problems({"node_maintenance_time_zone": "Mars/Olympus"})
    assert "Europe/Berlin" in problem.expected
    assert rollout_problems({"node_maintenance_time_zone": "Europe/Berlin"}) == []


@pytest.mark.parametrize(
    ("names", "serial", "sizes"),
    [
        ([], "2", [1]),
        (["a"] * 5, "2", [2, 2, 1]),
        (["a", "a", "a", "b", "b", "c"], "2", [2, 1, 2, 1]),
        (["a", "a", "a", "b"], "100%", [3, 1]),
        (["a"] * 10, "25%", [2, 2, 2, 2, 2]),
        (["a"] * 3, "1%", [1, 1, 1]),
        # Names that have the same place in the order are one ring.
        (["ring2", "Ring2", "ring02"], "3", [3]),
    ],
)
def test_a_batch_has_nodes_of_one_ring(names: list[str], serial: str, sizes: list[int]) -> None:
    keys = [rings.ring_of({"ring": name}) for name in names]
    assert rollout_times.batch_sizes(keys, serial) == sizes


def test_rings_with_different_places_never_share_a_batch() -> None:
    # Rings with the same name differ if only one of them is listed in an order.
    keys = [rings.ring_of({"ring": "a", "ring_place": place}) for place in (0, 1)]
    assert rollout_times.batch_sizes(keys, "2") == [1, 1]


def test_hosts_follow_ring_by_ring_after_those_that_are_out_of_service() -> None:
    def record(host: str, ring: str, **more: t.Any) -> dict[str, t.Any]:
        return {"host": host, "node": host, "stage": "waiting", "ring": ring, "work": True, **more}

    records = [
        record("c", "ring10"),
        record("a", "ring2"),
        record("late", "ring10", ours=True),
        record("b", "Ring2"),
        record("first", "ring1"),
    ]
    hosts = [one["host"] for one in records]
    assert maintenance.select(records, hosts).chosen == ["late", "first", "a", "b", "c"]


DONE = {"node": "n1", "ring": "1", "stage": "done", "started": 50.0, "finished": 100.0}
WAITING = {"node": "n2", "ring": "2", "stage": "waiting"}


@pytest.mark.parametrize(
    ("batch", "records", "nodes"),
    [
        ([WAITING], [DONE, WAITING], ["n1"]),
        # The ring has begun already.
        ([WAITING], [DONE, {**DONE, "node": "n3", "ring": "2"}, WAITING], []),
        # A node that was up to date is of no interest.
        ([WAITING], [{"node": "n1", "ring": "1", "stage": "waiting"}, WAITING], []),
        ([{**WAITING, "ring": "1"}], [DONE, WAITING], []),
        # A node that an earlier run left cordoned comes first, and does not begin its ring.
        ([WAITING], [DONE, {**DONE, "node": "n3", "ring": "2", "ours": True}, WAITING], ["n1"]),
        # The check between rings also follows a ring whose nodes have failed.
        ([WAITING], [{**DONE, "stage": "failed"}, WAITING], ["n1"]),
        ([WAITING], [{"node": "n1", "ring": "1", "stage": "failed"}, WAITING], []),
    ],
)
def test_a_rollout_stops_to_look_between_rings(
    batch: list[dict[str, t.Any]], records: list[dict[str, t.Any]], nodes: list[str]
) -> None:
    assert [one["node"] for one in rollout_times.earlier_rings(batch, records)] == nodes


def test_a_rollout_waits_between_rings() -> None:
    assert rollout_times.soak_left([DONE], 60, 130.0) == 30
    assert rollout_times.soak_left([DONE, {**DONE, "finished": 120.0}], 60, 130.5) == 50
    assert rollout_times.soak_left([DONE], 60, 500.0) == 0
    assert rollout_times.soak_left([], 60, 130.0) == 0


@pytest.mark.parametrize(
    ("ready", "gate", "text"),
    [
        ({"nodes": {"n1": {"reason": ""}}, "waiting": []}, {}, ""),
        ({"nodes": {"n1": {"reason": "no disk"}}, "waiting": ["n1"]}, {}, "no longer ready: n1 (no disk)"),
        ({"msg": "the cluster is not reachable"}, {}, "the cluster is not reachable"),
        ({"msg": "no answer", "nodes": {}, "waiting": ["n1"]}, {}, "before the next ring: no answer"),
        ({}, {"skipped": True}, ""),
        ({}, {"msg": "no such host", "unreachable": True}, "node_maintenance_gate ended with an error: no such host"),
        ({}, {"rc": 2, "stderr": "", "msg": "no such file"}, "node_maintenance_gate ended with 2: no such file"),
        ({"skipped": True}, {"rc": 0}, ""),
        ({}, {"rc": 3, "stderr": "2 alerts\n"}, "node_maintenance_gate ended with 3: 2 alerts"),
    ],
)
def test_the_next_ring_needs_healthy_nodes(ready: dict[str, t.Any], gate: dict[str, t.Any], text: str) -> None:
    problem = gate_problem(ready, gate)
    assert (text in problem) if text else problem == ""
