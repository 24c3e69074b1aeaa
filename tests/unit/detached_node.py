# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A simulated machine that also runs detached batches, without Ansible and without a transport."""

from __future__ import annotations

import contextlib
import json
import threading
import typing as t

from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.wire.asked_answers import only_asked
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Observation
from simulator.machine.machine import Machine
from simulator.machine.objects import ProcessEndedError
from wire_provider import module


class DetachedNode(DirectNode):
    """A simulated machine whose detached batches run in threads."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.timeouts = Timeouts()
        self.steps: list[str] = []

    def run(self, batch: Batch, *, step: str = "", private: bool = False, may_reboot: bool = False) -> Observation:
        self.steps.append(step)
        return super().run(batch, step=step, private=private, may_reboot=may_reboot)

    def start(self, batch: Batch, *, step: str) -> str:
        """Start a batch in a thread. It ends with the machine."""
        self.steps.append(step)

        def work() -> None:
            with contextlib.suppress(ProcessEndedError):
                DirectNode(self.machine).run(batch)

        threading.Thread(target=work, daemon=True).start()
        return str(batch.key)

    def peek(self, key: str, *, step: str, seconds: float, asked: t.Sequence[Call] = ()) -> Observation:
        """Return the state or the result of a detached batch."""
        self.steps.append(step)
        text = json.dumps(Batch(mode="collect", key=key, wait=max(1, int(seconds))).to_wire())
        process = self.machine.processes.begin("powershell.exe", "NT AUTHORITY\\SYSTEM")
        try:
            answer = module.run(self.machine, text, process, process.user, self.machine.environment())
        finally:
            self.machine.processes.end(process)
        return only_asked(Observation.from_wire(json.loads(json.dumps(answer["observation"]))), asked)
