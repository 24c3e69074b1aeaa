# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How PowerShell turns values into text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from simulator.machine.objects import Enumeration, PSObject


def to_text(value: object) -> str:
    """Return the text that PowerShell gives a value in a string ("$value")."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime):
        return value.strftime("%m/%d/%Y %H:%M:%S")
    if isinstance(value, timedelta):
        return timespan_text(value)
    if isinstance(value, (list, tuple)):
        return " ".join(to_text(item) for item in value)
    if isinstance(value, (bytes, bytearray)):
        return " ".join(str(item) for item in value)
    if isinstance(value, dict):
        return "System.Collections.Hashtable"
    if isinstance(value, (Enumeration, PSObject)):
        return str(value)
    return str(value)


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
    """Return a date as ISO 8601 in UTC with `Z`, as .NET's round-trip format writes it (7 decimals)."""

    moment = value.astimezone(UTC) if value.tzinfo else value
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond:06d}0Z"
