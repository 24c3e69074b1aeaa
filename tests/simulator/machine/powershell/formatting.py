# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Objects as text on a console: what powershell.exe prints."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from simulator.machine.objects import CUSTOM_OBJECT, PSObject
from simulator.machine.text import to_text

# The columns of the types that have a view of their own in PowerShell (Get-FormatData).
VIEWS: dict[str, tuple[str, ...]] = {
    "System.ServiceProcess.ServiceController": ("Status", "Name", "DisplayName"),
    "System.IO.FileInfo": ("Mode", "LastWriteTime", "Length", "Name"),
    "System.IO.DirectoryInfo": ("Mode", "LastWriteTime", "Length", "Name"),
    "System.Diagnostics.Process": ("Handles", "Id", "ProcessName"),
    "Microsoft.Windows.ServerManager.Commands.Feature": ("DisplayName", "Name", "InstallState"),
}
TABLE_COLUMNS = 4


def lines(objects: Sequence[object]) -> list[str]:
    """Return the lines that a console would show."""
    found: list[str] = []
    position = 0
    while position < len(objects):
        item = objects[position]
        columns = _columns(item)
        if columns is None:
            found += _plain(item)
            position += 1
            continue
        group: list[PSObject] = []
        while position < len(objects) and _columns(objects[position]) == columns:
            following = objects[position]
            assert isinstance(following, PSObject)
            group.append(following)
            position += 1
        found += table(group, columns) if len(columns) <= TABLE_COLUMNS else listing(group, columns)
    return found


def text(objects: Sequence[object]) -> str:
    """Return the lines as one text, each with its line end."""
    return "".join(f"{line}\r\n" for line in lines(objects))


def _columns(item: object) -> tuple[str, ...] | None:
    """Return which properties are shown; None for what is shown as its text."""
    if not isinstance(item, PSObject):
        return None
    view = VIEWS.get(item.type_name)
    if view:
        return view
    if item.text is not None and item.type_name != CUSTOM_OBJECT:
        return None
    return tuple(name for name, value in item.properties.items() if not callable(value)) or None


def _plain(item: object) -> list[str]:
    if item is None:
        return []
    if isinstance(item, dict):
        return table([PSObject("", {"Name": key, "Value": value}) for key, value in item.items()], ("Name", "Value"))
    if isinstance(item, (list, tuple)):
        return lines(item)
    if isinstance(item, (bytes, bytearray)):
        return [str(byte) for byte in item]
    if isinstance(item, datetime):
        hour = item.hour % 12 or 12
        return [f"{item:%A, %B} {item.day}, {item.year} {hour}:{item:%M:%S %p}"]
    if isinstance(item, str):
        return item.split("\n") if "\r\n" not in item else item.split("\r\n")
    return [to_text(item)]


def _cell(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(to_text(item) for item in value) + "}"
    return to_text(value)


def table(rows: Sequence[PSObject], columns: Sequence[str]) -> list[str]:
    """Return objects as a table."""
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(column), *(len(row[index]) for row in cells)) for index, column in enumerate(columns)]
    head = " ".join(column.ljust(width) for column, width in zip(columns, widths, strict=True)).rstrip()
    rule = " ".join(("-" * len(column)).ljust(width) for column, width in zip(columns, widths, strict=True)).rstrip()
    body = [" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return ["", head, rule, *body, "", ""]


def listing(rows: Sequence[PSObject], columns: Sequence[str]) -> list[str]:
    """Return objects as lists of their properties."""
    width = max(len(column) for column in columns)
    found = [""]
    for row in rows:
        found += [f"{column.ljust(width)} : {_cell(row.get(column))}".rstrip() for column in columns]
        found += ["", ""]
    return found
