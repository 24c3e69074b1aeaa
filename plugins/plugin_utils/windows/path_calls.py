# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calls on files and folders, for every type that needs them."""

from __future__ import annotations

import typing as t

from ..wire.messages import Call, Json

OWN = "C:\\Windows\\winkube"
"""Where files wait for the call that takes them: nobody but administrators makes or changes a file there. Anybody may
make folders in ProgramData, and so could put another file into the place of one that was just verified."""


def remove_path(path: str, call_id: str = "remove") -> Call:
    """Removes a file, a folder with all in it, or a registry key with all below it."""
    parameters: dict[str, Json] = {"LiteralPath": path, "Recurse": True, "Force": True}
    return Call(id=call_id, command="Remove-Item", parameters=parameters, select=())


def discard(path: str, call_id: str, needs: tuple[str, ...] = ()) -> Call:
    """Removes a file that may not exist."""
    parameters: dict[str, Json] = {"LiteralPath": path, "Force": True, "ErrorAction": "SilentlyContinue"}
    return Call(id=call_id, command="Remove-Item", parameters=parameters, select=(), needs=needs, on_error="continue")


def make_directory(path: str, call_id: str = "make") -> Call:
    """Makes a folder with its parents; one that exists stays as it is."""
    parameters: dict[str, Json] = {"ItemType": "Directory", "Path": path, "Force": True}
    return Call(id=call_id, command="New-Item", parameters=parameters, select=())


def move_path(path: str, destination: str, call_id: str) -> Call:
    """Moves a file or folder over what is at the destination."""
    parameters: dict[str, Json] = {"path": path, "destination": destination}
    return Call(id=call_id, command="@move-path", parameters=parameters, select=())


def set_acl(path: str, sddl: str, call_id: str = "acl") -> Call:
    """Sets owner and access list of what exists, as far as the SDDL names them."""
    return Call(id=call_id, command="@set-acl", parameters={"path": path, "sddl": sddl}, select=())


def make_closed(
    path: str, sddl: str, call_id: str = "make", *, existing: t.Literal["set", "empty", "leave"] = "set"
) -> Call:
    """Makes a folder that has its owner and access list from its first moment.

    Args:
        path: of the folder.
        sddl: with owner and access list.
        call_id: of the call.
        existing: a folder that exists gets them (`set`), too, but has to be empty (`empty`), or stays as it is.
    """
    parameters: dict[str, Json] = {"path": path, "sddl": sddl}
    if existing != "set":
        parameters["existing"] = existing
    return Call(id=call_id, command="@make-directory", parameters=parameters, select=())


def ancestors(path: str) -> list[str]:
    """The folders above a Windows path, the outermost first, without the drive."""
    drive, *names = [part for part in path.replace("/", "\\").split("\\") if part]
    return [f"{drive}\\" + "\\".join(names[:count]) for count in range(1, len(names))]
