# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Select the newest files of each log source of a node, up to the source's size limit (no I/O)."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from . import catalogue
from .archive import EVENT_LOGS
from .survey import EventLog, LogFile, Survey, moment

_UNSAFE = re.compile(r"[^A-Za-z0-9._@+=-]")
_SPARE_SPACE = 512 * 1024 * 1024
"""Number of bytes that must stay free on the node while logs are gathered."""
_MEGABYTE = 1024 * 1024
_PER_MEMBER = 4096
"""Maximum number of bytes that tar adds to each file for the header, a long name, and the padding of the last block."""
_MOST = 250
"""Maximum number of files of one source, so that the batch that names them stays below 1 MB."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelectedFile:
    """A file to collect."""

    source: str
    path: str
    """Path on the node."""
    member: str
    """Name in the archive, below the node's folder."""
    tail: int
    """Maximum number of bytes to copy from the end of the file, which may have grown since it was observed."""
    expected: int
    """Expected number of bytes to copy: the observed size, but at most `tail`. If the size is unknown, it is `tail`."""
    seen: bool
    """Whether the file was found on the node. A service's command line may name a file that does not exist."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Export:
    """An event log to export."""

    channel: str
    member: str
    query: str
    """XPath query that selects the events."""
    expected: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SkippedFile:
    """A file that exists but is not collected."""

    path: str
    why: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selection:
    """The logs to collect from a node, and the files that are left out."""

    files: tuple[SelectedFile, ...]
    exports: tuple[Export, ...]
    left_out: tuple[SkippedFile, ...]

    @property
    def required_space(self) -> int:
        """Number of bytes that must be free for the copies, for an archive of the same size, and as a reserve."""
        files, exports = (item.expected for item in self.files), (item.expected for item in self.exports)
        return 2 * (sum(files) + sum(exports)) + _SPARE_SPACE

    @property
    def most(self) -> int:
        """Maximum number of bytes of a valid archive, compressed or not.

        Files can grow while they are gathered, but each source must stay within twice its limit. Windows writes an
        exported event log in chunks of 64 KB (source: MS-EVEN6), and tar adds a header and padding to each member.
        """
        tails: dict[str, list[int]] = {}
        for file in self.files:
            tails.setdefault(file.source, []).append(file.tail)
        files = sum(min(sum(each), 2 * max(each)) for each in tails.values())
        exports = sum(2 * export.expected + _MEGABYTE for export in self.exports)
        return files + exports + _PER_MEMBER * (len(self.files) + len(self.exports)) + _MEGABYTE


def select(survey: Survey, requested: catalogue.RequestedLogs) -> Selection:
    """Select the files and event logs to collect from a node.

    Args:
        survey: the observed logs of the node.
        requested: the logs that the user wants, with their maximum age and size.
    """
    left_out: list[SkippedFile] = []
    by_source: dict[str, list[LogFile]] = {}
    for file in _candidates(survey, requested):
        why = catalogue.sources().forbids(file.path) or _too_old(file, survey, requested)
        if why:
            left_out.append(SkippedFile(path=file.path, why=why))
        else:
            by_source.setdefault(file.source, []).append(file)
    names: set[str] = set()
    taken: list[SelectedFile] = []
    for files in by_source.values():
        taken += _newest(files, requested.limit, names, left_out)
    exports = [_export(log, requested) for log in survey.event_logs]
    return Selection(files=tuple(taken), exports=tuple(exports), left_out=tuple(left_out))


def _candidates(survey: Survey, requested: catalogue.RequestedLogs) -> list[LogFile]:
    """Return the observed files and the services' configured log files, without duplicates."""
    files = list(survey.files)
    known = {file.path.casefold() for file in files}
    for service in survey.services:
        ours = next(
            (entry for entry in catalogue.sources().services if entry.name.casefold() == service.name.casefold()), None
        )
        source = ours.log if ours and ours.log in requested.chosen else ""
        for path in service.log_files if source else ():
            if path.casefold() not in known:
                known.add(path.casefold())
                files.append(LogFile(source=source, path=path, size=-1, modified=None))
    return files


def _too_old(file: LogFile, survey: Survey, requested: catalogue.RequestedLogs) -> str | None:
    """Return why a file is too old, or None if it is not. State and configuration files are never too old."""
    if file.modified is None or file.source in ("cni-state", "configuration"):
        return None
    now = moment(survey.time)
    if now is None or now - file.modified <= requested.since:
        return None
    return f"not modified since {file.modified:%Y-%m-%d %H:%M} UTC"


def _newest(
    files: t.Sequence[LogFile], limit: int, names: set[str], left_out: list[SkippedFile]
) -> t.Iterator[SelectedFile]:
    """Yield the newest files of one log source up to the size limit.

    If the last file would exceed the limit, only the end of this file is collected.
    """
    left = limit
    for number, file in enumerate(sorted(files, key=_age)):
        if left <= 0 or number >= _MOST:
            full = f"newer files fill the limit of {limit // 2**20} MB"
            left_out.append(SkippedFile(path=file.path, why=full if left <= 0 else f"there are {_MOST} newer files"))
            continue
        # If only the name of a service's log file is known, leave half of the limit for the source's other files.
        space = left if file.size >= 0 else max(1, left // 2)
        expected = space if file.size < 0 else min(file.size, space)
        yield SelectedFile(
            source=file.source,
            path=file.path,
            member=_unused(f"files/{file.source}/{_member(file.path)}", names),
            tail=space,
            expected=expected,
            seen=file.size >= 0,
        )
        left -= expected


def _age(file: LogFile) -> float:
    """Return a sort key for files. Files of which only the name is known come first, then the newest files."""
    if file.size < 0:
        return float("-inf")
    return -file.modified.timestamp() if file.modified else 0.0


def _member(path: str) -> str:
    """Return a name for a file in the archive, such as `C/var/log/kubelet/kubelet.log`. Any system can unpack it."""
    parts = path.replace(":", "").split("\\")
    return "/".join(_UNSAFE.sub("_", part) for part in parts if part not in ("", ".", ".."))


def _unused(name: str, names: set[str]) -> str:
    """Return a name for a file in the archive, with a number appended if another file already has the name."""
    unused, number = name, 2
    while unused.casefold() in names:
        unused, number = f"{name}.{number}", number + 1
    names.add(unused.casefold())
    return unused


def _export(log: EventLog, requested: catalogue.RequestedLogs) -> Export:
    """Return the export of the newest events of an event log.

    Events are selected by age and, if the log exceeds the size limit, also by record number. The query uses Windows'
    subset of XPath 1.0. Source: learn.microsoft.com/windows/win32/wes/consuming-events.
    """
    age = int(requested.since.total_seconds() * 1000)
    conditions = [f"TimeCreated[timediff(@SystemTime) <= {age}]"]
    if log.size > requested.limit:
        kept = max(1, log.records * requested.limit // log.size)
        conditions.append(f"EventRecordID > {max(0, log.oldest + log.records - 1 - kept)}")
    return Export(
        channel=log.channel,
        # Windows names the files of event logs the same way, with %4 instead of the slash.
        member=f"{EVENT_LOGS}{_UNSAFE.sub('_', log.channel.replace('/', '@'))}.evtx",
        query=f"*[System[{' and '.join(conditions)}]]",
        expected=min(log.size, requested.limit),
    )
