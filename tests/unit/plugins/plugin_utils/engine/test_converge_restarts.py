# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""When a convergence reboots the node, and which services it restarts."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit.fake_settings import Setting, World, converge, titles
from unit.scripted_machine import ScriptedMachine

from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost
from ansible_collections.winkube.node.plugins.plugin_utils.remote.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Observation, Progress


def is_of_a_reboot(batch: dict[str, t.Any]) -> bool:
    """Return whether a batch orders a reboot or waits for it."""
    return "logon" in {call["id"] for call in batch["calls"]}


def commands_of_orders(machine: ScriptedMachine) -> list[dict[str, t.Any]]:
    """Return the batches that only order a reboot."""
    return [batch for batch in machine.batches if "order" in {call["id"] for call in batch["calls"]}]


def test_a_reported_reboot_happens_once_and_the_run_continues() -> None:
    world = World()
    world.needs_reboot = {"a", "b"}
    outcome, action = converge(
        world,
        Setting(name="a", reboot="if_reported"),
        Setting(name="b", reboot="if_reported"),
        Setting(name="c"),
        Setting(name="d"),
    )
    assert world.reboots == 1
    assert world.sets() == ["a", "b", "c", "d"]
    assert outcome.rebooted
    # Observe, the calls up to the barrier, the rest. Nothing is observed again.
    assert len([batch for batch in action.machine.batches if not is_of_a_reboot(batch)]) == 3
    assert commands_of_orders(action.machine) == []


def test_the_batch_itself_orders_a_reboot_that_a_change_reports() -> None:
    world = World()
    world.needs_reboot = {"b"}
    settings = [Setting(name=name, reboot="if_reported") for name in "ab"]
    dummy, action = converge(world, settings[0], Setting(name="x"), settings[1], Setting(name="y"))
    assert world.reboots == action.machine.ran("shutdown.exe") == 1
    # The first change needed no reboot, so none of the calls that would have ordered one ran.
    ran = [call["id"] for call in action.machine.executed if call["id"].startswith("reboot-order.")]
    assert ran == ["reboot-order.2.unneeded", "reboot-order.2.logon", "reboot-order.2.order"]


def test_the_batch_itself_orders_a_reboot_that_is_certain() -> None:
    dummy, action = converge(World(), Setting(name="a", reboot="always"), Setting(name="b"))
    assert action.machine.reboots == action.machine.ran("shutdown.exe") == 1
    assert commands_of_orders(action.machine) == []


def test_a_second_reboot_is_waited_for_like_the_first() -> None:
    world = World({"b": "pending"})
    settings = [Setting(name="a", reboot="always"), Setting(name="x"), Setting(name="b"), Setting(name="c")]
    outcome, action = converge(world, *settings)
    assert (action.machine.reboots, action.machine.ran("shutdown.exe")) == (2, 2)
    assert world.sets() == ["a", "x", "c"]
    assert outcome.failures == []


def test_no_batch_orders_a_reboot_that_is_not_allowed() -> None:
    world = World()
    world.needs_reboot = {"a"}
    dummy, action = converge(world, Setting(name="a", reboot="if_reported"), may_reboot=False)
    assert action.machine.reboots == action.machine.ran("shutdown.exe") == 0


def test_an_error_before_the_end_of_a_batch_orders_no_reboot() -> None:
    world = World()
    world.broken = {"b"}
    outcome, action = converge(world, Setting(name="a", reboot="always"), Setting(name="b", reboot="always"))
    assert len(outcome.failures) == 1
    assert action.machine.reboots == action.machine.ran("shutdown.exe") == 0


def test_every_reboot_is_reported() -> None:
    world = World()
    outcome, action = converge(world, Setting(name="a", reboot="if_reported"), Setting(name="b"))
    assert world.reboots == 0
    assert not outcome.rebooted
    assert action._connection.commands == 2


def test_a_certain_reboot_and_its_neighbours_are_one_reboot() -> None:
    world = World()
    world.needs_reboot = {"b"}
    converge(world, Setting(name="a", reboot="always"), Setting(name="b", reboot="if_reported"), Setting(name="c"))
    assert world.reboots == 1
    assert world.sets() == ["a", "b", "c"]


def test_reboots_apart_are_two() -> None:
    world = World()
    world.needs_reboot = {"c"}
    converge(
        world,
        Setting(name="a", reboot="always"),
        Setting(name="b"),
        Setting(name="c", reboot="if_reported"),
        Setting(name="d"),
    )
    assert world.reboots == 2
    assert world.sets() == ["a", "b", "c", "d"]


def test_a_change_without_calls_only_reboots() -> None:
    world = World({"a": "pending"})
    outcome, _ = converge(world, Setting(name="a"), Setting(name="b"))
    assert world.reboots == 1
    assert titles(outcome) == ["Setting a", "Setting b"]


