# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Merge the calls of many resources into one list, in which calls that may run in parallel are neighbors (no I/O)."""

from __future__ import annotations

import collections
import typing as t

from .messages import Call
from .scopes import Scope

BARRIER = Scope("after-all.")
"""Prefix of the ids of the calls that separate two groups of parallel calls."""


def interleave(lanes: t.Iterable[t.Sequence[Call]]) -> list[Call]:
    """Return the calls of all resources in one list. The order of each resource's calls is kept.

    Two steps alternate. The first takes from each resource its next calls that must run alone. The second takes from
    each resource its next calls that may run in parallel, up to a call that refers to one of them; together they are a
    group (see docs/wire.md). So if a group directly follows another group, it begins with a call that refers to the
    earlier group, and the node does not merge the two.

    Args:
        lanes: the calls of each resource, in the order in which they run. Calls refer only to calls of their own
            resource.
    """
    queues = [collections.deque(lane) for lane in lanes]
    calls: list[Call] = []
    while any(queues):
        for queue in queues:
            while queue and queue[0].parallel is None:
                calls.append(queue.popleft())
        for queue in queues:
            group: set[str] = set()
            while queue and queue[0].parallel is not None and group.isdisjoint(named(queue[0])):
                group.add(queue[0].id)
                calls.append(queue.popleft())
    return calls


def concatenate(first: list[Call], second: list[Call]) -> list[Call]:
    """Return two lists of calls as one list. A barrier separates them if parallel calls of both would be neighbors.

    Args:
        first: the calls that come first.
        second: the calls that begin when all calls of the first list have ended.
    """
    if first and second and first[-1].parallel is not None and second[0].parallel is not None:
        return [*first, Call(id=BARRIER.id(second[0].id), command="@barrier"), *second]
    return [*first, *second]


def named(call: Call) -> tuple[str, ...]:
    """Return the ids of the calls that a call refers to."""
    return (*call.needs, *call.unless, *(call.input.calls if call.input else ()))
