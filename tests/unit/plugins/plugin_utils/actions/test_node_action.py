# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The common part of all actions on a node: options, connections that must not be used, and failures as results."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from unit.action_run import PSRP, Answering, Connection, run, run_on
from unit.fake_node import FakeAction
from unit.fake_settings import Setting, World

from ansible_collections.winkube.node.plugins.plugin_utils.actions import node_action
from ansible_collections.winkube.node.plugins.plugin_utils.actions.node_action import NodeAction
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch


def action(perform: t.Callable[[t.Any, t.Mapping[str, t.Any], t.Any], dict[str, t.Any]]) -> t.Any:
    """Return a module with an action plugin that runs a function."""
    options = {"name": {"type": "str", "default": ""}, "timeout": {"type": "int", "default": 5}}
    plugin = type("ActionModule", (NodeAction,), {"OPTIONS": options, "perform": perform})
    return types.SimpleNamespace(ActionModule=plugin)


def fails(error: Exception) -> t.Any:
    def perform(*_arguments: object) -> dict[str, t.Any]:
        raise error

    return action(perform)


OPTIONS = {
    "reboot": True,
    "reboot_timeout": 1800,
    "reconnect_timeout": 300,
    "allow_unsupported_windows": False,
    "allowed_code_policies": [],
    "name": "",
    "timeout": 5,
}


def test_an_action_gets_its_options_and_a_node_that_knows_its_limits() -> None:
    def perform(_self: object, options: t.Mapping[str, t.Any], session: t.Any) -> dict[str, t.Any]:
        node = session.node
        return {"options": dict(options), "name": node.name, "timeouts": node.timeouts, "said": "a\x07b"}

    node = Answering()
    own = {"reboot_timeout": "7", "reconnect_timeout": 8, "timeout": 9, "name": "n"}
    found = run_on(node, action(perform), own)
    limits = {"reboot_timeout": 7, "reconnect_timeout": 8, "timeout": 9}
    assert found.pop("options") == {**OPTIONS, **limits, "name": "n"}
    assert found == {"name": "node-1", "timeouts": Timeouts(batch=9, reboot=7, reconnect=8), "said": "a\\x07b"}
    assert run_on(node, action(perform), {})["options"] == OPTIONS
    # A task may be delegated.
    assert run_on(node, action(perform), {}, delegate_to="other")["name"] == "other"
    with pytest.raises(AnsibleActionFail, match="Unsupported parameters"):
        run_on(node, action(perform), {"no_such_option": 1})


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (NodeError("node-1: it broke"), "node-1: it broke"),
        (ResourceError("a", 1, "expected 2"), "a: expected 2, got 1"),
        (
            KeyError("x\x07"),
            "node-1: an answer from the node cannot be used: KeyError: 'x\\x07' (-vvv shows where)",
        ),
        (ValueError("\x07"), "node-1: an answer from the node cannot be used: ValueError: \\x07 (-vvv shows where)"),
    ],
)
def test_failures_are_results(monkeypatch: pytest.MonkeyPatch, error: Exception, message: str) -> None:
    details: list[tuple[str, str]] = []
    monkeypatch.setattr(node_action, "show_details", lambda text, host: details.append((text.splitlines()[-1], host)))
    assert run_on(Answering(), fails(error), {}) == {"failed": True, "msg": message}
    assert bool(details) is ("-vvv" in message)
    assert all(host == "node-1" and type(error).__name__ in text for text, host in details)


def test_another_error_is_ansible_s() -> None:
    with pytest.raises(RuntimeError):
        run_on(Answering(), fails(RuntimeError("a mistake of ours")), {})


@pytest.mark.parametrize("allowed", [None, False, "no", True, "yes"])
def test_an_unencrypted_connection_is_used_only_if_it_is_allowed(allowed: object) -> None:
    connection = Connection({**PSRP, "cert_validation": "ignore"})
    variables = {} if allowed is None else {"allow_insecure_connection": allowed}
    found = run_on(Answering(), action(lambda *_arguments: {"done": True}), {}, variables, connection=connection)
    if allowed in (True, "yes"):
        assert found == {"done": True}
        return
    message = found.pop("msg")
    assert found == {"failed": True, "remote_commands": 0}
    assert message.startswith("node-1: ansible_psrp_cert_validation: expected validate")


