# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Shorten the pauses of the controller while a simulated server reboots, is off, or has no connection.

A real server needs more than half a minute for a reboot, so the first poll is sent after 7 seconds. A simulated one is
back within half a second. The tests of the modules themselves use the real pauses, with a clock of their own.
"""

from __future__ import annotations

import functools
import time
from typing import Any

from ansible.plugins.callback import CallbackBase

from ansible_collections.winkube.node.plugins.plugin_utils.remote import outage
from ansible_collections.winkube.node.plugins.plugin_utils.remote.reboot import Reboot
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts

DOCUMENTATION = """
name: short_pauses
type: aggregate
short_description: Shorten the pauses of the controller while a simulated server cannot be reached
description: This plugin is loaded before Ansible forks its workers, which then have the shorter pauses, too.
"""
SCALE = 0.2
"""The first poll is sent after 1.4 seconds. The simulated shutdown takes at most 0.25 seconds."""
FIRST_PAUSE = 0.15
"""Seconds before the first attempt to connect again. Each further pause is twice as long, as usual."""
FIRST_CONTACT = 5.0
"""The time limit for the first connection in seconds. The last attempt is after 4.65 seconds, nine times as long as a
simulated reboot takes."""


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
    CALLBACK_NAME = "short_pauses"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        Reboot.run = with_short_pauses(Reboot.run)  # type: ignore[method-assign]
        outage._FIRST_PAUSE = FIRST_PAUSE
        # The default of the generated method is what counts, not the attribute of the class.
        Timeouts.__init__.__kwdefaults__["first_contact"] = FIRST_CONTACT
