# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The steps of an upgrade, and the batch that runs kubeadm for each of them."""

from __future__ import annotations

import typing as t

import pytest
from unit.scripted_machine import ScriptedMachine

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import upgrade
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost, NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Observation
from simulator.machine.objects import ProgramResult

KNOWN = ("1.35.0", "1.35.4", "1.36.3", "1.36.10", "1.36.11-rc.1")


@pytest.mark.parametrize(
    ("before", "after", "steps"),
    [
        ("v1.37.1", "1.37.1", ()),
        ("v1.36.3", "1.37.1", ("1.37.1",)),
        ("v1.35.4", "1.37.1", ("1.36.10", "1.37.1")),
        ("v1.34.4", "1.37.1", ("1.35.4", "1.36.10", "1.37.1")),
        # Patch releases, and the way back to one.
        ("v1.37.0", "1.37.1", ("1.37.1",)),
        ("v1.37.1", "1.37.0", ("1.37.0",)),
        ("v1.37.1", "1.38.0-alpha.1", ("1.38.0-alpha.1",)),
        ("v1.37.2-rc.0", "1.37.2-rc.0.12+abcdef", ("1.37.2-rc.0.12+abcdef",)),
    ],
)
def test_one_minor_version_per_step(before: str, after: str, steps: tuple[str, ...]) -> None:
    planned = upgrade.plan(before, after, KNOWN)
    assert (planned.steps, planned.problem) == (steps, "")
    assert planned.before == before.removeprefix("v")


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        ("v1.37.1", "1.36.3", ["expected a release of 1.37", "got 1.36.3", "supports no downgrade"]),
        ("v1.37.1", "2.0.0", ["expected a release of 1.37"]),
        ("v1.33.1", "1.37.1", ["node_upgrade_versions", "expected a release of 1.34, got 1.35.4, 1.36.10"]),
        ("", "1.37.1", ["does not show the version of the node's kubelet"]),
        ("v1.37", "1.37.1", ["expected MAJOR.MINOR.PATCH such as 1.37.1, got '1.37'"]),
    ],
)
def test_upgrades_that_are_not_possible_are_explained(before: str, after: str, texts: list[str]) -> None:
    planned = upgrade.plan(before, after, KNOWN)
    assert planned.steps == ()
    assert [text for text in texts if text not in planned.problem] == []


def test_all_missing_versions_are_named() -> None:
    problem = upgrade.plan("v1.34.4", "1.37.1", []).problem
    assert "expected a release of 1.35 and of 1.36, got none" in problem


class Upgrading(ScriptedMachine):
    """A machine with a kubeadm that fails as often as the test says."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.runs: list[str] = []
        super().__init__({self._name(version): self._kubeadm(version) for version in ("1.36.3", "1.37.1")})

    @staticmethod
    def _name(version: str) -> str:
        """Return the name of a step's program. The test's programs have no folders."""
        return upgrade.program(version).replace("\\", "-").replace(":", "")

    def _kubeadm(self, version: str) -> t.Callable[[dict[str, t.Any]], ProgramResult]:
        def run(call: dict[str, t.Any]) -> ProgramResult:
            assert call["arguments"] == ["upgrade", "node"]
            self.runs.append(version)
            self.failures -= 1
            if self.failures >= 0:
                return ProgramResult(1, "", "could not create timestamp directory\n")
            return ProgramResult(0, "[upgrade] done\n")

        return run

    def upgrade(self, *steps: str) -> Observation:
        sent = zip(steps, upgrade.calls(steps, 60), strict=True)
        calls = [{**call.to_wire(), "command": self._name(version), "delay": 0.01} for version, call in sent]
        return Observation.from_wire(self.handle({**Batch().to_wire(), "calls": calls}))


def test_kubeadm_runs_for_each_step_in_order() -> None:
    machine = Upgrading()
    seen = machine.upgrade("1.36.3", "1.37.1")
    assert machine.runs == ["1.36.3", "1.37.1"]
    assert upgrade.problem(seen) is None


def test_a_step_in_the_second_of_another_one_is_repeated() -> None:
    machine = Upgrading(failures=2)
    assert upgrade.problem(machine.upgrade("1.37.1")) is None
    assert machine.runs == ["1.37.1"] * 3


def test_a_failed_step_ends_the_upgrade_with_its_message() -> None:
    machine = Upgrading(failures=3)
    seen = machine.upgrade("1.36.3", "1.37.1")
    assert machine.runs == ["1.36.3"] * 3
    assert upgrade.problem(seen) == (
        "kubeadm upgrade node of 1.36.3: exit code 1: could not create timestamp directory"
    )


def test_the_kubelet_stops_before_processes_of_pods_end() -> None:
    commands = [(call.id, call.command) for call in upgrade.calls(["1.37.1"], 60, ["kube-proxy"])]
    assert [command for _id, command in commands][1:] == ["Stop-Service", "Get-Process", "Stop-Process"]
    assert len(upgrade.calls(["1.37.1"], 60)) == 1


class LosingNode:
    """A node on which batches are lost."""

    name = "win1"

    def __init__(self, losses: int) -> None:
        self.losses = losses
        self.batches: list[Batch] = []

    def run(self, batch: Batch, **_options: t.Any) -> Observation:
        self.batches.append(batch)
        if len(self.batches) <= self.losses:
            raise BatchLost("lost", None)
        return Upgrading().upgrade("1.37.1")


@pytest.mark.parametrize(("losses", "runs", "fails"), [(0, 1, False), (1, 2, False), (2, 2, True)])
def test_a_lost_batch_is_repeated_once(losses: int, runs: int, fails: bool) -> None:
    node = LosingNode(losses)
    if fails:
        with pytest.raises(NodeError):
            upgrade.upgrade_node(t.cast("t.Any", node), ["1.37.1"], 60)
    else:
        upgrade.upgrade_node(t.cast("t.Any", node), ["1.37.1"], 60)
    assert len(node.batches) == runs
