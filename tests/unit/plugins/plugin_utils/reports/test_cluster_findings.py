# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The table of findings on the Linux side of a cluster."""

from __future__ import annotations

from ansible_collections.winkube.node.plugins.plugin_utils.reports import cluster_findings

FIRST = {
    "outcome": "changed",
    "finding": "no selector",
    "object": "DaemonSet a/b",
    "value": "none",
    "expected": "linux",
    "fix": "site.yml adds it.",
}
SECOND = {**FIRST, "outcome": "refused", "object": "IPPool p", "fix": "kubectl " + 200 * "x"}


def test_findings_that_hosts_share_are_one_row() -> None:
    results = {"one": {"findings": [FIRST, SECOND]}, "two": {"findings": [FIRST]}, "three": None}
    found = cluster_findings.shared(results)
    assert found == [{**FIRST, "hosts": ["one", "two"]}, {**SECOND, "hosts": ["one"]}]
    title, header, first, second = cluster_findings.table(found, 3)
    assert title == "Findings on the Linux side of the cluster:"
    assert header.split() == ["HOSTS", "OUTCOME", "FINDING", "OBJECT", "VALUE", "EXPECTED", "FIX"]
    assert first.split("  ")[0] == "one,two"
    assert "runs change it" in first
    assert "runs are refused" in second
    # A command is never shortened.
    assert second.endswith(str(SECOND["fix"]))


def test_hosts_are_named_only_if_they_differ() -> None:
    found = cluster_findings.shared({"one": {"findings": [FIRST]}})
    assert cluster_findings.table(found, 1)[1].startswith("OUTCOME")
    assert cluster_findings.table([], 1) == []
