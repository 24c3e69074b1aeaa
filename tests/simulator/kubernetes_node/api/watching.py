# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide how often the programs on a node check the cluster for changes.

Real programs watch the API server. The simulated ones list objects at intervals, because each watch
would need a connection and a thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


def interval(machine: Machine, usual: float) -> float:
    """Return the real seconds between two checks. The node's `watch_seconds` can shorten the `usual` interval."""
    seconds = machine.settings.option("watch_seconds", usual)
    return min(usual, float(seconds)) if isinstance(seconds, (int, float)) else usual
