# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Properties and methods of dates, time spans and enumerations."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta

from simulator.machine.objects import Enumeration, NotModelled
from simulator.machine.powershell.members.table import Members, names
from simulator.machine.powershell.running.errors import method_failure
from simulator.machine.powershell.types.arithmetic import integer, number
from simulator.machine.powershell.types.arithmetic import subtract as minus
from simulator.machine.powershell.types.compare import compare, same
from simulator.machine.powershell.types.kinds import Int64
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.powershell.types.text import shaped

EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
# The number of ticks from the year 1 to 1601.
_BEFORE = 504911232000000000
_MICROSECOND = timedelta(microseconds=1)


def file_time(value: datetime) -> int:
    """Return a date as a Windows file time, in units of 100 ns since 1601."""
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (moment - EPOCH) // _MICROSECOND * 10


def ticks(value: timedelta) -> int:
    """Return a time span in units of 100 ns."""
    return value // _MICROSECOND * 10


def date_property(value: datetime, name: str) -> object:
    """Return a date's property by its lower-case name, or NotImplemented if there is no such property."""
    if name in ("year", "month", "day", "hour", "minute", "second"):
        return getattr(value, name)
    kind = Enumeration("Utc", 1, "System.DateTimeKind")
    if value.tzinfo is None:
        kind = Enumeration("Unspecified", 0, "System.DateTimeKind")
    return {
        "ticks": Int64(file_time(value) + _BEFORE),
        "date": value.replace(hour=0, minute=0, second=0, microsecond=0),
        "dayofweek": Enumeration(value.strftime("%A"), (value.weekday() + 1) % 7, "System.DayOfWeek"),
        "dayofyear": int(value.strftime("%j")),
        "millisecond": value.microsecond // 1000,
        "timeofday": timedelta(
            hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
        ),
        "kind": kind,
    }.get(name, NotImplemented)


def span_property(value: timedelta, name: str) -> object:
    """Return a time span's property by its lower-case name, or NotImplemented if there is no such property."""
    seconds = value.total_seconds()
    sign = -1 if seconds < 0 else 1
    rest = abs(value)
    whole = rest.days * 86400 + rest.seconds
    return {
        "totalseconds": seconds,
        "totalminutes": seconds / 60,
        "totalhours": seconds / 3600,
        "totaldays": seconds / 86400,
        "totalmilliseconds": seconds * 1000,
        "days": sign * (whole // 86400),
        "hours": sign * (whole // 3600 % 24),
        "minutes": sign * (whole // 60 % 60),
        "seconds": sign * (whole % 60),
        "milliseconds": sign * (rest.microseconds // 1000),
        "ticks": Int64(ticks(value)),
    }.get(name, NotImplemented)


def _moved(value: datetime, amount: object, unit: timedelta) -> datetime:
    try:
        return value + float(number(amount)) * unit
    except OverflowError:
        why = "The added or subtracted value results in an un-representable DateTime."
        raise method_failure("Add", 1, "System.ArgumentOutOfRangeException", why) from None


def _months(value: datetime, amount: object) -> datetime:
    total = value.year * 12 + value.month - 1 + integer(amount)
    year, month = divmod(total, 12)
    day = min(value.day, calendar.monthrange(year, month + 1)[1])
    return value.replace(year=year, month=month + 1, day=day)


def _universal(value: datetime) -> datetime:
    # The time zone of simulated servers is UTC.
    return value if value.tzinfo else value.replace(tzinfo=UTC)


DATE = Members(
    {
        "tofiletime": (0, 0, lambda date: Int64(file_time(date))),
        "tofiletimeutc": (0, 0, lambda date: Int64(file_time(date))),
        "touniversaltime": (0, 0, _universal),
        "tolocaltime": (0, 0, _universal),
        "adddays": (1, 1, lambda date, amount: _moved(date, amount, timedelta(days=1))),
        "addhours": (1, 1, lambda date, amount: _moved(date, amount, timedelta(hours=1))),
        "addminutes": (1, 1, lambda date, amount: _moved(date, amount, timedelta(minutes=1))),
        "addseconds": (1, 1, lambda date, amount: _moved(date, amount, timedelta(seconds=1))),
        "addmilliseconds": (1, 1, lambda date, amount: _moved(date, amount, timedelta(milliseconds=1))),
        "addmonths": (1, 1, _months),
        "addyears": (1, 1, lambda date, amount: _months(date, integer(amount) * 12)),
        "add": (1, 1, lambda date, span: date + span),
        "subtract": (1, 1, minus),
        "tostring": (0, 1, lambda date, form="": shaped(date, to_text(form)) if form else to_text(date)),
        "compareto": (1, 1, compare),
        "equals": (1, 1, lambda date, other: isinstance(other, datetime) and same(date, other)),
    },
    names("AddTicks AddMicroseconds GetDateTimeFormats GetHashCode GetTypeCode IsDaylightSavingTime ToBinary "
          "ToShortDateString "
        "ToLongDateString ToLongTimeString ToOADate ToShortTimeString Deconstruct Microsecond Nanosecond"),
)  # fmt: skip
SPAN = Members(
    {
        "add": (1, 1, lambda span, other: span + other),
        "subtract": (1, 1, lambda span, other: span - other),
        "negate": (0, 0, lambda span: -span),
        "duration": (0, 0, abs),
        "tostring": (0, 1, lambda span, form="": shaped(span, to_text(form)) if form else to_text(span)),
        "compareto": (1, 1, compare),
        "equals": (1, 1, lambda span, other: isinstance(other, timedelta) and span == other),
    },
    names("Divide Multiply GetHashCode TryFormat Microseconds Nanoseconds TotalMicroseconds TotalNanoseconds"),
)


def _has_flag(value: Enumeration, other: object) -> bool:
    if not isinstance(other, Enumeration):
        raise NotModelled("HasFlag with an argument that is not an enumeration value")
    return value.number & other.number == other.number


ENUMERATION = Members(
    {
        "hasflag": (1, 1, _has_flag),
        "tostring": (0, 1, lambda value, form="": shaped(value, to_text(form)) if form else value.name),
        "equals": (1, 1, lambda value, other: value == other),
        "compareto": (1, 1, compare),
    },
    names("GetHashCode GetTypeCode"),
)
