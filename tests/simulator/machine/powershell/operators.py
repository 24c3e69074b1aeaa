# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Binary operators by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from simulator.machine.objects import NotModelled, PSObject
from simulator.machine.powershell import values
from simulator.machine.text import to_text

Operator = Callable[[object, object, bool], object]


def _filtering(test: Callable[[object, object, bool], bool]) -> Operator:
    """Return a comparison: on a list it returns the items that meet it."""

    def operate(left: object, right: object, sensitive: bool) -> object:
        if isinstance(left, list):
            return [item for item in left if test(item, right, sensitive)]
        return test(left, right, sensitive)

    return operate


def _contains(left: object, right: object, sensitive: bool) -> bool:
    return any(values.same(item, right, sensitive=sensitive) for item in values.items(left))


def _matches(left: object, right: object, sensitive: bool) -> bool:
    return re.search(values.regex(right), to_text(left), 0 if sensitive else re.IGNORECASE) is not None


def _replace(left: object, right: object, sensitive: bool) -> object:
    pattern, new = (*values.items(right), "")[:2]
    flags = 0 if sensitive else re.IGNORECASE

    def one(text: object) -> str:
        return re.sub(values.regex(pattern), values.replacement(new), to_text(text), flags=flags)

    return [one(item) for item in left] if isinstance(left, list) else one(left)


def _split(left: object, right: object, sensitive: bool) -> object:
    pattern, limit = (*values.items(right), 0)[:2]
    flags = 0 if sensitive else re.IGNORECASE
    count = int(values.number(limit)) - 1
    texts = [to_text(item) for item in values.items(left)]
    parts: list[object] = []
    for text in texts:
        # re.split returns groups too, as .NET's does.
        found = re.split(values.regex(pattern), text, maxsplit=max(0, count), flags=flags)
        parts += [part for part in found if part is not None]
    return parts


def _join(left: object, right: object, sensitive: bool) -> object:
    return to_text(right).join(to_text(item) for item in values.items(left))


