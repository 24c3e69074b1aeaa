# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the calls that change files and folders on a node."""

from __future__ import annotations

import typing as t

from ..wire.calls import action
from ..wire.messages import Call, Json


def remove_path(path: str, call_id: str = "remove") -> Call:
    """Return the call that removes a file, a folder with its content, or a registry key with its subkeys."""
    parameters: dict[str, Json] = {"LiteralPath": path, "Recurse": True, "Force": True}
    return action(call_id, "Remove-Item", parameters)


def discard(path: str, call_id: str, needs: tuple[str, ...] = ()) -> Call:
    """Return the call that removes a file if it exists."""
    parameters: dict[str, Json] = {"LiteralPath": path, "Force": True, "ErrorAction": "SilentlyContinue"}
    return action(call_id, "Remove-Item", parameters, needs=needs, on_error="continue")


def make_directory(path: str, call_id: str = "make") -> Call:
    """Return the call that creates a folder and its missing parents. An existing folder is not changed."""
    parameters: dict[str, Json] = {"ItemType": "Directory", "Path": path, "Force": True}
    return action(call_id, "New-Item", parameters)


def move_path(path: str, destination: str, call_id: str) -> Call:
    """Return the call that moves a file or folder and replaces the destination."""
    parameters: dict[str, Json] = {"path": path, "destination": destination}
    return action(call_id, "@move-path", parameters)


def set_acl(path: str, sddl: str, call_id: str = "acl") -> Call:
    """Return the call that sets the owner and the access list of a file or folder from an SDDL string."""
    return action(call_id, "@set-acl", {"path": path, "sddl": sddl})


def make_closed(
    path: str, sddl: str, call_id: str = "make", *, existing: t.Literal["set", "empty", "leave"] = "set"
) -> Call:
    """Return the call that creates a folder with its owner and access list from the start.

    Args:
        path: path of the folder.
        sddl: owner and access list.
        call_id: id of the call.
        existing: what happens to an existing folder. With `set`, it gets this owner and access list. With `empty`, the
            call fails unless the folder is empty. With `leave`, the folder stays unchanged.
    """
    parameters: dict[str, Json] = {"path": path, "sddl": sddl}
    if existing != "set":
        parameters["existing"] = existing
    return action(call_id, "@make-directory", parameters)


def ancestors(path: str) -> list[str]:
    """Return the parent folders of a Windows path, the outermost first, without the drive's root folder."""
    drive, *names = [part for part in path.replace("/", "\\").split("\\") if part]
    return [f"{drive}\\" + "\\".join(names[:count]) for count in range(1, len(names))]
