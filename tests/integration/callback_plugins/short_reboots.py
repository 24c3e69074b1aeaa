# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shorten the pauses of the controller: in reboots, in other outages, and between the retries of a task.

A real server needs more than half a minute, so the first poll is sent after 7 seconds. A simulated one is back within
half a second. The link of a new switch is down for as long, and pods start as fast. The tests of the modules themselves
use the real pauses, with a clock of their own.
"""

from __future__ import annotations

import functools
import time
import types
from typing import Any

from ansible.executor import task_executor
from ansible.plugins.callback import CallbackBase

from ansible_collections.winkube.node.plugins.plugin_utils.remote.outage import Outage
from ansible_collections.winkube.node.plugins.plugin_utils.remote.reboot import Reboot

DOCUMENTATION = """
name: short_reboots
type: aggregate
short_description: Shorten the pauses of the controller
description: This plugin is loaded before Ansible forks its workers, which then have the shorter pauses, too.
"""
SCALE = 0.15
"""The first poll is sent after 1.05 seconds. The simulated shutdown takes at most 0.25 seconds, the boot follows."""
UNSCALED = 0.5
"""The pauses before an attempt to connect again are not shorter: each attempt may cost a lost command."""
LONGEST = 0.75
"""The longest pause in another outage, for the same reason."""
BETWEEN_RETRIES = 0.2
"""The tasks with the fewest retries then take at least six seconds until they give up."""


def short_sleep(seconds: float) -> None:
    """Sleep a fraction of the given seconds."""
    time.sleep(max(seconds * SCALE, min(seconds, UNSCALED)))


def sleep_in_outage(seconds: float) -> None:
    """Sleep before an attempt to connect again."""
    time.sleep(min(seconds, LONGEST))


def sleep_between_retries(seconds: float) -> None:
    """Sleep a fraction of the seconds between two attempts of a task."""
    time.sleep(seconds * BETWEEN_RETRIES)


def with_short_pauses(run: Any) -> Any:
    """Return the method `run` of a reboot with shorter pauses."""

    @functools.wraps(run)
    def run_quickly(self: Reboot, *arguments: Any, **options: Any) -> None:
        self.sleep = short_sleep
        run(self, *arguments, **options)

    return run_quickly


def with_short_outages(initialize: Any) -> Any:
    """Return the initialization of an outage with shorter pauses."""

    @functools.wraps(initialize)
    def initialize_quickly(self: Outage, reset: Any, clock: Any, _sleep: Any) -> None:
        initialize(self, reset, clock, sleep_in_outage)

    return initialize_quickly


class CallbackModule(CallbackBase):
    """Has no callbacks: it is enough to load the plugin."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "short_reboots"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        Reboot.run = with_short_pauses(Reboot.run)  # type: ignore[method-assign]
        Outage.__init__ = with_short_outages(Outage.__init__)  # type: ignore[method-assign]
        task_executor.time = types.SimpleNamespace(**{**vars(time), "sleep": sleep_between_retries})
