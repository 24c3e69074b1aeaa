# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From resources to questions, from answers to changes, from changes to batches of calls: pure, no I/O."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..values.errors import ResourceError
from ..windows.windows_info import WindowsInfo
from ..wire.interleave import joined, woven
from ..wire.messages import MAX_BATCH_BYTES, Call, CallResult, Input, Stopped
from ..wire.typed_values import MISREAD, BadAnswer
from .planned import Planned, prefix
from .resource import Resource
from .service_restarts import restart_calls, restarts_of, started_before, started_later, unique

BARRIER = "reboot-needed."
_ENVELOPE = 20_000  # bytes for a batch's other keys, barriers, and restarts


class Questions:
    """The observe calls of all resources; a question that several ask is sent once.

    Args:
        resources: the resources, each at its position.
        header: calls in front of theirs.
    """

    def __init__(self, resources: t.Sequence[Resource], header: t.Sequence[Call] = ()) -> None:
        self._same: dict[str, str] = {}
        self._ids: list[tuple[str, ...]] = []
        asked: dict[str, str] = {}
        groups = [tuple(header)]
        for position, resource in enumerate(resources):
            calls = resource.observe()
            self._ids.append(tuple(call.id for call in calls))
            # Only what nobody builds on is merged: so no call refers to one of another group.
            built_on = {name for call in calls for name in (*call.needs, *(call.input.calls if call.input else ()))}
            group: list[Call] = []
            for call in calls:
                mine = call.prefixed(prefix(position))
                first = mine.id if call.id in built_on else asked.setdefault(_question(mine), mine.id)
                if first == mine.id:
                    group.append(mine)
                else:
                    self._same[mine.id] = first
            groups.append(tuple(group))
        self.groups: tuple[tuple[Call, ...], ...] = tuple(group for group in groups if group)
        """Calls that belong together: a batch holds whole groups."""

    def batches(self) -> list[tuple[Call, ...]]:
        """The calls in as few batches as the size of a batch allows."""
        batches: list[list[Call]] = [[]]
        size = _ENVELOPE
        for group in self.groups:
            more = _size(group)
            if batches[-1] and size + more > MAX_BATCH_BYTES:
                batches.append([])
                size = _ENVELOPE
            batches[-1].extend(group)
            size += more
        return [tuple(batch) for batch in batches if batch]

    def answers(self, calls: t.Mapping[str, CallResult], position: int) -> dict[str, CallResult]:
        """What was answered to the questions of one resource, by its own call ids."""
        mine = prefix(position)
        ids = {own: mine + own for own in self._ids[position]}
        return {
            own: calls[self._same.get(full, full)] for own, full in ids.items() if self._same.get(full, full) in calls
        }


def _question(call: Call) -> str:
    wire = call.to_wire()
    del wire["id"]
    return json.dumps(wire, sort_keys=True)


def plan(
    resources: t.Sequence[Resource], questions: Questions, calls: t.Mapping[str, CallResult], windows: WindowsInfo
) -> list[Planned]:
    """Compares all resources with what was seen.

    Args:
        resources: in document order.
        questions: what was asked.
        calls: what was answered.
        windows: the node's version of Windows; resources for other versions are left out.

    Raises:
        ResourceError: a resource cannot be on this node as described.
        BadAnswer: what the node answered about a resource is no such state.
    """
    changes: list[Planned] = []
    for position, resource in enumerate(resources):
        if resource.windows and windows.nearest_version not in resource.windows:
            continue
        try:
            change = resource.plan(questions.answers(calls, position), windows)
        except ResourceError as error:
            if resource.no_log and error.value is not None:
                raise ResourceError(resource.title, "(hidden: no_log)", error.accepted) from None
            raise
        except MISREAD as error:
            raise BadAnswer(f"{resource.title}: the node's answer cannot be used: {_told(resource, error)}") from error
        if change is not None:
            changes.append(Planned(position=position, resource=resource, change=change))
    return changes


def _told(resource: Resource, error: Exception) -> str:
    kind = type(error).__name__
    # The text may quote the value.
    return kind if resource.private else f"{kind}: {error}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlannedBatch:
    """The changes of one batch, and what comes after it."""

    changes: tuple[Planned, ...]
    reboot: bool
    """The node reboots when all of it is done."""
    barriers: t.Mapping[str, int]
    """Ids of barrier calls, and how many of the changes come before each."""
    calls: tuple[Call, ...]


