# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shorten the pauses of the controller: in reboots, for servers that are off, and between the attempts of a task.

A real server needs more than half a minute for a reboot, so the first poll is sent after 7 seconds. A simulated one is
back within half a second. The tests of the modules themselves use the real pauses, with a clock of their own.
"""

from __future__ import annotations

import functools
import time
import types
from typing import Any

from ansible.executor import task_executor
from ansible.plugins.callback import CallbackBase

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import generalization, sealing
from ansible_collections.winkube.node.plugins.plugin_utils.remote.reboot import Reboot
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts

DOCUMENTATION = """
name: short_pauses
type: aggregate
short_description: Shorten the pauses of the controller while it waits for simulated servers and clusters
description: This plugin is loaded before Ansible forks its workers, which then have the shorter pauses, too.
"""
SCALE = 0.15
"""The first poll after a reboot is sent after 1.05 seconds. The simulated shutdown takes at most 0.25 seconds."""
UNSCALED = 0.5
"""Pauses before an attempt to connect again are not shorter, in seconds: each attempt may cost a lost command."""
FIRST_CONTACT = 5.0
"""The time limit for the first connection in seconds, ten times as long as a simulated reboot takes."""
FIRST_RETRY = 0.1
"""The first pause between two attempts of a task, as a part of the complete one. Each further pause is twice as long,
so that the number of retries still lasts nearly as long on a busy machine."""


def short_sleep(seconds: float) -> None:
    """Sleep a fraction of the given seconds."""
    time.sleep(max(seconds * SCALE, min(seconds, UNSCALED)))


def with_short_pauses(run: Any) -> Any:
    """Return the method `run` of a reboot with shorter pauses."""

    @functools.wraps(run)
    def run_quickly(self: Reboot, *arguments: Any, **options: Any) -> None:
        self.sleep = short_sleep
        run(self, *arguments, **options)

    return run_quickly


class GrowingPauses:
    """Sleeps longer each time, up to the given seconds. Each task on a host is a process, and so begins again."""

    def __init__(self) -> None:
        self._part = FIRST_RETRY

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
        sealing._BETWEEN = 0.4
        sealing._PAUSE = 1.0
        generalization._BETWEEN = 0.2
        Reboot.run = with_short_pauses(Reboot.run)  # type: ignore[method-assign]
        # The default of the generated method is what counts, not the attribute of the class.
        Timeouts.__init__.__kwdefaults__["first_contact"] = FIRST_CONTACT
        task_executor.time = types.SimpleNamespace(**{**vars(time), "sleep": GrowingPauses().sleep})
