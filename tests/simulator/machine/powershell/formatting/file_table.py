# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files and folders on the console of Windows PowerShell 5.1: one table for each folder, below the folder's name.

https://github.com/PowerShell/PowerShell/issues/7353 shows an example. Names are padded to the width of the console (119
without a window). Windows 10 2004 and later, including Server 2022, print one more space before the time, as listings
in public repositories show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from simulator.machine.objects import NotModelled, PSObject
from simulator.machine.powershell.formatting.dates import short_date, short_time
from simulator.machine.powershell.formatting.tables import WIDTH
from simulator.machine.powershell.types.plain_text import to_text


@dataclass
class FileItem(PSObject):
    """A FileInfo or DirectoryInfo object to display. `time_width` is the width of the LastWriteTime column."""

    time_width: int = 26


def file_table(rows: Sequence[FileItem]) -> list[str]:
    """Return the lines that the console shows for files and folders.

    Raises:
        NotModelled: a name is too long, or a time is missing.
    """
    width = rows[0].time_width
    heads = ("Mode", "LastWriteTime", "Length", "Name")
    head = [_line(heads, width), _line(["-" * len(text) for text in heads], width)]
    found: list[str] = []
    for folder, listed in groupby(rows, key=_folder):
        found += ["", "", f"    Directory: {folder}", "", "", *head, *(_row(row, width) for row in listed)]
    return [*found, "", ""]


def _folder(row: FileItem) -> str:
    return to_text(row.get("PSParentPath")).partition("::")[2]


def _row(row: FileItem, width: int) -> str:
    length = "" if row.get("PSIsContainer") else to_text(row.get("Length"))
    return _line((to_text(row.get("Mode")), _time(row.get("LastWriteTime")), length, row.get("Name")), width)


def _line(cells: Sequence[object], width: int) -> str:
    mode, time, length, name = (to_text(cell) for cell in cells)
    line = f"{mode:<7} {time:>{width}} {length:>14} {name}"
    if len(line) > WIDTH:
        raise NotModelled("a file name that is wider than the console")
    return line.ljust(WIDTH)


def _time(moment: object) -> str:
    if not isinstance(moment, datetime):
        raise NotModelled("the display of a file without a modification time")
    return f"{short_date(moment):>10}  {short_time(moment):>8}"
