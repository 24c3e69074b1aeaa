# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Evaluate PowerShell's binary operators, such as `-split`, by their names."""

from __future__ import annotations

import re
from collections.abc import Callable

from simulator.machine.objects import CmdletError, NotModelled, ScriptBlock
from simulator.machine.powershell.running.errors import failure
from simulator.machine.powershell.types import arithmetic, names, patterns
from simulator.machine.powershell.types.compare import compare, same
from simulator.machine.powershell.types.convert import cast, items
from simulator.machine.powershell.types.kinds import TypedArray, TypeValue
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.powershell.types.text import format_text

Operator = Callable[[object, object, bool], object]
LONGEST_RANGE = 1_000_000


def _filtering(test: Callable[[object, object, bool], bool]) -> Operator:
    """Return an operator that performs the given test.

    If the left operand is a list, the operator returns the items of this list that pass the test.
    """

    def operate(left: object, right: object, sensitive: bool) -> object:
        if isinstance(left, list):
            return [item for item in left if test(item, right, sensitive)]
        return test(left, right, sensitive)

    return operate


def _contains(left: object, right: object, sensitive: bool) -> bool:
    if isinstance(left, list):
        return any(same(item, right, sensitive=sensitive) for item in left)
    return same(left, right, sensitive=sensitive)


def _matches(left: object, right: object, sensitive: bool) -> bool:
    return patterns.compiled(right, sensitive=sensitive).search(to_text(left)) is not None


def _replace(left: object, right: object, sensitive: bool) -> object:
    given = items(right)
    if len(given) > 2:
        operator = "-creplace" if sensitive else "-replace"
        message = f"The {operator} operator allows only two elements to follow it, not {len(given)}."
        raise failure(message, "BadReplaceArgument")
    pattern, new = (*given, "", "")[:2]
    if isinstance(new, ScriptBlock):
        raise NotModelled("`-replace` with a script block")
    regex = patterns.compiled("" if pattern is None else pattern, sensitive=sensitive)

    def one(text: object) -> str:
        return regex.sub(patterns.replacement(new), to_text(text))

    return [one(item) for item in left] if isinstance(left, list) else one(left)


def _split(left: object, right: object, sensitive: bool) -> object:
    given = items(right)
    pattern, limit, options = (*given, None, None)[:3] if len(given) < 3 else given[:3]
    if isinstance(pattern, ScriptBlock):
        raise NotModelled("`-split` with a script block")
    simple = options is not None and to_text(options).casefold() == "simplematch"
    if options is not None and not simple and to_text(options).casefold() not in ("regexmatch", "ignorecase"):
        raise NotModelled(f"`-split` with the options {to_text(options)}")
    count = arithmetic.integer(limit)
    if count < 0:
        raise NotModelled("`-split` with a negative limit")
    requested = re.escape(to_text(pattern)) if simple else pattern
    regex = patterns.compiled(requested, sensitive=sensitive)
    parts: list[object] = []
    for text in items(left) if isinstance(left, list) else [left]:
        if count == 1:
            parts.append(to_text(text))
            continue
        # re.split also returns the groups, as .NET does.
        parts += [part for part in regex.split(to_text(text), maxsplit=max(0, count - 1)) if part is not None]
    return TypedArray(parts, "System.String")


def split_words(value: object) -> object:
    """Return `-split value`: the list of words in a value."""
    words: list[object] = [word for item in items(value) for word in to_text(item).split()]
    return TypedArray(words, "System.String")


def _join(left: object, right: object, sensitive: bool) -> object:
    if not isinstance(left, list):
        return to_text(left)
    return to_text(right).join(to_text(item) for item in left)


def _range(left: object, right: object, sensitive: bool) -> object:
    if any(isinstance(end, str) and not end.strip("+-").isdigit() for end in (left, right)):
        raise NotModelled("a range of characters")
    first, last = arithmetic.integer(left), arithmetic.integer(right)
    if abs(last - first) > LONGEST_RANGE:
        raise NotModelled("a range of more than a million numbers")
    return list(range(first, last + 1)) if first <= last else list(range(first, last - 1, -1))


def _name(kind: object) -> str:
    return kind.full_name if isinstance(kind, TypeValue) else to_text(kind)


def _as(left: object, right: object, sensitive: bool) -> object:
    try:
        return cast(_name(right), left)
    except NotModelled:
        raise
    except CmdletError:
        return None


def _like(left: object, right: object, sensitive: bool) -> bool:
    return patterns.like(left, right, sensitive=sensitive)


def _bits(name: str) -> Operator:
    return lambda left, right, _sensitive: arithmetic.bitwise(name, left, right)


OPERATORS: dict[str, Operator] = {
    "eq": _filtering(lambda left, right, sensitive: same(left, right, sensitive=sensitive)),
    "ne": _filtering(lambda left, right, sensitive: not same(left, right, sensitive=sensitive)),
    "gt": _filtering(lambda left, right, sensitive: compare(left, right, sensitive=sensitive) > 0),
    "ge": _filtering(lambda left, right, sensitive: compare(left, right, sensitive=sensitive) >= 0),
    "lt": _filtering(lambda left, right, sensitive: compare(left, right, sensitive=sensitive) < 0),
    "le": _filtering(lambda left, right, sensitive: compare(left, right, sensitive=sensitive) <= 0),
    "like": _filtering(_like),
    "notlike": _filtering(lambda left, right, sensitive: not _like(left, right, sensitive)),
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
    "is": lambda left, right, _: names.is_type(left, _name(right)),
    "isnot": lambda left, right, _: not names.is_type(left, _name(right)),
    "as": _as,
    "..": _range,
    "+": lambda left, right, _: arithmetic.add(left, right),
    "-": lambda left, right, _: arithmetic.subtract(left, right),
    "*": lambda left, right, _: arithmetic.multiply(left, right),
    "/": lambda left, right, _: arithmetic.divide(left, right),
    "%": lambda left, right, _: arithmetic.modulo(left, right),
    **{name: _bits(name) for name in ("band", "bor", "bxor", "shl", "shr")},
}


def operate(name: str, left: object, right: object) -> object:
    """Return `left -name right`. The prefix `c` makes a comparison case-sensitive."""
    found = OPERATORS.get(name)
    if found:
        return found(left, right, False)
    if name.startswith("c") and name[1:] in OPERATORS:
        return OPERATORS[name[1:]](left, right, True)
    raise NotModelled(f"the operator -{name}")
