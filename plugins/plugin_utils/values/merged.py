# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Merge two mappings."""

from __future__ import annotations

import typing as t


def merged(under: t.Mapping[str, t.Any], over: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return two mappings merged recursively.

    Args:
        under: the first mapping.
        over: the second mapping. Its values override the values of the first mapping.
    """
    result = dict(under)
    for key, value in over.items():
        old = result.get(key)
        both = isinstance(old, t.Mapping) and isinstance(value, t.Mapping)
        result[key] = merged(t.cast("t.Mapping[str, t.Any]", old), value) if both else value
    return result
