# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Changes in docs/wire.md since the cases were recorded: "How verbs fail", and how files are hashed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

WIRE = Path(__file__).parents[2] / "docs/wire.md"
_HASHED_BY_PATH = "FileReadError,Microsoft.PowerShell.Commands.GetFileHashCommand"
_INVALID_NAMES = frozenset(["NUL", "con.txt", "q?x", "st*r", "lt<x", "pipe|x"]) | {'quo"te', "tab\tx"}
"""Cases of `names` in which Windows refuses the name itself (Win32 error 123): the message was not recorded."""
_SUBCLASSES = {
    "ArgumentNullException": "ArgumentException",
    "ArgumentOutOfRangeException": "ArgumentException",
}
_READING = frozenset({"@read-file", "@read-registry", "@free-space"})


@cache
def categories() -> Mapping[str, str]:
    """Return the category of each exception, by its name without namespace, from the table of docs/wire.md."""
    table = WIRE.read_text(encoding="utf-8").partition("| category | exception |\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for category, exceptions in re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE):
        for name in re.findall(r"`(\w+Exception)`", exceptions):
            # The first matching row counts. The category of IOException itself depends on the verb.
            if name != "IOException":
                found.setdefault(name, category)
    return {**found, **{name: found[parent] for name, parent in _SUBCLASSES.items()}}


def translated(command: str, result: dict[str, Any], *, in_use: bool, case: str = "") -> dict[str, Any]:
    """Return the recorded result of a call in the current form of the wire.

    Args:
        command: the call's command.
        result: the recorded result.
        in_use: whether another process keeps the file open, which is then the reason for every I/O error.
        case: the case of `names`, if it is one.
    """
    error = result.get("error")
    if not command.startswith("@") or not isinstance(error, dict):
        return result
    # At that time .NET's exceptions had no category.
    if error["category"] != "NotSpecified" and error["id"] != _HASHED_BY_PATH:
        return result
    name = error["type"].rpartition(".")[2]
    category, error_id = categories().get(name, "NotSpecified"), error["id"]
    if error["type"] == "System.IO.IOException":
        category = "ReadError" if command in _READING else "WriteError"
        if in_use:
            category, error_id = "ResourceBusy", "FileInUse"
        elif case.removeprefix("C:\\fz\\") in _INVALID_NAMES:
            category = "InvalidArgument"
    return {**result, "error": {**error, "category": category, "id": error_id}}


def open_file(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return a row of open-files.json with the current answer of the module, which now hashes files through a stream.

    The stream shares reading, writing and deleting. Get-FileHash by path, which was recorded, shares only reading, so
    it failed if the holder had the right to write or delete. For holders that share enough, the answer is the recorded
    answer to the same call while the holder only reads.

    Args:
        row: the row.
        rows: all rows.
    """
    command = row["call"]["command"]
    needed = "rd" if command == "@commit-file" else "r"
    hashed_by_path = row["error"] is not None and row["error"]["id"] == _HASHED_BY_PATH
    if not command.startswith("@") or not hashed_by_path or not set(needed) <= set(row["holder"]["share"]):
        return row
    (same,) = (
        other
        for other in rows
        if other["call"] == row["call"] and (other["holder"]["access"], other["holder"]["share"]) == ("r", "rwd")
    )
    return {**row, **{key: same[key] for key in ("ok", "output", "error", "after")}}
