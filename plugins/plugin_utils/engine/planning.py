# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the calls that observe resources, plan changes from their results, and divide changes into batches (no I/O)."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...module_utils.redaction import hidden
from ..remote.reboot import is_ordered
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.interleave import concatenate, interleave
from ..wire.messages import MAX_BATCH_BYTES, Call, CallResult, Input, Stopped
from ..wire.scopes import Scope
from ..wire.typed_values import MISREAD, BadAnswer
from .planned import Planned, scope
from .resource import Resource
from .service_restarts import restart_calls, restarts_of, started_before, started_later, unique

BARRIER = Scope("reboot-needed.")
"""Scope (ID prefix) of the barriers, which are calls that stop a batch if a reboot is needed."""
REBOOT_ORDER = Scope("reboot-order.")
"""Scope (ID prefix) of the calls that request a reboot. Those before a barrier have a scope nested in this one."""
ENVELOPE = 20_000
"""Number of bytes reserved in a batch for calls that no resource has built, such as barriers and restarts."""


class Questions:
    """The calls that observe all resources.

    If several resources have the same call, it is sent only once, unless other calls refer to it.

    Args:
        resources: the resources, in the order in which they are listed.
        general: calls that belong to no resource. They are sent before the calls of the resources.
        sizes: maps list positions to the calls that ask how much disk space the resource at that position needs. These
            calls are sent last, so that their programs run in parallel.
        offline: whether to leave out calls with which the node contacts other machines.
    """

    def __init__(
        self,
        resources: t.Sequence[Resource],
        general: t.Sequence[Call] = (),
        sizes: t.Mapping[int, t.Sequence[Call]] | None = None,
        *,
        offline: bool = False,
    ) -> None:
        self._same: dict[str, str] = {}
        self._ids: list[tuple[str, ...]] = []
        asked: dict[str, str] = {}
        self._sizes: dict[str, t.Sequence[Call]] = {}
        groups = [tuple(general)]
        for position, resource in enumerate(resources):
            calls = resource.observe_offline() if offline else resource.observe()
            self._ids.append(tuple(call.id for call in calls))
            more = (sizes or {}).get(position, ())
            # Do not merge a call that other calls refer to: calls may refer only to calls of their own group.
            built_on = {own for call in calls for own in _referred(call)}
            built_on |= {scope(position).own(name) for call in more for name in _referred(call)}
            group: list[Call] = []
            for call in calls:
                mine = scope(position).call(call)
                first = mine.id if call.id in built_on else asked.setdefault(_question(mine), mine.id)
                if first == mine.id:
                    group.append(mine)
                else:
                    self._same[mine.id] = first
            groups.append(tuple(group))
            if group and more:
                self._sizes[group[0].id] = more
        self.groups: tuple[tuple[Call, ...], ...] = tuple(group for group in groups if group)
        """Groups of calls that belong together. All calls of a group are sent in the same batch."""

    def batches(self) -> list[tuple[Call, ...]]:
        """Return the calls in batches. A batch ends where the next group of calls would exceed the size limit."""
        batches: list[list[Call]] = [[]]
        lanes: list[list[t.Sequence[Call]]] = [[]]
        size = ENVELOPE
        for group in self.groups:
            lane = self._sizes.get(group[0].id, ())
            more = _size(group) + _size(lane)
            if batches[-1] and size + more > MAX_BATCH_BYTES:
                batches.append([])
                lanes.append([])
                size = ENVELOPE
            batches[-1].extend(group)
            lanes[-1].append(lane)
            size += more
        return [tuple(concatenate(*both)) for both in zip(batches, map(interleave, lanes), strict=True) if both[0]]

    def answers(self, calls: t.Mapping[str, CallResult], position: int) -> dict[str, CallResult]:
        """Return the results of the calls of one resource, by the resource's own call IDs.

        Args:
            calls: results of the calls of all resources, by call ID.
            position: the resource's position in the list.
        """
        ids = {own: scope(position).id(own) for own in self._ids[position]}
        return {
            own: calls[self._same.get(full, full)] for own, full in ids.items() if self._same.get(full, full) in calls
        }


