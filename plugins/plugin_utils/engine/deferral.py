# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which changes of a plan are made at once, and which wait until the node is drained. Pure.

The order of the document says what builds on what. A node that has only the first changes of
its plan is a node on which a run was interrupted, and that is safe. So the plan is cut before the first change that
disturbs pods. What comes after it waits too, except resources that name the types that they build on
(`Resource.builds_on`): downloads into the cache go ahead, so that nodes are not drained while they wait for them. A
download builds on the folder that it goes to, on trusted certificates, and on the clock by which they are valid.
"""

from __future__ import annotations

import typing as t

from .disturbance import disturbance

if t.TYPE_CHECKING:
    from .planned import Planned


def split(plan: t.Sequence[Planned]) -> tuple[list[Planned], list[Planned]]:
    """Parts a plan.

    Args:
        plan: the changes, in order.

    Returns:
        What can be made while pods run, and what is left for later; each in order.
    """
    now: list[Planned] = []
    later: list[Planned] = []
    types: set[str] = set()
    for planned in plan:
        builds_on = planned.resource.builds_on
        waits = bool(later) and (builds_on is None or bool(builds_on & types))
        if waits or disturbance(planned.resource, planned.change):
            later.append(planned)
            types.add(planned.resource.type)
        else:
            now.append(planned)
    return now, later
