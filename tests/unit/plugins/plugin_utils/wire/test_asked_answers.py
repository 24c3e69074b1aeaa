# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Validating nodes' results against the calls: types, sizes, structure, and whether they were requested."""

from __future__ import annotations

import copy
import typing as t

import pytest
from unit.fake_node import FakeAction, FakeTime
from unit.scripted_machine import ScriptedMachine

from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.wire.asked_answers import only_asked
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Observation
from ansible_collections.winkube.node.plugins.plugin_utils.wire.typed_values import BadAnswer

READ = Call(id="r0.read", command="@read-file", parameters={"paths": ["C:\\x"], "content": True, "limit": 10})
PROGRAM = Call(id="r1.run", command="x.exe", output_limit=10)
NAMES = Call(id="r2.names", command="Get-Service", select=("Name", "Status"))
CALLS = (READ, PROGRAM, NAMES)
FILE = {"path": "C:\\x", "exists": True, "type": "file", "size": 3, "content": "abc"}
GOOD: dict[str, t.Any] = {
    "state": "finished",
    "calls": {
        "r0.read": {"ok": True, "seconds": 0.1, "attempts": 1, "output": [FILE]},
        "r1.run": {"ok": True, "seconds": 1, "attempts": 1, "exit_code": 0, "stdout": "hello", "stderr": ""},
        "r2.names": {"ok": True, "output": [{"Name": "kubelet", "Status": "Running"}], "warnings": ["careful"]},
    },
    "stopped": None,
    "boot": "2026-01-01T00:00:00Z",
    "version": "5.1",
}


def seen(
    change: t.Callable[[dict[str, t.Any]], object] = lambda _: None, calls: tuple[Call, ...] = CALLS
) -> Observation:
    wire = copy.deepcopy(GOOD)
    change(wire)
    return only_asked(Observation.from_wire(wire), calls)


def put(path: str, value: t.Any) -> t.Callable[[dict[str, t.Any]], None]:
    def change(wire: dict[str, t.Any]) -> None:
        *parents, last = path.split("/")
        for name in parents:
            wire = wire[int(name) if isinstance(wire, list) else name]
        wire[t.cast("t.Any", int(last) if isinstance(wire, list) else last)] = value

    return change


def test_expected_answers_pass_unchanged() -> None:
    answers = seen()
    assert answers["r1.run"].stdout == "hello"
    assert answers["r2.names"].first == {"Name": "kubelet", "Status": "Running"}
    # A missing property is null (docs/wire.md).
    assert answers["r0.read"].first == {**FILE, "sha256": None, "sddl": None, "modified": None}


def test_answers_to_calls_that_were_not_sent_are_dropped() -> None:
    answers = seen(lambda wire: wire["calls"].update({"facts.../../.bashrc": {"ok": True, "output": ["evil"]}}))
    assert answers.calls.keys() == {call.id for call in CALLS}


def test_a_secret_call_brings_nothing_back() -> None:
    call = Call(id="r1.run", command="x.exe", secret=True)
    answers = seen(put("calls/r1.run/warnings", ["echo of a secret"]), (call,))
    assert (answers["r1.run"].stdout, answers["r1.run"].warnings, answers["r1.run"].exit_code) == ("", (), 0)


def test_output_that_is_compared_stays_exact() -> None:
    assert seen(put("calls/r0.read/output/0/content", "a\x1b[2J"))["r0.read"].first["content"] == "a\x1b[2J"


@pytest.mark.parametrize("where", ["message", "id", "category", "type"])
def test_texts_for_users_are_safe_to_print(where: str) -> None:
    error = seen(put("calls/r1.run/error", {where: "boom \x1b]0;x\x07"}))["r1.run"].error
    assert error is not None
    assert getattr(error, where) == "boom \\x1b]0;x\\x07"
    assert seen(put("calls/r1.run/warnings", ["\x1b[2J"]))["r1.run"].warnings == ("\\x1b[2J",)


