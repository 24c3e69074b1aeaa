# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Free space and sizes of missing downloads are part of the observation, so measuring costs no remote command."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible import constants
from unit.fake_settings import Setting, World, converge, titles
from unit.scripted_machine import failure

from ansible_collections.winkube.node.plugins.plugin_utils.engine.disk_space import EarlySizes
from ansible_collections.winkube.node.plugins.plugin_utils.engine.planning import Questions
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change, SizeProbe, SpaceRequirement
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_info import WindowsInfo
from ansible_collections.winkube.node.plugins.plugin_utils.wire.calls import query
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, CallResult, Results
from simulator.machine.files import GIGABYTE
from simulator.machine.objects import ProgramResult

GB = 10**9
PATH = "C:\\tool.txt"
HEADERS = "HTTP/1.1 206 OK\r\nContent-Range: bytes 0-0/{}\r\n\r\n"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stdout(SizeProbe):
    """Reads a size from a program's output."""

    def size(self, results: Results) -> int | None:
        return int(results["size"].stdout)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fetched(Setting):
    """A setting that is fetched; the node can be asked for its size before it has the setting."""

    type: t.ClassVar[str] = "Fetched"
    independent: t.ClassVar[bool] = True
    reason: str = ""
    """Further arguments of the program that asks for the size, which only the plan knows."""
    later: bool = False
    bulk: str = ""

    def observe(self) -> tuple[Call, ...]:
        exists = Call(id="exists", command="Find-Setting", parameters={"Name": self.name}, on_error="continue")
        return (*super().observe(), exists, *([query("bulk", "Get-Setting", {"Name": self.bulk})] if self.bulk else []))

    def _space(self, *arguments: str, unless: tuple[str, ...] = ()) -> SpaceRequirement:
        asked = query("size", "size.exe", arguments=(self.name, *arguments), unless=unless)
        return SpaceRequirement(path=f"C:\\{self.name}", probe=Stdout(calls=(asked,), later=self.later))

    def likely_space(self) -> SpaceRequirement | None:
        return None if self.later else self._space(unless=("exists",))

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        change = super().plan(seen, windows)
        if change is None:
            return None
        return dataclasses.replace(change, space=(self._space(*([self.reason] if self.reason else [])),))


class Shop(World):
    """A machine with one volume, which knows the sizes of all settings."""

    def __init__(self, free: int, size: int = GB, **settings: str) -> None:
        def find(call: dict[str, t.Any]) -> t.Any:
            return [] if call["parameters"]["Name"] in self.settings else failure("it does not exist")

        more = {"Find-Setting": find, "size.exe": lambda dummy: ProgramResult(stdout=str(size))}
        super().__init__(settings, more=more, disk_gb=127 * GB / GIGABYTE)
        self.node.files.free_space = lambda dummy="C": free  # type: ignore[method-assign]

    def asked(self) -> tuple[int, int]:
        """Return how often the machine was asked for a size, and for its free space."""
        return self.ran("size.exe"), self.ran("@free-space")


def test_missing_downloads_are_measured_by_the_observation() -> None:
    world = Shop(10 * GB)
    outcome, action = converge(world, Setting(name="first"), Fetched(name="a"), Fetched(name="b"))
    assert titles(outcome) == ["Setting first", "Fetched a", "Fetched b"]
    assert action._connection.commands == 2, "observe and apply"
    assert world.asked() == (2, 1)
    # The answers may contain signatures.
    assert action._connection.no_log_seen == [True, False]


def test_a_plan_that_does_not_fit_is_refused_after_one_command() -> None:
    world = Shop(5 * GB, size=3 * GB)
    with pytest.raises(NodeError, match="not enough disk space on C: for the plan; nothing was changed") as caught:
        converge(world, Setting(name="first"), Fetched(name="a"), Fetched(name="b"))
    assert "\n  Fetched a        3.0 GB\n" in str(caught.value)
    assert (world.sets(), len(world.batches)) == ([], 1)


def test_a_node_that_lacks_nothing_is_not_asked_for_sizes() -> None:
    world = Shop(10 * GB, a="on")
    _, action = converge(world, Fetched(name="a"))
    assert (action._connection.commands, world.asked()) == (1, (0, 1))


