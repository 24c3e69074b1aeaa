# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The results of patch_install: for a successful run, an interrupted run, and a dry run."""

from __future__ import annotations

import types
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible.errors import AnsibleConnectionFailure
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.action import patch_install as action
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, Observation
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

PENDING = "HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing\\RebootPending"
OPTIONS = {
    "patches": ["KB5999001"],
    "patch_source": "",
    "update_server": "default",
    "test_signing": True,
    "allowed_signers": [],
    "max_reboots": 0,
    "settle_timeout": 1,
    "proxy": None,
    "no_proxy": [],
    "headers": {},
    "ignore_revocation": False,
    "timeout": 60,
    "contact_timeout": 10,
    "reboot": True,
    "allow_unsupported_windows": False,
}


class PatchedNode(DirectNode):
    """A simulated machine as the action sees it. Its connection fails when a test requests it."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.timeouts = Timeouts()
        self.failures: dict[int, Exception] = {}

    def observe(self, calls: t.Sequence[Call], *, step: str = "", private: bool = False) -> Observation:
        if (error := self.failures.get(self.remote_commands)) is not None:
            raise error
        return super().observe(calls, step=step, private=private)

    def forget(self, keys: t.Iterable[str]) -> None:
        """Do nothing, because nothing is stored."""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[PatchedNode]:
    entry = {"name": "node-1", "address": "127.0.0.1", "windows": "2022", "time_scale": 0.001, "reboot_seconds": 0.0}
    machine = Machine(MachineSettings.read(entry), tmp_path / "machine")
    machine.power_on()
    yield PatchedNode(machine)
    machine.power.power_off()


class Action(action.ActionModule):  # type: ignore[misc]  # ansible ships no type information
    """The action without Ansible."""

    def __init__(self, *, check_mode: bool) -> None:
        self._task = types.SimpleNamespace(check_mode=check_mode, diff=True)


def run(node: PatchedNode, *, check_mode: bool = False, **options: t.Any) -> dict[str, t.Any]:
    result: dict[str, t.Any] = Action(check_mode=check_mode).perform(
        {**OPTIONS, **options}, NodeSession(t.cast("t.Any", node))
    )
    return result


def pending(node: PatchedNode) -> None:
    """Make its update stack wait for a reboot."""
    node.machine.registry.set(PENDING, "", "")


def test_a_node_without_a_connection_is_unreachable_not_failed(node: PatchedNode) -> None:
    node.failures[0] = AnsibleConnectionFailure("no route to host")
    result = run(node)
    assert (result["failed"], result["unreachable"], result["msg"]) == (False, True, "no route to host")
    assert (result["changed"], result["os_build_before"], result["remote_commands"]) == (False, "", 0)
    assert [patch["message"] for patch in result["patches"]] == ["the node was not observed"]


def test_an_interrupted_run_reports_the_finished_work(node: PatchedNode) -> None:
    node.failures[0] = NodeError("node-1: it broke")
    result = run(node)
    assert (result["failed"], result["msg"]) == (True, "node-1: it broke")
    assert "unreachable" not in result


@pytest.mark.parametrize("may_reboot", [True, False])
@pytest.mark.parametrize("waits", [True, False])
def test_a_dry_run_would_change_what_it_may_reboot(node: PatchedNode, waits: bool, may_reboot: bool) -> None:
    if waits:
        pending(node)
    result = run(node, check_mode=True, reboot=may_reboot, patches=[])
    assert (result["reboot_required"], result["reboots"]) == (waits, 0)
    assert result["changed"] is (waits and may_reboot)
    assert not result.get("failed")


@pytest.mark.parametrize("may_reboot", [True, False])
def test_a_run_whose_node_still_waits_for_a_reboot_fails_where_it_was_to_reboot(
    node: PatchedNode, may_reboot: bool
) -> None:
    pending(node)
    result = run(node, reboot=may_reboot, patches=[])
    assert (result["reboot_required"], result["changed"]) == (True, False)
    assert bool(result.get("failed")) is may_reboot
    if may_reboot:
        text = "node-1: the update stack is still waiting for a reboot and max_reboots is 0"
        assert result["msg"].startswith(text)


def test_missing_patches_are_listed_with_reasons(node: PatchedNode) -> None:
    looked = run(node, check_mode=True)
    (patch,) = looked["patches"]
    assert (patch["name"], patch["status"], patch["source"]) == ("KB5999001", "to_install", "windows_update")
    assert (looked["changed"], bool(looked.get("failed"))) == (True, False)
    assert [change["name"] for change in looked["changes"]] == ["KB5999001"]
    assert [item["before_header"] for item in looked["diff"]] == ["Patch KB5999001"]
    assert (looked["diff"][0]["before"], looked["diff"][0]["after"]) == ("not installed\n", "installed\n")
    pending(node)
    blocked = run(node, reboot=False)
    assert blocked["failed"]
    assert blocked["msg"].startswith("node-1: 1 of 1 patches not installed\nKB5999001  failed  a reboot is pending")
