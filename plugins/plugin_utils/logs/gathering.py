# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The batch that copies files, exports event logs, and packs all of them into an archive on the node (no I/O).

On the node, every file gets a short name, because paths of pod logs are long and may contain any character. The
controller maps the names back. The work folder is inside the folder for the results of batches, to which only SYSTEM
and Administrators have access.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..remote.node import FOLDER
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Observation
from . import catalogue
from .selection import Selection
from .survey import Survey

_PREFIX = "logs-"
_EXPORT, _VERSION = "export.", "version."
_EXPORT_TIMEOUT = 300.0
_VERSION_TIMEOUT = 30.0
_PACK_TIMEOUT = 1800.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkFolder:
    """The folder on the node where logs are gathered."""

    folder: str

    @classmethod
    def named(cls, key: str) -> WorkFolder:
        """Return the folder that belongs to a run."""
        return cls(folder=f"{FOLDER}\\{_PREFIX}{key}")

    @property
    def content(self) -> str:
        """Path of the folder whose content is packed."""
        return f"{self.folder}\\content"

    @property
    def archive(self) -> str:
        """Path of the packed archive."""
        return f"{self.folder}\\logs.tar.gz"


@dataclasses.dataclass(frozen=True, kw_only=True)
class GatherResult:
    """The result of the batch that gathers logs."""

    size: int
    """Size of the archive in bytes."""
    sha256: str
    members: t.Mapping[str, str]
    """Maps the name of each member of the node's archive to its name in the stored archive."""
    versions: t.Mapping[str, str]
    """Maps the name of each service to the first line of its program's version output."""
    sizes: t.Mapping[str, tuple[int, int]]
    """Maps each file's name in the stored archive to the file's size on the node and the number of copied bytes."""
    problems: tuple[str, ...]


def calls(selection: Selection, survey: Survey, work_folder: WorkFolder) -> tuple[Call, ...]:
    """Return the calls of the batch that gathers logs. It first removes files that earlier runs left behind."""
    copies: list[Json] = [
        {"path": file.path, "destination": f"{work_folder.content}\\{_file(number)}", "tail": file.tail}
        for number, file in enumerate(selection.files)
    ]
    exports = [
        action(
            f"{_EXPORT}{number}",
            "wevtutil.exe",
            arguments=(
                "epl",
                export.channel,
                f"{work_folder.content}\\{_event_log(number)}",
                f"/q:{export.query}",
                "/ow:true",
            ),
            timeout=_EXPORT_TIMEOUT,
            on_error="continue",
        )
        for number, export in enumerate(selection.exports)
    ]
    return (
        remove(),
        action("folder", "New-Item", {"Path": work_folder.content, "ItemType": "Directory", "Force": True}, long=True),
        *([action("copies", "@copy-file", {"files": copies}, select=None)] if copies else []),
        *exports,
        *_versions(survey),
        action(
            "pack",
            "tar.exe",
            arguments=("-czf", work_folder.archive, "-C", work_folder.content, "."),
            timeout=_PACK_TIMEOUT,
        ),
        # The copies are no longer needed.
        action(
            "copies-removed",
            "Remove-Item",
            {"LiteralPath": work_folder.content, "Recurse": True, "Force": True},
            on_error="continue",
            always=True,
        ),
        query("archive", "@read-file", {"paths": [work_folder.archive], "hash": True}, on_error="stop"),
    )


def remove() -> Call:
    """Return the call that removes the gathered files of all runs."""
    return action(
        "remove",
        "Remove-Item",
        {
            "Path": f"{FOLDER}\\{_PREFIX}*",
            "Recurse": True,
            "Force": True,
            "ErrorAction": "SilentlyContinue",
        },
        on_error="continue",
    )


def _versions(survey: Survey) -> t.Iterator[Call]:
    for entry in catalogue.sources().services:
        service = survey.service(entry.name)
        if entry.version and service and service.program.lower().endswith(".exe"):
            yield query(
                f"{_VERSION}{entry.name}", service.program, arguments=(entry.version,), timeout=_VERSION_TIMEOUT
            )


def read(seen: Observation, selection: Selection) -> GatherResult:
    """Parse the result of the batch that gathers logs.

    Raises:
        ValueError: there is no archive, or it is larger than the selected logs can be. The message contains the reason.
    """
    if seen.stopped is not None:
        result = seen.calls.get(seen.stopped.id)
        detail = (result.stderr.strip() or result.stdout.strip())[-500:] if result else ""
        why = str(result.error) if result and result.error else "failed"
        raise ValueError(f"{seen.stopped.id}: {why}{f' ({detail})' if detail else ''}")
    archive = seen["archive"].first
    members, sizes, problems = {}, {}, []
    copied = seen.calls["copies"].output if "copies" in seen.calls else ()
    for number, (file, done) in enumerate(zip(selection.files, copied, strict=False)):
        if done.get("error"):
            if file.seen:
                problems.append(f"{file.path}: {done['error']}")
            continue
        members[_file(number)] = file.member
        sizes[file.member] = (int(done.get("size") or 0), int(done.get("copied") or 0))
    for number, export in enumerate(selection.exports):
        result = seen.calls.get(f"{_EXPORT}{number}")
        if result is not None and result.ok:
            members[_event_log(number)] = export.member
        else:
            reason = (result.stderr.strip() if result else "") or str(result.error if result else "not reached")
            problems.append(f"event log {export.channel}: {' '.join(reason.split())[-300:]}")
    size = int(archive["size"])
    if not 0 <= size <= selection.most:
        raise ValueError(f"archive: expected at most {selection.most} bytes for the selected logs, got {size}")
    return GatherResult(
        size=size,
        sha256=str(archive["sha256"]),
        members=members,
        versions=_reported_versions(seen),
        sizes=sizes,
        problems=tuple(problems),
    )


def _reported_versions(seen: Observation) -> dict[str, str]:
    versions: dict[str, str] = {}
    for entry in catalogue.sources().services:
        result = seen.calls.get(f"{_VERSION}{entry.name}")
        output = (result.stdout.strip() or result.stderr.strip()) if result is not None and result.ok else ""
        if output:
            versions[entry.name] = output.splitlines()[0]
    return versions


def _file(number: int) -> str:
    return f"f{number:05}"


def _event_log(number: int) -> str:
    return f"e{number:05}.evtx"
