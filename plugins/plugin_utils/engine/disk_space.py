# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check that the planned changes fit on the node's volumes, before they are made.

One batch reads the free space of the volumes and the sizes of downloads. `measure_calls` builds this batch from the
plan, and `measured` reads its results. `EarlySizes` already reads free space and sizes during the observation. If these
results are sufficient for the plan, the batch is skipped.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..values.text_table import text_table
from ..wire.calls import query
from ..wire.interleave import interleave
from ..wire.messages import Call, CallResult
from ..wire.scopes import Scope
from .planned import Planned, scope
from .resource import Resource, SpaceRequirement

RESERVE = 1_000_000_000
"""Number of bytes that must stay free on each volume, because Windows fails in unexpected ways on a full volume."""

_FREE = Scope("free-space.")
_SYSTEM = "C:"
_PARALLEL = 8
"""Maximum number of programs on the node that ask servers for sizes at the same time."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpaceNeed:
    """The disk space that one change needs on one volume."""

    title: str
    """The resource's title."""
    volume: str
    """The drive of the volume, such as `C:`."""
    size: int | None
    """Maximum number of bytes that the change needs, or None if unknown."""
    later: bool = False
    """Whether the size must be measured again once the preceding changes have been made."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement:
    """The disk space that changes need, and the free space of the node's volumes."""

    needs: tuple[SpaceNeed, ...]
    free: t.Mapping[str, int]
    """Maps each volume to its free bytes. A volume whose free space could not be read is left out."""

    @property
    def sizes(self) -> dict[str, int | None]:
        """The number of bytes that each change needs (None if unknown), by the resource's title.

        For a change that needs space on several volumes, this is the number for one of them.
        """
        return {need.title: need.size for need in self.needs}

    @property
    def unread_volumes(self) -> list[str]:
        """The volumes on which changes need space, but whose free space could not be read."""
        return sorted({need.volume for need in self.needs} - self.free.keys())

    def first_later(self, changes: t.Sequence[Planned]) -> int:
        """Return the index of the first change that must be measured again.

        If there is no such change, return the number of changes.
        """
        later = {need.title for need in self.needs if need.later}
        return next((index for index, planned in enumerate(changes) if planned.resource.title in later), len(changes))


class EarlySizes:
    """The calls that read free disk space and download sizes during the observation, and their results.

    Args:
        resources: the resources, in the order of the plan.
    """

    def __init__(self, resources: t.Sequence[Resource]) -> None:
        paths: dict[str, str] = {}
        self.by_resource: dict[int, list[Call]] = {}
        """The calls that ask for the sizes of a resource's downloads, by the resource's position in `resources`."""
        for position, resource in enumerate(resources):
            # Whether a resource for certain versions of Windows applies is known only after the observation.
            required = None if resource.windows else resource.likely_space()
            if required is not None:
                paths.setdefault(volume(required.path), required.path)
                calls = required.probe.calls if required.probe else ()
                self.by_resource[position] = [_side_question(scope(position).call(call), secret=True) for call in calls]
        self.free_space = _free_calls(paths)
        """The calls that read the free space of volumes."""
        self._asked = {call.id: call for calls in (self.free_space, *self.by_resource.values()) for call in calls}
        self.results: dict[str, CallResult] = {}
        """The latest results of the calls that read free space and sizes, by call ID."""

    def observed(self, calls: t.Mapping[str, CallResult]) -> None:
        """Record the results of the calls that read free space and sizes."""
        self.results = {name: result for name, result in calls.items() if name in self._asked}

    def knows(self, calls: t.Sequence[Call]) -> bool:
        """Return whether the last observation has the results of the calls that measure a change.

        If the node skipped all of these calls because it already had the file to download, they have measured nothing
        and must run again.
        """
        same = all(call.id in self.results and _question(self._asked[call.id]) == _question(call) for call in calls)
        return same and not all(self.results[call.id].skipped for call in calls)


def _question(call: Call) -> tuple[t.Any, ...]:
    return call.command, call.parameters, call.arguments, call.stdin


def volume(path: str) -> str:
    """Return the drive of a Windows path, such as `C:`."""
    return path[:2].upper()


def measure_calls(changes: t.Sequence[Planned], early: EarlySizes | None = None) -> tuple[Call, ...]:
    """Return the calls that measure free space and sizes, or an empty tuple if nothing must be measured.

    Args:
        changes: the plan.
        early: the results that came with the observation, if they are still valid. If given, the calls that have such a
            result are left out, as are the calls that can measure a size only after other changes.
    """
    paths: dict[str, str] = {}
    lanes: list[list[Call]] = []
    for planned in changes:
        for required in planned.change.space:
            paths.setdefault(volume(required.path), required.path)
            probe = required.probe
            if required.size is None and probe is not None and not (early and probe.later):
                # Like the download itself, the call that asks for the size contains credentials.
                secret = any(call.secret or call.private for call in planned.change.calls)
                lanes.append([_side_question(planned.scope.call(call), secret) for call in probe.calls])
    free = _free_calls(paths)
    if early:
        free = [call for call in free if call.id not in early.results]
        lanes = [lane for lane in lanes if not early.knows(lane)]
    return (*free, *interleave(lanes))


def _free_calls(paths: t.Mapping[str, str]) -> list[Call]:
    """Return the calls that read the free space of volumes, given one path on each volume."""
    return [query(_FREE.id(name), "@free-space", {"path": path}) for name, path in paths.items()]


