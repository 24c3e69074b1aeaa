# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""When the action starts a guard for static addresses on a node, and what it reports about the guard later."""

from __future__ import annotations

import json
import types
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.action import uplink_guard as action
from ansible_collections.winkube.node.plugins.plugin_utils.hns.guard import addresses
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

OPTIONS = {"state": "present", "guard": {}, "network_timeout": 3600, "settle": 15.0, "timeout": 120}
UPLINK = {"static": True, "gateway": "127.0.0.254", "dns": ["127.0.0.250"], "routes": []}


class GuardedNode(DirectNode):
    """A simulated machine that records its guards, which run only as far as a test describes them."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.timeouts = Timeouts()
        self.started: list[str] = []
        self.state = "running"

    def start(self, batch: Batch, *, step: str) -> None:
        self.remote_commands += 1
        self.started.append(batch.key or "")
        # The first command of a guard.
        (note,) = (call for call in batch.calls if call.id == "note")
        self.machine.files.make_directory(addresses.NOTE.rpartition("\\")[0])
        self.machine.files.write_text(addresses.NOTE, str(note.parameters["content"]))

    def peek(self, key: str, *, step: str, seconds: float, asked: object = ()) -> types.SimpleNamespace:
        self.remote_commands += 1
        return types.SimpleNamespace(state=self.state if key in self.started else "unknown", calls={})


@pytest.fixture
def node(tmp_path: Path) -> Iterator[GuardedNode]:
    entry = {"name": "win1", "address": "127.0.0.1", "windows": "2022", "uplink": UPLINK}
    machine = Machine(MachineSettings.read(entry), tmp_path / "machine")
    machine.power_on()
    yield GuardedNode(machine)
    machine.power.power_off()


class Action(action.ActionModule):  # type: ignore[misc]  # ansible ships no type information
    """The action without Ansible."""

    def __init__(self, *, check_mode: bool = False) -> None:
        self._task = types.SimpleNamespace(check_mode=check_mode)


def run(node: GuardedNode, *, check_mode: bool = False, **options: t.Any) -> dict[str, t.Any]:
    result: dict[str, t.Any] = Action(check_mode=check_mode).perform(
        {**OPTIONS, **options}, NodeSession(t.cast("t.Any", node))
    )
    return result


@pytest.mark.parametrize("name", ["network_timeout", "settle", "timeout"])
def test_times_are_zero_or_more(node: GuardedNode, name: str) -> None:
    assert run(node, **{name: 0})["guard"]
    with pytest.raises(ResourceError, match=f"{name}.*expected 0 or more seconds"):
        run(node, **{name: -1})


def test_a_guard_that_waits_is_enough(node: GuardedNode) -> None:
    first = run(node)
    assert [uplink["addresses"][0][0] for uplink in first["guard"]["uplinks"]] == ["127.0.0.1"]
    assert run(node)["guard"] == first["guard"]
    assert node.started == [first["guard"]["key"]]


@pytest.mark.parametrize("state", ["unknown", "lost", "done"])
def test_a_guard_that_has_ended_is_followed_by_another_one(node: GuardedNode, state: str) -> None:
    first = run(node)
    node.state = state
    assert run(node)["guard"]["key"] != first["guard"]["key"]
    assert len(node.started) == 2


def test_a_guard_of_other_addresses_is_followed_by_another_one(node: GuardedNode) -> None:
    first = run(node)
    noted = json.loads(node.machine.files.read_text(addresses.NOTE))
    noted["uplinks"][0]["addresses"] = [["10.77.0.6", 24]]
    node.machine.files.write_text(addresses.NOTE, json.dumps(noted))
    second = run(node)
    assert second["guard"]["key"] != first["guard"]["key"]
    assert second["guard"]["uplinks"] == first["guard"]["uplinks"]
    assert len(node.started) == 2


def test_a_dry_run_leaves_no_guard(node: GuardedNode) -> None:
    assert run(node, check_mode=True)["guard"] == {}
    assert node.started == []


@pytest.mark.parametrize(("timeout", "warns"), [(0, False), (120, True)])
def test_a_guard_that_is_still_waiting_is_reported(node: GuardedNode, timeout: int, warns: bool) -> None:
    started = run(node)
    finished = run(node, state="absent", guard=started["guard"], timeout=timeout)
    assert (finished["guard"], finished["changed"]) == (started["guard"], False)
    assert ("warnings" in finished) is warns


def test_a_guard_that_is_gone_is_followed_by_another_one(node: GuardedNode) -> None:
    started = run(node)
    node.state = "lost"
    finished = run(node, state="absent", guard=started["guard"])
    assert finished["guard"]["key"] not in ("", started["guard"]["key"])
    assert finished["warnings"][0].endswith("a new guard was started")
    dry = run(node, check_mode=True, state="absent", guard=started["guard"])
    assert dry["guard"] == {}
    assert "ended early" in dry["warnings"][0]


def test_nothing_is_asked_where_there_was_no_guard(node: GuardedNode) -> None:
    assert run(node, state="absent") == {"changed": False, "guard": {}, "changes": [], "remote_commands": 0}
    with pytest.raises(ResourceError, match="expected the guard that a task with state: present returned"):
        run(node, state="absent", guard={"key": "k"})
