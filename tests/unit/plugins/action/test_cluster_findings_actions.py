# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The actions that print findings on the Linux side of a cluster: drift_report and preflight_report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.action_run import run, variables_of

from ansible_collections.winkube.node.plugins.action import drift_report, preflight_report


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines that the actions print."""
    lines: list[str] = []
    for action in (drift_report, preflight_report):
        monkeypatch.setattr(action, "show", lines.append)
    return lines


FINDING = {
    "outcome": "changed",
    "finding": "no selector",
    "object": "DaemonSet a/b",
    "value": "none",
    "expected": "linux",
    "fix": "site.yml adds it.",
}


def test_findings_on_the_linux_side_are_shown_and_written(shown: list[str], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    steps = {host: {"plan": {"changed": False}, "checked": {"findings": [FINDING]}} for host in ("a", "b")}
    options = {"path": str(path), "results_var": "plan", "findings_var": "checked"}
    result = run(drift_report, options, variables_of(steps))
    assert result["cluster_findings"] == [{**FINDING, "hosts": ["a", "b"]}]
    assert shown[-3:] == [
        "Findings on the Linux side of the cluster:",
        "OUTCOME         FINDING      OBJECT         VALUE  EXPECTED  FIX",
        "runs change it  no selector  DaemonSet a/b  none   linux     site.yml adds it.",
    ]
    assert json.loads(path.read_text(encoding="utf-8"))["cluster_findings"] == result["cluster_findings"]


def test_check_mode_shows_findings_without_problems(shown: list[str]) -> None:
    results = variables_of({"a": {"checked": {"findings": [FINDING], "problems": []}}})
    assert run(preflight_report, {"results_var": "checked", "findings": True}, results) == {"changed": False}
    assert shown[0] == "Findings on the Linux side of the cluster:"
    shown.clear()
    assert run(preflight_report, {"results_var": "checked"}, results) == {"changed": False}
    assert shown == []