WRONG: dict[str, tuple[str, t.Any]] = {
    "a state of its own": ("state", "joined"),
    "a state that is no text": ("state", ["finished"]),
    "calls as a list": ("calls", [1]),
    "a result as a text": ("calls/r1.run", "ok"),
    "ok as a text": ("calls/r1.run/ok", "yes"),
    "no ok": ("calls/r1.run", {"exit_code": 0}),
    "an exit code as a text": ("calls/r1.run/exit_code", "0"),
    "an exit code beyond 64 bits": ("calls/r1.run/exit_code", 2**70),
    "stdout as a list": ("calls/r1.run/stdout", ["hello"]),
    "more stdout than asked": ("calls/r1.run/stdout", "x" * 11),
    "more stderr than asked": ("calls/r1.run/stderr", "x" * 11),
    "seconds as a text": ("calls/r1.run/seconds", "1"),
    "endless seconds": ("calls/r1.run/seconds", float("inf")),
    "negative seconds": ("calls/r1.run/seconds", -1),
    "attempts as a mapping": ("calls/r1.run/attempts", {"a": 1}),
    "warnings as a text": ("calls/r2.names/warnings", "careful"),
    "a warning as a number": ("calls/r2.names/warnings", [7]),
    "an error as a text": ("calls/r1.run/error", "boom"),
    "an error's message as a list": ("calls/r1.run/error", {"message": ["boom"]}),
    "output as a text": ("calls/r2.names/output", "kubelet"),
    "output as a mapping": ("calls/r0.read/output", {"0": FILE}),
    "an object as a text": ("calls/r2.names/output/0", "kubelet"),
    "an object as null": ("calls/r0.read/output/0", None),
    "exists as a text": ("calls/r0.read/output/0/exists", "true"),
    "a size as a text": ("calls/r0.read/output/0/size", "3"),
    "content as a list": ("calls/r0.read/output/0/content", [97, 98]),
    "more content than asked": ("calls/r0.read/output/0/content", "x" * 11),
    "more files than asked": ("calls/r0.read/output", [FILE, FILE]),
    "fewer files than asked": ("calls/r0.read/output", []),
    "an answer that is missing": ("calls", {"r0.read": {"ok": True, "output": [FILE]}}),
    "stopped as a text": ("stopped", "r0.read"),
    "stopped at a call of nobody": ("stopped", {"id": "r9.x", "reason": "error"}),
    "stopped for a reason of its own": ("stopped", {"id": "r0.read", "reason": "tired"}),
    "progress as a list": ("progress", [1]),
    "progress without numbers": ("progress", {"id": "r0.read"}),
    "progress with texts": ("progress", {"id": "r0.read", "done": "1", "total": 2}),
    "running as numbers": ("progress", {"id": "r0.read", "done": 1, "total": 2, "running": [1]}),
    "the boot time as a number": ("boot", 7),
    "the version as a list": ("version", [5, 1]),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_answer_of_the_wrong_form_is_one_error_with_its_place(case: str) -> None:
    path, value = WRONG[case]
    with pytest.raises(BadAnswer, match="expected"):
        seen(put(path, value))


def test_an_answer_that_is_too_deep_is_refused() -> None:
    deep: t.Any = []
    for _ in range(40):
        deep = [deep]
    with pytest.raises(BadAnswer, match="at most 16 levels"):
        seen(put("calls/r2.names/output/0/Name", deep))


def test_base64_is_as_long_as_the_bytes_that_were_asked_for() -> None:
    call = Call(id="piece", command="@read-file", parameters={"paths": ["x"], "encoding": "base64", "limit": 4})
    wire = {"state": "finished", "calls": {"piece": {"ok": True, "output": [{"content": "QUFBQQ=="}]}}}
    assert only_asked(Observation.from_wire(wire), (call,))["piece"].first["content"] == "QUFBQQ=="
    wire["calls"]["piece"]["output"][0]["content"] = "QUFBQUFBQQ=="  # type: ignore[index]
    with pytest.raises(BadAnswer, match="at most 8 characters"):
        only_asked(Observation.from_wire(wire), (call,))


def hostile(answers: t.Callable[[dict[str, t.Any]], None]) -> Node:
    """Return a node whose observations are altered."""

    class Hostile(ScriptedMachine):
        def handle(self, batch: dict[str, t.Any]) -> dict[str, t.Any]:
            observation = copy.deepcopy(super().handle(batch))
            answers(observation)
            return observation

    machine, time = Hostile({"Get-A": lambda _: [1]}), FakeTime()
    action = t.cast("t.Any", FakeAction(machine))
    return Node(action, {"inventory_hostname": "win-1"}, clock=time.clock, sleep=time.sleep)


@pytest.mark.parametrize("long", [False, True])
def test_unexpected_answers_of_a_detached_batch_are_dropped(long: bool) -> None:
    extra = {"commands.../../tmp/x": {"ok": True, "output": ["evil"]}}
    node = hostile(lambda wire: wire.setdefault("calls", {}).update(extra))
    answer = node.run(Batch(calls=(Call(id="a", command="Get-A", long=long),)))
    assert answer.calls.keys() == {"a"}


def test_a_node_that_answers_nonsense_is_named_with_the_step() -> None:
    node = hostile(lambda wire: wire.update(calls={"a": 5}))
    with pytest.raises(NodeError, match=r"win-1: look: the node's answer cannot be used: calls\.a: expected an object"):
        node.observe((Call(id="a", command="Get-A"),), step="look")
