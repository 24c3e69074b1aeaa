# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Split a plan into changes that are made now, and changes that wait until the node is drained (no I/O).

A change waits if it disrupts pods. It also waits if its resource builds on the resource of an earlier change that
waits. By default, a resource builds on all earlier ones (`Resource.builds_on`). Downloads into the cache build on few
other resources, so they are usually made before the node is drained. After the immediate changes, the node is in the
same state as after an interrupted run, and the next run can continue.
"""

from __future__ import annotations

import typing as t

from .disruption import disruption

if t.TYPE_CHECKING:
    from .planned import Planned


def split(plan: t.Sequence[Planned]) -> tuple[list[Planned], list[Planned]]:
    """Split a plan into changes to make now and changes that wait until the node is drained.

    Args:
        plan: the changes, in the order in which they were planned.

    Returns:
        The changes that can be made while pods run, and the changes that must wait, both in the order of the plan.
    """
    now: list[Planned] = []
    later: list[Planned] = []
    for planned in plan:
        waits = any(planned.resource.builds_on(other.resource) for other in later)
        if waits or disruption(planned.resource, planned.change):
            later.append(planned)
        else:
            now.append(planned)
    return now, later