def _side_question(call: Call, secret: bool) -> Call:
    """Return a copy of a call that measures something.

    If the copy fails, the batch continues. If it runs a program, the program can run in parallel with others.
    """
    parallel = _PARALLEL if call.command.lower().endswith(".exe") and call.parallel is None else call.parallel
    return dataclasses.replace(call, on_error="continue", parallel=parallel, private=call.private or secret)


def measured(changes: t.Sequence[Planned], calls: t.Mapping[str, CallResult], limit: int | None = None) -> Measurement:
    """Return the required and the free disk space from the results of the calls that `measure_calls` returned.

    Args:
        changes: the plan.
        calls: the results, by call ID.
        limit: see `free`.
    """
    return Measurement(needs=tuple(needs(changes, calls)), free=free(calls, limit))


def needs(changes: t.Sequence[Planned], calls: t.Mapping[str, CallResult]) -> list[SpaceNeed]:
    """Return the disk space that each change needs, with one entry for each change and volume.

    Args:
        changes: the plan.
        calls: the results of the calls that `measure_calls` returned, by call ID.
    """
    needed: list[SpaceNeed] = []
    brought: dict[str, int] = {}
    counted: dict[str, set[str]] = {}
    for planned in changes:
        sums: dict[str, int | None] = {}
        later = False
        for required in planned.change.space:
            name = volume(required.path)
            answer = _size(planned, required, brought, calls)
            size = _uncounted(answer, counted.setdefault(name, set())) if isinstance(answer, t.Mapping) else answer
            later = later or (size is None and required.probe is not None and required.probe.later)
            if size is not None:
                brought[required.path.casefold()] = size
            earlier = sums.get(name)
            sums[name] = size if earlier is None else earlier + (size or 0)
        title = planned.resource.title
        needed += [SpaceNeed(title=title, volume=name, size=size, later=later) for name, size in sums.items()]
    return needed


def _uncounted(parts: t.Mapping[str, int], counted: set[str]) -> int:
    """Return the total size in bytes of those `parts` that are not in `counted`, and add all `parts` to `counted`."""
    size = sum(part for name, part in parts.items() if name not in counted)
    counted.update(parts)
    return size


def _size(
    planned: Planned, required: SpaceRequirement, brought: t.Mapping[str, int], calls: t.Mapping[str, CallResult]
) -> int | t.Mapping[str, int] | None:
    """Return the required bytes, as a total or as a mapping of part names to sizes, or None if unknown.

    The number is part of the requirement, or it follows from an earlier change or from the results of the calls that
    measure it.
    """
    if required.size is not None:
        return required.size
    if required.unpacks is not None and required.unpacks.casefold() in brought:
        return brought[required.unpacks.casefold()] * required.UNPACKED
    if required.probe is None:
        return None
    try:
        return required.probe.size(planned.scope.results(calls))
    except (AttributeError, LookupError, TypeError, ValueError):
        # A server's answer may have any content. If it cannot be read, the size stays unknown.
        return None


def free(calls: t.Mapping[str, CallResult], limit: int | None = None) -> dict[str, int]:
    """Return the free bytes of each volume that could be read.

    Args:
        calls: the results of the calls that `measure_calls` returned, by call ID.
        limit: size in bytes to assume for the system volume if the volume is larger. Machines that start from an
            image may have a smaller disk than the machine on which the image is built.
    """
    free_bytes = {}
    for name, result in _FREE.results(calls).items():
        if result.ok and isinstance(result.first, dict):
            left = int(result.first["free"])
            if limit is not None and name == _SYSTEM:
                left = min(left, limit - (int(result.first["total"]) - left))
            free_bytes[name] = left
    return free_bytes


def refusal(measurement: Measurement, *, reserve: int = RESERVE, begun: bool = False) -> str | None:
    """Return an error message with a table of the space that each change needs, or None if the plan fits.

    A change of unknown size counts as 0 bytes, and a volume whose free space could not be read is not checked.

    Args:
        measurement: the required and the free disk space.
        reserve: bytes of each volume that must stay free.
        begun: whether the run has already made changes.
    """
    when = "for the rest of the plan" if begun else "for the plan; nothing was changed"
    tables: list[str] = []
    for name, left in measurement.free.items():
        entries = [need for need in measurement.needs if need.volume == name]
        total = sum(need.size or 0 for need in entries)
        if not entries or total + reserve <= left:
            continue
        rows = [(need.title, "unknown" if need.size is None else amount(need.size)) for need in entries]
        rows += [("needed", amount(total)), ("kept in reserve", amount(reserve)), ("free", amount(left))]
        rows += [("missing", amount(total + reserve - left))]
        lines = [f"  {line}" for line in text_table(rows, right={1})]
        tables.append("\n".join([f"not enough disk space on {name} {when}", *lines]))
    return "\n".join(tables) or None


def amount(size: int) -> str:
    """Format a number of bytes with decimal units: `850 KB`, `45 MB`, `2.3 GB`."""
    if size < 0:
        return f"-{amount(-size)}"
    for unit, step, digits in (("GB", 10**9, 1), ("MB", 10**6, 0), ("KB", 10**3, 0)):
        if size >= step:
            return f"{size / step:.{digits}f} {unit}"
    return f"{size} bytes"
