# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Lanes of calls woven into one list, so that those that may run side by side stand side by side: pure, no I/O."""

from __future__ import annotations

import collections
import typing as t

from .messages import Call

PAUSE = "after-all."
"""Before the id of the call that waits for the group in front of it."""


def woven(lanes: t.Iterable[t.Sequence[Call]]) -> list[Call]:
    """All calls of all lanes; each lane's own order stays.

    By turns: what runs alone of every lane, then what may run side by side of every lane, as one group (docs/wire.md).
    The first call of the next group names a member of the last one where nothing stands between them: so the node sees
    two groups as well.

    Args:
        lanes: the calls of each resource, in order; no lane's calls name those of another.
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


def joined(first: list[Call], second: list[Call]) -> list[Call]:
    """Two lists of calls, one after the other on the node as well: no group reaches over the joint."""
    if first and second and first[-1].parallel is not None and second[0].parallel is not None:
        # A barrier without input never stops anything.
        return [*first, Call(id=f"{PAUSE}{second[0].id}", command="@stop-if"), *second]
    return [*first, *second]


def named(call: Call) -> tuple[str, ...]:
    """The ids of the calls that a call builds on."""
    return (*call.needs, *call.unless, *(call.input.calls if call.input else ()))
