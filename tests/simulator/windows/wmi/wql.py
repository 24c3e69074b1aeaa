# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse WQL queries, and evaluate their conditions.

Only `SELECT … FROM class [WHERE …]` is modelled. The condition consists of comparisons (including LIKE) joined by AND
and OR.

Source: https://learn.microsoft.com/windows/win32/wmisdk/wql-sql-for-wmi
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from simulator.machine.objects import PSObject
from simulator.machine.text import to_text

_TERM = re.compile(
    r"""\s*(?P<name>\w+)\s*(?P<operator>=|!=|<>|<=|>=|<|>|\blike\b)\s*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<bare>\S+))""",
    re.IGNORECASE,
)
_SELECT = re.compile(
    r"\s*select\s+(?P<names>.+?)\s+from\s+(?P<class>\w+)(?:\s+where\s+(?P<where>.+))?\s*$", re.IGNORECASE | re.DOTALL
)


class WqlError(ValueError):
    """Raised for an invalid WQL query. The error code in Windows is 0x80041017."""


@dataclass(frozen=True)
class Term:
    """One comparison in a WQL condition."""

    name: str
    operator: str
    value: str


@dataclass(frozen=True)
class Query:
    """A WQL query: the class, the requested properties (empty or `*` for all properties), and the condition."""

    class_name: str
    names: tuple[str, ...]
    condition: list[list[Term]]


def parse(text: str) -> Query:
    """Parse a WQL query.

    Raises:
        WqlError: the query is invalid or not modelled.
    """
    found = _SELECT.match(text)
    if not found:
        raise WqlError(text)
    names = tuple(name.strip() for name in found["names"].split(","))
    return Query(found["class"], names, parse_condition(found["where"] or ""))


def parse_condition(text: str) -> list[list[Term]]:
    """Parse a WQL condition: alternatives (OR), each of which is a list of terms that must all be true (AND).

    Raises:
        WqlError: the condition is invalid or not modelled.
    """
    if not text.strip():
        return []
    alternatives = []
    for alternative in re.split(r"\s+or\s+(?=[\w(])", text.strip(), flags=re.IGNORECASE):
        terms = []
        for part in re.split(r"\s+and\s+(?=[\w(])", alternative, flags=re.IGNORECASE):
            found = _TERM.fullmatch(part.strip().strip("()"))
            if not found:
                raise WqlError(text)
            value = next((found[key] for key in ("single", "double", "bare") if found[key] is not None), "")
            terms.append(Term(found["name"], found["operator"].casefold(), value.replace("\\\\", "\\")))
        alternatives.append(terms)
    return alternatives


def holds(condition: list[list[Term]], item: PSObject) -> bool:
    """Return whether an object matches a WQL condition. An empty condition matches all objects."""
    return not condition or any(all(_compare(term, item.get(term.name)) for term in terms) for terms in condition)


def _compare(term: Term, value: object) -> bool:
    text, requested = to_text(value).casefold(), term.value.casefold()
    if term.operator == "like":
        pattern = "".join(".*" if char == "%" else "." if char == "_" else re.escape(char) for char in requested)
        return re.fullmatch(pattern, text) is not None
    if term.operator in ("=", "!=", "<>"):
        return (text == requested) == (term.operator == "=")
    try:
        left, right = float(text), float(requested)
    except ValueError:
        return False
    return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[term.operator]
