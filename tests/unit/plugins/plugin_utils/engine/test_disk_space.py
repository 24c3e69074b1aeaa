# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The disk space that a plan needs on the node's volumes: checked before the first byte, with errors in one table."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.fake_settings import Setting, World, converge, titles
from unit.scripted_machine import failure

from ansible_collections.winkube.node.plugins.plugin_utils.engine import disk_space
from ansible_collections.winkube.node.plugins.plugin_utils.engine.planned import Planned
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change, SizeProbe, SpaceRequirement
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_info import WindowsInfo
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, CallResult, Results
from simulator.machine.files import GIGABYTE
from simulator.machine.objects import ProgramResult

GB = 10**9


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stdout(SizeProbe):
    """Reads a size from a program's output."""

    def size(self, results: Results) -> int | None:
        return int(results["size"].stdout)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Parts(SizeProbe):
    """Returns the sizes of parts without a query."""

    calls: tuple[Call, ...] = ()
    parts: t.Mapping[str, int]

    def size(self, results: Results) -> t.Mapping[str, int]:
        return self.parts


@dataclasses.dataclass(frozen=True, kw_only=True)
class Big(Setting):
    """A setting that needs disk space."""

    type: t.ClassVar[str] = "Big"
    independent: t.ClassVar[bool] = True
    size: int | None = None
    drive: str = "C"
    asked: bool = False
    later: bool = False

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        change = super().plan(seen, windows)
        if change is None:
            return None
        ask = (Call(id="size", command="size.exe", arguments=(self.name,)),)
        probe = Stdout(calls=ask, later=self.later) if self.asked else None
        required = SpaceRequirement(path=f"{self.drive}:\\cache\\{self.name}", size=self.size, probe=probe)
        return dataclasses.replace(change, space=(required,))


class Disks(World):
    """A machine with disks, which knows the sizes of remote files."""

    def __init__(self, free: dict[str, int], sizes: dict[str, str] | None = None) -> None:
        known = {"size.exe": lambda call: ProgramResult(stdout=(sizes or {})[call["arguments"][0]])}
        super().__init__(more=known, drives=["C", *free], disk_gb=127 * GB / GIGABYTE)
        self.node.files.free_space = lambda drive="C": free[drive]  # type: ignore[method-assign]


def test_measuring_a_plan_that_fits_costs_one_command() -> None:
    world = Disks({"C": 10 * GB})
    outcome, action = converge(world, Big(name="a", size=4 * GB), Big(name="b", size=5 * GB))
    assert titles(outcome) == ["Big a", "Big b"]
    assert action._connection.commands == 3
    assert action._connection.no_log_seen == [False, True, False], "sizes are asked with what may be secret"


def test_a_plan_that_does_not_fit_is_refused_with_the_size_of_each_change() -> None:
    world = Disks({"C": 10 * GB, "D": 100 * GB}, {"b": "5500000000", "c": "<html>"})
    resources = [
        Setting(name="first"),
        Big(name="a", size=4 * GB),
        Big(name="b", asked=True),
        Big(name="c", asked=True),
        Big(name="d", size=90 * GB, drive="d"),
    ]
    with pytest.raises(NodeError) as caught:
        converge(world, *resources)
    assert world.settings == {}, "not even the first"
    assert str(caught.value).splitlines() == [
        "win-1: not enough disk space on C: for the plan; nothing was changed",
        "  Big a             4.0 GB",
        "  Big b             5.5 GB",
        "  Big c            unknown",
        "  needed            9.5 GB",
        "  kept in reserve   1.0 GB",
        "  free             10.0 GB",
        "  missing           500 MB",
    ]


def test_after_a_first_change_the_message_does_not_say_that_nothing_was_changed() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class First(Setting):
        def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
            change = super().plan(seen, windows)
            return change and dataclasses.replace(change, observe_again=True)

    world = Disks({"C": 10 * GB})
    with pytest.raises(NodeError, match="not enough disk space on C: for the rest of the plan\n"):
        converge(world, First(name="first"), Big(name="a", size=11 * GB))
    assert world.sets() == ["first"]


def test_sizes_known_only_later_are_measured_before_the_download() -> None:
    """An example is a container image, if the same plan installs the runtime that queries the registry."""
    plan = [Setting(name="runtime"), Big(name="image", asked=True, later=True), Big(name="other", size=GB)]
    for size, fits in ((5 * GB, True), (9 * GB, False)):
        world = Disks({"C": 10 * GB})

        def asked(dummy: t.Any, world: Disks = world, size: int = size) -> t.Any:
            return ProgramResult(stdout=str(size)) if "runtime" in world.settings else failure("no runtime")

        world.handlers["size.exe"] = asked
        if fits:
            outcome, action = converge(world, *plan)
            assert titles(outcome) == ["Setting runtime", "Big image", "Big other"]
            # Observe; then measure and apply, twice.
            assert action._connection.commands == 5
            continue
        with pytest.raises(NodeError, match="not enough disk space on C: for the rest of the plan") as caught:
            converge(world, *plan)
        assert titles(caught.value.outcome) == ["Setting runtime"]  # type: ignore[attr-defined]
        assert world.sets() == ["runtime"]


