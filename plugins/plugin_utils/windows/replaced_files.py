# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files that were replaced while they ran: Windows lets them be renamed, not deleted, and so they lie aside.

`@move-path` names them `NAME.yyyyMMddHHmmss-GUID.old` (docs/wire.md). Such are the shims of
containerd, which run as long as their pods do.
"""

from __future__ import annotations

import re
import typing as t

from ..wire.messages import Call, Json, Results
from .path_calls import discard

_ASIDE = re.compile(r"(.+)\.([0-9]{14})-[0-9a-f]{32}\.old", re.IGNORECASE)


def questions(targets: t.Sequence[str]) -> tuple[Call, ...]:
    """Asks what lies aside, and which processes may run it.

    Args:
        targets: Windows paths that `@move-path` replaces.
    """
    folders = list(dict.fromkeys(target.rpartition("\\")[0] for target in targets))
    calls = [
        Call(
            id=f"aside-{index}",
            command="Get-ChildItem",
            parameters={"LiteralPath": folder, "Filter": "*.old"},
            select=("FullName",),
            on_error="continue",
        )
        for index, folder in enumerate(folders)
    ]
    names: list[Json] = [stem for target in targets if (stem := _stem(target))]
    if names:
        parameters: dict[str, Json] = {"Name": names, "ErrorAction": "SilentlyContinue"}
        select = ("ProcessName", "StartTime")
        calls.append(
            Call(id="running", command="Get-Process", parameters=parameters, select=select, on_error="continue")
        )
    return tuple(calls)


def removable(targets: t.Sequence[str], seen: Results) -> list[str]:
    """Paths that lie aside and that no process can be running any more.

    Args:
        targets: as for `questions`.
        seen: the answers.
    """
    began: dict[str, list[str]] = {}
    for process in _objects(seen, "running"):
        # Nobody knows when a process without a start began.
        began.setdefault(str(process.get("ProcessName")).casefold(), []).append(_stamp(process.get("StartTime")))
    wanted = {target.casefold(): _stem(target).casefold() for target in targets}
    found: list[str] = []
    for call in sorted(name for name in seen if name.startswith("aside-")):
        for item in _objects(seen, call):
            path = str(item.get("FullName"))
            aside = _ASIDE.fullmatch(path)
            if aside and aside[1].casefold() in wanted:
                held = any(start <= aside[2] for start in began.get(wanted[aside[1].casefold()], ()))
                found += [] if held else [path]
    return found


def removals(paths: t.Iterable[str]) -> tuple[Call, ...]:
    """Calls that delete them; one that is held all the same stays."""
    return tuple(discard(path, f"aside-{index}") for index, path in enumerate(paths))


def _stem(target: str) -> str:
    """The name of the processes that run an executable; empty for what is none."""
    name = target.rpartition("\\")[2]
    return name[:-4] if name.casefold().endswith(".exe") else ""


def _stamp(time: t.Any) -> str:
    """A time of the wire (ISO 8601 in UTC) in the digits of the files' names."""
    return re.sub(r"[^0-9]", "", str(time or ""))[:14]


def _objects(seen: Results, call: str) -> t.Iterator[t.Mapping[str, t.Any]]:
    result = seen.get(call)
    for item in result.output if result is not None and result.ok else ():
        if isinstance(item, t.Mapping):
            yield item
