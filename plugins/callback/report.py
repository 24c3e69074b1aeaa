# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write what a run changed and why, as a JSON document and as an HTML page."""

from __future__ import annotations

DOCUMENTATION = r"""
name: report
type: aggregate
short_description: Write what a run changed and why
version_added: 0.1.0
description:
  - Writes C(report.json) and the self-contained page C(report.html) at the end of a run. The files contain what
    changed on each node and why, and for each task how long it took and how many remote commands it sent.
  - The files omit the results of tasks with C(no_log).
options:
  directory:
    description: Folder for C(report.json) and C(report.html). If it is not set, nothing is written.
    type: path
    env:
      - name: WINKUBE_REPORT_DIR
    ini:
      - section: callback_winkube_report
        key: directory
requirements:
  - enabled in the configuration (C(callbacks_enabled = winkube.node.report))
author:
  - winkube.node contributors (@winkube)
"""

import json
import pathlib
import time
import typing as t

from ansible.plugins.callback import CallbackBase

from ..plugin_utils.reports import run as report
from ..plugin_utils.values.ansible_data import plain


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible ships no type information
    """Collects the results of tasks, and writes the report at the end of the run."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "winkube.node.report"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *arguments: t.Any, **keywords: t.Any) -> None:
        super().__init__(*arguments, **keywords)
        self._playbook = ""
        self._begin = time.time()
        self._started: dict[tuple[str, str], float] = {}
        self._tasks: dict[str, list[report.Task]] = {}

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        self._playbook = pathlib.Path(playbook._file_name).name

    def v2_runner_on_start(self, host: t.Any, task: t.Any) -> None:
        self._started[host.get_name(), task._uuid] = time.time()

    def v2_runner_on_ok(self, result: t.Any) -> None:
        self._take(result, "ok")

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        self._take(result, "ignored" if ignore_errors else "failed")

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        self._take(result, "unreachable")

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        directory = self.get_option("directory")
        if not directory:
            return
        run = report.Run(playbook=self._playbook, seconds=round(time.time() - self._begin, 1), nodes=self._tasks)
        folder = pathlib.Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.json").write_text(json.dumps(run.to_document(), indent=2) + "\n", encoding="utf-8")
        (folder / "report.html").write_text(report.page(self._playbook, [run]), encoding="utf-8")

    def _take(self, result: t.Any, status: str) -> None:
        host, task = result.host.get_name(), result.task
        begun = self._started.pop((host, task._uuid), None)
        values = {} if task.no_log else plain(result.result)
        if status == "ok" and values.get("refused"):
            # Another task reports the problems of this check, for all hosts together.
            status = "failed"
        self._tasks.setdefault(host, []).append(
            report.Task(
                name=task.get_name(),
                status=status,
                seconds=round(time.time() - begun, 2) if begun else 0.0,
                changed=bool(values.get("changed")),
                remote_commands=int(values.get("remote_commands") or 0),
                rebooted=bool(values.get("rebooted")),
                message=str(values.get("msg") or "") if status != "ok" else "",
                changes=[
                    {key: str(change.get(key, "")) for key in ("type", "name", "action", "why")}
                    for change in values.get("changes") or ()
                ],
            )
        )
