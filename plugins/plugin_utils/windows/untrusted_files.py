# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Find files and folders that non-administrators may have created, and move them aside.

Any user of a server may create folders in C:\ and C:\ProgramData, and then owns them. An owner can always change the
access list, so a later access list does not make such content trustworthy. Source: learn.microsoft.com, "Owner of a New
Object". The content is moved and not deleted, because it may be evidence, and because a junction could redirect
Remove-Item -Recurse in a folder that another user controls.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..wire.calls import query
from ..wire.messages import Call, Input, Json, Results
from ..wire.scopes import Scope
from . import sddl as descriptors
from .path_calls import make_closed, move_path

Which = t.Literal["nothing", "foreign", "writable"]
"""What to move aside: nothing, content that users other than administrators own (`foreign`), or also content that they
can change (`writable`)."""

STRICTNESS: tuple[Which, ...] = ("nothing", "foreign", "writable")

MOVED_PREFIX = ".untrusted-"
"""Prefix of the name of the folder to which untrusted content is moved."""
_FOLDER, _MOVES = "aside", Scope("aside-")
"""The id of the call that creates the quarantine folder, and the id prefix of the calls that move items into it."""
_DEPTH = 5
"""Number of levels that are checked below a folder's direct children. Cached files are at the third or fourth level."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class UntrustedItem:
    """A file or folder that users other than administrators own or can write to."""

    path: str
    who: tuple[str, ...]
    """SIDs of the users other than administrators who own the item or can write to it, or only the entry `unknown`."""


def list_calls(folder: str, *, shallow: bool = False) -> tuple[Call, ...]:
    """Return the calls that list a folder's content with its owners and access lists.

    Args:
        folder: Windows path.
        shallow: whether to list only direct children.
    """
    parameters: dict[str, Json] = {"LiteralPath": folder, "Force": True, "ErrorAction": "SilentlyContinue"}
    if not shallow:
        parameters["Depth"] = _DEPTH
    return (
        query("within", "Get-ChildItem", parameters, select=("FullName", "Attributes", "PSIsContainer")),
        query(
            "owners",
            "Get-Acl",
            {"ErrorAction": "SilentlyContinue"},
            input=Input(calls=("within",), parameter="LiteralPath", property="FullName"),
            select=("Path", "Sddl"),
        ),
        # A file that no longer exists was temporary; an existing one without an access list cannot be checked.
        query("still", "Get-ChildItem", parameters, select=("FullName",)),
        query("now", "Get-Date"),
    )


def find(folder: str, which: Which, seen: Results) -> list[UntrustedItem]:
    """Return the outermost files and folders that non-administrators own or, if `which` is `writable`, can write to.

    Content that cannot be checked is included, because administrators can check all of their own files.

    Args:
        folder: the listed folder.
        which: what to move aside.
        seen: results of `list_calls`.
    """
    within, owners = seen.get("within"), seen.get("owners")
    if within is None or not within.ok:
        return []
    still = seen.get("still")
    remaining = {str(item.get("FullName")).casefold() for item in (still.output if still else ())}
    lists = {_path(item).casefold(): str(item.get("Sddl") or "") for item in (owners.output if owners else ())}
    theirs: list[UntrustedItem] = []
    covered: list[str] = []
    for item in sorted(within.output, key=lambda item: str(item.get("FullName"))):
        path = str(item.get("FullName"))
        below = path.casefold()
        gone = below not in lists and below not in remaining
        if gone or any(below.startswith(f"{outer}\\") for outer in covered) or _is_moved(folder, path):
            continue
        who = _who(lists.get(below, ""), which, folder=bool(item.get("PSIsContainer")))
        if who:
            theirs.append(UntrustedItem(path=path, who=who))
        if who or "ReparsePoint" in str(item.get("Attributes")):
            covered.append(below)
    return theirs


def _who(sddl: str, which: Which, *, folder: bool) -> tuple[str, ...]:
    owner = descriptors.owner(sddl)
    if not descriptors.is_administrative(owner):
        return (owner or "unknown",)
    if which == "foreign":
        return ()
    # Content that other users put into a folder is checked separately.
    return descriptors.others(sddl, descriptors.REPLACE if folder else descriptors.WRITE)


def _path(item: t.Mapping[str, t.Any]) -> str:
    return str(item.get("Path") or "").rpartition("::")[2]


def _is_moved(folder: str, path: str) -> bool:
    return path.casefold().startswith(f"{folder.casefold()}\\{MOVED_PREFIX}")


def quarantine_folder(folder: str, seen: Results) -> str:
    """Return the path of the quarantine folder. It is new each time, so that no other user can have created it."""
    now = seen.get("now")
    return f"{folder}\\{MOVED_PREFIX}{re.sub('[^0-9]', '', str(now.first if now else ''))}"


def moves(folder: str, items: t.Sequence[UntrustedItem], target: str, sddl: str) -> t.Iterator[Call]:
    """Yield the calls that move items to the quarantine folder. Access to `folder` must already be restricted.

    Args:
        folder: the folder of the items.
        items: the items to move.
        target: the quarantine folder, a result of `quarantine_folder`.
        sddl: owner and access list of the target.
    """
    yield make_closed(target, sddl, _FOLDER, existing="empty")
    for number, item in enumerate(items):
        yield move_path(item.path, target + item.path[len(folder) :], _MOVES.id(str(number)))


def is_move(call_id: str) -> bool:
    """Return whether a call creates the quarantine folder or moves an item into it."""
    return call_id == _FOLDER or call_id in _MOVES


def warning(items: t.Sequence[UntrustedItem], target: str) -> str:
    """Return the warning about moved content."""
    who = ", ".join(sorted({sid for item in items for sid in item.who}))
    listed = ", ".join(item.path for item in items[:5]) + (f" and {len(items) - 5} more" if len(items) > 5 else "")
    return (
        f"users other than administrators ({who}) own or can change this content, so it is not trusted: {listed}. "
        f"It is treated as missing and moved to {target}; inspect it there, then delete it"
    )
