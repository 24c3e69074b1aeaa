# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files that the callback writes about a run, and what they omit."""

from __future__ import annotations

import json
import types
import typing as t
from pathlib import Path

import pytest

from ansible_collections.winkube.node.plugins.callback.report import CallbackModule


class Report:
    """A run of one playbook, as Ansible reports it to a callback."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self.callback = CallbackModule()
        self.callback.get_option = {"directory": str(directory) if directory else ""}.get
        self.callback.v2_playbook_on_start(types.SimpleNamespace(_file_name="/somewhere/site.yml"))

    def take(self, how: str, values: dict[str, t.Any], *, no_log: bool = False, **more: t.Any) -> None:
        host = types.SimpleNamespace(get_name=lambda: "win1")
        task = types.SimpleNamespace(_uuid="1", no_log=no_log, get_name=lambda: "Converge")
        self.callback.v2_runner_on_start(host, task)
        result = types.SimpleNamespace(host=host, task=task, result=values)
        getattr(self.callback, f"v2_runner_on_{how}")(result, **more)

    def written(self) -> dict[str, t.Any]:
        self.callback.v2_playbook_on_stats(None)
        assert self.directory is not None
        return t.cast("dict[str, t.Any]", json.loads((self.directory / "report.json").read_text(encoding="utf-8")))


VALUES = {
    "changed": True,
    "rebooted": True,
    "remote_commands": 3,
    "msg": "s3cret message",
    "changes": [{"type": "File", "name": "C:\\s3cret", "action": "create", "why": "it is not there", "diff": "more"}],
}


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return Report(tmp_path / "new" / "folder")


def test_a_task_is_written_with_what_it_changed(report: Report) -> None:
    report.take("ok", VALUES)
    document = report.written()
    assert document["playbook"] == "site.yml"
    ((task,),) = document["nodes"].values()
    assert task.pop("seconds") >= 0
    assert task == {
        "name": "Converge",
        "status": "ok",
        "changed": True,
        "rebooted": True,
        "remote_commands": 3,
        "message": "",
        "changes": [{"type": "File", "name": "C:\\s3cret", "action": "create", "why": "it is not there"}],
    }
    assert report.directory is not None
    assert "Converge" in (report.directory / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("how", ["ok", "failed", "unreachable"])
def test_a_result_that_must_not_be_logged_is_left_out(report: Report, how: str) -> None:
    report.take(how, VALUES, no_log=True)
    ((task,),) = report.written()["nodes"].values()
    assert (task["status"], task["message"], task["changes"], task["changed"]) == (how, "", [], False)
    assert report.directory is not None
    for path in report.directory.iterdir():
        assert "s3cret" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("how", "values", "more", "status"),
    [
        ("ok", {"msg": "m"}, {}, "ok"),
        ("ok", {"msg": "m", "refused": True}, {}, "failed"),
        ("failed", {"msg": "m"}, {}, "failed"),
        ("failed", {"msg": "m"}, {"ignore_errors": True}, "ignored"),
        ("unreachable", {"msg": "m"}, {}, "unreachable"),
    ],
)
def test_how_a_task_ended(
    report: Report, how: str, values: dict[str, t.Any], more: dict[str, t.Any], status: str
) -> None:
    report.take(how, values, **more)
    ((task,),) = report.written()["nodes"].values()
    assert (task["status"], task["message"]) == (status, "" if status == "ok" else "m")


def test_nothing_is_written_without_a_folder(tmp_path: Path) -> None:
    report = Report(None)
    report.take("ok", VALUES)
    report.callback.v2_playbook_on_stats(None)
    assert list(tmp_path.iterdir()) == []
