# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import datetime
import json

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import (
    Batch,
    Call,
    CallError,
    Input,
    Observation,
    Progress,
    RunningCall,
    Stopped,
)
from ansible_collections.winkube.node.plugins.plugin_utils.wire.scopes import Scope


def test_only_what_differs_from_the_defaults_travels() -> None:
    assert Call(id="a", command="Get-A").to_wire() == {"id": "a", "command": "Get-A"}
    call = Call(id="a", command="Get-A", timeout=5, success_codes=(0, 3010), select=(), long=True)
    assert call.to_wire() == {"id": "a", "command": "Get-A", "timeout": 5, "success_codes": [0, 3010], "select": []}


def test_a_value_equal_to_a_default_but_of_another_type_travels() -> None:
    # 0 == False in Python, but not in PowerShell.
    assert "always" in Call(id="a", command="Get-A", always=0).to_wire()  # type: ignore[arg-type]


def test_a_prefix_moves_all_references() -> None:
    call = Call(id="b", command="Set-B", input=Input(calls=("a", "c")), needs=("a",)).prefixed("r1.")
    assert (call.id, call.needs) == ("r1.b", ("r1.a",))
    assert call.input is not None
    assert call.input.calls == ("r1.a", "r1.c")


def test_a_batch_is_secret_or_long_if_a_call_is() -> None:
    plain, secret = Call(id="a", command="x"), Call(id="b", command="x", secret=True)
    long = Call(id="c", command="x", long=True)
    assert not Batch(calls=(plain,)).secret
    assert Batch(calls=(plain, secret)).secret
    assert not Batch(calls=(plain, secret)).long
    assert Batch(calls=(plain, long)).long


def test_a_batch_is_json_with_its_key_and_what_to_forget() -> None:
    batch = Batch(calls=(Call(id="a", command="x"),), key="k" * 8, forget=("f" * 8,))
    assert json.loads(json.dumps(batch.to_wire())) == {
        "mode": "run",
        "calls": [{"id": "a", "command": "x"}],
        "key": "k" * 8,
        "forget": ["f" * 8],
    }
    assert Batch(mode="collect", key="k" * 8, wait=60).to_wire()["wait"] == 60


def test_an_observation_is_read() -> None:
    wire = {
        "state": "finished",
        "calls": {
            "r0.a": {"ok": True, "seconds": 0.5, "attempts": 2, "output": [{"Name": "x"}], "warnings": ["w"]},
            "r0.b": {
                "ok": False,
                "exit_code": 3,
                "stderr": "no",
                "error": {"category": "FromStdErr", "id": "NativeCommandError"},
            },
            "r1.a": {"ok": False, "skipped": "needs r0.b"},
        },
        "stopped": {"id": "r0.b", "reason": "error"},
        "progress": {"id": "r0.b", "done": 1, "total": 3, "running": [{"id": "r0.b", "size": 5}, {"id": "r0.c"}]},
        "boot": None,
        "version": "5.1",
    }
    seen = Observation.from_wire(wire)
    assert seen["r0.a"].first == {"Name": "x"}
    assert seen["r0.b"].error == CallError(category="FromStdErr", id="NativeCommandError")
    assert str(seen["r0.b"].error) == "NativeCommandError"
    assert seen.stopped == Stopped(id="r0.b", reason="error")
    running = (RunningCall(id="r0.b", size=5), RunningCall(id="r0.c"))
    assert seen.progress == Progress(id="r0.b", done=1, total=3, running=running)
    assert seen.boot == ""
    assert list(Scope("r0.").results(seen.calls)) == ["a", "b"]
    assert seen["r1.a"].skipped == "needs r0.b"


@pytest.mark.parametrize(
    "wire", [{}, {"state": "finished", "stopped": {"id": "a"}}, {"state": "x", "progress": {"id": 1}}]
)
def test_an_answer_of_another_format_is_refused(wire: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Observation.from_wire(wire)


def test_the_nodes_clock_is_compared_with_the_controllers() -> None:
    now = datetime.datetime(2026, 11, 21, 3, 30, tzinfo=datetime.UTC)
    # .NET writes seven decimals.
    ahead = Observation(time="2026-11-21T03:30:02.5000001Z")
    assert ahead.clock_skew(now) == 2.5
    assert Observation(time="").clock_skew(now) is None
    assert Observation(time="later").clock_skew(now) is None
    assert Observation(time="2026-11-21T03:30:00").clock_skew(now) is None