def test_unknown_sizes_cost_one_measurement_only() -> None:
    world = Disks({"C": 10 * GB})
    world.handlers["size.exe"] = lambda dummy: failure("nobody knows")
    outcome, action = converge(world, Setting(name="runtime"), Big(name="image", asked=True, later=True))
    assert titles(outcome) == ["Setting runtime", "Big image"]
    assert action._connection.commands == 5


def test_a_disk_is_no_larger_than_that_of_the_machines_that_start_from_the_image() -> None:
    measured = {
        "free-space.C:": CallResult(ok=True, output=({"free": 100 * GB, "total": 127 * GB},)),
        "free-space.D:": CallResult(ok=True, output=({"free": 50 * GB, "total": 60 * GB},)),
    }
    assert disk_space.free(measured) == {"C:": 100 * GB, "D:": 50 * GB}
    # 27 GB are in use: 3 GB are left of 30 GB, and less than nothing of 20 GB.
    assert disk_space.free(measured, 30 * GB) == {"C:": 3 * GB, "D:": 50 * GB}
    assert disk_space.free(measured, 20 * GB)["C:"] == -7 * GB
    assert disk_space.free(measured, 200 * GB)["C:"] == 100 * GB
    world = Disks({"C": 100 * GB})
    with pytest.raises(NodeError, match="nothing was changed"):
        converge(world, Big(name="a", size=3 * GB), disk_limit=30 * GB)
    converge(world, Big(name="a", size=GB), disk_limit=30 * GB)
    needs = [disk_space.SpaceNeed(title="Artifact x", volume="C:", size=GB)]
    found = disk_space.Measurement(needs=tuple(needs), free=disk_space.free(measured, 30 * GB))
    assert disk_space.refusal(found) is None
    smaller = dataclasses.replace(found, free=disk_space.free(measured, 20 * GB))
    lines = (disk_space.refusal(smaller) or "").splitlines()
    assert [" ".join(line.split()) for line in lines[-2:]] == ["free -7.0 GB", "missing 9.0 GB"]


def test_without_downloads_or_in_check_mode_nothing_is_measured() -> None:
    world = Disks({"C": 0})
    _, action = converge(world, Setting(name="a"))
    assert action._connection.commands == 2
    outcome, action = converge(world, Big(name="b", size=GB), check_mode=True)
    assert (titles(outcome), action._connection.commands) == (["Big b"], 1)
    assert world.ran("@free-space") == 0


def test_a_volume_without_known_free_space_does_not_stop_the_run() -> None:
    outcome, _ = converge(Disks({}), Big(name="a", size=GB, drive="E"))
    assert titles(outcome) == ["Big a"]
    assert outcome.warnings == ["win-1: the free space of E: could not be read"]


SIZES = st.none() | st.integers(0, 50)
NEEDS = st.lists(st.builds(disk_space.SpaceNeed, title=st.just("x"), volume=st.sampled_from(["C:", "D:"]), size=SIZES))


@given(NEEDS, st.dictionaries(st.sampled_from(["C:", "D:"]), st.integers(0, 200)), st.integers(0, 100))
def test_a_plan_fits_if_sum_and_reserve_are_free(
    needs: list[disk_space.SpaceNeed], left: dict[str, int], reserve: int
) -> None:
    short = [
        name
        for name, free in left.items()
        if any(need.volume == name for need in needs)
        and sum(need.size or 0 for need in needs if need.volume == name) + reserve > free
    ]
    message = disk_space.refusal(disk_space.Measurement(needs=tuple(needs), free=left), reserve=reserve)
    assert (message is None) == (not short)
    assert all(f"not enough disk space on {name}" in (message or "") for name in short)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 KB"), (45_400_000, "45 MB"), (2_345_678_901, "2.3 GB")],
)
def test_amounts(size: int, text: str) -> None:
    assert disk_space.amount(size) == text


