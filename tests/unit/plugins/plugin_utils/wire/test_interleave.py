# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Interleaved calls of many resources, checked with the simulated node's own interpretation of the wire."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.resource_answers import SERVER_2022
from unit.scripted_machine import ScriptedMachine, failure

from ansible_collections.winkube.node.plugins.plugin_utils.engine.planned import Planned
from ansible_collections.winkube.node.plugins.plugin_utils.engine.planning import failed_call, is_done, next_work
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change, Resource
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_info import WindowsInfo
from ansible_collections.winkube.node.plugins.plugin_utils.wire.interleave import concatenate, interleave
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, CallResult, Results
from wire_provider import groups
from wire_provider.batch import parse


@st.composite
def lane(draw: st.DrawFn) -> list[Call]:
    """Return the calls of one resource: some may run in parallel, and some depend on earlier ones."""
    calls: list[Call] = []
    for number in range(draw(st.integers(0, 6))):
        earlier = [call.id for call in calls]
        refers = st.lists(st.sampled_from(earlier), max_size=2, unique=True) if earlier else st.just([])
        calls.append(
            Call(
                id=f"c{number}",
                command="x.exe",
                parallel=draw(st.sampled_from((None, 2, 8))),
                needs=tuple(draw(refers)),
                unless=tuple(draw(refers)),
            )
        )
    return calls


@st.composite
def lanes(draw: st.DrawFn) -> list[list[Call]]:
    drawn = draw(st.lists(lane(), max_size=5))
    return [[call.prefixed(f"r{number}.") for call in calls] for number, calls in enumerate(drawn)]


def on_node(calls: t.Sequence[Call]) -> list[list[str]]:
    """Return the groups that the simulated node forms. It rejects a call that depends on a later one."""
    batch = parse(json.dumps(Batch(calls=tuple(calls)).to_wire()))
    return [[call.id for call in group] for group in groups.split(batch.calls)]


def of_lane(ids: t.Iterable[str], number: int) -> list[str]:
    return [call_id for call_id in ids if call_id.startswith(f"r{number}.")]


@given(lanes())
def test_nothing_is_lost_and_each_lane_keeps_its_order(given_lanes: list[list[Call]]) -> None:
    calls = interleave(given_lanes)
    assert len(calls) == sum(map(len, given_lanes))
    for number, calls_of_lane in enumerate(given_lanes):
        assert of_lane((call.id for call in calls), number) == [call.id for call in calls_of_lane]


@given(lanes())
def test_calls_of_one_lane_never_run_in_parallel(given_lanes: list[list[Call]]) -> None:
    found = on_node(interleave(given_lanes))
    for number, calls in enumerate(given_lanes):
        alone = [set(group) for group in on_node(calls)]
        for group in found:
            mine = set(of_lane(group, number))
            assert not mine or any(mine <= together for together in alone)


@given(lanes())
def test_side_by_side_takes_no_more_turns_than_the_longest_lane(given_lanes: list[list[Call]]) -> None:
    beside = {call.id for calls in given_lanes for call in calls if call.parallel}

    def turns(calls: list[Call]) -> int:
        return sum(group[0] in beside for group in on_node(calls))

    assert turns(interleave(given_lanes)) <= max(map(turns, given_lanes), default=0)


