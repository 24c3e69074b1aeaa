# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide which namespaces of earlier runs may be deleted (no I/O).

If a run of the network check is killed, its namespace stays, and the next run deletes it. A run must not delete the
namespace of a different run that is still in progress, possibly on a different controller. An annotation of each
namespace therefore records the machine and the process of its run, and the latest time at which the run can end.
"""

from __future__ import annotations

import json
import typing as t

from .objects import RUN_ANNOTATION


class RunMark(t.NamedTuple):
    """The run to which a namespace belongs, as an annotation of the namespace records it."""

    machine: str
    process: int
    until: float
    """The latest time at which the run can end, in seconds since 1970."""

    def __str__(self) -> str:
        return json.dumps({"on": self.machine, "process": self.process, "until": int(self.until)})


def read_mark(namespace: t.Mapping[str, t.Any]) -> RunMark | None:
    """Return the run that a namespace's annotation records, or None if there is no valid annotation."""
    try:
        mark = json.loads((namespace["metadata"].get("annotations") or {})[RUN_ANNOTATION])
        return RunMark(str(mark["on"]), int(mark["process"]), float(mark["until"]))
    except (KeyError, TypeError, ValueError):
        return None


def is_interrupted(namespace: t.Mapping[str, t.Any], machine: str, now: float, runs: t.Callable[[int], bool]) -> bool:
    """Return whether the run to which a namespace belongs has ended without deleting the namespace.

    The result is True if the namespace does not record its run.

    Args:
        namespace: a namespace that a network check created.
        machine: the name of this machine, as it is recorded in namespaces.
        now: the current time in seconds since 1970.
        runs: returns whether a process with a given ID is running on this machine.
    """
    mark = read_mark(namespace)
    if mark is None or now > mark.until:
        return True
    return mark.machine == machine and not runs(mark.process)