def test_the_unpacked_size_of_an_archive_is_estimated_from_its_download() -> None:
    def planned(position: int, title: str, requested: SpaceRequirement) -> Planned:
        change = Change(why="", before={}, after={"x": 1}, calls=(), space=(requested,))
        return Planned(position=position, resource=Big(name=title), change=change)

    brought = planned(0, "archive", SpaceRequirement(path="C:\\cache\\a.tar.gz", size=100))
    unpacked = planned(1, "programs", SpaceRequirement(path="D:\\k", size=None, unpacks="c:\\CACHE\\a.tar.gz"))
    elsewhere = planned(2, "others", SpaceRequirement(path="D:\\o", size=None, unpacks="C:\\cache\\b.zip"))
    assert [need.size for need in disk_space.needs([brought, unpacked, elsewhere], {})] == [
        100,
        100 * SpaceRequirement.UNPACKED,
        None,
    ]


def test_a_file_of_several_changes_counts_once_per_volume() -> None:
    def planned(position: int, drive: str, parts: dict[str, int]) -> Planned:
        requested = SpaceRequirement(path=f"{drive}:\\store", probe=Parts(parts=parts))
        change = Change(why="", before={}, after={"x": 1}, calls=(), space=(requested,))
        return Planned(position=position, resource=Big(name=str(position)), change=change)

    base = {"base": 100}
    changes = [
        planned(0, "C", {**base, "a": 1}),
        planned(1, "c", {**base, "b": 2}),
        planned(2, "D", {**base, "c": 3}),
        planned(3, "C", base),
        planned(4, "C", {}),
    ]
    assert [need.size for need in disk_space.needs(changes, {})] == [101, 2, 103, 0, 0]


def test_a_change_may_need_space_on_several_volumes_and_repeatedly_on_one() -> None:
    def needs(*expected: SpaceRequirement) -> list[tuple[str, int | None]]:
        change = Change(why="", before={}, after={"x": 1}, calls=(), space=expected)
        planned = Planned(position=0, resource=Big(name="a"), change=change)
        assert len(disk_space.measure_calls([planned])) == len({one.path[0].upper() for one in expected})
        return [(need.volume, need.size) for need in disk_space.needs([planned], {})]

    assert needs(SpaceRequirement(path="C:\\a", size=1), SpaceRequirement(path="D:\\a", size=4)) == [
        ("C:", 1),
        ("D:", 4),
    ]
    assert needs(SpaceRequirement(path="C:\\a", size=1), SpaceRequirement(path="c:\\b", size=4)) == [("C:", 5)]
    assert needs(SpaceRequirement(path="C:\\a", size=1), SpaceRequirement(path="C:\\b", size=None)) == [("C:", 1)]
    assert needs(SpaceRequirement(path="C:\\a", size=None), SpaceRequirement(path="C:\\b", size=2)) == [("C:", 2)]
    assert needs(SpaceRequirement(path="C:\\a", size=None)) == [("C:", None)]


def test_a_forbidden_reboot_before_a_later_measurement_is_reported() -> None:
    world = Disks({"C": 10 * GB})
    world.handlers["size.exe"] = lambda dummy: failure("nobody knows")
    plan = [Setting(name="feature", reboot="always"), Big(name="image", asked=True, later=True), Setting(name="last")]
    outcome, dummy = converge(world, *plan, may_reboot=False)
    assert (titles(outcome), outcome.reboot_required) == (["Setting feature"], True)
    assert len(outcome.failures) == 1
    assert "a reboot is needed before Big image, Setting last, and reboot is false" in outcome.failures[0]


def asked_of(*calls: Call, secret: bool = False) -> tuple[Call, ...]:
    """Return the queries for the size of a download, without that for the free space."""
    download = Call(id="download", command="curl.exe", secret=secret)
    requested = SpaceRequirement(path="c:\\cache\\a", probe=Stdout(calls=calls))
    change = Change(why="it is not there", before={}, after={}, calls=(download,), space=(requested,))
    free, *found = disk_space.measure_calls([Planned(position=0, resource=Big(name="a"), change=change)])
    assert (free.command, free.parameters, free.on_error) == ("@free-space", {"path": "c:\\cache\\a"}, "continue")
    return tuple(found)


def test_programs_that_ask_for_sizes_run_eight_at_a_time() -> None:
    first, own, other = asked_of(
        Call(id="1", command="CURL.exe"),
        Call(id="2", command="curl.exe", parallel=3),
        Call(id="3", command="Get-Item"),
    )
    assert [call.parallel for call in (first, own, other)] == [8, 3, None]
    assert {call.on_error for call in (first, own, other)} == {"continue"}


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("secret", [True, False])
def test_a_question_is_private_if_it_or_its_download_is(secret: bool, private: bool) -> None:
    (question,) = asked_of(Call(id="1", command="curl.exe", private=private), secret=secret)
    assert question.private is (secret or private)
