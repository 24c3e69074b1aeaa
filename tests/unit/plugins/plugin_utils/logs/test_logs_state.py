# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node's report about its state: installed programs, facts, HNS, and what is unknown."""

from __future__ import annotations

import typing as t

from unit.resource_answers import answer, documented, failure

from ansible_collections.winkube.node.plugins.plugin_utils.logs import catalogue, state
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult, Observation

OPTIONS: dict[str, t.Any] = {
    "since": "3d", "limit_mb": 1, "sources": [], "namespaces": [], "paths": [], "hns_timeout": 7.0
}  # fmt: skip
NONE = failure("ObjectNotFound", "CommandNotFoundException")


def program(exit_code: int | None, stdout: str = "", stderr: str = "", error: str = "") -> CallResult:
    wire: dict[str, t.Any] = {"ok": exit_code == 0, "exit_code": exit_code, "stdout": stdout, "stderr": stderr}
    return CallResult.from_wire(wire | ({"error": {"id": "x", "message": error}} if error else {}))


def read(**calls: CallResult) -> state.State:
    return state.read(Observation(calls=calls))


def test_only_selected_sources_are_queried() -> None:
    asked = state.calls(catalogue.requested_logs({**OPTIONS, "sources": ["hns"]}))
    assert {call.id.split(".")[0] for call in asked} == {"hns"}
    assert {call.timeout for call in asked if call.command.startswith("Get-Hns")} == {7.0}
    assert state.calls(catalogue.requested_logs({**OPTIONS, "sources": ["kubelet"]})) == ()


def test_no_query_stops_the_others_or_waits_forever() -> None:
    for call in state.calls(catalogue.requested_logs(OPTIONS)):
        documented(call)
        assert call.on_error == "continue"
        assert call.timeout <= 600


def test_programs_missing_on_a_node_are_skipped() -> None:
    found = read(**{"commands.docker": NONE, "commands.time": program(0, "Stratum: 4\n"), "facts.x": NONE})
    assert (found.commands, found.facts, found.problems) == ({"time": "Stratum: 4\n"}, {}, ())


def test_error_messages_of_programs_are_kept() -> None:
    found = read(
        **{
            "commands.cri-pods": program(1, "", "connect: no pipe\n", "crictl.exe ended with exit code 1"),
            "commands.hcsdiag": program(None, "a\n", "", "hcsdiag.exe did not end within 60 s"),
        }
    )
    assert found.commands["cri-pods"] == "--- standard error\nconnect: no pipe\n\n--- exit code 1\n"
    assert found.commands["hcsdiag"].startswith("a\n")
    # A program that ends leaves its own message. One that hangs needs a line.
    assert found.problems == ("hcsdiag: hcsdiag.exe did not end within 60 s",)


def test_counts_of_hns() -> None:
    names = ("policies", "namespaces", "endpoints", "networks")
    listed = {f"hns.1.{name}": answer() for name in names}
    listed["hns.1.networks"] = answer({"ID": "N", "Name": "cbr0", "Type": "L2Bridge"})
    found = read(**listed).hns
    assert found is not None
    assert found["listed"]["networks"][0]["Name"] == "cbr0"
    counted = state.counts(found)
    assert (counted["networks"], counted["endpoints"]) == (1, 0)
    late = {**listed, "hns.1.policies": failure("OperationTimeout", "CommandTimeout", "late")}
    hung = read(**late)
    assert set(state.counts(hung.hns).values()) == {None}
    assert any("did not respond" in problem for problem in hung.problems)
    assert set(state.counts(None).values()) == {None}


def test_answers_with_other_names_are_ignored() -> None:
    evil = {f"{kind}.../../../.bashrc": program(0, "x") for kind in ("commands", "facts")}
    found = read(**evil, **{"commands.time": program(0, "Stratum: 4\n")})
    assert (found.commands, found.facts) == ({"time": "Stratum: 4\n"}, {})
