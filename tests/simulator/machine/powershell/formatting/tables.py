# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The conversion of objects to text: tables (Format-Table) and lists of properties (Format-List)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from simulator.machine.objects import CUSTOM_OBJECT, Enumeration, NotModelled, PSObject
from simulator.machine.powershell.types.kinds import Char
from simulator.machine.powershell.types.plain_text import to_text

# The width of a console without a window. PowerShell truncates or wraps longer lines.
WIDTH = 119
# The widths of columns that are fixed in PowerShell's own views.
FIXED = {
    "System.Version": (6, 6, 6, 8),
    "System.Collections.DictionaryEntry": (30, 0),
    "System.ServiceProcess.ServiceController": (8, 18, 38),
}


def _cell(value: object, *, in_table: bool = False) -> str:
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, (list, dict)) for item in value) or len(value) > 4:
            raise NotModelled("a nested list or a list of more than four items in a table or list of properties")
        return "{" + ", ".join(to_text(item) for item in value) + "}"
    if isinstance(value, dict):
        raise NotModelled("a hash table in a table or list of properties: the text depends on PowerShell's version")
    if isinstance(value, datetime) or (isinstance(value, PSObject) and value.type_name == CUSTOM_OBJECT):
        if isinstance(value, datetime):
            return to_text(value)
        raise NotModelled("a PSCustomObject in a table or list of properties")
    text = to_text(value)
    if "\n" in text or (in_table and len(text) > WIDTH):
        raise NotModelled("a table or list of properties with a string that is too wide or has several lines")
    return text


def _right(value: object) -> bool:
    """Return whether a column is right-aligned if its first cell contains this value."""
    if isinstance(value, (Char, datetime)):
        raise NotModelled("a column of characters or dates")
    return isinstance(value, (bool, int, float, Decimal, Enumeration))


def table(rows: Sequence[PSObject], columns: Sequence[str], *, headers: bool = True, sized: bool = False) -> list[str]:
    """Return the lines of a table of objects.

    A column is as wide as its header or its longest cell, whichever is wider. It is right-aligned if its first cell is
    a number, a boolean or an enumeration value. If the type's own view defines the widths (see FIXED), these apply, and
    all columns are left-aligned.

    Args:
        headers: whether the table has a header.
        sized: whether to ignore the widths of the type's own view, as -AutoSize and -Property do.
    """
    if any(name not in row.properties and row.find(name) is None for row in rows for name in columns) and len(rows) > 1:
        raise NotModelled("a table of objects with different properties")
    cells = [[_cell(row.get(column), in_table=True) for column in columns] for row in rows]
    fixed = FIXED.get(rows[0].type_name)
    fixed = fixed if fixed and len(fixed) == len(columns) and not sized else None
    right = [not fixed and _right(rows[0].get(column)) for column in columns]
    names = [_spelled(rows[0], column) for column in columns]
    if fixed:
        widths = [max(width, 0) for width in fixed]
        cells = [[_cut(cell, width) for cell, width in zip(row, widths, strict=True)] for row in cells]
    else:
        heads = [len(name) if headers else 0 for name in names]
        widths = [max(head, *(len(row[index]) for row in cells)) for index, head in enumerate(heads)]
    if sum(widths) + len(widths) > WIDTH:
        raise NotModelled("a table that is wider than the console")

    def line(texts: Sequence[str]) -> str:
        parts = [
            text.rjust(width) if at_right else text.ljust(width)
            for text, width, at_right in zip(texts, widths, right, strict=True)
        ]
        return " ".join(parts).rstrip()

    found = [""]
    if headers:
        found += [line(names), line(["-" * len(name) for name in names])]
    return [*found, *(line(row) for row in cells), ""]


def _cut(text: str, width: int) -> str:
    """Truncate text to a column's fixed width. Windows PowerShell 5.1 ends truncated text with three dots."""
    return text if len(text) <= width or not width else text[: width - 3] + "..."


def _spelled(row: PSObject, column: str) -> str:
    return row.find(column) or column


def listing(rows: Sequence[PSObject], columns: Sequence[str]) -> list[str]:
    """Return the lines that show each object as a list of its properties."""
    width = max(len(column) for column in columns)
    found = [""]
    for row in rows:
        found += [f"{_spelled(row, column).ljust(width)} : {_cell(row.get(column))}".rstrip() for column in columns]
        found.append("")
    if any(len(line) > WIDTH for line in found):
        raise NotModelled("a list of properties that is wider than the console")
    return found


def rows_of(value: dict[object, object]) -> list[PSObject]:
    """Return the entries of a hash table as rows."""
    kind = "System.Collections.DictionaryEntry"
    return [PSObject(kind, {"Name": to_text(key), "Value": item}) for key, item in value.items()]
