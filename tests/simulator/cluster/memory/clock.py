# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Format and parse times as the Kubernetes API does."""

from __future__ import annotations

import datetime


def now() -> str:
    """Return the current time in the format of object metadata (RFC 3339, in whole seconds)."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse(text: str) -> datetime.datetime:
    """Parse a time, with or without fractions of a second.

    Raises:
        ValueError: the text is not a time.
    """
    return datetime.datetime.fromisoformat(text)


def age(text: str | None) -> float:
    """Return the seconds since a time, or infinity if `text` is None or empty.

    Raises:
        ValueError: the text is not a time.
        TypeError: the time has no UTC offset.
    """
    if not text:
        return float("inf")
    return (datetime.datetime.now(datetime.UTC) - parse(text)).total_seconds()
