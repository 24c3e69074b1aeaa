# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether what a plan brings fits on the node's volumes: what is asked before the first byte, and the refusal."""

from __future__ import annotations

import dataclasses
import typing as t

from ..values.text_table import text_table
from ..wire.interleave import woven
from ..wire.messages import Call, CallResult
from .planned import Planned
from .resource import DiskSpace

RESERVE = 1_000_000_000
"""Bytes of a volume that stay free: Windows itself fails in odd ways on a full one."""

_FREE = "free-space."
_SYSTEM = "C:"
_AT_ONCE = 8
"""So many sizes are asked for side by side."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpaceNeed:
    """What one change takes of a volume."""

    title: str
    volume: str
    """Its root, such as `C:`."""
    size: int | None
    """Bytes at most; None: nobody knows."""
    later: bool = False
    """It can be asked for again when what comes before it is done."""


def volume(path: str) -> str:
    """The root of a Windows path, without its backslash."""
    return path[:2].upper()


def questions(changes: t.Sequence[Planned]) -> tuple[Call, ...]:
    """The calls of the measure batch; none where nothing that is brought takes room."""
    paths: dict[str, str] = {}
    lanes: list[list[Call]] = []
    for planned in changes:
        for room in planned.change.rooms:
            paths.setdefault(volume(room.path), room.path)
            if room.size is None:
                # Credentials of what is downloaded are in the question as well.
                secret = any(call.secret or call.private for call in planned.change.calls)
                lanes.append([_aside(call.prefixed(planned.prefix), secret) for call in room.ask])
    free = [
        Call(id=_FREE + name, command="@free-space", parameters={"path": path}, on_error="continue")
        for name, path in paths.items()
    ]
    return (*free, *woven(lanes))


def _aside(call: Call, secret: bool) -> Call:
    """A question about a size: its failure stops nothing, and it waits for no other."""
    parallel = _AT_ONCE if call.command.lower().endswith(".exe") and call.parallel is None else call.parallel
    return dataclasses.replace(call, on_error="continue", parallel=parallel, private=call.private or secret)


def needs(changes: t.Sequence[Planned], calls: t.Mapping[str, CallResult]) -> list[SpaceNeed]:
    """What each change takes, as far as it is known: one entry for a change and a volume.

    Args:
        changes: the plan.
        calls: what the measure batch returned.
    """
    found: list[SpaceNeed] = []
    brought: dict[str, int] = {}
    shared: dict[str, set[str]] = {}
    for planned in changes:
        taken: dict[str, int | None] = {}
        later = False
        for room in planned.change.rooms:
            told = _size(planned, room, brought, calls)
            size = _new(told, shared.setdefault(volume(room.path), set())) if isinstance(told, t.Mapping) else told
            later = later or (size is None and room.later)
            if size is not None:
                brought[room.path.casefold()] = size
            earlier = taken.get(volume(room.path))
            taken[volume(room.path)] = size if earlier is None else earlier + (size or 0)
        title = planned.resource.title
        found += [SpaceNeed(title=title, volume=name, size=size, later=later) for name, size in taken.items()]
    return found


def _new(parts: t.Mapping[str, int], there: set[str]) -> int:
    """Bytes of the parts that nothing before it brings to the volume; they are noted as brought."""
    size = sum(part for name, part in parts.items() if name not in there)
    there.update(parts)
    return size


def _size(
    planned: Planned, room: DiskSpace, brought: t.Mapping[str, int], calls: t.Mapping[str, CallResult]
) -> int | t.Mapping[str, int] | None:
    """Bytes of one room: known before, by what an earlier change brings, or by what was asked."""
    if room.size is not None:
        return room.size
    if room.unpacks is not None and room.unpacks.casefold() in brought:
        return brought[room.unpacks.casefold()] * room.UNPACKED
    if room.read is None:
        return None
    mine = {call.id: calls[full] for call in room.ask if (full := planned.prefix + call.id) in calls}
    try:
        return room.read(mine)
    except (AttributeError, LookupError, TypeError, ValueError):
        # A server may answer anything: then the size stays unknown.
        return None


def free(calls: t.Mapping[str, CallResult], limit: int | None = None) -> dict[str, int]:
    """Return the free bytes of each volume that answered.

    Args:
        calls: what the measure batch returned.
        limit: the size in bytes that the system volume is treated as having, where it is larger: the disk of the
            machines that start from an image may be smaller than the disk of the machine that builds it.
    """
    found = {}
    for name, result in calls.items():
        if name.startswith(_FREE) and result.ok and isinstance(result.first, dict):
            there = int(result.first["free"])
            if limit is not None and name == _FREE + _SYSTEM:
                there = min(there, limit - (int(result.first["total"]) - there))
            found[name.removeprefix(_FREE)] = there
    return found


def refusal(
    wanted: t.Sequence[SpaceNeed], left: t.Mapping[str, int], reserve: int = RESERVE, *, begun: bool = False
) -> str | None:
    """Why the plan does not fit, as a table of what every change takes; None where it fits.

    Args:
        wanted: what each change takes; an unknown size counts as nothing.
        left: free bytes by volume; one that did not tell is not judged.
        reserve: bytes of each volume that have to stay free.
        begun: whether a part of the plan is done.
    """
    what = "not enough room on {} for the rest of the plan" if begun else "not enough room on {}; nothing was begun"
    tables: list[str] = []
    for name, there in left.items():
        here = [need for need in wanted if need.volume == name]
        total = sum(need.size or 0 for need in here)
        if not here or total + reserve <= there:
            continue
        rows = [(need.title, "unknown" if need.size is None else amount(need.size)) for need in here]
        rows += [("needed", amount(total)), ("kept in reserve", amount(reserve)), ("free", amount(there))]
        rows += [("missing", amount(total + reserve - there))]
        lines = [f"  {line}" for line in text_table(rows, right={1})]
        tables.append("\n".join([what.format(name), *lines]))
    return "\n".join(tables) or None


def amount(size: int) -> str:
    """Bytes as people read them, in steps of 1000: `850 KB`, `45 MB`, `2.3 GB`."""
    if size < 0:
        return f"-{amount(-size)}"
    for unit, step, digits in (("GB", 10**9, 1), ("MB", 10**6, 0), ("KB", 10**3, 0)):
        if size >= step:
            return f"{size / step:.{digits}f} {unit}"
    return f"{size} bytes"
