# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Change all strings in a JSON value (no I/O)."""

from __future__ import annotations

import typing as t


def each_text(value: t.Any, change: t.Callable[[str], str]) -> t.Any:
    """Return a JSON value with all of its strings changed, including keys.

    Args:
        value: a JSON value.
        change: function that returns the new string for an old string.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [each_text(item, change) for item in value]
    if isinstance(value, t.Mapping):
        return {each_text(key, change): each_text(item, change) for key, item in value.items()}
    return value
