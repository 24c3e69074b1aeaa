# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The report of diagnoses: table, fixes, totals, document and page."""

from __future__ import annotations

import re
import typing as t

from golden import comparison
from unit.pages import Tables

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.causes import finding, ranked
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.cluster_view import ClusterView
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.diagnose import Diagnosis
from ansible_collections.winkube.node.plugins.plugin_utils.reports import doctor

NODE = {"ready": "Unknown", "reason": "NodeStatusUnknown: Kubelet stopped posting node status.", "since": "2026-11-25",
        "pressure": {}, "pending_pods": [], "sandbox_errors": []}  # fmt: skip
VIEW = ClusterView.of({"authorities": [], "nodes": {"win4": NODE}})


def diagnosis(name: str, status: str, *causes: tuple[str, str], detail: str = "") -> dict[str, t.Any]:
    """Return the registered result of node_diagnosis."""
    findings = ranked(finding(cause, evidence) for cause, evidence in causes)
    found = Diagnosis(node_name=name, status=status, status_detail=detail, findings=findings)
    return {"changed": False, "diagnosis": found.to_result()}


RESULTS: dict[str, t.Any] = {
    "win1": diagnosis("win1", "Ready"),
    "win2": diagnosis(
        "win2",
        "NotReady",
        ("runtime_stopped", "the service containerd is stopped"),
        ("kubelet_stopped", "the service kubelet is stopped"),
        ("hns_stale_endpoints", "1 endpoint <b>10.244.1.5</b>"),
        detail="KubeletNotReady: container runtime is down",
    ),
    "win3": diagnosis("win3", "Ready", ("runtime_stopped", "the service docker is stopped")),
    "win4": {"unreachable": True, "msg": "Task failed: win4: observe the node:\n connection refused"},
    "win5": None,
}
HOSTS = {host: doctor.entry(host, result, VIEW, [host]) for host, result in RESULTS.items()}


def test_each_cause_has_a_row_with_its_consequences_below() -> None:
    rows = [re.split(r"  +", line.strip()) for line in doctor.table(HOSTS)]
    assert rows == [
        ["HOST", "NODE", "IN THE CLUSTER", "CAUSE", "EVIDENCE"],
        ["win1", "win1", "Ready", "no cause found"],
        ["win2", "win2", "NotReady", "the container runtime is not running", "the service containerd is stopped"],
        ["HNS has endpoints of pods that no longer exist", "1 endpoint <b>10.244.1.5</b>"],
        ["the kubelet is not running", "the service kubelet is stopped"],
        ["win3", "win3", "Ready", "the container runtime is not running", "the service docker is stopped"],
        ["win4", "win4", "Unknown", "not diagnosed", "observe the node: connection refused"],
        ["win5", "not diagnosed", "an earlier step failed; see the run's output"],
    ]
    begins = [len(line) - len(line.lstrip()) for line in doctor.table(HOSTS)]
    assert begins[4] == begins[3] + 2
    assert max(map(len, doctor.table(HOSTS, width=120))) <= 139


def test_each_cause_is_fixed_once() -> None:
    lines = doctor.fixes(HOSTS)
    assert [line.partition(": ")[0] for line in lines] == [
        "- the container runtime is not running (win2, win3)",
        "- HNS has endpoints of pods that no longer exist (win2)",
    ]
    many = {f"n{number}": HOSTS["win3"] for number in range(10)}
    assert "(n0, n1, n2, n3, n4, n5, n6, n7 and 2 more): Start the service" in doctor.fixes(many)[0]


def test_totals_and_problems() -> None:
    assert doctor.total(HOSTS) == "5 nodes: 1 without a cause, 2 with causes, 2 not diagnosed"
    assert doctor.total({"win1": HOSTS["win1"]}) == "1 node: 1 without a cause, 0 with causes, 0 not diagnosed"
    problems = {host: doctor.problem(one) for host, one in HOSTS.items()}
    assert problems["win1"] == ""
    assert problems["win2"].startswith(
        "the container runtime is not running (the service containerd is stopped), and 2 more. Start the service, "
    )
    assert problems["win4"] == "not diagnosed: observe the node: connection refused"


def test_the_document_contains_everything() -> None:
    found = doctor.document(HOSTS, time="2026-11-25T12:00:00Z")
    assert (found["schema_version"], found["cluster_problem"]) == (1, "")
    assert found["counts"] == {"healthy": 1, "causes": 2, "not_diagnosed": 2}
    assert found["hosts"]["win2"]["causes"][2]["consequence_of"] == "runtime_stopped"
    assert found["hosts"]["win4"] == {
        "result": "unreachable",
        "message": "observe the node: connection refused",
        "node_name": "win4",
        "status": "Unknown",
        "status_detail": "NodeStatusUnknown: Kubelet stopped posting node status. (since 2026-11-25)",
    }
    unknown = {"win1": doctor.entry("win1", diagnosis("win1", "not asked", detail="no kubeconfig was given"), VIEW, [])}
    assert doctor.cluster_problem(unknown) == "no kubeconfig was given"
    assert "unknown" in doctor.table(unknown)[1]


def test_the_page_is_the_golden_file() -> None:
    page = doctor.page(HOSTS, written="Checked 2026-11-25 12:00 UTC")
    assert comparison.compare({"outcomes/reports/doctor.html": page}) == ""
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    tables = Tables()
    tables.feed(page)
    assert tables.tables == tables.boxed == 1
    # Nodes with causes come first, and only those without are folded.
    positions = [page.index(f"<strong>{host}</strong>") for host in ("win2", "win3", "win5", "win4", "win1")]
    assert positions == sorted(positions)
    assert page.count("<details open>") == 4
    assert "follows from: the container runtime is not running" in page
    unknown = {"win1": doctor.entry("win1", diagnosis("win1", "not asked", detail="<none>"), VIEW, [])}
    assert "unknown: &lt;none&gt;" in doctor.page(unknown, written="")
