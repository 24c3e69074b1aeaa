# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import dataclasses
import typing as t

from hypothesis import given
from hypothesis import strategies as st
from unit.fake_settings import Setting, World, converge, titles

from ansible_collections.winkube.node.plugins.plugin_utils.engine.deferral import split
from ansible_collections.winkube.node.plugins.plugin_utils.engine.planned import Planned
from ansible_collections.winkube.node.plugins.plugin_utils.engine.planning import group_parallel
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change, Resource


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fetch(Setting):
    type: t.ClassVar[str] = "Fetch"
    independent: t.ClassVar[bool] = True

    def builds_on(self, earlier: Resource) -> bool:
        return isinstance(earlier, Folder)


class Folder(Setting):
    type: t.ClassVar[str] = "Folder"


RESOURCES = st.builds(
    lambda type_, disrupts, reboot: (type_(name="x", disrupts=disrupts), reboot),
    st.sampled_from([Setting, Fetch, Folder]),
    st.sampled_from([None, True]),
    st.sampled_from(["never", "never", "if_reported", "always"]),
)


def plan(entries: t.Iterable[tuple[t.Any, t.Any]]) -> list[Planned]:
    return [
        Planned(
            position=position, resource=resource, change=Change(why="", before={}, after={}, calls=(), reboot=reboot)
        )
        for position, (resource, reboot) in enumerate(entries)
    ]


@given(st.lists(RESOURCES, max_size=12))
def test_immediate_changes_disrupt_no_pods_and_depend_on_no_deferred_change(entries: list[t.Any]) -> None:
    changes = plan(entries)
    now, later = split(changes)
    assert sorted([*now, *later], key=lambda item: item.position) == changes
    assert [item.position for item in now] == sorted(item.position for item in now)
    assert [item.position for item in later] == sorted(item.position for item in later)
    assert not any(item.disruption for item in now)
    for item in now:
        waiting = [other for other in later if other.position < item.position]
        assert not waiting or isinstance(item.resource, Fetch)
        assert not any(isinstance(other.resource, Folder) for other in waiting)
    # Nothing is deferred without a reason.
    assert not later or later[0].disruption


@given(st.lists(RESOURCES, max_size=12))
def test_independent_downloads_run_in_one_group(entries: list[t.Any]) -> None:
    changes = plan(entries)
    grouped = group_parallel(changes)
    assert sorted(grouped, key=lambda item: item.position) == changes
    others = [item.position for item in grouped if not isinstance(item.resource, Fetch)]
    assert others == sorted(others), "nothing else moves"
    for place, item in enumerate(grouped):
        if isinstance(item.resource, Fetch):
            folders = [one for one in grouped[place + 1 :] if isinstance(one.resource, Folder)]
            assert all(one.position > item.position for one in folders), "a download comes after its folders"
    for first, second, third in zip(grouped, grouped[1:], grouped[2:], strict=False):
        apart = isinstance(first.resource, Fetch) and isinstance(third.resource, Fetch)
        assert not apart or isinstance(second.resource, (Fetch, Folder))


def test_a_run_applies_the_first_part_and_reports_the_deferred_rest() -> None:
    world = World()
    resources = [Setting(name="a"), Setting(name="b", disrupts=True), Setting(name="c"), Fetch(name="d")]
    outcome, action = converge(world, *resources, disruptive="defer")
    assert world.sets() == ["a", "d"]
    assert titles(outcome) == ["Setting a", "Fetch d"]
    result = outcome.to_result(diff=False)
    assert [(item["name"], item["disrupts"]) for item in result["deferred"]] == [("b", True), ("c", False)]
    assert result["changed"] is True
    assert "failed" not in result
    # No command was added.
    assert action._connection.commands == 2
    # After that, the rest follows.
    outcome, _ = converge(world, *resources)
    assert world.sets() == ["a", "d", "b", "c"]
    assert outcome.deferred == []


def test_only_the_reboot_is_deferred() -> None:
    world = World({"a": "pending"})
    outcome, action = converge(world, Setting(name="a"), disruptive="defer")
    assert [planned.resource.name for planned in outcome.deferred] == ["a"]
    assert (world.reboots, action._connection.commands) == (0, 1)
    assert outcome.to_result(diff=False)["changed"] is False


def test_a_dry_run_reports_all_changes_and_those_that_would_be_deferred() -> None:
    outcome, _ = converge(
        World(), Setting(name="a"), Setting(name="b", reboot="always"), disruptive="defer", check_mode=True
    )
    assert titles(outcome) == ["Setting a", "Setting b"]
    assert [planned.resource.name for planned in outcome.deferred] == ["b"]


def test_a_lost_batch_is_planned_again() -> None:
    world = World()
    resources = [Setting(name="a", long=True), Setting(name="b", disrupts=True)]
    outcome, _ = converge(world, *resources, disruptive="defer", faults={2: "killed"})
    assert world.sets() == ["a"]
    assert [planned.resource.name for planned in outcome.deferred] == ["b"]
