# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Remove old program files that were replaced while they were running.

Windows lets a running program's file be renamed but not deleted. `@move-path` names replaced files
`NAME.yyyyMMddHHmmss-GUID.old` (see docs/wire.md). Examples are containerd's shims, which run for as long as their pods
run.
"""

from __future__ import annotations

import re
import typing as t

from ..wire.calls import query
from ..wire.messages import Call, Json, Results
from ..wire.scopes import Scope
from .path_calls import discard

_MOVED = Scope("aside-")
"""Prefix of the ids of the calls that list and delete old files, which were renamed because they were in use."""
_MOVED_NAME = re.compile(r"(.+)\.([0-9]{14})-[0-9a-f]{32}\.old", re.IGNORECASE)


def list_calls(targets: t.Sequence[str]) -> tuple[Call, ...]:
    """Return the calls that list replaced files and the processes that may run them.

    Args:
        targets: Windows paths that `@move-path` replaces.
    """
    folders = list(dict.fromkeys(target.rpartition("\\")[0] for target in targets))
    calls = [
        query(_MOVED.id(str(index)), "Get-ChildItem", {"LiteralPath": folder, "Filter": "*.old"}, select=("FullName",))
        for index, folder in enumerate(folders)
    ]
    names: list[Json] = [stem for target in targets if (stem := _stem(target))]
    if names:
        parameters: dict[str, Json] = {"Name": names, "ErrorAction": "SilentlyContinue"}
        select = ("ProcessName", "StartTime")
        calls.append(query("running", "Get-Process", parameters, select=select))
    return tuple(calls)


def removable(targets: t.Sequence[str], seen: Results) -> list[str]:
    """Return the replaced files that no process can still be running.

    Args:
        targets: Windows paths that `@move-path` replaces.
        seen: the results of `list_calls`.
    """
    began: dict[str, list[str]] = {}
    for process in _objects(seen, "running"):
        # Without a start time, the stamp is empty, so the process is treated as started before any file was replaced.
        began.setdefault(str(process.get("ProcessName")).casefold(), []).append(_stamp(process.get("StartTime")))
    stems = {target.casefold(): _stem(target).casefold() for target in targets}
    deletable: list[str] = []
    for call in sorted(name for name in seen if name in _MOVED):
        for item in _objects(seen, call):
            path = str(item.get("FullName"))
            match = _MOVED_NAME.fullmatch(path)
            if match and match[1].casefold() in stems:
                in_use = any(start <= match[2] for start in began.get(stems[match[1].casefold()], ()))
                deletable += [] if in_use else [path]
    return deletable


def removals(paths: t.Iterable[str]) -> tuple[Call, ...]:
    """Return the calls that delete replaced files. Files that are still open are kept."""
    return tuple(discard(path, _MOVED.id(str(index))) for index, path in enumerate(paths))


def _stem(target: str) -> str:
    """Return the process name of an executable, or an empty string for other files."""
    name = target.rpartition("\\")[2]
    return name[:-4] if name.casefold().endswith(".exe") else ""


def _stamp(time: t.Any) -> str:
    """Return the digits of an ISO 8601 time in UTC as `yyyyMMddHHmmss`, the form in the names of replaced files."""
    return re.sub(r"[^0-9]", "", str(time or ""))[:14]


def _objects(seen: Results, call: str) -> t.Iterator[t.Mapping[str, t.Any]]:
    result = seen.get(call)
    for item in result.output if result is not None and result.ok else ():
        if isinstance(item, t.Mapping):
            yield item
