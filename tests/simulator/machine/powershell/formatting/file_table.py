# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files and folders on the console of Windows PowerShell 5.1: a table below the name of their folder.

https://github.com/PowerShell/PowerShell/issues/7353 shows it, with names padded to the width of the console (119 where
there is none). Windows 10 2004 and later, Server 2022 among them, print one blank more before the time, as listings in
public repositories show. Dates are those of the culture en-US, which a server has unless somebody sets another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from simulator.machine.objects import NotModelled, PSObject
from simulator.machine.powershell.formatting.tables import WIDTH
from simulator.machine.powershell.types.plain_text import to_text


@dataclass
class FileItem(PSObject):
    """A FileInfo or DirectoryInfo; `time_width` is that of the console's column for the time of the last write."""

    time_width: int = 26


def file_table(rows: Sequence[FileItem]) -> list[str]:
    """Return the lines for files and folders. Raises NotModelled for those of several folders, or with long names."""
    folders = {to_text(row.get("PSParentPath")) for row in rows}
    if len(folders) != 1:
        raise NotModelled("files of several folders on the console")
    folder = folders.pop().partition("::")[2]
    found = ["", "", f"    Directory: {folder}", "", ""]
    width = rows[0].time_width
    heads = ("Mode", "LastWriteTime", "Length", "Name")
    found += [_line(heads, width), _line(["-" * len(head) for head in heads], width)]
    for row in rows:
        length = "" if row.get("PSIsContainer") else to_text(row.get("Length"))
        found.append(_line((to_text(row.get("Mode")), _time(row.get("LastWriteTime")), length, row.get("Name")), width))
    return [*found, "", ""]


def _line(cells: Sequence[object], width: int) -> str:
    mode, time, length, name = (to_text(cell) for cell in cells)
    line = f"{mode:<7} {time:>{width}} {length:>14} {name}"
    if len(line) > WIDTH:
        raise NotModelled("a file's name that is wider than the console")
    return line.ljust(WIDTH)


def _time(moment: object) -> str:
    if not isinstance(moment, datetime):
        raise NotModelled("a file without its time on the console")
    date = f"{moment.month}/{moment.day}/{moment.year}"
    clock = f"{moment.hour % 12 or 12}:{moment.minute:02} {'PM' if moment.hour >= 12 else 'AM'}"
    return f"{date:>10}  {clock:>8}"