def test_if_reboots_are_not_allowed_the_following_changes_fail() -> None:
    world = World()
    world.needs_reboot = {"a"}
    resources = (Setting(name="a", reboot="if_reported"), Setting(name="b"))
    outcome, _ = converge(world, *resources, may_reboot=False)
    result = outcome.to_result(diff=False)
    assert result["reboot_required"] is True
    assert "win-1: a reboot is needed before Setting b" in result["msg"]
    assert world.sets() == ["a"]
    assert world.reboots == 0


def test_if_reboots_are_not_allowed_the_last_change_only_requests_one() -> None:
    outcome, _ = converge(World(), Setting(name="a", reboot="always"), may_reboot=False)
    assert outcome.reboot_required
    assert outcome.failures == []


def test_services_restart_once_if_they_run() -> None:
    world = World()
    world.has_services(kubelet="Running", containerd="Stopped")
    restarts = ("kubelet", "containerd", "missing")
    outcome, action = converge(
        world, Setting(name="a", restarts=restarts), Setting(name="b", restarts=("Kubelet",)), Setting(name="c")
    )
    assert world.ran("Restart-Service") == 1
    assert [call["command"] for call in world.executed][-1] == "Restart-Service"
    assert outcome.failures == []
    assert action._connection.commands == 2


@pytest.mark.parametrize("state", ["Stopped", "Running"])
@pytest.mark.parametrize(("first", "restarts"), [("service", 1), ("file", 0)])
def test_a_service_restarts_if_its_configuration_is_written_after_its_start(
    state: str, first: str, restarts: int
) -> None:
    world = World()
    world.has_services(kubelet=state)
    (service,) = load([{"type": "Service", "name": "kubelet", "state": "running"}])
    file = Setting(name="a", restarts=("Kubelet",))
    converge(world, *((service, file) if first == "service" else (file, service)))
    starts = world.ran("Start-Service")
    assert starts == (1 if state == "Stopped" else 0)
    # A running service without changes restarts only for the file, regardless of its position.
    assert world.ran("Restart-Service") == (restarts if state == "Stopped" else 1)


def test_nothing_restarts_where_nothing_changed() -> None:
    world = World({"a": "on"})
    world.has_services(kubelet="Running")
    converge(world, Setting(name="a", restarts=("kubelet",)), Setting(name="b"))
    assert world.ran("Restart-Service") == 0


def test_nothing_restarts_that_a_reboot_restarts() -> None:
    world = World()
    world.has_services(kubelet="Running")
    converge(world, Setting(name="a", reboot="always", restarts=("kubelet",)), Setting(name="b"))
    assert world.ran("Restart-Service") == 0


def test_changes_before_a_failure_still_restart_their_services() -> None:
    world = World()
    world.has_services(kubelet="Running", containerd="Running")
    world.broken = {"b"}
    converge(world, Setting(name="a", restarts=("kubelet",)), Setting(name="b", restarts=("containerd",)))
    asked = [call["parameters"]["Name"] for call in world.executed if "Name" in call.get("parameters", {})]
    assert world.ran("Restart-Service") == 1
    assert asked.count("kubelet") == 2  # Before the failed batch, and for the restart.
    assert asked.count("containerd") == 1


def test_a_service_that_restarts_after_a_change_anyway_restarts_once() -> None:
    (service,) = load([{"type": "Service", "name": "kubelet", "environment": {"X": "1"}, "state": "running"}])
    file = Setting(name="a", restarts=("Kubelet",))
    for resources, restarts in (([file, service], 1), ([service, file], 2)):
        world = World()
        world.has_services(kubelet="Running")
        outcome, _ = converge(world, *resources)
        assert outcome.failures == []
        # A service that started before the change has not read the file.
        assert world.ran("Restart-Service") == restarts


@pytest.mark.parametrize("ordered", [True, False])
def test_a_batch_lost_while_ordering_the_reboot(monkeypatch: pytest.MonkeyPatch, ordered: bool) -> None:
    # Its process ended before it wrote its result. Whether it had ordered the reboot is unknown.
    run, lost = Node.run, []

    def lose_first(node: Node, batch: Batch, **options: t.Any) -> Observation:
        if lost:
            return run(node, batch, **options)
        calls = tuple(call for call in batch.calls if ordered or not call.id.startswith("reboot-order."))
        lost.append(run(node, dataclasses.replace(batch, calls=calls), **options))
        raise BatchLost("lost", Progress(id="reboot-order.order", done=1, total=1))

    monkeypatch.setattr(Node, "run", lose_first)
    world = World()
    outcome, action = converge(world, Setting(name="a", reboot="always"), Setting(name="b"))
    assert world.sets() == ["a", "b"]
    assert (action.machine.reboots, outcome.failures) == (1, [])
