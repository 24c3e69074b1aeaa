# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Resources that represent any others: settings, and the simulated machine that has them."""

from __future__ import annotations

import dataclasses
import typing as t

from unit.fake_node import FakeAction, FakeTime, Fault
from unit.scripted_machine import Handler, ScriptedMachine, failure

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change, Resource
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_info import WindowsInfo
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, Results


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting(Resource):
    """A value on the machine."""

    type: t.ClassVar[str] = "Setting"
    value: str = "on"
    reboot: t.Literal["never", "if_reported", "always"] = "never"
    long: bool = False

    def observe(self) -> tuple[Call, ...]:
        return (Call(id="get", command="Get-Setting", parameters={"Name": self.name}, on_error="continue"),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        found = seen["get"].first
        if self.value == "impossible":
            raise ResourceError(f"{self.title}.value", self.value, "expected on or off")
        if found == self.value:
            return None
        if found == "pending":
            return Change(
                why="waits for a reboot", before={"value": found}, after={"value": "on"}, calls=(), reboot="always"
            )
        return Change(
            why=f"is {found}, should be {self.value}",
            before={"value": found},
            after={"value": self.value},
            calls=(
                Call(id="check", command="Test-Setting", parameters={"Name": self.name}),
                Call(
                    id="set", command="Set-Setting", parameters={"Name": self.name, "Value": self.value}, long=self.long
                ),
            ),
            reboot=self.reboot,
        )


class Download(Setting):
    type: t.ClassVar[str] = "Download"
    independent: t.ClassVar[bool] = True


WINDOWS = "HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
"""The registry key with the version of Windows."""


class World(ScriptedMachine):
    """A machine with settings.

    Args:
        settings: the values of the settings.
        windows: other values of `WINDOWS`, by name.
        more: further handlers.
        options: the options of the simulated machine.
    """

    def __init__(
        self,
        settings: t.Mapping[str, str] | None = None,
        windows: t.Mapping[str, str] | None = None,
        more: t.Mapping[str, Handler] | None = None,
        **options: object,
    ) -> None:
        self.settings = dict(settings or {})
        self.broken: set[str] = set()
        self.needs_reboot: set[str] = set()
        handlers: dict[str, Handler] = {
            "Get-Setting": lambda call: [self.settings.get(call["parameters"]["Name"])],
            "Test-Setting": lambda _: [],
            "Set-Setting": self._set,
            **(more or {}),
        }
        super().__init__(handlers, **options)
        for name, value in (windows or {}).items():
            self.node.registry.set(WINDOWS, name, value)

    def _set(self, call: dict[str, t.Any]) -> t.Any:
        name = call["parameters"]["Name"]
        if name in self.broken:
            return failure(f"cannot set {name} to {call['parameters']['Value']}")
        self.settings[name] = call["parameters"]["Value"]
        return [{"RestartNeeded": "Yes" if name in self.needs_reboot else "No"}]

    def sets(self) -> list[str]:
        return [call["parameters"]["Name"] for call in self.executed if call["command"] == "Set-Setting"]


def converge(
    world: World, *resources: Resource, faults: t.Mapping[int, Fault] | None = None, **options: t.Any
) -> tuple[ConvergenceOutcome, FakeAction]:
    action, time = FakeAction(world, faults), FakeTime()
    node = Node(t.cast("t.Any", action), {"inventory_hostname": "win-1"}, clock=time.clock, sleep=time.sleep)
    own = {name: options.pop(name) for name in ("allow_unsupported_windows", "notify") if name in options}
    work = Convergence(NodeSession(node, **own), resources, **options)
    try:
        return work.run(), action
    except NodeError as error:
        error.outcome = work.outcome  # type: ignore[attr-defined]
        raise


def titles(outcome: ConvergenceOutcome) -> list[str]:
    return [change.planned.resource.title for change in outcome.changes]
