# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""What lies in a folder that others may have put there: found, and moved aside.

Any user of a server may make folders in C:\ and in C:\ProgramData, and owns what he makes; an owner may always change
the access list (learn.microsoft.com: Owner of a New Object). So a list that is set later does not make such content
trustworthy. It is moved and not deleted: it may be evidence, and Remove-Item -Recurse of a folder that somebody
else fills may be led elsewhere by a junction.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..wire.messages import Call, Input, Json, Results
from . import sddl as descriptors
from .path_calls import make_closed, move_path

Which = t.Literal["nothing", "foreign", "writable"]
"""What is moved aside: what others own; or also what others may write."""

STRICTNESS: tuple[Which, ...] = ("nothing", "foreign", "writable")

ASIDE = ".untrusted-"
"""How the folder's name begins that takes it."""
_DEPTH = 5
"""Levels below the folder that are looked at: files of the cache lie at the third."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class UntrustedItem:
    """A file or folder that others own or may write."""

    path: str
    who: tuple[str, ...]
    """Their SIDs."""


def questions(folder: str, *, shallow: bool = False) -> tuple[Call, ...]:
    """Asks for what is in a folder, and for its owners and access lists.

    Args:
        folder: Windows path.
        shallow: only what lies directly in it.
    """
    parameters: dict[str, Json] = {"LiteralPath": folder, "Force": True, "ErrorAction": "SilentlyContinue"}
    if not shallow:
        parameters["Depth"] = _DEPTH
    return (
        Call(
            id="within",
            command="Get-ChildItem",
            parameters=parameters,
            select=("FullName", "Attributes", "PSIsContainer"),
            on_error="continue",
        ),
        Call(
            id="owners",
            command="Get-Acl",
            parameters={"ErrorAction": "SilentlyContinue"},
            input=Input(calls=("within",), parameter="LiteralPath", property="FullName"),
            select=("Path", "Sddl"),
            on_error="continue",
        ),
        # What is gone by now was somebody's temporary file; what is there without a list cannot be looked at.
        Call(id="still", command="Get-ChildItem", parameters=parameters, select=("FullName",), on_error="continue"),
        Call(id="now", command="Get-Date", on_error="continue"),
    )


def found(folder: str, which: Which, seen: Results) -> list[UntrustedItem]:
    """The outermost files and folders that others own or may write.

    What cannot be looked at counts as theirs: administrators can look at all that is theirs.

    Args:
        folder: the folder that was asked for.
        which: what counts.
        seen: answers to `questions`.
    """
    within, owners = seen.get("within"), seen.get("owners")
    if within is None or not within.ok:
        return []
    still = seen.get("still")
    there = {str(item.get("FullName")).casefold() for item in (still.output if still else ())}
    lists = {_path(item).casefold(): str(item.get("Sddl") or "") for item in (owners.output if owners else ())}
    theirs: list[UntrustedItem] = []
    behind: list[str] = []
    for item in sorted(within.output, key=lambda item: str(item.get("FullName"))):
        path = str(item.get("FullName"))
        below = path.casefold()
        gone = below not in lists and below not in there
        if gone or any(below.startswith(f"{outer}\\") for outer in behind) or _is_aside(folder, path):
            continue
        who = _who(lists.get(below, ""), which, folder=bool(item.get("PSIsContainer")))
        if who:
            theirs.append(UntrustedItem(path=path, who=who))
        if who or "ReparsePoint" in str(item.get("Attributes")):
            behind.append(below)
    return theirs


def _who(sddl: str, which: Which, *, folder: bool) -> tuple[str, ...]:
    owner = descriptors.owner(sddl)
    if not descriptors.is_administrative(owner):
        return (owner or "unknown",)
    if which == "foreign":
        return ()
    # What others put into a folder is looked at by itself.
    return descriptors.others(sddl, descriptors.REPLACE if folder else descriptors.WRITE)


def _path(item: t.Mapping[str, t.Any]) -> str:
    return str(item.get("Path") or "").rpartition("::")[2]


def _is_aside(folder: str, path: str) -> bool:
    return path.casefold().startswith(f"{folder.casefold()}\\{ASIDE}")


def quarantine_folder(folder: str, seen: Results) -> str:
    """The folder for what is moved: a new one each time, and nobody can have made it before."""
    now = seen.get("now")
    return f"{folder}\\{ASIDE}{re.sub('[^0-9]', '', str(now.first if now else ''))}"


def moves(folder: str, items: t.Sequence[UntrustedItem], target: str, sddl: str) -> t.Iterator[Call]:
    """Moves items aside; the folder itself is closed by then.

    Args:
        folder: in which they lie.
        items: what to move.
        target: of `aside`.
        sddl: the target's owner and access list.
    """
    yield make_closed(target, sddl, "aside", existing="empty")
    for number, item in enumerate(items):
        yield move_path(item.path, target + item.path[len(folder) :], f"aside-{number}")


def warning(items: t.Sequence[UntrustedItem], target: str) -> str:
    """What people should know."""
    who = ", ".join(sorted({sid for item in items for sid in item.who}))
    listed = ", ".join(item.path for item in items[:5]) + (f" and {len(items) - 5} more" if len(items) > 5 else "")
    return (
        f"not trusted, since others than administrators ({who}) own or can change it: {listed}. "
        f"It counts as not there and is moved to {target}; look at it, and remove it"
    )
