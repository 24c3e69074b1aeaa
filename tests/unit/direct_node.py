# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A simulated machine as the engine sees a node, without Ansible and without a transport."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ansible.plugins.loader import module_loader

from ansible_collections.winkube.node.plugins.plugin_utils.remote import download
from ansible_collections.winkube.node.plugins.plugin_utils.wire.asked_answers import only_asked
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Observation
from simulator.machine import modules
from simulator.machine.machine import Machine
from simulator.machine.session import Session
from wire_provider import module


class DirectNode:
    """A simulated machine without a transport, as the engine sees a node."""

    def __init__(self, machine: Machine) -> None:
        self.name = "node-1"
        self.machine = machine
        self.remote_commands = 0
        self.reboots = 0
        self.on_progress: t.Any = None

    def observe(self, calls: t.Sequence[Call], *, step: str = "", private: bool = False) -> Observation:
        return self.run(Batch(calls=tuple(calls)))

    def run(self, batch: Batch, *, step: str = "", private: bool = False, may_reboot: bool = False) -> Observation:
        self.remote_commands += 1
        process = self.machine.processes.begin("powershell.exe", "NT AUTHORITY\\SYSTEM")
        try:
            text, environment = json.dumps(batch.to_wire()), self.machine.environment()
            answer = module.run(self.machine, text, process, process.user, environment)
        finally:
            self.machine.processes.end(process)
        assert not answer.get("failed"), answer
        observation = json.loads(json.dumps(answer["observation"]))
        self.answered(batch, observation)
        return only_asked(Observation.from_wire(observation), batch.calls)

    def run_module(self, name: str, arguments: t.Mapping[str, t.Any], *, step: str = "") -> dict[str, t.Any] | None:
        """Run a module of an installed collection on the machine."""
        self.remote_commands += 1
        context = module_loader.find_plugin_with_context(name, mod_type=".ps1")
        script = Path(context.plugin_resolved_path).read_text(encoding="utf-8")
        process = self.machine.processes.begin("powershell.exe", "Administrator")
        try:
            session = Session(self.machine, process, "Administrator")
            answer = modules.run(session, f"{name}.ps1", script, dict(arguments))
        finally:
            self.machine.processes.end(process)
        answer.pop("invocation", None)
        return answer

    def answered(self, batch: Batch, observation: dict[str, t.Any]) -> None:
        """Called with each response of the module, for tests that alter it."""

    def fetch(self, path: str, size: int, sha256: str, target: t.BinaryIO) -> int:
        return download.fetch(t.cast("t.Any", self), path, size, sha256, target)

    def reboot(self, *, step: str = "", ordered: bool | None = False, boot: str = "") -> None:
        self.reboots += 1
        # The machine may have gone down already, if a batch ordered a reboot.
        self.machine.power.abort()
        self.machine.power.power_off()
        self.machine.power_on()
