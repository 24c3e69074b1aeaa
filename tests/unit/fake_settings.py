# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Resources of a fake node that stand for any other: settings, and the world that holds them."""

from __future__ import annotations

import dataclasses
import typing as t

from unit.fake_node import FakeAction, FakeTime, Fault, Machine, error_result, header_output

from ansible_collections.winkube.node.plugins.plugin_utils.calls import Call
from ansible_collections.winkube.node.plugins.plugin_utils.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import Outcome
from ansible_collections.winkube.node.plugins.plugin_utils.header import CALL_ID
from ansible_collections.winkube.node.plugins.plugin_utils.node import Node, NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.resources._base import (
    Change,
    Resource,
    ResourceError,
    Results,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting(Resource):
    """A value on the fake node."""

    type: t.ClassVar[str] = "Setting"
    value: str = "on"
    reboot: t.Literal["never", "if_reported", "always"] = "never"
    long: bool = False

    def observe(self) -> tuple[Call, ...]:
        return (Call(id="get", command="Get-Setting", parameters={"Name": self.name}, on_error="continue"),)

    def plan(self, seen: Results) -> Change | None:
        found = seen["get"].first
        if self.value == "impossible":
            raise ResourceError(f"{self.title}.value", self.value, "one of on, off")
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


def _nothing(values: t.Sequence[t.Mapping[str, t.Any]]) -> list[dict[str, t.Any]]:
    """What a node answers to registry values that it does not have."""
    return [{**value, "exists": False, "key_exists": False, "value": None} for value in values]


class World(Machine):
    """Settings and services of a fake node."""

    def __init__(self, settings: t.Mapping[str, str] | None = None, build: int = 20348, **header: t.Any) -> None:
        self.settings = dict(settings or {})
        self.services: dict[str, str] = {}
        self.broken: set[str] = set()
        self.needs_reboot: set[str] = set()
        super().__init__(
            {
                "@read-registry": lambda call: (
                    header_output(build, **header) if call["id"] == CALL_ID else _nothing(call["parameters"]["values"])
                ),
                "Get-Setting": lambda call: [self.settings.get(call["parameters"]["Name"])],
                "Test-Setting": lambda _: [],
                "Set-Setting": self._set,
                "Get-Service": self._get_service,
                "Restart-Service": lambda _: [],
            }
        )

    def _set(self, call: dict[str, t.Any]) -> t.Any:
        name = call["parameters"]["Name"]
        if name in self.broken:
            return error_result(f"cannot set {name} to {call['parameters']['Value']}")
        self.settings[name] = call["parameters"]["Value"]
        return [{"RestartNeeded": "Yes" if name in self.needs_reboot else "No"}]

    def _get_service(self, call: dict[str, t.Any]) -> t.Any:
        name = call.get("parameters", {}).get("Name")
        if name is None:  # by input
            return [{"Name": name, "Status": status} for name, status in self.services.items()]
        if name not in self.services:
            return error_result(f"Cannot find any service with service name '{name}'.", category="ObjectNotFound")
        return [{"Name": name, "Status": self.services[name]}]

    def sets(self) -> list[str]:
        return [call["parameters"]["Name"] for call in self.executed if call["command"] == "Set-Setting"]


def converge(
    world: World, *resources: Resource, faults: t.Mapping[int, Fault] | None = None, **options: t.Any
) -> tuple[Outcome, FakeAction]:
    action, time = FakeAction(world, faults), FakeTime()
    node = Node(t.cast("t.Any", action), {"inventory_hostname": "win-1"}, clock=time.clock, sleep=time.sleep)
    work = Convergence(node, resources, **options)
    try:
        return work.run(), action
    except NodeError as error:
        error.outcome = work.outcome  # type: ignore[attr-defined]
        raise


def titles(outcome: Outcome) -> list[str]:
    return [change.planned.resource.title for change in outcome.changes]