def format_text(left: object, right: object, sensitive: bool = False) -> str:
    """Return `-f`: `{0}`, `{1,5}`, `{0:x2}`, `{0:N1}`, `{0:yyyy-MM-dd}`."""
    arguments = values.items(right) if isinstance(right, list) else [right]

    def fill(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        index = int(match[1])
        if index >= len(arguments):
            raise values.failure("Error formatting a string: Index (zero based) must be greater than or equal to zero and less than the size of the argument list..", "FormatError")  # fmt: skip # noqa: E501
        text = shaped(arguments[index], match[3] or "")
        width = int(match[2] or 0)
        return text.rjust(width) if width >= 0 else text.ljust(-width)

    return re.sub(r"\{\{|\}\}|\{(\d+)(?:,(-?\d+))?(?::([^}]*))?\}", fill, to_text(left))


def shaped(value: object, form: str) -> str:
    """Return a value by a .NET format string (the common ones)."""
    if not form:
        return to_text(value)
    if isinstance(value, datetime):
        return date_text(value, form)
    match = re.fullmatch(r"([xXdDnNfF])(\d*)", form)
    if match and isinstance(value, (int, float)):
        kind, digits = match[1], int(match[2] or 0)
        if kind in "xX":
            return format(int(value), f"0{digits}{kind}")
        if kind in "dD":
            return format(int(value), f"0{digits}d")
        places = digits if match[2] else 2
        return format(value, f",.{places}f" if kind in "nN" else f".{places}f")
    if re.fullmatch(r"0+", form) and isinstance(value, int):
        return format(value, f"0{len(form)}d")
    if isinstance(value, (int, float)):
        raise NotModelled(f"the number format '{form}'")
    return to_text(value)


def date_text(value: datetime, form: str) -> str:
    """Return a date by a .NET custom format, or `o`, `u`, `s`."""
    standard = {"o": "yyyy-MM-ddTHH:mm:ss.fffffff'Z'", "u": "yyyy-MM-dd HH:mm:ss'Z'", "s": "yyyy-MM-ddTHH:mm:ss"}
    pattern = standard.get(form, form)
    codes = {
        "yyyy": "%Y",
        "yy": "%y",
        "MMMM": "%B",
        "MMM": "%b",
        "MM": "%m",
        "dddd": "%A",
        "ddd": "%a",
        "dd": "%d",
        "HH": "%H",
        "hh": "%I",
        "mm": "%M",
        "ss": "%S",
        "tt": "%p",
        "zzz": "+00:00",
        "K": "Z",
    }

    def fill(match: re.Match[str]) -> str:
        token = match[0]
        if token.startswith("'"):
            return token[1:-1]
        if token.startswith("f"):
            return f"{value.microsecond:06d}0"[: len(token)]
        code = codes.get(token)
        return value.strftime(code) if code else token

    return re.sub(r"'[^']*'|yyyy|yy|MMMM|MMM|MM|dddd|ddd|dd|HH|hh|mm|ss|tt|f+|zzz|K", fill, pattern)


def _range(left: object, right: object, sensitive: bool) -> object:
    first, last = int(values.number(left)), int(values.number(right))
    return list(range(first, last + 1)) if first <= last else list(range(first, last - 1, -1))


def _is(left: object, right: object, sensitive: bool) -> bool:
    return values.is_type(left, _name(right))


def _as(left: object, right: object, sensitive: bool) -> object:
    from simulator.machine.objects import CmdletError

    try:
        return values.cast(_name(right), left)
    except CmdletError:
        return None


def _name(kind: object) -> str:
    return to_text(kind.get("FullName")) if isinstance(kind, PSObject) else to_text(kind)


def _bits(operate: Callable[[int, int], int]) -> Operator:
    return lambda left, right, _sensitive: operate(int(values.number(left)), int(values.number(right)))


OPERATORS: dict[str, Operator] = {
    "eq": _filtering(lambda left, right, sensitive: values.same(left, right, sensitive=sensitive)),
    "ne": _filtering(lambda left, right, sensitive: not values.same(left, right, sensitive=sensitive)),
    "gt": _filtering(lambda left, right, sensitive: values.compare(left, right, sensitive=sensitive) > 0),
    "ge": _filtering(lambda left, right, sensitive: values.compare(left, right, sensitive=sensitive) >= 0),
    "lt": _filtering(lambda left, right, sensitive: values.compare(left, right, sensitive=sensitive) < 0),
    "le": _filtering(lambda left, right, sensitive: values.compare(left, right, sensitive=sensitive) <= 0),
    "like": _filtering(lambda left, right, sensitive: values.like(left, right, sensitive=sensitive)),
    "notlike": _filtering(lambda left, right, sensitive: not values.like(left, right, sensitive=sensitive)),
    "match": _filtering(_matches),
    "notmatch": _filtering(lambda left, right, sensitive: not _matches(left, right, sensitive)),
    "contains": _contains,
    "notcontains": lambda left, right, sensitive: not _contains(left, right, sensitive),
    "in": lambda left, right, sensitive: _contains(right, left, sensitive),
    "notin": lambda left, right, sensitive: not _contains(right, left, sensitive),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "f": format_text,
    "is": _is,
    "isnot": lambda left, right, sensitive: not _is(left, right, sensitive),
    "as": _as,
    "..": _range,
    "+": lambda left, right, _: values.add(left, right),
    "-": lambda left, right, _: values.subtract(left, right),
    "*": lambda left, right, _: values.multiply(left, right),
    "/": lambda left, right, _: values.divide(left, right),
    "%": lambda left, right, _: values.modulo(left, right),
    "band": _bits(lambda left, right: left & right),
    "bor": _bits(lambda left, right: left | right),
    "bxor": _bits(lambda left, right: left ^ right),
    "shl": _bits(lambda left, right: left << right),
    "shr": _bits(lambda left, right: left >> right),
}


def operate(name: str, left: object, right: object) -> object:
    """Return `left -name right`; a `c` before a comparison's name makes it case-sensitive."""
    found = OPERATORS.get(name)
    if found:
        return found(left, right, False)
    if name.startswith("c") and name[1:] in OPERATORS:
        return OPERATORS[name[1:]](left, right, True)
    raise NotModelled(f"the operator -{name}")