class Work(NodeAction):
    """Converges a scripted machine on one setting."""

    def __init__(self, world: World, *, faults: t.Any = None, check_mode: bool = False, diff: bool = False) -> None:
        self._task = types.SimpleNamespace(check_mode=check_mode, diff=diff)  # type: ignore[assignment]
        self.inner = FakeAction(world, faults)

    def work(self, *settings: Setting, **options: t.Any) -> dict[str, t.Any]:
        node = Node(t.cast("t.Any", self.inner), {"inventory_hostname": "win-1"}, sleep=lambda _seconds: None)
        found = self.converge(NodeSession(node), settings, {**OPTIONS, **options})
        found.pop("clock_skew", None)
        found.pop("windows", None)
        for one in found.get("changes", ()):
            one.pop("seconds")
        return found


def changed(name: str, why: str) -> dict[str, t.Any]:
    return {"type": "Setting", "name": name, "action": "update", "why": why, "disrupts": False, "disruption": ""}


USUAL = {"deferred": [], "reboot_required": False, "rebooted": False}


def test_the_options_of_the_task_apply_to_the_convergence() -> None:
    world = World({"a": "off"})
    dry = Work(world, check_mode=True, diff=True).work(Setting(name="a"))
    difference = {
        "before_header": "Setting a",
        "after_header": "Setting a",
        "before": {"value": "off"},
        "after": {"value": "on"},
    }
    change = changed("a", "is off, should be on")
    assert dry == {**USUAL, "changed": True, "changes": [change], "diff": [difference], "remote_commands": 1}
    assert world.settings == {"a": "off"}
    assert Work(world).work(Setting(name="a")) == {**USUAL, "changed": True, "changes": [change], "remote_commands": 2}
    assert world.settings == {"a": "on"}
    assert Work(world).work(Setting(name="a")) == {**USUAL, "changed": False, "changes": [], "remote_commands": 1}


@pytest.mark.parametrize("may", [True, False])
def test_a_node_is_rebooted_where_it_may_be(may: bool) -> None:
    world = World({"a": "off"})
    found = Work(world).work(Setting(name="a", reboot="always"), reboot=may)
    assert (found["rebooted"], found["reboot_required"], world.reboots) == (may, not may, int(may))


def test_a_failure_keeps_what_was_done_before_it() -> None:
    world = World({"a": "off", "b": "off"})
    world.broken.add("b")
    found = Work(world).work(Setting(name="a"), Setting(name="b"))
    assert (found["failed"], found["changed"]) == (True, True)
    assert "cannot set b to on" in found["msg"]
    assert [one["name"] for one in found["changes"]] == ["a"]


def test_a_permanently_broken_link_means_unreachable_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(self: Node, batch: Batch, **_more: t.Any) -> t.NoReturn:
        raise AnsibleConnectionFailure("no route to host")

    monkeypatch.setattr(Node, "run", unreachable)
    found = Work(World({"a": "off"})).work(Setting(name="a"))
    assert (found["failed"], found["unreachable"], found["changed"]) == (False, True, False)
    assert "no route to host" in found["msg"]

    def lost(self: Node, batch: Batch, **_more: t.Any) -> t.NoReturn:
        raise NodeError("win-1: it is gone")

    monkeypatch.setattr(Node, "run", lost)
    found = Work(World({"a": "off"})).work(Setting(name="a"))
    assert (found["failed"], "unreachable" in found) == (True, False)
    assert "win-1: it is gone" in found["msg"]


def test_an_action_must_define_its_work() -> None:
    with pytest.raises(NotImplementedError):
        run(types.SimpleNamespace(ActionModule=NodeAction), {}, {"inventory_hostname": "n"})