def _referred(call: Call) -> tuple[str, ...]:
    return (*call.needs, *(call.input.calls if call.input else ()))


def _question(call: Call) -> str:
    wire = call.to_wire()
    del wire["id"]
    return json.dumps(wire, sort_keys=True)


def plan(
    resources: t.Sequence[Resource], questions: Questions, calls: t.Mapping[str, CallResult], windows: WindowsInfo
) -> list[Planned]:
    """Compare the desired state of all resources with the observed state.

    Args:
        resources: the resources, in the order in which they are listed.
        questions: the calls that observed these resources.
        calls: the results of these calls, by call ID.
        windows: the node's version of Windows. Resources for other versions are left out.

    Returns:
        The changes to make, in the order in which they are made.

    Raises:
        ResourceError: a resource cannot exist on this node as described, or its state could not be read.
        BadAnswer: a call of a resource returned a malformed result.
    """
    changes: list[Planned] = []
    for position, resource in enumerate(resources):
        if resource.windows and windows.nearest_version not in resource.windows:
            continue
        try:
            change = resource.plan(questions.answers(calls, position), windows)
        except ResourceError as error:
            if resource.no_log and error.value is not None:
                raise ResourceError(resource.title, AsItIs(hidden("no_log")), error.expected, error.hint) from None
            raise
        except MISREAD as error:
            raise BadAnswer(f"{resource.title}: the node's answer cannot be used: {_shown(resource, error)}") from error
        if change is not None:
            changes.append(Planned(position=position, resource=resource, change=change))
    return group_parallel(changes)


def group_parallel(changes: t.Sequence[Planned]) -> list[Planned]:
    """Reorder changes so that those that may run in parallel, such as downloads, follow each other.

    An independent change is moved up to follow the last earlier change of its type, unless it builds on a change in
    between.

    Args:
        changes: the changes, in the order in which their resources are listed.
    """
    grouped: list[Planned] = []
    for planned in changes:
        index = len(grouped)
        if is_independent(planned.resource):
            while index and not _same_type(grouped[index - 1], planned):
                if planned.resource.builds_on(grouped[index - 1].resource):
                    break
                index -= 1
            if not index or not _same_type(grouped[index - 1], planned):
                index = len(grouped)
        grouped.insert(index, planned)
    return grouped


def _same_type(first: Planned, second: Planned) -> bool:
    return first.resource.type == second.resource.type


def _shown(resource: Resource, error: Exception) -> str:
    kind = type(error).__name__
    # The text of the exception may quote a secret value.
    return kind if resource.private else f"{kind}: {error}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlannedBatch:
    """The changes of one batch, and whether a reboot follows."""

    changes: tuple[Planned, ...]
    reboot: bool
    """Whether the node must reboot after the last change of the batch."""
    barriers: t.Mapping[str, int]
    """Maps the ID of each barrier (a call that stops the batch if a reboot is needed) to the number of changes before
    the barrier."""
    calls: tuple[Call, ...]

    @property
    def may_reboot(self) -> bool:
        """Whether the batch contains calls that can request a reboot."""
        return any(call.id in REBOOT_ORDER for call in self.calls)


