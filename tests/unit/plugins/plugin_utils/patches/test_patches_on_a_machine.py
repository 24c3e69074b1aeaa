# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The effects of patching on a simulated machine: its services, the leftovers of an earlier run, and the order."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.patches import files, observe, update
from ansible_collections.winkube.node.plugins.plugin_utils.patches.patch import Patch, PatchFile
from ansible_collections.winkube.node.plugins.plugin_utils.patches.run import PatchOptions, PatchRun
from ansible_collections.winkube.node.plugins.plugin_utils.remote.node import FOLDER
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Observation
from ansible_collections.winkube.node.plugins.plugin_utils.wire.scopes import Scope
from simulator.machine import families
from simulator.machine.machine import Machine
from simulator.machine.objects import Invocation, ProgramResult
from simulator.machine.settings import MachineSettings
from simulator.windows.updates import update_package
from simulator.windows.updates.update_catalogue import Update

PENDING = "HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing\\RebootPending"


class PatchedNode(DirectNode):
    """A simulated machine as patching sees it, which records the order of events."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.events: list[str] = []

    def run(self, batch: Batch, *, step: str = "", private: bool = False, system: bool = False) -> Observation:
        self.events += ["install"] if any(call.id.endswith(".install") for call in batch.calls) else []
        return super().run(batch, step=step, private=private)

    def reboot(self, *, step: str = "") -> None:
        self.events.append("reboot")
        super().reboot(step=step)
        # This is what the update stack does at its end.
        self.machine.registry.delete_key(PENDING)

    def forget(self, keys: t.Iterable[str]) -> None:
        """Do nothing, because nothing is stored."""

    def wait(self, key: str, *, step: str) -> Observation:
        raise AssertionError(key)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    entry = {"name": "node-1", "address": "127.0.0.1", "windows": "2022"}
    quick = {"time_scale": 0.001, "reboot_seconds": 0.0, "first_delay": 0.02}
    found = Machine(MachineSettings.read({**entry, **quick}), tmp_path / "machine")
    found.power_on()
    yield found
    found.power.power_off()


def without_bcdedit(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate bcdedit.exe with a policy that protects the boot configuration."""
    return ProgramResult(1, "The boot configuration data store could not be opened.\r\nAccess is denied.\r\n", "")


def read(node: DirectNode, patches: t.Sequence[Patch]) -> observe.PatchObservation:
    session = NodeSession(t.cast("t.Any", node))
    return observe.read(*session.observe(observe.calls(patches), step="observe the patches"))


def observed(node: DirectNode) -> observe.PatchObservation:
    return read(node, ())


def patch(**more: t.Any) -> Patch:
    # No server listens on this port.
    file = PatchFile(name="fix.exe", sha256="0" * 64, url="http://127.0.0.1:9/fix.exe")
    return Patch(name="fix", kb="KB5999001", file=file, **more)


def test_a_pending_update_stack_reboots_before_anything_is_installed(machine: Machine) -> None:
    machine.registry.set(PENDING, "", "")
    node = PatchedNode(machine)
    run = PatchRun(NodeSession(t.cast("t.Any", node)), [patch()], PatchOptions(settle=0.1, max_reboots=1))
    run.run()
    assert node.events[:2] == ["reboot", "install"]
    assert run.reboots == 1


@pytest.mark.parametrize("requested", ["KB500000", "KB5000001"])
def test_windows_update_is_asked_for_whole_numbers(requested: str) -> None:
    offered = [f"2026-11 Cumulative Update ({number})" for number in ("KB500000", "KB5000001", "KB50000011")]
    (pattern,) = update.arguments([dataclasses.replace(patch(), kb=requested)], "default")["accept_list"]
    assert [title for title in offered if re.search(pattern, title)] == [f"2026-11 Cumulative Update ({requested})"]


def test_a_job_whose_process_died_is_not_waited_for(machine: Machine) -> None:
    alive = machine.processes.begin("powershell.exe", "NT AUTHORITY\\SYSTEM")
    for key, pid in (("patches-wu-dead", 99999), ("patches-wu-alive", alive.id)):
        machine.files.make_directory(f"{FOLDER}\\{key}")
        job = {"started": 1, "finished": 0, observe.PID: pid}
        machine.files.write_text(f"{FOLDER}\\{key}\\j1.2", json.dumps(job))
    left = observed(DirectNode(machine)).leftovers
    assert left.jobs == {"patches-wu-alive": alive.id}
    assert left.done == ("patches-wu-dead",)


def test_a_disabled_service_is_stopped_and_disabled_again(machine: Machine) -> None:
    node = DirectNode(machine)

    def call(command: str, **parameters: t.Any) -> None:
        node.run(Batch(calls=(Call(id="a", command=command, parameters=parameters, select=()),)))

    call("Set-Service", Name="wuauserv", StartupType="Disabled")
    assert observed(node).node.disabled == ("wuauserv",)
    node.run(Batch(calls=observe.enable_calls(["wuauserv"])))
    call("Start-Service", Name="wuauserv")
    seen = observed(node)
    assert seen.node.disabled == ()
    node.run(Batch(calls=observe.restore_calls(seen.node.to_restore)))
    service = machine.services.get("wuauserv")
    assert service is not None
    assert (service.start, service.state) == (4, "Stopped")
    assert observed(node).node.to_restore == {}


@pytest.mark.parametrize("refused", [True, False])
def test_a_test_signed_update_is_installed_only_where_windows_will_load_it(tmp_path: Path, refused: bool) -> None:
    known = families.load()
    if refused:
        known = dataclasses.replace(known, programs={**known.programs, "bcdedit.exe": without_bcdedit})
    entry = {"name": "node-1", "address": "127.0.0.1", "windows": "2022", "time_scale": 0.001}
    quick = {"update_seconds": 1, "update_settle_seconds": 1, "secure_boot": False}
    machine = Machine(MachineSettings.read({**entry, **quick}), tmp_path / "machine", known)
    machine.power_on()
    try:
        content = update_package.make(Update("KB5999001", test_signed=True))
        file = PatchFile(name="fix.msu", sha256=hashlib.sha256(content).hexdigest(), url="http://127.0.0.1:9/fix.msu")
        requested = Patch(name="fix", kb="KB5999001", file=file, test_signed=True)
        machine.files.make_directory(observe.folder(requested))
        machine.files.write_bytes(observe.path(requested, file), content)
        node = PatchedNode(machine)
        seen = read(node, [requested])
        calls = [
            *map(files.file_scope(0).call, files.file_calls(requested, seen.node, files.FileRules(), seen.files, {}))
        ]
        answer = node.run(Batch(calls=tuple(calls)))
        installed = answer["p0.install"]
        assert (installed.skipped is not None) is refused
        attempt = files.read(requested, Scope("p0.").results(answer.calls), 0)
        if refused:
            assert attempt.outcome == "failed"
            assert "test signing could not be turned on" in attempt.why
        else:
            assert attempt.test_signing
    finally:
        machine.power.power_off()
