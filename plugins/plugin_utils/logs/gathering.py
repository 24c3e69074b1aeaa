# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one batch that gathers logs on the node: copies, exports, one archive of it all. Pure.

On the node everything has a short name of its own (paths of pods' logs are long, and names may hold any letter); the
controller knows what is what. The folder lies where batches keep their results: only SYSTEM and Administrators get in.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..remote.node import FOLDER
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
    """Where it is gathered on the node."""

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
    """What came of it."""

    size: int
    """Of the archive, in bytes."""
    sha256: str
    members: t.Mapping[str, str]
    """Names in the node's archive, and those in the one that is kept."""
    versions: t.Mapping[str, str]
    """What programs of services say of their version, by service."""
    sizes: t.Mapping[str, tuple[int, int]]
    """Of each file's member: how large it was, and how much of it was copied, in bytes."""
    problems: tuple[str, ...]


def calls(selection: Selection, survey: Survey, place: WorkFolder) -> tuple[Call, ...]:
    """The batch. What earlier runs left behind goes first, whatever became of them."""
    copies: list[Json] = [
        {"path": file.path, "destination": f"{place.content}\\{_file(number)}", "tail": file.tail}
        for number, file in enumerate(selection.files)
    ]
    exports = [
        Call(
            id=f"{_EXPORT}{number}",
            command="wevtutil.exe",
            arguments=(
                "epl",
                export.channel,
                f"{place.content}\\{_event_log(number)}",
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
        Call(
            id="folder",
            command="New-Item",
            parameters={"Path": place.content, "ItemType": "Directory", "Force": True},
            select=(),
            long=True,
        ),
        *([Call(id="copies", command="@copy-file", parameters={"files": copies})] if copies else []),
        *exports,
        *_versions(survey),
        Call(
            id="pack",
            command="tar.exe",
            arguments=("-czf", place.archive, "-C", place.content, "."),
            timeout=_PACK_TIMEOUT,
        ),
        # Its room is needed no longer.
        Call(
            id="copies-removed",
            command="Remove-Item",
            parameters={"LiteralPath": place.content, "Recurse": True, "Force": True},
            select=(),
            on_error="continue",
            always=True,
        ),
        Call(id="archive", command="@read-file", parameters={"paths": [place.archive], "hash": True}),
    )


def remove() -> Call:
    """Removes whatever was gathered, of all runs."""
    return Call(
        id="remove",
        command="Remove-Item",
        parameters={
            "Path": f"{FOLDER}\\{_PREFIX}*",
            "Recurse": True,
            "Force": True,
            "ErrorAction": "SilentlyContinue",
        },
        select=(),
        on_error="continue",
    )


def _versions(survey: Survey) -> t.Iterator[Call]:
    for entry in catalogue.sources().services:
        service = survey.service(entry.name)
        if entry.version and service and service.program.lower().endswith(".exe"):
            yield Call(
                id=f"{_VERSION}{entry.name}",
                command=service.program,
                arguments=(entry.version,),
                timeout=_VERSION_TIMEOUT,
                on_error="continue",
            )


def read(seen: Observation, selection: Selection) -> GatherResult:
    """Reads what the batch answered.

    Raises:
        ValueError: there is no archive; says why.
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
            said = (result.stderr.strip() if result else "") or str(result.error if result else "not reached")
            problems.append(f"event log {export.channel}: {' '.join(said.split())[-300:]}")
    size = int(archive["size"])
    if not 0 <= size <= selection.most:
        raise ValueError(f"archive: expected {selection.most} bytes at most, as much as was selected; got {size}")
    return GatherResult(
        size=size,
        sha256=str(archive["sha256"]),
        members=members,
        versions=_said_versions(seen),
        sizes=sizes,
        problems=tuple(problems),
    )


def _said_versions(seen: Observation) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in catalogue.sources().services:
        result = seen.calls.get(f"{_VERSION}{entry.name}")
        said = (result.stdout.strip() or result.stderr.strip()) if result is not None and result.ok else ""
        if said:
            found[entry.name] = said.splitlines()[0]
    return found


def _file(number: int) -> str:
    return f"f{number:05}"


def _event_log(number: int) -> str:
    return f"e{number:05}.evtx"
