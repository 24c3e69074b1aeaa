# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How often `observe` of a resource is called: once per run, however often the node is observed."""

from __future__ import annotations

import dataclasses
import typing as t

from unit.fake_settings import Setting, World, converge, titles

from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_info import WindowsInfo
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, Results


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counted(Setting):
    """A setting that counts the calls of `observe`."""

    type: t.ClassVar[str] = "Counted"
    first: bool = False
    asked: list[str] = dataclasses.field(default_factory=list)

    def observe(self) -> tuple[Call, ...]:
        self.asked.append(self.name)
        return super().observe()

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        change = super().plan(seen, windows)
        return dataclasses.replace(change, observe_again=self.first) if change is not None else None


def test_a_resource_is_asked_once_though_the_node_is_observed_twice() -> None:
    world, first, second = World(), Counted(name="a", first=True), Counted(name="b")
    outcome, action = converge(world, first, second)
    assert titles(outcome) == ["Counted a", "Counted b"]
    assert action._connection.commands == 4, "observe and apply, twice"
    assert (first.asked, second.asked) == (["a"], ["b"])
