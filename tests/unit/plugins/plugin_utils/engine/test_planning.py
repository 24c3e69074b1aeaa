# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import dataclasses
import itertools
import typing as t

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.engine.planned import Planned
from ansible_collections.winkube.node.plugins.plugin_utils.engine.planning import BARRIER, Questions, next_work
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import (
    Change,
    Resource,
    ServiceEffect,
    ServiceInterruption,
)
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_info import WindowsInfo
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, CallResult, Input, Results

Reboot = t.Literal["never", "if_reported", "always"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Thing(Resource):
    type: t.ClassVar[str] = "Thing"
    questions: tuple[Call, ...] = ()

    def observe(self) -> tuple[Call, ...]:
        return self.questions

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        return None


def planned(reboots: t.Sequence[Reboot], size: int = 1, **resource: t.Any) -> list[Planned]:
    return [
        Planned(
            position=position,
            resource=Thing(name=f"t{position}", **resource),
            change=Change(
                why="",
                before={},
                after={},
                calls=(Call(id="set", command="Set-It", parameters={"Value": "x" * size}),),
                reboot=reboot,
            ),
        )
        for position, reboot in enumerate(reboots)
    ]


REBOOTS = st.lists(st.sampled_from(("never", "if_reported", "always")), max_size=12)


@given(REBOOTS, st.sampled_from([250, 1000, 10_000]))
def test_all_changes_are_made_once_and_in_order(reboots: list[Reboot], limit: int) -> None:
    changes = planned(reboots, size=50)
    pending, made = changes, list[Planned]()
    while pending:
        work = next_work(pending, limit=limit)
        assert work.changes, "no progress"
        own = [call.id for call in work.calls if call.id not in BARRIER]
        assert own == [change.scope.id("set") for change in work.changes]
        made.extend(work.changes)
        pending = pending[len(work.changes) :]
    assert made == changes


@given(REBOOTS)
def test_nothing_follows_a_reboot_that_is_needed(reboots: list[Reboot]) -> None:
    pending = planned(reboots)
    while pending:
        work = next_work(pending)
        kinds = [change.change.reboot for change in work.changes]
        boundaries = {*work.barriers.values(), *([len(kinds)] if work.reboot else ())}
        for index, kind in enumerate(kinds):
            following = kinds[index + 1] if index + 1 < len(kinds) else "never"
            if kind != "never" and following == "never":
                assert index + 1 in boundaries
        assert len(boundaries) == sum(
            kind != "never" and following == "never" for kind, following in itertools.pairwise([*kinds, "never"])
        )
        pending = pending[len(work.changes) :]


def test_a_barrier_considers_the_calls_of_its_group_only() -> None:
    work = next_work(planned(["if_reported", "never", "if_reported", "if_reported"]))
    barriers = [call for call in work.calls if call.command == "@stop-if"]
    assert [call.input and call.input.calls for call in barriers] == [("r0.set",), ("r2.set", "r3.set")]
    assert list(work.barriers.values()) == [1, 4]


def test_calls_beyond_the_limit_go_into_the_next_batch() -> None:
    changes = planned(["never"] * 5, size=400_000)
    assert len(next_work(changes).changes) == 2


def test_merged_questions_answer_all_resources() -> None:
    ask = Call(id="list", command="Get-List", on_error="continue")
    build = Call(id="more", command="Get-More", input=Input(calls=("one",), where={"Name": "a"}))
    one = Call(id="one", command="Get-One")
    resources = [Thing(name="a", questions=(ask,)), Thing(name="b", questions=(one, build, ask))]
    resources.append(Thing(name="c", questions=(one, build)))
    questions = Questions(resources)
    (batch,) = questions.batches()
    # Calls with dependents are repeated for each, so that no call refers to another group's call.
    assert [call.id for call in batch] == ["r0.list", "r1.one", "r1.more", "r2.one", "r2.more"]
    answers = {call.id: CallResult(ok=True, output=(call.id,)) for call in batch}
    assert questions.answers(answers, 1)["list"].output == ("r0.list",)
    assert questions.answers(answers, 2)["more"].output == ("r2.more",)


def test_questions_beyond_a_batch_are_split_between_resources() -> None:
    big = "x" * 300_000
    resources = [
        Thing(
            name=f"{n}",
            questions=tuple(Call(id=f"q{m}", command="Get-It", parameters={"P": f"{n}{m}{big}"}) for m in "ab"),
        )
        for n in range(3)
    ]
    batches = Questions(resources).batches()
    assert [[call.id for call in batch] for batch in batches] == [[f"r{n}.qa", f"r{n}.qb"] for n in range(3)]


def test_a_service_that_is_redefined_later_may_fail_to_start_before() -> None:
    query = Call(id="service-0", command="Get-Service", parameters={"Name": ["kubelet"]})
    start = Call(id="start-0", command="Start-Service", input=Input(calls=("service-0",)), retries=1)
    restart = Call(id="restart", command="Restart-Service", parameters={"Name": ["Kubelet"]})

    def at(position: int, *calls: Call, **more: t.Any) -> Planned:
        change = Change(why="", before={}, after={}, calls=calls, **more)
        return Planned(position=position, resource=Thing(name="t"), change=change)

    restarts = ServiceEffect(service="Kubelet", effect="restarts")
    files = at(0, query, start, interruptions=(ServiceInterruption(service="kubelet", start="start-0"),))
    for changes, expected in (
        ([files], "stop"),
        ([files, at(1, restart, service=restarts)], "continue"),
        ([files, at(1, service=dataclasses.replace(restarts, effect="stops"))], "stop"),
        ([files, at(1, restart, service=dataclasses.replace(restarts, service="other"))], "stop"),
        ([at(0, restart, service=restarts), dataclasses.replace(files, position=1)], "stop"),
    ):
        work = next_work(changes)
        (found,) = (call for call in work.calls if call.command == "Start-Service")
        assert found.on_error == expected


def test_why_a_no_log_resource_differs_is_hidden() -> None:
    reasons = {}
    for no_log in (False, True):
        (change,) = planned(["never"], no_log=no_log)
        reported = dataclasses.replace(change, change=dataclasses.replace(change.change, why="is password, not secret"))
        reasons[no_log] = reported.to_result()["why"]
    assert reasons == {False: "is password, not secret", True: "differs (hidden: no_log)"}
