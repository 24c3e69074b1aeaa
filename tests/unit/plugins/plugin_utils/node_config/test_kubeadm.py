# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The batch that joins a machine, on a simulated machine with a kubeadm of the test."""

from __future__ import annotations

import typing as t

import pytest
from unit.scripted_machine import ScriptedMachine

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import kubeadm
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths, sddl
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Observation
from simulator.machine.objects import ProgramResult

SECRET = "token: abcdef.0123456789abcdef\n"


class Joining(ScriptedMachine):
    """A machine with a kubeadm that records its input, and ends with an exit code."""

    def __init__(self, exit_code: int = 0) -> None:
        self.exit_code = exit_code
        self.found: list[tuple[str, str]] = []
        super().__init__({"kubeadm.exe": self._kubeadm})

    def _kubeadm(self, call: dict[str, t.Any]) -> ProgramResult:
        assert call["arguments"] == ["join", "--config", node_paths.JOIN_CONFIGURATION]
        files = self.node.files
        self.found.append((files.read_text(node_paths.JOIN_CONFIGURATION), files.sddl(node_paths.JOIN_CONFIGURATION)))
        return ProgramResult(self.exit_code, "", "no\n" if self.exit_code else "")

    def join(self) -> Observation:
        batch = Batch(calls=kubeadm.join_calls(SECRET, "kubeadm.exe", 60))
        return Observation.from_wire(self.handle(batch.to_wire()))


def test_a_machine_that_has_joined_is_not_joined_again() -> None:
    machine = Joining()
    machine.node.files.make_directory(node_paths.KUBELET_CONF.rpartition("\\")[0])
    machine.node.files.write_text(node_paths.KUBELET_CONF, "a kubeconfig")
    seen = machine.join()
    assert kubeadm.had_joined(seen)
    assert machine.found == []
    assert machine.node.files.read_text(node_paths.KUBELET_CONF) == "a kubeconfig"


@pytest.mark.parametrize("exit_code", [0, 1])
def test_only_system_and_administrators_can_read_the_token(exit_code: int) -> None:
    machine = Joining(exit_code)
    seen = machine.join()
    ((content, found),) = machine.found
    assert content == SECRET
    # In Windows' notation, and unchanged.
    assert found == "O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
    assert sddl.same(sddl.ADMINISTRATORS_ONLY_FILE, found)
    # The file is removed afterwards.
    assert not machine.node.files.exists(node_paths.JOIN_CONFIGURATION)
    assert bool(kubeadm.join_problem(seen)) is bool(exit_code)