@given(lanes(), lanes())
def test_no_group_crosses_a_boundary(first: list[list[Call]], second: list[list[Call]]) -> None:
    before = interleave(first)
    after = [dataclasses.replace(call.prefixed("later."), watch=None) for call in interleave(second)]
    calls = concatenate(before, after)
    assert [call for call in calls if call.command == "x.exe"] == [*before, *after]
    early = {call.id for call in before}
    assert not any(early & set(group) and set(group) - early for group in on_node(calls) if len(group) > 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fetch(Resource):
    """A file that a program downloads, and that is then verified."""

    type: t.ClassVar[str] = "Fetch"
    independent: t.ClassVar[bool] = True

    def observe(self) -> tuple[Call, ...]:
        return ()

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        calls = (
            Call(id="get", command="x.exe", arguments=(self.name,), parallel=4, on_error="continue"),
            Call(id="again", command="x.exe", arguments=(self.name,), parallel=4, unless=("get",)),
            Call(id="check", command="Check", parameters={"Name": self.name}),
        )
        return Change(why="", before={}, after={}, calls=calls)


class Other(Fetch):
    type: t.ClassVar[str] = "Other"


class Step(Fetch):
    """The same, but with dependents."""

    type: t.ClassVar[str] = "Step"
    independent: t.ClassVar[bool] = False


def changes(*resources: Resource) -> list[Planned]:
    planned = []
    for position, resource in enumerate(resources):
        change = resource.plan({}, SERVER_2022)
        assert change is not None
        planned.append(Planned(position=position, resource=resource, change=change))
    return planned


def test_neighbours_of_one_type_share_their_turns() -> None:
    work = next_work(changes(*(Fetch(name=name) for name in "abc")))
    assert on_node(work.calls) == [
        ["r0.get", "r1.get", "r2.get"],
        ["r0.again", "r1.again", "r2.again"],
        ["r0.check"],
        ["r1.check"],
        ["r2.check"],
    ]


def test_a_call_that_may_depend_on_the_previous_one_waits_for_it() -> None:
    for first, second in ((Fetch, Other), (Step, Step), (Step, Fetch)):
        calls = next_work(changes(first(name="a"), second(name="b"))).calls
        ids = [call.id for call in calls]
        assert ids.index("r0.check") < ids.index("r1.get")


@pytest.fixture(scope="module")
def broken() -> set[str]:
    """Return the names of the resources whose program fails."""
    return set()


@pytest.fixture(scope="module")
def machine(broken: set[str]) -> ScriptedMachine:
    """Return a machine with the programs and cmdlets of these resources."""
    fetch = {"x.exe": lambda call: failure("no") if call["arguments"][0] in broken else [], "Check": lambda _: []}
    return ScriptedMachine(fetch)


@given(
    types=st.lists(st.sampled_from((Fetch, Other, Step)), max_size=8),
    numbers=st.sets(st.integers(0, 7)),
)
def test_a_failure_does_not_affect_the_other_lanes(
    machine: ScriptedMachine, broken: set[str], types: list[type[Fetch]], numbers: set[int]
) -> None:
    resources = [kind(name=str(number)) for number, kind in enumerate(types)]
    work = next_work(changes(*resources))
    broken.clear()
    broken.update(map(str, numbers))
    observation = machine.handle(Batch(calls=work.calls).to_wire())
    seen = {name: CallResult.from_wire(result) for name, result in observation["calls"].items()}
    steps = [number for number, kind in enumerate(types) if kind is Step and number in numbers]
    for planned in work.changes:
        if steps and planned.position > steps[0]:
            assert planned.scope.id("check") not in seen
        elif planned.position in numbers and planned.position not in steps:
            assert failed_call(planned, seen, None) == planned.scope.id("again")
        elif planned.position not in numbers:
            assert is_done(planned, seen, None)


@given(st.lists(st.sampled_from((Fetch, Other, Step)), max_size=12), st.sampled_from([300, 1000, 100_000]))
def test_batches_contain_whole_changes_within_their_limit(types: list[type[Fetch]], limit: int) -> None:
    pending = changes(*(kind(name=str(number)) for number, kind in enumerate(types)))
    made: list[Planned] = []
    while pending:
        work = next_work(pending, limit=limit)
        assert {call.id for call in work.calls if call.command != "@stop-if"} == {
            planned.scope.id(call.id) for planned in work.changes for call in planned.change.calls
        }
        assert len(work.changes) == 1 or len(json.dumps([call.to_wire() for call in work.calls])) <= limit + 200
        made.extend(work.changes)
        pending = pending[len(work.changes) :]
    assert [planned.position for planned in made] == list(range(len(types)))
