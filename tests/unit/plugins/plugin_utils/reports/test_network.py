# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The report of a network check: table, totals, verdict, document and page."""

from __future__ import annotations

import typing as t

import pytest
from golden import comparison
from hypothesis import given
from hypothesis import strategies as st
from unit.pages import Tables

from ansible_collections.winkube.node.plugins.module_utils.network_check import plan
from ansible_collections.winkube.node.plugins.plugin_utils.reports import network

NAMESPACE = "winkube-network-check-1f0c"


def entry(kind: str, source: str, target: str, status: str, **more: t.Any) -> dict[str, t.Any]:
    systems = {"win": "windows", "lin": "linux"}
    usual = {"from_os": systems.get(source[:3], ""), "to_os": systems.get(target[:3], ""), "answered_by": "",
             "address": "10.244.1.5:8080", "detail": "", "attempts": 1}  # fmt: skip
    return {"check": kind, "from": source, "to": target, "status": status, **usual, **more}


def result(*entries: dict[str, t.Any], **more: t.Any) -> dict[str, t.Any]:
    usual = {"namespace": NAMESPACE, "removed": True, "interrupted": [], "windows_nodes": 2,
             "windows_nodes_total": 300, "linux_nodes": 1}  # fmt: skip
    return {"results": list(entries), **usual, **more}


SILENT = "the probe started, but reported no result within 65 seconds"
MIXED = result(
    entry("pod_to_pod", "win1", "win2", "passed"),
    entry("pod_to_pod", "win2", "win1", "passed", attempts=2),
    entry("pod_to_pod", "win1", "lin1", "failed", detail="no response within 5 seconds", attempts=3),
    entry("service_dns", "win1", "lin1", "failed", address="service-2.ns.svc.cluster.local:8080",
          detail="the name cannot be resolved: <lookup>"),
    entry("node_port", "controller", "win1", "passed", address="192.0.2.1:30001", answered_by="lin1"),
    entry("outbound", "win1", "https://registry.k8s.io", "not_run", address="registry.k8s.io:443", detail=SILENT),
    entry("outbound", "win2", "https://registry.k8s.io", "not_run", address="registry.k8s.io:443", detail=SILENT),
    entry("network_policy", "", "", "not_applicable", to_os="windows", address="", attempts=0,
          detail="the cluster has no program that enforces network policies on Windows nodes"),
)  # fmt: skip
GOOD = result(entry("pod_to_pod", "win1", "win2", "passed"))


def test_failures_come_first() -> None:
    lines = network.table(MIXED["results"])
    assert [line.split("  ")[0] for line in lines] == [
        "CHECK", "pod to pod", "service by name", "outbound", "outbound", "pod to pod", "pod to pod", "NodePort",
        "network policy",
    ]  # fmt: skip
    assert "10.244.1.5:8080  no response within 5 seconds; 3 attempts" in lines[1]
    assert "192.0.2.1:30001  service of a pod on lin1" in lines[7]
    assert max(map(len, lines)) <= 170


def test_a_summary_counts_what_passed() -> None:
    lines = network.table(MIXED["results"], summary=True)
    assert [line.split() for line in lines if "passed" in line] == [
        ["pod", "to", "pod", "windows", "windows", "passed", "2"],
        ["NodePort", "controller", "windows", "passed", "1"],
    ]
    assert sum("not run" in line or "failed" in line for line in lines) == 4


def test_the_last_lines_count_and_give_reasons() -> None:
    assert network.totals(MIXED) == [
        "8 checks on 2 of 300 Windows nodes and 1 Linux node: 2 failed, 2 not run, 3 passed, 1 not applicable",
        f"not run (2): {SILENT}",
    ]
    many = result(*(entry("pod_to_pod", "win1", "win2", "not_run", detail=f"reason {number}") for number in range(8)))
    assert network.totals(many)[-1] == "not run: 3 more reasons in the report"
    assert len(network.totals(many)) == 7


@pytest.mark.parametrize(
    ("found", "allowed", "problem"),
    [
        (GOOD, False, ""),
        (MIXED, False, "2 checks failed; 2 checks did not run"),
        (MIXED, True, "2 checks failed"),
        (result(entry("outbound", "win1", "x", "not_run"), *GOOD["results"]), False, "1 check did not run"),
        (result(entry("outbound", "win1", "x", "not_run"), *GOOD["results"]), True, ""),
        # Nothing is known if nothing ran.
        (result(entry("outbound", "win1", "x", "not_run")), True, "no check passed"),
        (result(), False, "no check passed"),
        (result(*GOOD["results"], removed=False), False,
         f"the namespace {NAMESPACE} still exists; delete it with `kubectl delete namespace {NAMESPACE}`"),
    ],
)  # fmt: skip
def test_why_a_network_has_not_passed(found: dict[str, t.Any], allowed: bool, problem: str) -> None:
    assert network.problem(found, allow_not_run=allowed) == problem


@given(st.lists(st.sampled_from(plan.STATUSES)), st.booleans())
def test_only_a_check_that_ran_makes_a_network_pass(statuses: list[str], allowed: bool) -> None:
    found = result(*(entry("pod_to_pod", "win1", "win2", status) for status in statuses))
    passed = not network.problem(found, allow_not_run=allowed)
    assert passed == ("passed" in statuses and "failed" not in statuses and (allowed or "not_run" not in statuses))


def test_names_are_those_of_the_checks() -> None:
    assert tuple(network.TITLES) == plan.KINDS
    assert tuple(network.counts([])) == plan.STATUSES


def test_the_document_contains_everything() -> None:
    found = network.document(MIXED, time="2026-11-25T12:00:00Z", allow_not_run=False)
    assert (found["schema_version"], found["ok"], found["problem"]) == (
        1,
        False,
        "2 checks failed; 2 checks did not run",
    )
    assert found["counts"] == {"failed": 2, "not_run": 2, "passed": 3, "not_applicable": 1}
    assert sorted(map(str, found["results"])) == sorted(map(str, MIXED["results"]))
    assert network.document(GOOD, time="", allow_not_run=False)["ok"] is True


def test_the_page_is_the_golden_file() -> None:
    page = network.page(MIXED, written="Checked 2026-11-25 12:00 UTC", allow_not_run=False)
    assert comparison.compare({"outcomes/reports/network.html": page}) == ""
    assert "&lt;lookup&gt;" in page
    tables = Tables()
    tables.feed(page)
    assert tables.tables == tables.boxed == 5
    assert "The pod network passed." in network.page(GOOD, written="", allow_not_run=False)
