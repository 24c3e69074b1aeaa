# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calls that run in parallel: which adjacent calls of a batch form a group, and the threads of a group."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from wire_provider.batch import Call

Result = TypeVar("Result")


def split(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Yield the calls in order, with calls that run in parallel in one list."""
    group: list[Call] = []
    for call in calls:
        if group and not (call.parallel and group[-1].parallel and not _named(call) & {member.id for member in group}):
            yield group
            group = []
        group.append(call)
    if group:
        yield group


def _named(call: Call) -> set[str]:
    return {*call.needs, *call.unless, *(call.input.sources if call.input else ())}


def places(group: Sequence[Call]) -> threading.Semaphore:
    """Return a semaphore for the number of calls in a group that may run at once."""
    return threading.Semaphore(min((call.parallel or 1 for call in group), default=1))


def side_by_side(work: Callable[[Call], Result], calls: Sequence[Call]) -> dict[str, Result]:
    """Return the result of `work` for each call, each in its own thread. Raise the first exception."""
    if len(calls) < 2:
        return {call.id: work(call) for call in calls}
    with ThreadPoolExecutor(len(calls), "program") as pool:
        futures = [(call.id, pool.submit(work, call)) for call in calls]
    return {call_id: future.result() for call_id, future in futures}
