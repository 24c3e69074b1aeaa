# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Batches that docs/wire.md forbids, barriers, and exit codes that are final."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from simulator_tests.batches import answer, observe

from simulator.machine.session import Session

REFUSED = json.loads((Path(__file__).parents[2] / "wire_cases" / "refused.json").read_text(encoding="utf-8"))["cases"]


def test_a_batch_is_below_1_mb(session: Session) -> None:
    assert answer(session, '{"key": "' + "a" * 1_000_001 + '"}')["msg"].startswith("a batch has to be below 1 MB")


def test_a_batch_may_be_compressed(session: Session) -> None:
    def packed(batch: str) -> str:
        return base64.b64encode(gzip.compress(batch.encode())).decode()

    calls = {"calls": [{"id": "now", "command": "Get-Date"}]}
    assert answer(session, packed(json.dumps(calls)))["observation"]["calls"]["now"]["ok"]
    # The limit applies to the JSON.
    assert answer(session, packed('{"key": "' + "a" * 1_000_001 + '"}'))["msg"].startswith("a batch has to be below")


@pytest.mark.parametrize("more", [{"secret": True}, {"select": []}, {"select": ["Nope"]}, {"until": {"Nope": 1}}, {}])
def test_a_barrier_decides_by_its_count(session: Session, more: dict[str, Any]) -> None:
    for name, reached in (("WinRM", False), ("Other", True)):
        observation = observe(
            session,
            {"id": "service", "command": "Get-Service", "parameters": {"Name": "WinRM"}},
            {
                "id": "stop",
                "command": "@stop-if",
                "input": {"from": "service", "where": {"Name": name}},
                "on_error": "continue",
                **more,
            },
            {"id": "after", "command": "Get-Date"},
        )
        assert ("after" in observation["calls"]) is reached
        assert observation["stopped"] == (None if reached else {"id": "stop", "reason": "barrier"})


def test_a_final_exit_code_is_not_tried_again(session: Session) -> None:
    missing = {"command": "curl.exe", "arguments": ["--fail", "file:///C:/nope"], "retries": 2, "delay": 0.01}
    calls = observe(
        session,
        {"id": "code", "on_error": "continue", **missing},
        {"id": "final", "on_error": "continue", "final_codes": [0, 37], **missing},
        {"id": "other", "on_error": "continue", "final_codes": [22], **missing},
    )["calls"]
    assert [calls[name]["exit_code"] for name in calls] == [37, 37, 37]
    assert [calls[name]["attempts"] for name in calls] == [3, 1, 3]


@pytest.mark.parametrize("case", REFUSED, ids=[case["message"] for case in REFUSED])
def test_forbidden_batches_are_refused_with_the_specified_messages(session: Session, case: dict[str, Any]) -> None:
    assert answer(session, case["batch"]) == {"failed": True, "changed": False, "msg": case["message"]}
