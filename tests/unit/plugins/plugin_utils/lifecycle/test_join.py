# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The batch that joins a machine, on a simulated machine with a kubeadm of the test."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit import outcomes
from unit.resource_answers import answer, failure
from unit.scripted_machine import Handler, ScriptedMachine

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.join_commands import JoinCommand
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubelet_certificate import CURRENT_CERTIFICATE
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths, sddl
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, CallResult, Observation, Stopped
from simulator.machine.objects import ProgramResult

CA = f"{node_paths.KUBERNETES}\\pki\\ca.crt"
SECRET = "token: abcdef.0123456789abcdef\n"


class Joining(ScriptedMachine):
    """A machine with a kubeadm that records its input, and ends with an exit code."""

    def __init__(self, exit_code: int = 0, **handlers: Handler) -> None:
        self.exit_code = exit_code
        self.found: list[tuple[str, str]] = []
        super().__init__({"kubeadm.exe": self._kubeadm, **handlers})

    def _kubeadm(self, call: dict[str, t.Any]) -> ProgramResult:
        assert call["arguments"] == ["join", "--config", node_paths.JOIN_CONFIGURATION]
        files = self.node.files
        self.found.append((files.read_text(node_paths.JOIN_CONFIGURATION), files.sddl(node_paths.JOIN_CONFIGURATION)))
        return ProgramResult(self.exit_code, "", "no\n" if self.exit_code else "")

    def join(self) -> Observation:
        batch = Batch(calls=join.calls(join.KubeadmJoin(configuration=SECRET, kubeadm="kubeadm.exe", timeout=60)))
        return Observation.from_wire(self.handle(batch.to_wire()))


def test_a_machine_that_has_joined_is_not_joined_again() -> None:
    machine = Joining()
    machine.node.files.make_directory(node_paths.KUBELET_CONF.rpartition("\\")[0])
    machine.node.files.write_text(node_paths.KUBELET_CONF, "a kubeconfig")
    seen = machine.join()
    assert join.had_joined(seen)
    assert machine.found == []
    assert machine.node.files.read_text(node_paths.KUBELET_CONF) == "a kubeconfig"


def registering(*written: str) -> Joining:
    """Return a machine whose kubelet writes files after the first call of the batch."""

    def register(_call: dict[str, t.Any]) -> list[t.Any]:
        for path in written:
            machine.node.files.make_directory(path.rpartition("\\")[0])
            machine.node.files.write_text(path, "of the kubelet")
        return []

    machine = Joining(**{"Get-Process": register})
    machine.node.files.make_directory(CA.rpartition("\\")[0])
    machine.node.files.write_text(CA, "a certificate")
    machine.has_services(kubelet="Running")
    return machine


@pytest.mark.parametrize("written", [[node_paths.KUBELET_CONF], [CURRENT_CERTIFICATE]])
def test_a_kubelet_that_still_requests_its_certificate_has_not_registered(written: list[str]) -> None:
    """It writes its kubeconfig first. kubeadm refuses to join while there is one."""
    machine = registering(*written)
    seen = machine.join()
    assert join.problem(seen) is None
    assert not join.had_joined(seen)
    assert len(machine.found) == 1
    assert not machine.node.files.exists(node_paths.KUBELET_CONF)
    assert not machine.node.files.exists(CA)


def test_a_kubelet_that_registers_before_it_is_stopped_keeps_its_files() -> None:
    machine = registering(node_paths.KUBELET_CONF, CURRENT_CERTIFICATE)
    seen = machine.join()
    assert join.had_joined(seen)
    assert join.problem(seen) is None
    assert machine.found == []
    assert machine.node.files.read_text(CA) == "a certificate"
    service = machine.node.services.get("kubelet")
    assert service is not None
    assert service.state == "Running"


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
    assert bool(join.problem(seen)) is bool(exit_code)


def test_the_batch_that_joins() -> None:
    plain = join.KubeadmJoin(configuration="token: x\n", kubeadm="C:\\k\\kubeadm.exe", timeout=900)
    commands = {
        "before": (JoinCommand(program="a.exe", arguments=("b c",)),),
        "after": (JoinCommand(program="d.exe", secret=True, success_codes=(0, 3010)), JoinCommand(program="e.exe")),
    }
    outcomes.check(
        "lifecycle/join",
        {
            "first": outcomes.calls(join.calls(plain)),
            "again": outcomes.calls(join.calls(plain, again=True)),
            "discovery": outcomes.calls(join.calls(dataclasses.replace(plain, timeout=9, discovery="kind: Config\n"))),
            "commands": outcomes.calls(join.calls(dataclasses.replace(plain, **commands))),
            "flags": outcomes.calls(
                join.calls(dataclasses.replace(plain, kubelet={"command_line": "kubelet.exe --a"}))
            ),
            "nssm": outcomes.calls(join.calls(dataclasses.replace(plain, kubelet={"parameters": "--a"}))),
        },
    )


def failed(exit_code: int | None, stdout: str = "", stderr: str = "") -> CallResult:
    return CallResult.from_wire(
        {"ok": False, "exit_code": exit_code, "stdout": stdout, "stderr": stderr, "error": {"message": "it failed"}}
    )


@pytest.mark.parametrize(
    ("stopped", "result", "problem"),
    [
        (None, None, None),
        ("stop-if-joined", None, None),
        ("stop-if-registered", None, None),
        ("join", None, "stopped at join"),
        ("join", answer(), "stopped at join"),
        ("join", failed(1, "out", " no token\n"), "join: exit code 1: no token"),
        ("join", failed(2, " out\n", " "), "join: exit code 2: out"),
        ("join", failed(3), "join: exit code 3: it failed"),
        ("join", failed(1, "", 2001 * "x"), f"join: exit code 1: {2000 * 'x'}"),
        ("configuration", failed(None), "it failed"),
        ("configuration", failure("PermissionDenied", "x", "no access"), "no access"),
        ("join", failed(0, "", "odd"), "join: odd"),
        ("configuration", failed(None, "", ": Unauthorized"), ": Unauthorized"),
    ],
)
def test_why_a_join_failed(stopped: str | None, result: CallResult | None, problem: str | None) -> None:
    seen = Observation(
        stopped=Stopped(id=stopped, reason="error") if stopped else None,
        calls={stopped: result} if stopped and result else {},
    )
    assert join.problem(seen) == problem
    assert join.had_joined(seen) is (stopped in ("stop-if-joined", "stop-if-registered"))
