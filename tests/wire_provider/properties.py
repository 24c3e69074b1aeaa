# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading properties of objects by path, comparing them, and converting values for the observation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from simulator.machine.objects import CUSTOM_OBJECT, Enumeration, PSObject
from simulator.machine.text import iso_utc, timespan_text, to_text, utf16_length

DEPTH = 4
MISSING = object()


def read(value: object, path: str) -> object:
    """Return a property by its path, such as `Action.Execute`.

    For a list without the property, return the properties of its members. A missing property is None.
    """
    for name in path.split("."):
        value = _member(value, name)
    return value


def _member(value: object, name: str) -> object:
    """Return a property of one value.

    A single value has a Count and a Length of 1, as in PowerShell.
    """
    found = _own(value, name)
    if found is not MISSING:
        return found
    if isinstance(value, list):
        several = list(_of_members(value, name))
        return several[0] if len(several) == 1 else several or None
    # A PSCustomObject has neither property before PowerShell 6.1.
    custom = isinstance(value, PSObject) and value.type_name == CUSTOM_OBJECT
    one = value is not None and not custom and name.casefold() in ("count", "length")
    return 1 if one else None


def _own(value: object, name: str) -> object:
    """Return a property of the value itself, or MISSING."""
    requested = name.casefold()
    if isinstance(value, PSObject):
        return value.get(name, MISSING)
    if isinstance(value, Mapping):
        key = next((key for key in value if str(key).casefold() == requested), None)
        if key is not None:
            return value[key]
        views = {"count": len(value), "keys": list(value), "values": list(value.values())}
        return views.get(requested, MISSING)
    if isinstance(value, (list, bytes, bytearray)) and requested in ("count", "length"):
        return len(value)
    if isinstance(value, str) and requested == "length":
        return utf16_length(value)
    return MISSING


def _of_members(values: list[object], name: str) -> Iterator[object]:
    """Yield the property of every member that has it. Nested lists are searched too, and list values are expanded."""
    for value in values:
        found = _own(value, name)
        if found is MISSING:
            if isinstance(value, list):
                yield from _of_members(value, name)
        elif isinstance(found, list):
            yield from found
        else:
            yield found


Condition = bool | frozenset[str]
"""The condition for a property: whether it exists, or the texts of which it must be one (case-insensitive)."""


def conditions(where: Mapping[str, object]) -> dict[str, Condition]:
    """Return the conditions of `where` or `until` by property path."""
    return {path: _condition(value) for path, value in where.items()}


def _condition(value: object) -> Condition:
    exists = value.get("exists") if isinstance(value, Mapping) else None
    if isinstance(exists, bool):
        return exists
    return frozenset(to_text(item).casefold() for item in (value if isinstance(value, list) else [value]))


def matches(value: object, where: Mapping[str, Condition]) -> bool:
    """Return whether an object meets all conditions. A list is compared as its members, joined with spaces."""
    return all(_met(read(value, path), condition) for path, condition in where.items())


def _met(value: object, condition: Condition) -> bool:
    if isinstance(condition, bool):
        return (value is not None) is condition
    return to_text(value).casefold() in condition


def select(value: object, paths: list[str] | None) -> object:
    """Return the part of an output object for the observation."""
    if paths is None:
        return outward(value)
    return {path: outward(read(value, path), 1) for path in paths}


def outward(value: object, depth: int = 0) -> object:
    """Return a value in the form for the observation's JSON."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else to_text(value)
    if isinstance(value, Enumeration):
        return value.name
    if isinstance(value, datetime):
        return iso_utc(value)
    if isinstance(value, timedelta):
        return timespan_text(value)
    if isinstance(value, (bytes, bytearray)):
        return list(value)
    if depth >= DEPTH:
        return to_text(value)
    if isinstance(value, (list, tuple)):
        return [outward(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {str(key): outward(item, depth + 1) for key, item in value.items()}
    if isinstance(value, PSObject) and value.type_name == CUSTOM_OBJECT:
        return {key: outward(item, depth + 1) for key, item in value.properties.items()}
    return to_text(value)
