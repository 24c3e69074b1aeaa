# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Split a plan into changes that are made now, and changes that wait until the node is drained (no I/O).

A resource may build on earlier resources in the list. So a change waits if it disrupts pods, or if it builds on an
earlier change that waits (`Resource.builds_on`; by default, it does). Downloads into the cache build on few other
changes, so they are usually made before the node is drained. Once the changes for now have been made, the node is in
the same state as after an interrupted run, and the next run can continue.
"""

from __future__ import annotations

import typing as t

from .disruption import disruption

if t.TYPE_CHECKING:
    from .planned import Planned


def split(plan: t.Sequence[Planned]) -> tuple[list[Planned], list[Planned]]:
    """Split a plan into changes for now and changes for later.

    Args:
        plan: the changes, in order.

    Returns:
        The changes that can be made while pods run, and the changes for later, each in order.
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
