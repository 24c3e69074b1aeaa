# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs before and after kubeadm, on a simulated machine with programs of the test."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit.action_run import Answering, run_on
from unit.scripted_machine import ScriptedMachine

from ansible_collections.winkube.node.plugins.action import kubeadm_join
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join, join_commands
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.join_commands import JoinCommand, commands
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, CallResult, Observation, Stopped
from simulator.machine.objects import ProgramResult


class Joining(ScriptedMachine):
    """A machine with kubeadm and two programs, which record that they ran.

    Args:
        exit_codes: exit codes of programs that do not succeed.
    """

    def __init__(self, **exit_codes: int) -> None:
        self.ran: list[str] = []
        self.exit_codes = exit_codes
        super().__init__({f"{name}.exe": self._program for name in ("kubeadm", "one", "two", "three")})

    def _program(self, call: dict[str, t.Any]) -> ProgramResult:
        name = call["command"].removesuffix(".exe")
        self.ran.append(name)
        if name == "kubeadm" and not self.exit_codes.get(name):
            self.node.files.make_directory(node_paths.KUBERNETES)
            self.node.files.write_text(node_paths.KUBELET_CONF, "a kubeconfig")
        return ProgramResult(self.exit_codes.get(name, 0), "", f"{name} failed with hunter2\n")

    @property
    def record(self) -> int | None:
        """The number of programs that have ended, as a run reads it."""
        exists = self.node.files.exists(join_commands.RECORD)
        return join_commands.ended(self.node.files.read_text(join_commands.RECORD) if exists else None)

    def run(self, calls: t.Sequence[t.Any]) -> Observation:
        return Observation.from_wire(self.handle(Batch(calls=tuple(calls)).to_wire()))


def joining(before: t.Sequence[str] = (), after: t.Sequence[str] = (), **more: t.Any) -> join.KubeadmJoin:
    return join.KubeadmJoin(
        configuration="token",
        kubeadm="kubeadm.exe",
        timeout=60,
        before=tuple(JoinCommand(program=f"{name}.exe", **more) for name in before),
        after=tuple(JoinCommand(program=f"{name}.exe", **more) for name in after),
    )


def test_programs_run_in_order_around_kubeadm() -> None:
    machine = Joining()
    seen = machine.run(join.calls(joining(["one", "two"], ["three"])))
    assert join.problem(seen) is None
    assert machine.ran == ["one", "two", "kubeadm", "three"]
    assert machine.record is None
    # A machine that has joined runs none of them.
    assert join.had_joined(machine.run(join.calls(joining(["one", "two"], ["three"]))))
    assert len(machine.ran) == 4


def test_a_failing_program_before_kubeadm_prevents_the_join() -> None:
    machine = Joining(two=7)
    seen = machine.run(join.calls(joining(["one", "two"], ["three"])))
    assert join.problem(seen) == "pre_kubeadm_commands[1]: exit code 7: two failed with hunter2"
    assert machine.ran == ["one", "two"]
    assert machine.record is None
    # No token was written.
    assert not machine.node.files.exists(node_paths.JOIN_CONFIGURATION)


def test_a_failing_program_after_kubeadm_is_where_the_next_run_continues() -> None:
    machine = Joining(two=3)
    seen = machine.run(join.calls(joining([], ["one", "two", "three"])))
    assert join.problem(seen) == "post_kubeadm_commands[1]: exit code 3: two failed with hunter2"
    assert (machine.ran, machine.record) == (["kubeadm", "one", "two"], 1)
    assert not machine.node.files.exists(node_paths.JOIN_CONFIGURATION)
    machine.exit_codes = {}
    machine.ran.clear()
    rest = join_commands.calls("post", joining([], ["one", "two", "three"]).after, machine.record or 0)
    machine.run((*rest, join_commands.end_record()))
    assert (machine.ran, machine.record) == (["two", "three"], None)


def test_a_failing_kubeadm_leaves_no_program_to_continue_with() -> None:
    machine = Joining(kubeadm=1)
    seen = machine.run(join.calls(joining([], ["one"])))
    assert (join.problem(seen) or "").startswith("join: exit code 1")
    assert machine.ran == ["kubeadm"]
    machine.exit_codes = {}
    machine.run(join.calls(joining()))
    # The next join removed the record.
    assert machine.record is None


def test_the_output_of_a_secret_program_is_never_shown() -> None:
    machine = Joining(one=9)
    seen = machine.run(join.calls(joining(["one"], secret=True)))
    assert join.problem(seen) == "pre_kubeadm_commands[0]: exit code 9"
    assert "hunter2" not in repr(seen)