def next_work(
    changes: t.Sequence[Planned], restarts: t.Collection[str] = (), *, limit: int = MAX_BATCH_BYTES - _ENVELOPE
) -> PlannedBatch:
    """The first batch for the changes: up to a reboot that is certain, or to what a batch can hold, or to the end.

    Changes that need a reboot and stand side by side share one. Neighbouring changes that do not depend on each other
    are woven, so that their programs run side by side where they may.

    Args:
        changes: what is still to be done, in order.
        restarts: services that have to restart for earlier changes.
        limit: bytes that the batch's calls may take.
    """
    calls: list[Call] = []
    lanes: list[list[Call]] = []
    barriers: dict[str, int] = {}
    done: list[Planned] = []
    group: list[Planned] = []
    reboot = False
    size = 0
    for index, planned in enumerate(changes):
        own = apply_calls(planned)
        if lanes and not _abreast(done[-1], planned):
            calls = joined(calls, woven(lanes))
            lanes = []
        done.append(planned)
        lanes.append(own)
        size += _size(own)
        following = changes[index + 1] if index + 1 < len(changes) else None
        full = following is not None and size + _size(apply_calls(following)) > limit
        if planned.change.reboot != "never":
            group.append(planned)
            if full or following is None or following.change.reboot == "never":
                reboot = any(member.change.reboot == "always" for member in group)
                barrier = None if reboot else _barrier(group)
                if barrier is not None:
                    barriers[barrier.id] = len(done)
                    lanes[-1].append(barrier)
                group = []
        if reboot or full:
            break
    calls = started_later(joined(calls, woven(lanes)), done)
    services = unique([*restarts, *(name for planned in done for name in restarts_of(planned, done))])
    if services and not reboot:
        before, after = restart_calls(services, started_before(done))
        calls = [*before, *calls, *after]
    return PlannedBatch(changes=tuple(done), reboot=reboot, barriers=barriers, calls=tuple(calls))


def _abreast(first: Planned, second: Planned) -> bool:
    """Whether a change may begin before its neighbour has ended: one type's resources never build on each other."""
    alone = is_independent(first.resource) and first.resource.type == second.resource.type
    return alone and first.change.reboot == second.change.reboot == "never"


def _size(calls: t.Sequence[Call]) -> int:
    return sum(len(json.dumps(call.to_wire())) + 1 for call in calls)


def apply_calls(planned: Planned) -> list[Call]:
    """The calls of a change as they go into a batch: prefixed, hidden where asked, failing alone where independent."""
    calls: list[Call] = []
    essential: str | None = None
    for call in planned.change.calls:
        own = call.prefixed(planned.prefix)
        if planned.resource.no_log:
            own = dataclasses.replace(own, secret=True)
        if is_independent(planned.resource):
            if essential is not None and not own.always:
                own = dataclasses.replace(own, needs=(*own.needs, essential))
            if own.on_error == "stop":
                essential = own.id
                own = dataclasses.replace(own, on_error="continue")
        calls.append(own)
    return calls


def is_independent(resource: Resource) -> bool:
    """Whether the resource's failure leaves the others unaffected (a class says so with `independent = True`)."""
    return bool(getattr(resource, "independent", False))


def _barrier(group: t.Sequence[Planned]) -> Call | None:
    calls = tuple(planned.prefix + call.id for planned in group for call in planned.change.calls)
    if not calls:
        return None
    return Call(
        id=f"{BARRIER}{group[-1].position}",
        command="@stop-if",
        input=Input(calls=calls, where={"RestartNeeded": "Yes"}),
    )


def failed_call(planned: Planned, calls: t.Mapping[str, CallResult], stopped: Stopped | None) -> str | None:
    """The id of the call that made a change fail, or None."""
    if stopped is not None and stopped.reason == "error" and stopped.id.startswith(planned.prefix):
        return stopped.id
    if not is_independent(planned.resource):
        return None
    for call in planned.change.calls:
        result = calls.get(planned.prefix + call.id)
        if call.on_error == "stop" and result is not None and result.error is not None:
            return planned.prefix + call.id
    return None


def is_done(planned: Planned, calls: t.Mapping[str, CallResult], stopped: Stopped | None) -> bool:
    """Whether all of a change was carried out."""
    reached = all(planned.prefix + call.id in calls for call in planned.change.calls)
    return reached and failed_call(planned, calls, stopped) is None
