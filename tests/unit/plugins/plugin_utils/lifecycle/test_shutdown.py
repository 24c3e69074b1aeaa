# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The shutdown of a machine whose node is replaced, on a simulated machine."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import shutdown
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost, NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import (
    Batch,
    CallError,
    CallResult,
    Observation,
    Stopped,
)


class LosingNode:
    """A node that loses some batches before it runs one."""

    name = "win1"

    def __init__(self, losses: int, seen: Observation) -> None:
        self.batches: list[Batch] = []
        self._losses, self._seen = losses, seen

    def run(self, batch: Batch, *, step: str, private: bool = False) -> Observation:
        self.batches.append(batch)
        if len(self.batches) <= self._losses:
            raise BatchLost(f"{self.name}: {step}: lost", None)
        return self._seen


def test_the_kubelet_is_disabled_before_the_machine_shuts_down() -> None:
    disable, request = shutdown.calls()
    assert disable.to_wire()["parameters"] == {"Name": "kubelet", "StartupType": "Disabled"}
    wire = request.to_wire()
    assert wire["arguments"][:3] == ["/s", "/t", "5"]
    # Another program may have requested a shutdown already.
    assert wire["success_codes"] == [0, 1115, 1190]


def test_a_batch_that_was_lost_runs_again() -> None:
    node = LosingNode(1, Observation())
    shutdown.shut_down(t.cast("t.Any", node))
    assert len(node.batches) == 2
    with pytest.raises(BatchLost):
        shutdown.shut_down(t.cast("t.Any", LosingNode(2, Observation())))


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (
            CallResult(ok=False, exit_code=5, stderr="Access is denied.(5)", error=CallError(message="exit")),
            "Access is",
        ),
        (CallResult(ok=False, error=CallError(message="no service kubelet")), "win1: shut down: no service kubelet"),
        (None, "win1: shut down: stopped"),
    ],
)
def test_a_refusal_is_reported(result: CallResult | None, text: str) -> None:
    calls = {} if result is None else {"request": result}
    seen = Observation(calls=calls, stopped=Stopped(id="request", reason="error"))
    with pytest.raises(NodeError, match="win1: shut down") as caught:
        shutdown.shut_down(t.cast("t.Any", LosingNode(0, seen)))
    assert text in str(caught.value)
