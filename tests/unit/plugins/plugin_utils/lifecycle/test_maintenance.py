# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The stages of a node's maintenance, and the hosts that a rollout works on."""

from __future__ import annotations

import itertools
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import maintenance

ORDER = ["waiting", "begun", "worked", "ready", "done"]
STAGES = [stage.value for stage in maintenance.Stage]
# selecting a host records `waiting` once more; a later step can fail after each stage
ALLOWED = {*itertools.pairwise(ORDER), *((stage, "failed") for stage in STAGES), ("waiting", "waiting")}


def record(host: str, stage: str = "waiting", **more: t.Any) -> dict[str, t.Any]:
    return {"host": host, "node": f"n-{host}", "stage": stage, **more}


@pytest.mark.parametrize(("before", "after"), sorted(ALLOWED))
def test_a_stage_follows_the_one_before(before: str, after: str) -> None:
    assert maintenance.advance(record("one", before), after, 5.0)["stage"] == after


@pytest.mark.parametrize(("before", "after"), sorted(set(itertools.product(STAGES, STAGES)) - ALLOWED))
def test_a_stage_in_another_order_is_refused(before: str, after: str) -> None:
    with pytest.raises(ValueError, match=rf"stage of n-one: expected [a-z ]+ after {before}, got '{after}'"):
        maintenance.advance(record("one", before), after, 5.0)


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="expected waiting or begun or failed after waiting, got 'over'"):
        maintenance.advance(record("one"), "over", 5.0)


def test_a_host_that_is_not_a_node_has_nothing_to_advance() -> None:
    with pytest.raises(ValueError, match="stage of a host that is not a node: expected waiting"):
        maintenance.advance({}, "worked", 5.0)


def test_the_record_keeps_its_fields_and_gets_new_ones() -> None:
    given = record("one", "begun", work=True, started=5.0)
    assert maintenance.advance(given, "worked", 7.0, rebooted=True) == {**given, "stage": "worked", "rebooted": True}
    assert given["stage"] == "begun"


def test_the_times_of_the_first_and_last_stage_are_recorded() -> None:
    state = maintenance.advance(record("one"), "begun", 10.0)
    for stage, now in (("worked", 20.0), ("ready", 30.0), ("done", 40.0)):
        assert "finished" not in state
        state = maintenance.advance(state, stage, now)
    assert (state["started"], state["finished"]) == (10.0, 40.0)


def test_a_node_that_failed_during_its_turn_has_an_end() -> None:
    assert maintenance.advance(record("one", "begun", started=10.0), "failed", 20.0)["finished"] == 20.0


def test_a_node_that_failed_before_its_turn_took_no_time() -> None:
    assert "finished" not in maintenance.advance(record("one"), "failed", 20.0)


def test_nodes_that_an_earlier_run_left_cordoned_come_first() -> None:
    records = [record("a", work=True), record("b", ours=True), {}, record("c", work=True, ours=True), record("d")]
    assert maintenance.select(records, "abcd").chosen == ["b", "c", "a"]


def test_only_waiting_hosts_of_the_play_are_chosen() -> None:
    records = [record("a", "done", work=True), record("b", "failed", work=True), record("c", work=True)]
    assert maintenance.select(records, ["a", "b"]) == ([], ["b"], ["b", "c"])


def test_a_host_that_failed_and_left_the_play_is_refused_once() -> None:
    assert maintenance.select([record("a", "failed")], []) == ([], ["a"], ["a"])


def test_only_rebooted_nodes_have_to_report_a_new_boot() -> None:
    drained = {name: {"boot_id": name} for name in ("n-one", "n-two", "n-three")}
    records = [record("one", rebooted=True), record("two", rebooted=False), record("three")]
    assert maintenance.of_rebooted(drained, records) == {"n-one": {"boot_id": "n-one"}}
