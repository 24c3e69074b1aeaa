# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Record the CPU time of each task of a run, for Ansible's main process and its workers."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: cpu_by_task
type: aggregate
short_description: Records the CPU time of each task
description: Writes a JSON list of task names and CPU seconds to the file that CPU_BY_TASK_FILE names.
requirements:
  - enabled in the configuration
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible ships no type information
    """Reads the CPU time at the start of each task, when the workers of the previous task have ended."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "cpu_by_task"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._tasks: list[list[Any]] = [["start", 0.0]]
        self._before = 0.0

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self._close()
        self._tasks.append([task.get_name(), 0.0])

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._close()
        Path(os.environ["CPU_BY_TASK_FILE"]).write_text(json.dumps(self._tasks), encoding="utf-8")

    def _close(self) -> None:
        now = 0.0
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
            used = resource.getrusage(who)
            now += used.ru_utime + used.ru_stime
        self._tasks[-1][1] += now - self._before
        self._before = now
