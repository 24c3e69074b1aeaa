# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shorten the first pauses of Ansible between the attempts of a task (`delay`) and the polls of a job (`poll`).

Simulated servers and clusters need less time than real ones. Later pauses of a task are complete, so that its number of
retries still lasts nearly as long on a busy machine.
"""

from __future__ import annotations

import time
import types

from ansible.executor import task_executor
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: short_pauses
type: aggregate
short_description: Shorten the first pauses of Ansible between the attempts of a task
description: This plugin is loaded before Ansible forks its workers, which then have the shorter pauses, too.
"""
FIRST = 0.1
"""The first pause, as a part of the complete one. Each further pause is twice as long."""


class GrowingPauses:
    """Sleeps longer each time, up to the given seconds. Each task on a host is a process, and so begins again."""

    def __init__(self) -> None:
        self._part = FIRST

    def sleep(self, seconds: float) -> None:
        """Sleep a part of the given seconds, or all of them."""
        time.sleep(seconds * min(1.0, self._part))
        self._part *= 2


class CallbackModule(CallbackBase):
    """Has no callbacks: it is enough to load the plugin."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "short_pauses"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        shorter = types.SimpleNamespace(**{**vars(time), "sleep": GrowingPauses().sleep})
        task_executor.time = shorter  # type: ignore[assignment]
