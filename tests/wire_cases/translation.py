# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What docs/wire.md says of failures since the cases were recorded: "How verbs fail"."""

from __future__ import annotations

from typing import Any

_CATEGORIES = {
    "System.IO.FileNotFoundException": "ObjectNotFound",
    "System.IO.DirectoryNotFoundException": "ObjectNotFound",
    "System.UnauthorizedAccessException": "PermissionDenied",
    "System.ArgumentException": "InvalidArgument",
    "System.FormatException": "InvalidArgument",
}


def translated(command: str, result: dict[str, Any], *, held: bool) -> dict[str, Any]:
    """Return the recorded result of a call as the wire has it now.

    Args:
        command: the call's command.
        result: what was recorded.
        held: whether another process held the file open, which was then the reason of every I/O error.
    """
    error = result.get("error")
    if not command.startswith("@") or not isinstance(error, dict):
        return result
    # At that time .NET's exceptions had no category, and files were hashed by path.
    if error["category"] != "NotSpecified" and not error["id"].startswith("FileReadError"):
        return result
    category, error_id = _CATEGORIES.get(error["type"], "WriteError"), error["id"]
    if error["type"] == "System.IO.IOException":
        if held:
            category, error_id = "ResourceBusy", "FileInUse"
        elif command == "@write-file":
            # In these cases Windows refuses the name itself (error 123).
            category = "InvalidArgument"
    return {**result, "error": {**error, "category": category, "id": error_id}}
