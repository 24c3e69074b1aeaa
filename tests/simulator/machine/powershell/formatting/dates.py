# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Dates as text in the en-US culture, which is the default of a server.

https://learn.microsoft.com/dotnet/standard/base-types/standard-date-and-time-format-strings
"""

from __future__ import annotations

from datetime import datetime

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def long_date(value: datetime) -> str:
    """Return a date as the console shows it: its DateTime property, which combines the D and T formats."""
    day = f"{_DAYS[value.weekday()]}, {_MONTHS[value.month - 1]} {value.day}, {value.year}"
    return f"{day} {value.hour % 12 or 12}:{value:%M:%S} {_half(value)}"


def short_date(value: datetime) -> str:
    """Return a date without the time (format d)."""
    return f"{value.month}/{value.day}/{value.year}"


def short_time(value: datetime) -> str:
    """Return the time of day without seconds (format t)."""
    return f"{value.hour % 12 or 12}:{value:%M} {_half(value)}"


def _half(value: datetime) -> str:
    return "AM" if value.hour < 12 else "PM"
