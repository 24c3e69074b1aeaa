# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide which namespaces of earlier runs may be deleted (no I/O).

A run that was killed leaves its namespace behind, and the next run deletes it. The namespace of a run that another
controller is performing at the same time must stay. So each namespace records the machine and the process of its run,
and the latest time at which the run can end.
"""

from __future__ import annotations

import json
import typing as t

from .objects import RUN_ANNOTATION


class RunMark(t.NamedTuple):
    """The run that a namespace belongs to."""

    machine: str
    process: int
    until: float
    """The latest time at which the run can end, in seconds since 1970."""

    def __str__(self) -> str:
        return json.dumps({"on": self.machine, "process": self.process, "until": int(self.until)})


def read_mark(namespace: t.Mapping[str, t.Any]) -> RunMark | None:
    """Return the mark of a namespace, or None if it cannot be read."""
    try:
        mark = json.loads((namespace["metadata"].get("annotations") or {})[RUN_ANNOTATION])
        return RunMark(str(mark["on"]), int(mark["process"]), float(mark["until"]))
    except (KeyError, TypeError, ValueError):
        return None


def is_interrupted(namespace: t.Mapping[str, t.Any], machine: str, now: float, runs: t.Callable[[int], bool]) -> bool:
    """Return whether a namespace's run ended without deleting the namespace; True if its mark cannot be read.

    Args:
        namespace: a namespace with the labels of network checks.
        machine: the name of this machine, as its runs record it.
        now: the current time in seconds since 1970.
        runs: returns whether a process of this machine is still running.
    """
    mark = read_mark(namespace)
    if mark is None or now > mark.until:
        return True
    return mark.machine == machine and not runs(mark.process)