def test_arguments_and_environment_are_not_in_a_message_about_the_output() -> None:
    command = JoinCommand(program="one.exe", arguments=("--password", "hunter2"), environment={"A": "passphrase"})
    output = {"ok": False, "exit_code": 7, "stderr": "no hunter2, and no passphrase", "error": {"message": "it failed"}}
    runs: dict[str, t.Callable[[Answering], object]] = {
        "pre": lambda node: join.join_cluster(node, dataclasses.replace(joining(), before=(command,))),
        "post": lambda node: join.finish_join(node, [command], 0),
    }
    for stage, run in runs.items():
        call = f"{stage}-0"
        answer = {"state": "finished", "stopped": {"id": call, "reason": "error"}, "calls": {call: output}}
        node = Answering(Observation.from_wire(answer))
        with pytest.raises(NodeError) as failed:
            run(node)
        assert str(failed.value).endswith(f"{stage}_kubeadm_commands[0]: exit code 7: no ***, and no ***")


def test_the_rest_of_a_secret_that_was_cut_off_is_not_in_a_message() -> None:
    output = f"abcdef.0123456789abcdef {1984 * 'x'}"
    result = CallResult.from_wire({"ok": False, "exit_code": 1, "stderr": output, "error": {"message": "it failed"}})
    for call in ("join", "post-0"):
        seen = Observation(stopped=Stopped(id=call, reason="error"), calls={call: result})
        assert "789abcdef" not in (join.problem(seen) or "")


def test_a_program_that_does_not_exist_or_takes_too_long_is_named() -> None:
    result = CallResult.from_wire(
        {"ok": False, "error": {"id": "CommandNotFoundException", "message": "no such program"}}
    )
    assert join_commands.problem("post-2", result) == "post_kubeadm_commands[2]: no such program"
    assert join_commands.problem("join", result) is None


def test_other_exit_codes_may_be_successes() -> None:
    machine = Joining(one=194)
    seen = machine.run(join.calls(joining(["one"], success_codes=(0, 194))))
    assert join.problem(seen) is None
    assert machine.ran == ["one", "kubeadm"]


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ([["setup.cmd"]], "a[0][0]: expected a program whose name ends in .exe, got (hidden: a string). For a script"),
        ([{"program": "x.exe", "timeout": 0}], "a[0].timeout: expected 1 to 86400 seconds, got 0"),
        ([{"program": "x.exe", "success_codes": []}], "a[0].success_codes: expected at least one exit code"),
        ([{"arguments": ["x"]}], "a[0].program: expected a string"),
        ([{"program": "x.exe", "argumets": []}], "a[0].argumets: expected one of the properties program, arguments"),
        ([[]], "a[0]: expected a program and its arguments"),
        ("x.exe", ""),
    ],
)
def test_an_invalid_entry_is_refused(listed: t.Any, message: str) -> None:
    if not message:
        assert commands(listed, "a") == (JoinCommand(program="x.exe"),)
        return
    with pytest.raises(ResourceError) as refused:
        commands(listed, "a")
    assert str(refused.value).startswith(message)


def test_arguments_are_not_in_messages() -> None:
    with pytest.raises(ResourceError) as refused:
        commands([{"program": "x.exe", "arguments": {"token": "hunter2"}}], "a")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("stop", ["stop-if-joined", "stop-if-registered"])
def test_a_machine_that_joined_by_itself_runs_the_remaining_programs_in_the_same_run(stop: str) -> None:
    record = {"ok": True, "output": [{"content": "1\n"}]}
    answer = {"state": "finished", "stopped": {"id": stop, "reason": "barrier"}, "calls": {"record": record}}
    finished = Observation.from_wire({"state": "finished", "calls": {}})
    node = Answering(Observation.from_wire(answer), finished)
    assert join.join_cluster(node, joining([], ["one", "two", "three"])) is join.JoinChange.FINISHED
    assert [call.command for call in node.asked[1][0]] == ["two.exe", "@write-file", "three.exe", "Remove-Item"]


@pytest.mark.parametrize(
    ("content", "expected"), [("0\n", 0), ("12", 12), (None, None), ("", None), ("x", None), ("-1", None)]
)
def test_the_record_is_a_number(content: str | None, expected: int | None) -> None:
    assert join_commands.ended(content) == expected


def test_the_action_runs_only_the_remaining_programs_of_a_machine_that_has_joined() -> None:
    options = {"post_commands": [["one.exe"], ["two.exe", "a b"]], "ended_commands": 1, "timeout": 50}
    node = Answering(Observation.from_wire({"state": "finished", "calls": {}}))
    change = {"type": "Node", "name": "node-1", "action": "update", "why": "commands after kubeadm join had not run"}
    assert run_on(node, kubeadm_join, options) == {"changed": True, "changes": [change], "remote_commands": 1}
    ((calls, step, private),) = node.asked
    assert (step, private) == ("the commands after kubeadm join", True)
    assert [(call.command, call.arguments) for call in calls] == [("two.exe", ("a b",)), ("Remove-Item", ())]
    # The time limit of the programs counts as well.
    assert node.timeouts.batch == 600
    dry = run_on(Answering(), kubeadm_join, options, check_mode=True)
    assert dry == {"changed": True, "changes": [change], "remote_commands": 0}
