# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Convert values to strings as PowerShell does."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from simulator.machine.objects import OrderedOutput, PSObject


def to_text(value: object) -> str:
    """Return a value as the string that PowerShell inserts for the value in `"$value"`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, datetime):
        return value.strftime("%m/%d/%Y %H:%M:%S")
    if isinstance(value, timedelta):
        return timespan_text(value)
    if isinstance(value, (list, tuple)):
        # A list within a list is not expanded.
        inner = (list, tuple, bytes, bytearray)
        return " ".join(type_text(item) if isinstance(item, inner) else to_text(item) for item in value)
    if isinstance(value, (bytes, bytearray)):
        return " ".join(str(item) for item in value)
    if isinstance(value, dict):
        return type_text(value)
    return str(value)


def type_text(value: object) -> str:
    """Return the name of a collection's type, as .NET's ToString does."""
    if isinstance(value, OrderedOutput):
        return "System.Collections.Specialized.OrderedDictionary"
    if isinstance(value, dict):
        return "System.Collections.Hashtable"
    return "System.Byte[]" if isinstance(value, (bytes, bytearray)) else "System.Object[]"


def member_text(value: object) -> str:
    """Return a property's value as it appears in the text of a PSCustomObject.

    A collection appears as the name of its type, and a nested PSCustomObject as an empty string.

    Sources: PSObject.ToString with recurse: false, and https://github.com/PowerShell/PowerShell/issues/6163
    """
    if isinstance(value, (list, tuple, bytes, bytearray)):
        return type_text(value)
    if isinstance(value, PSObject) and value.text is None and value.type_name.endswith("PSCustomObject"):
        return ""
    return to_text(value)


def double_text(value: float) -> str:
    """Return a double as .NET writes it: with an exponent (at least two digits) from 1E+15 upwards and below 0.0001."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    magnitude = len(digits) - 1 + exponent
    if -5 < magnitude < 15:
        return f"{Decimal(repr(value)).normalize():f}"
    figures = "".join(map(str, digits))
    fraction = f".{figures[1:]}" if len(figures) > 1 else ""
    return f"{'-' if sign else ''}{figures[0]}{fraction}E{'+' if magnitude > 0 else '-'}{abs(magnitude):02d}"


def utf16_length(text: str) -> int:
    """Return the length of a string as .NET counts it, in UTF-16 code units."""
    return len(text.encode("utf-16-le")) // 2


def utf16_slice(text: str, start: int | None, end: int | None) -> str:
    """Return the part of a string between two positions in UTF-16 code units. Half a surrogate pair becomes U+FFFD."""
    data = text.encode("utf-16-le")
    part = data[slice(*(None if at is None else 2 * at for at in (start, end)))]
    return part.decode("utf-16-le", "replace")


def timespan_text(value: timedelta) -> str:
    """Return a TimeSpan as .NET writes it: `[-][d.]hh:mm:ss[.fffffff]`."""
    ticks = round(value / timedelta(microseconds=1)) * 10
    sign, ticks = ("-", -ticks) if ticks < 0 else ("", ticks)
    seconds, fraction = divmod(ticks, 10_000_000)
    days, rest = divmod(seconds, 86400)
    head = f"{days}." if days else ""
    tail = f".{fraction:07d}" if fraction else ""
    return f"{sign}{head}{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}{tail}"


def iso_utc(value: datetime) -> str:
    """Return a date in UTC in ISO 8601 with 7 decimals and `Z`, which is .NET's round-trip format."""
    moment = value.astimezone(UTC) if value.tzinfo else value
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond:06d}0Z"
