# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Without downloads, a run fails before it changes anything, names what the node lacks, and asks no other machine."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit.fake_settings import Download, Setting, World, converge, titles

from ansible_collections.winkube.node.plugins.plugin_utils.engine import offline_plans
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change, SizeProbe, SpaceRequirement
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_info import WindowsInfo
from ansible_collections.winkube.node.plugins.plugin_utils.wire.calls import query
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, Results


class _Unknown(SizeProbe):
    """Reads no size."""

    def size(self, results: Results) -> int | None:
        return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Remote(Download):
    """A setting that comes from a server, which is asked for its version and its size."""

    type: t.ClassVar[str] = "Remote"

    def observe(self) -> tuple[Call, ...]:
        return (*super().observe(), query("version", "Ask-Server", {"Name": self.name}))

    def observe_offline(self) -> tuple[Call, ...]:
        return super().observe()

    def likely_space(self) -> SpaceRequirement:
        asked = query("size", "Ask-Server", {"Name": self.name})
        return SpaceRequirement(path="C:\\", probe=_Unknown(calls=(asked,)))

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        change = super().plan(seen, windows)
        return change and dataclasses.replace(change, downloads=f"C:\\cache\\{self.name}.zip")


def _world(**settings: str) -> World:
    return World(settings, more={"Ask-Server": lambda _call: ["1"]})


@pytest.mark.parametrize("check_mode", [False, True])
def test_everything_that_the_node_lacks_is_named_and_nothing_is_changed(check_mode: bool) -> None:
    world = _world(b="on")
    resources = (Setting(name="first"), *(Remote(name=name) for name in "abc"), Remote(name="d", no_log=True))
    with pytest.raises(NodeError) as caught:
        converge(world, *resources, offline=True, check_mode=check_mode)
    assert str(caught.value) == (
        "win-1: expected a node that needs no downloads (artifact_offline), got one that would download "
        "Remote a (C:\\cache\\a.zip): is None, should be on; Remote c (C:\\cache\\c.zip): is None, should be on; "
        "Remote d: differs (hidden: no_log). Nothing was changed. Add these to the node's image or cache, or allow "
        "downloads"
    )
    assert (world.sets(), len(world.batches), world.ran("Ask-Server")) == ([], 1, 0)


def test_after_a_first_change_the_message_does_not_say_that_nothing_was_changed() -> None:
    outcome, dummy = converge(_world(), Remote(name="a"), check_mode=True)
    assert "Nothing was changed" in (offline_plans.refusal(outcome.planned) or "")
    assert "zip): is None, should be on. Add these" in (offline_plans.refusal(outcome.planned, begun=True) or "")


def test_changes_without_downloads_are_made() -> None:
    world = _world(a="on")
    outcome, dummy = converge(world, Setting(name="first"), Remote(name="a"), offline=True)
    assert titles(outcome) == ["Setting first"]
    assert world.ran("Ask-Server") == 0


def test_with_downloads_the_server_is_asked() -> None:
    world = _world()
    outcome, dummy = converge(world, Remote(name="a"))
    assert titles(outcome) == ["Remote a"]
    assert world.ran("Ask-Server") == 2
