# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decides when a rollout may work on nodes: maintenance windows, rings, and the time between rings (no I/O)."""

from __future__ import annotations

import dataclasses
import datetime
import math
import re
import typing as t
import zoneinfo

from .maintenance import Record
from .rings import RingOrder, ring_of

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EXPECTED = "expected DAYS HH:MM-HH:MM or HH:MM-HH:MM, such as Sat,Sun 22:00-04:00 or Mon-Fri 01:00-05:00"
_WINDOW = re.compile(r"(?:([A-Za-z,-]+)\s+)?(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")
_DAY = 24 * 60


@dataclasses.dataclass(frozen=True)
class MaintenanceWindow:
    """A weekly maintenance window. A window whose end is not after its beginning ends on the next day."""

    days: frozenset[int]
    """Weekdays on which the window begins, with 0 for Monday."""
    begin: int
    """Beginning of the window in minutes since midnight."""
    end: int

    @classmethod
    def parse(cls, text: str) -> MaintenanceWindow:
        """Parse a window such as `Sat,Sun 22:00-04:00`. A window without days begins every day.

        Raises:
            ValueError: the string is not a valid window.
        """
        match = _WINDOW.fullmatch(str(text).strip())
        if match is None:
            raise ValueError(EXPECTED)
        days, *numbers = match.groups()
        hours = [int(number) for number in numbers]
        begin, end = hours[0] * 60 + hours[1], hours[2] * 60 + hours[3]
        if max(hours[1], hours[3]) > 59 or max(begin, end) > _DAY or begin == _DAY:
            raise ValueError(EXPECTED)
        return cls(frozenset(_days(days)) if days else frozenset(range(7)), begin, end)

    def is_open(self, moment: datetime.datetime) -> bool:
        """Return whether a moment is in the window."""
        day, minute = moment.weekday(), moment.hour * 60 + moment.minute
        if self.begin < self.end:
            return day in self.days and self.begin <= minute < self.end
        yesterday = (day - 1) % 7
        return (day in self.days and minute >= self.begin) or (yesterday in self.days and minute < self.end)


def _days(text: str) -> t.Iterator[int]:
    """Yield the weekdays that a list such as `Sat,Sun` or `Mon-Fri` contains, as numbers with 0 for Monday.

    Raises:
        ValueError: the string is not such a list.
    """
    for part in text.lower().split(","):
        first, _dash, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            raise ValueError(EXPECTED)
        begin, end = DAYS.index(first), DAYS.index(last or first)
        yield from ((begin + ahead) % 7 for ahead in range((end - begin) % 7 + 1))


def closed(windows: t.Sequence[str], time_zone: str, now: datetime.datetime) -> str:
    """Return why no work on nodes may begin now, or an empty string if it may begin.

    Args:
        windows: the maintenance windows; empty if work may begin at any time.
        time_zone: the time zone of the windows, such as Europe/Berlin.
        now: the current time, in any time zone.

    Raises:
        ValueError: a window is malformed, or the time zone is unknown.
    """
    local = now.astimezone(zone(time_zone))
    if not windows or any(MaintenanceWindow.parse(one).is_open(local) for one in windows):
        return ""
    return f"{local:%a %H:%M} ({time_zone}) is outside the maintenance windows: {'; '.join(windows)}"


def zone(name: str) -> datetime.tzinfo:
    """Return a time zone by its name.

    Raises:
        ValueError: there is no such time zone.
    """
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("expected a time zone such as UTC or Europe/Berlin") from None


def batch_sizes(rings: t.Sequence[RingOrder], serial: str) -> list[int]:
    """Return how many hosts each batch of a rollout has. A batch contains hosts of only one ring.

    If there are no hosts, there is one batch of size 1.

    Args:
        rings: the ring of each host, in the order of the rollout.
        serial: number of hosts at a time, or a percentage of all hosts, which is rounded down, but to at least 1.
    """
    share = serial.strip()
    percent = share.endswith("%")
    most = max(1, math.floor(len(rings) * int(share[:-1]) / 100)) if percent else max(1, int(share))
    sizes: list[int] = []
    for number, ring in enumerate(rings):
        if number and ring == rings[number - 1] and sizes[-1] < most:
            sizes[-1] += 1
        else:
            sizes.append(1)
    return sizes or [1]


def earlier_rings(batch: t.Sequence[Record], records: t.Sequence[Record]) -> list[Record]:
    """If a batch is the first of its ring, return the records of the nodes that this run worked on in other rings.

    Nodes that an earlier run left unfinished come first in a rollout, regardless of their ring, so their batch does not
    count as the first batch of a ring.

    Args:
        batch: the maintenance records of the hosts in the batch.
        records: the maintenance records of all hosts of the rollout that are nodes.

    Returns:
        The records, including those of nodes that failed. The list is empty if an earlier batch began the ring.
    """
    rings = {ring_of(one) for one in batch if one}
    worked = [one for one in records if "started" in one]
    if any(ring_of(one) in rings and not one.get("ours") for one in worked):
        return []
    return [one for one in worked if ring_of(one) not in rings]


def soak_left(earlier: t.Sequence[Record], soak: float, now: float) -> int:
    """Return how many seconds the rollout must still wait before it begins the next ring.

    Args:
        earlier: result of `earlier_rings`.
        soak: seconds to wait between the last node of a ring and the first node of the next ring.
        now: the current time, in seconds since the epoch.
    """
    finished = [float(one.get("finished") or 0.0) for one in earlier]
    return max(0, math.ceil(max(finished) + soak - now)) if finished else 0