@pytest.mark.parametrize(
    ("settings", "reason", "asked"),
    [
        # It exists, but differs, so the observation has skipped the question.
        ({"a": "off"}, "", 1),
        # The plan's question differs from the observation's.
        ({}, "after the version is known", 2),
    ],
)
def test_what_the_observation_did_not_answer_is_measured(settings: dict[str, str], reason: str, asked: int) -> None:
    world = Shop(10 * GB, **settings)
    outcome, action = converge(world, Fetched(name="a", reason=reason))
    assert titles(outcome) == ["Fetched a"]
    assert (action._connection.commands, world.asked()) == (3, (asked, 1))
    small = Shop(GB, **settings)
    with pytest.raises(NodeError, match="nothing was changed"):
        converge(small, Fetched(name="a", reason=reason))


def test_a_resource_that_may_be_for_another_windows_is_measured_later() -> None:
    for version, commands, sizes in (("2022", 3, 1), ("2019", 1, 0)):
        world = Shop(10 * GB)
        _, action = converge(world, Fetched(name="a", windows=(version,)))
        assert (action._connection.commands, world.asked()) == (commands, (sizes, sizes))


def test_check_mode_asks_for_no_size() -> None:
    world = Shop(0)
    outcome, action = converge(world, Fetched(name="a"), check_mode=True)
    assert titles(outcome) == ["Fetched a"]
    assert (action._connection.commands, world.asked()) == (1, (0, 0))


def test_observing_needs_no_secrets_if_ansible_keeps_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_KEEP_REMOTE_FILES", True)
    world = Shop(10 * GB)
    _, action = converge(world, Fetched(name="a"))
    assert (action._connection.commands, world.asked()) == (3, (1, 1))
    assert action._connection.no_log_seen == [False, True, False]


def test_what_can_be_asked_only_later_is_measured_once_with_the_free_space_of_that_time() -> None:
    world = Shop(10 * GB, size=2 * GB)
    outcome, action = converge(world, Fetched(name="a"), Fetched(name="image", later=True))
    assert titles(outcome) == ["Fetched a", "Fetched image"]
    # Observe, apply, measure, apply.
    assert (action._connection.commands, world.asked()) == (4, (2, 2))


def test_questions_about_sizes_end_the_batch_that_reads_their_resources() -> None:
    resources = [Fetched(name="a"), Setting(name="between"), Fetched(name="b")]
    (batch,) = Questions(resources, (), EarlySizes(resources).by_resource).batches()
    names = ["r0.get", "r0.exists", "r1.get", "r2.get", "r2.exists", "r0.size", "r2.size"]
    assert [call.id for call in batch] == names
    assert [call.parallel for call in batch] == [None] * 5 + [8] * 2
    large = [Fetched(name=name, bulk=name * 600_000) for name in "ab"]
    batches = Questions(large, (), EarlySizes(large).by_resource).batches()
    assert [[call.id for call in batch][-1] for batch in batches] == ["r0.size", "r1.size"]


def test_an_incomplete_answer_is_no_answer() -> None:
    early = EarlySizes([Fetched(name="a")])
    (call,) = early.by_resource[0]
    for result, known in ((None, False), (CallResult(ok=False), True), (CallResult(ok=True, skipped="unless"), False)):
        early.observed({} if result is None else {call.id: result})
        assert early.knows([call]) is known


@pytest.mark.parametrize("exists", ["", PATH, f"{PATH}.unverified"])
def test_artifacts_are_asked_for_only_if_they_are_missing(exists: str) -> None:
    """The second source is asked, because the first does not answer."""
    asked: list[int] = []

    def curl(dummy: dict[str, t.Any]) -> t.Any:
        asked.append(len(world.batches))
        return failure("no answer") if len(asked) == 1 else ProgramResult(stdout=HEADERS.format(50 * GB))

    world = World(more={"curl.exe": curl}, disk_gb=127 * GB / GIGABYTE)
    if exists:
        world.node.files.write_text(exists, "other")
    urls = ["https://one.example/t", "https://two.example/t"]
    artifact = load([{"type": "Artifact", "name": "tool", "path": PATH, "urls": urls, "sha256": 64 * "0"}])
    world.node.files.free_space = lambda dummy="C": 10 * GB  # type: ignore[method-assign]
    with pytest.raises(NodeError, match=r"Artifact tool\s+50\.0 GB"):
        converge(world, *artifact)
    assert [call["command"] for call in world.batches[0]["calls"]].count("curl.exe") == 2
    # A file with a wrong checksum is on the node, so the second batch asks for its size.
    assert asked == ([2, 2] if exists else [1, 1])
