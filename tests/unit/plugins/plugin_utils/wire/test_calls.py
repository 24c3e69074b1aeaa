# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The constructors of the two common kinds of call."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.wire.calls import CallOptions, action, query
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, Input


def test_a_query_records_its_error_and_returns_selected_properties() -> None:
    assert query("s", "Get-Service", {"Name": "a"}, select=("Status",)).to_wire() == {
        "id": "s",
        "command": "Get-Service",
        "parameters": {"Name": "a"},
        "select": ["Status"],
        "on_error": "continue",
    }
    assert query("now", "Get-Date") == Call(id="now", command="Get-Date", on_error="continue")


def test_a_query_can_stop_the_batch() -> None:
    assert query("joined", "@read-file", {"paths": ["a"]}, on_error="stop").on_error == "stop"


def test_an_action_stops_the_batch_and_returns_no_objects() -> None:
    call = action("stop", "Stop-Service", {"Force": True}, input=Input(calls=("s",)), needs=("s",))
    assert call.to_wire() == {
        "id": "stop",
        "command": "Stop-Service",
        "parameters": {"Force": True},
        "input": {"from": ["s"]},
        "select": [],
        "needs": ["s"],
    }


@pytest.mark.parametrize("program", ["sc.exe", "C:\\Program Files\\nssm.EXE"])
def test_an_action_of_a_program_selects_nothing(program: str) -> None:
    assert action("delete", program, arguments=("delete", "a")).to_wire() == {
        "id": "delete",
        "command": program,
        "arguments": ["delete", "a"],
    }


@pytest.mark.parametrize("select", [None, ("sha256",)])
def test_an_action_returns_selected_properties(select: tuple[str, ...] | None) -> None:
    assert action("write", "@write-file", {"path": "a"}, select=select).select == select


def test_an_action_can_continue_after_an_error() -> None:
    assert action("clean", "Remove-Item", on_error="continue", always=True) == Call(
        id="clean", command="Remove-Item", select=(), on_error="continue", always=True
    )


def test_the_options_are_the_other_fields_of_a_call() -> None:
    fields = {field.name: field.type for field in dataclasses.fields(Call)}
    for name in ("id", "command", "parameters", "select"):
        del fields[name]
    options = {name: hint.__forward_arg__ for name, hint in CallOptions.__annotations__.items()}
    assert options == fields
