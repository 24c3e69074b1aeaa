# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Another collection's module runs over the same connection: counted, hidden, and not repeated by itself."""

from __future__ import annotations

import typing as t

import pytest
from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from unit.fake_node import FakeAction, FakeTime, Fault
from unit.scripted_machine import ScriptedMachine

from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts

SECRET = {"password": "S3cr3t"}


class OtherModule(FakeAction):
    """An action whose module is not this collection's."""

    def __init__(self, machine: ScriptedMachine, faults: dict[int, Fault] | None) -> None:
        super().__init__(machine, faults)
        self.ran: list[tuple[str, dict[str, t.Any], bool]] = []
        self.time = FakeTime()
        self.result: dict[str, t.Any] = {"changed": True, "reboot_required": True}

    def _execute_module(self, **given: t.Any) -> dict[str, t.Any]:
        connection = self._connection
        connection.exec_command("run", in_data=b'{"mode": "run", "calls": []}')
        self.ran.append((given["module_name"], given["module_args"], connection._play_context.no_log))
        return dict(self.result)


def make(faults: dict[int, Fault] | None = None, **limits: float) -> tuple[Node, OtherModule]:
    action, time = OtherModule(ScriptedMachine({}), faults), FakeTime()
    action.time = time
    timeouts = Timeouts(**limits)  # type: ignore[arg-type]
    known = {"inventory_hostname": "win-1"}
    return Node(t.cast("t.Any", action), known, timeouts=timeouts, clock=time.clock, sleep=time.sleep), action


def test_a_module_is_one_hidden_command() -> None:
    node, action = make()
    found = node.run_module("other.collection.module", SECRET, step="join")
    assert found == {"changed": True, "reboot_required": True}
    assert action.ran == [("other.collection.module", SECRET, True)]
    assert (node.remote_commands, action._play_context.no_log) == (1, False)


@pytest.mark.parametrize("fault", ["before", "after"])
def test_after_a_connection_failure_the_caller_decides(fault: Fault) -> None:
    node, action = make({2: fault})
    node.run_module("other.collection.module", SECRET, step="join")
    assert node.run_module("other.collection.module", SECRET, step="join") is None
    assert (node.remote_commands, action._connection.resets, len(action.ran)) == (2, 1, 1)
    assert node.run_module("other.collection.module", SECRET, step="join") is not None


def test_an_unreachable_result_is_a_connection_failure() -> None:
    node, action = make()
    action.result = {"unreachable": True, "msg": "timed out"}
    assert node.run_module("other.collection.module", SECRET, step="join") is None


def test_a_response_ends_an_outage() -> None:
    node, action = make({2: "before", 4: "before"}, reconnect=30)
    node.run_module("other.collection.module", SECRET, step="join")
    assert node.run_module("other.collection.module", SECRET, step="join") is None
    node.run_module("other.collection.module", SECRET, step="join")
    action.time.now += 3600
    assert node.run_module("other.collection.module", SECRET, step="join") is None


def test_a_node_that_stays_away_is_unreachable() -> None:
    node, action = make({2: "before"}, reconnect=30)
    node.run_module("other.collection.module", SECRET, step="join")
    action._connection.unreachable = 10**6
    with pytest.raises(AnsibleConnectionFailure, match="win-1: join: "):
        node.run_module("other.collection.module", SECRET, step="join")


def test_arguments_must_not_stay_in_a_file_on_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    node, action = make()
    monkeypatch.setattr(constants, "DEFAULT_KEEP_REMOTE_FILES", True)
    with pytest.raises(NodeError, match="ANSIBLE_KEEP_REMOTE_FILES"):
        node.run_module("other.collection.module", SECRET, step="join")
    assert action.ran == []
