# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action doctor_report: the complete result, the output, and the files."""

from __future__ import annotations

import datetime
import json
import types
import typing as t
from pathlib import Path

import pytest
from unit.action_run import run, variables_of

from ansible_collections.winkube.node.plugins.action import doctor_report
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

NOW = datetime.datetime(2026, 11, 22, 12, 5, 59, tzinfo=datetime.UTC)
CAUSE = {
    "cause": "runtime_stopped",
    "title": "the container runtime is not running",
    "effect": "not_ready",
    "evidence": ["the service containerd is stopped \x1b[31m"],
    "explanation": "x",
    "fix": "Start it.",
    "source": "y",
    "consequence_of": "",
}
DIAGNOSES: dict[str, t.Any] = {
    "win1": {"diagnosis": {"node_name": "win1", "status": "not asked", "status_detail": "none", "causes": []}},
    "win2": {"diagnosis": {"node_name": "n2", "status": "NotReady", "status_detail": "down", "causes": [CAUSE]}},
    "win3": {"unreachable": True, "msg": "Task failed: win3: no route"},
}
STATE = {"ready": "False", "reason": "off", "since": "", "pressure": {},
         "pending_pods": [], "sandbox_errors": []}  # fmt: skip


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the lines that the action prints, at a fixed time."""
    lines: list[str] = []
    monkeypatch.setattr(doctor_report, "show", lines.append)
    clock = types.SimpleNamespace(datetime=types.SimpleNamespace(now=lambda _zone: NOW), UTC=datetime.UTC)
    monkeypatch.setattr(doctor_report, "datetime", clock)
    return lines


def diagnosed() -> dict[str, t.Any]:
    """Return the variables of hosts that were diagnosed, of which one has another name in the cluster."""
    found = {host: {"doctor": result} for host, result in DIAGNOSES.items()}
    found["win3"]["kubernetes_node_hostname"] = "node-3"
    return variables_of(found)


def test_diagnoses_are_shown_and_written(shown: list[str], tmp_path: Path) -> None:
    path, html = tmp_path / "new" / "doctor.json", tmp_path / "doctor.html"
    cluster = {"authorities": [], "nodes": {"node-3": STATE}}
    options = {"results_var": "doctor", "cluster": cluster, "path": str(path), "page": str(html)}
    found = run(doctor_report, options, diagnosed())
    evidence = "the service containerd is stopped \\x1b[31m"
    assert shown == [
        "HOST  NODE    IN THE CLUSTER  CAUSE                                 EVIDENCE",
        "win1  win1    unknown                                               no cause found",
        f"win2  n2      NotReady        the container runtime is not running  {evidence}",
        "win3  node-3  NotReady        not diagnosed                         no route",
        "",
        "- the container runtime is not running (win2): Start it.",
        "",
        "3 nodes: 1 without a cause, 1 with causes, 1 not diagnosed",
        "The cluster was not queried, so its view of the nodes is unknown: none",
    ]
    assert found == {
        "changed": False,
        "table": shown[:4],
        "total": shown[7],
        "problems": {
            "win1": "",
            "win2": f"the container runtime is not running ({evidence}). Start it.",
            "win3": "not diagnosed: no route",
        },
        "healthy": 1,
        "causes": 1,
        "not_diagnosed": 1,
        "path": str(path),
        "page": str(html),
    }
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["time"], list(document["hosts"])) == ("2026-11-22T12:05:59Z", ["win1", "win2", "win3"])
    assert "Checked 2026-11-22 12:05 UTC" in html.read_text(encoding="utf-8")


def test_diagnoses_in_check_mode_write_nothing(shown: list[str], tmp_path: Path) -> None:
    options = {"results_var": "doctor", "path": str(tmp_path / "a"), "page": str(tmp_path / "b")}
    assert run(doctor_report, options, diagnosed(), check_mode=True)["not_diagnosed"] == 1
    assert list(tmp_path.iterdir()) == []


def test_a_doctor_report_needs_files_that_can_be_written(shown: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    options = {"results_var": "doctor", "path": str(tmp_path / "a"), "page": str(tmp_path / "file" / "b")}
    with pytest.raises(ResourceError, match="page: expected the path of a file that can be written"):
        run(doctor_report, options, diagnosed())
