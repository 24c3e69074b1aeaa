# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Properties of objects by path, their comparison, and how values travel back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from simulator.machine.objects import CUSTOM_OBJECT, Enumeration, PSObject
from simulator.machine.text import iso_utc, timespan_text, to_text

DEPTH = 4


def read(value: object, path: str) -> object:
    """Return a property by its path (`Action.Execute`); None if it is missing. A list gives its members' properties."""
    for name in path.split("."):
        value = _member(value, name)
    return value


def _member(value: object, name: str) -> object:
    if isinstance(value, PSObject):
        return value.get(name)
    if isinstance(value, Mapping):
        wanted = name.casefold()
        return next((item for key, item in value.items() if str(key).casefold() == wanted), None)
    if isinstance(value, list):
        if name.casefold() in ("count", "length"):
            return len(value)
        found = [_member(item, name) for item in value]
        return found if len(found) != 1 else found[0]
    if isinstance(value, str) and name.casefold() == "length":
        return len(value)
    return None


def wanted(where: Mapping[str, object]) -> dict[str, frozenset[str]]:
    """Return what is wanted of each property, as text without case; a list of values means any of them."""
    return {
        path: frozenset(_comparable(item) for item in (values if isinstance(values, list) else [values]))
        for path, values in where.items()
    }


def _comparable(value: object) -> str:
    return iso_utc(value).casefold() if isinstance(value, datetime) else to_text(value).casefold()


def matches(value: object, where: Mapping[str, frozenset[str]]) -> bool:
    """Return whether an object has all the wanted properties; a list is compared as its members with blanks between."""
    return all(_comparable(read(value, path)) in values for path, values in where.items())


def select(value: object, paths: list[str] | None) -> object:
    """Return what comes back of an output object."""
    if paths is None:
        return outward(value)
    return {path: outward(read(value, path)) for path in paths}


def outward(value: object, depth: int = 0) -> object:
    """Return a value as it travels in JSON."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
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
