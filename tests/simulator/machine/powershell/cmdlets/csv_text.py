# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Comma-separated values: ConvertTo-Csv, ConvertFrom-Csv, Export-Csv and Import-Csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from simulator.machine.core import paths
from simulator.machine.machine import Machine
from simulator.machine.objects import CUSTOM_OBJECT, Bound, Cmdlet, CmdletError, NotModelled, PSObject
from simulator.machine.powershell.cmdlets.common import given, terminating
from simulator.machine.powershell.types.convert import items
from simulator.machine.powershell.types.plain_text import to_text


def _mark(bound: Bound) -> str:
    return bound.text("Delimiter") or ","


def _rows(bound: Bound) -> list[str]:
    """Return the input objects of a cmdlet call as lines of comma-separated values."""
    if not bound.flag("NoTypeInformation"):
        raise NotModelled(f"{bound.command} without -NoTypeInformation, which differs between versions of PowerShell")
    found: list[str] = []
    columns: list[str] = []
    for item in given(bound):
        if not isinstance(item, PSObject) or item.type_name != CUSTOM_OBJECT:
            raise NotModelled(f"{bound.command} with a value that is not a PSCustomObject")
        if not columns:
            columns = list(item.properties)
            found.append(_line(columns, _mark(bound)))
        found.append(_line([_text(item.get(name)) for name in columns], _mark(bound)))
    return found


def _text(value: object) -> str | None:
    if isinstance(value, (list, dict, PSObject)):
        raise NotModelled("a list, hash table or object with properties in comma-separated values")
    return None if value is None else to_text(value)


def _line(cells: Iterable[str | None], mark: str) -> str:
    return mark.join("" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in cells)


def convert_to(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate ConvertTo-Csv."""
    return _rows(bound)


def export(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Export-Csv."""
    if bound.flag("Append") or "Encoding" in bound:
        raise NotModelled("Export-Csv with -Append or -Encoding")
    path = paths.parse(machine, bound, bound.text("LiteralPath") or bound.text("Path")).path
    if not machine.files.is_directory(path.rpartition("\\")[0] + "\\"):
        message = f"Could not find a part of the path '{path}'."
        kind = "System.IO.DirectoryNotFoundException"
        raise terminating(CmdletError("OpenError", "FileOpenFailure", message, kind))
    data = "".join(f"{line}\r\n" for line in _rows(bound))
    machine.files.write_bytes(path, data.encode("ascii", errors="replace"))
    return []


def _objects(bound: Bound, text: str) -> Iterable[object]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=_mark(bound)))
    columns = bound.texts("Header") or (rows.pop(0) if rows else [])
    if len({name.casefold() for name in columns}) < len(columns) or not all(columns):
        raise NotModelled("comma-separated values without usable column names")
    for row in rows:
        if len(row) > len(columns):
            raise NotModelled("a row of comma-separated values with too many cells")
        cells: list[str | None] = [*row, *([None] * (len(columns) - len(row)))]
        yield PSObject(CUSTOM_OBJECT, dict(zip(columns, cells, strict=True)))


def convert_from(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate ConvertFrom-Csv."""
    return _objects(bound, "\n".join(to_text(item) for item in given(bound)))


def import_file(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Import-Csv."""
    for text in items(bound.get("LiteralPath")) or items(bound.get("Path")) or bound.pipeline:
        path = paths.parse(machine, bound, to_text(text)).path
        if not machine.files.is_file(path):
            message = f"Could not find file '{path}'."
            kind = "System.IO.FileNotFoundException"
            raise terminating(CmdletError("OpenError", "FileOpenFailure", message, kind))
        yield from _objects(bound, machine.files.read_text(path))


CMDLETS: Mapping[str, Cmdlet] = {
    "ConvertFrom-Csv": convert_from,
    "ConvertTo-Csv": convert_to,
    "Export-Csv": export,
    "Import-Csv": import_file,
}
