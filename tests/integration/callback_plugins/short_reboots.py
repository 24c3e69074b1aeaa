# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shorten the pauses of the controller while a simulated server reboots, or becomes an image and shuts down.

A real server needs more than half a minute, so the first poll is sent after 7 seconds. A simulated one is back within
half a second. The tests of the module itself use the real pauses, with a clock of their own.
"""

from __future__ import annotations

import functools
import time
from typing import Any

from ansible.plugins.callback import CallbackBase

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import generalization, sealing
from ansible_collections.winkube.node.plugins.plugin_utils.remote.reboot import Reboot

DOCUMENTATION = """
name: short_reboots
type: aggregate
short_description: Shorten the pauses of the controller while a simulated server reboots
description: This plugin is loaded before Ansible forks its workers, which then have the shorter pauses, too.
"""
SCALE = 0.2
"""The first poll is sent after 1.4 seconds. The simulated shutdown takes at most 0.25 seconds."""


def short_sleep(seconds: float) -> None:
    """Sleep a fraction of the given seconds."""
    time.sleep(seconds * SCALE)


def with_short_pauses(run: Any) -> Any:
    """Return the method `run` of a reboot with shorter pauses."""

    @functools.wraps(run)
    def run_quickly(self: Reboot, *arguments: Any, **options: Any) -> None:
        self.sleep = short_sleep
        run(self, *arguments, **options)

    return run_quickly


class CallbackModule(CallbackBase):
    """Has no callbacks: it is enough to load the plugin."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "short_reboots"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        sealing._BETWEEN = 0.4
        sealing._PAUSE = 1.0
        generalization._BETWEEN = 0.2
        Reboot.run = with_short_pauses(Reboot.run)  # type: ignore[method-assign]