def next_work(
    changes: t.Sequence[Planned],
    restarts: t.Collection[str] = (),
    *,
    limit: int = MAX_BATCH_BYTES - ENVELOPE,
    reboot_order: t.Sequence[Call] = (),
) -> PlannedBatch:
    """Return the next batch of changes with its calls.

    The batch ends before a reboot that is certainly needed, at the size limit, or after the last change. Consecutive
    changes that need a reboot share one reboot. The calls of consecutive changes that do not depend on each other are
    interleaved, so that their programs can run in parallel.

    Args:
        changes: the changes that have not been made yet, in their original order.
        restarts: services that must restart because of earlier changes.
        limit: the maximum size of the batch's calls, in bytes.
        reboot_order: calls that request a reboot. They are added to the batch if a reboot may be needed, so that the
            request needs no separate remote command.
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
        if lanes and not _may_overlap(done[-1], planned):
            calls = concatenate(calls, interleave(lanes))
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
                    lanes[-1] += [*_order_if_needed(barrier, reboot_order), barrier]
                group = []
        if reboot or full:
            break
    calls = started_later(concatenate(calls, interleave(lanes)), done)
    services = unique([*restarts, *(name for planned in done for name in restarts_of(planned, done))])
    if services and not reboot:
        before, after = restart_calls(services, started_before(done))
        calls = [*before, *calls, *after]
    if calls and reboot:
        calls += [REBOOT_ORDER.call(call) for call in reboot_order]
    return PlannedBatch(changes=tuple(done), reboot=reboot, barriers=barriers, calls=tuple(calls))


def _may_overlap(first: Planned, second: Planned) -> bool:
    """Return whether the second of two consecutive changes may begin before the first one has ended.

    Only changes of independent resources of the same type may overlap. `group_parallel` has put such changes next to
    each other.
    """
    alone = is_independent(first.resource) and _same_type(first, second)
    return alone and first.change.reboot == second.change.reboot == "never"


def _size(calls: t.Sequence[Call]) -> int:
    return sum(len(json.dumps(call.to_wire())) + 1 for call in calls)


def apply_calls(planned: Planned) -> list[Call]:
    """Return copies of a change's calls for a batch, with prefixed IDs.

    The copies are secret if the resource has `no_log`. If a call of an independent resource fails, the batch skips
    this resource's remaining calls, except those with `always`, and continues with the next resource.
    """
    calls: list[Call] = []
    essential: str | None = None
    for call in planned.change.calls:
        own = planned.scope.call(call)
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
    """Return whether the changes of later resources are made even if the change of this resource fails."""
    return bool(getattr(resource, "independent", False))


def _barrier(group: t.Sequence[Planned]) -> Call | None:
    calls = tuple(planned.scope.id(call.id) for planned in group for call in planned.change.calls)
    if not calls:
        return None
    return Call(
        id=BARRIER.id(str(group[-1].position)),
        command="@stop-if",
        input=Input(calls=calls, where={"RestartNeeded": "Yes"}),
    )


def _order_if_needed(barrier: Call, reboot_order: t.Sequence[Call]) -> t.Iterator[Call]:
    """Yield the calls that request a reboot if a barrier will stop the batch.

    The first of them fails if a change has reported that a reboot is needed. Otherwise it is skipped, which counts as
    success. The other calls, which request the reboot, run only if the first one has failed.
    """
    if not reboot_order:
        return
    scope = REBOOT_ORDER.inner(BARRIER.own(barrier.id))
    unneeded = query(
        scope.id("unneeded"),
        "Write-Output",
        input=barrier.input,
        select=(),
        until={"RestartNeeded": {"exists": False}},
    )
    yield unneeded
    for call in map(scope.call, reboot_order):
        yield dataclasses.replace(call, unless=(*call.unless, unneeded.id))


def ordered_reboot(work: PlannedBatch, calls: t.Mapping[str, CallResult]) -> bool:
    """Return whether a batch requested a reboot.

    Args:
        work: the batch.
        calls: the results of the batch, by call ID.
    """
    scopes = (REBOOT_ORDER, *(REBOOT_ORDER.inner(BARRIER.own(barrier)) for barrier in work.barriers))
    return any(is_ordered(scope.results(calls)) for scope in scopes)


def failed_call(planned: Planned, calls: t.Mapping[str, CallResult], stopped: Stopped | None) -> str | None:
    """Return the ID of the call that made a change fail, or None if the change did not fail."""
    if stopped is not None and stopped.reason == "error" and stopped.id in planned.scope:
        return stopped.id
    if not is_independent(planned.resource):
        return None
    for call in planned.change.calls:
        result = calls.get(planned.scope.id(call.id))
        if call.on_error == "stop" and result is not None and result.error is not None:
            return planned.scope.id(call.id)
    return None


def is_done(planned: Planned, calls: t.Mapping[str, CallResult], stopped: Stopped | None) -> bool:
    """Return whether a change is complete: all of its calls were reached, and none made the change fail."""
    reached = all(planned.scope.id(call.id) in calls for call in planned.change.calls)
    return reached and failed_call(planned, calls, stopped) is None
