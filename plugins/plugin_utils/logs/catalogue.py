# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The log sources of a node (data/log_sources.yml), and the user's selection of them."""

from __future__ import annotations

import dataclasses
import datetime
import fnmatch
import functools
import re
import typing as t

from ansible.module_utils.common.yaml import yaml_load

from ..values.errors import ResourceError
from ..values.versions import DATA

_SPAN = re.compile(r"(\d{1,6})([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_PATH = re.compile(r"[A-Za-z]:\\[^<>\"|/\r\n]+")
_MEGABYTE = 1024 * 1024

EVENT_LOGS, COMMANDS, FACTS, HNS = "event-logs", "commands", "facts", "hns"
"""Names of the sources that are not files."""
NAMESPACES = ("kube-system", "kube-flannel", "kube-proxy", "calico-system", "tigera-operator")
"""Namespaces of network plugins and of Kubernetes itself."""
MORE_FILES = "more-files"
"""Name of the source for additional files that the user selects by path."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command:
    """A program whose output is collected."""

    name: str
    command: str
    arguments: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class StateCmdlet:
    """A PowerShell cmdlet whose output objects are collected."""

    name: str
    command: str
    parameters: t.Mapping[str, t.Any]
    select: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeService:
    """A Windows service that a node may have."""

    name: str
    version: str
    """Argument that makes the service's program print its version; empty if there is no such argument."""
    log: str
    """Name of the source that should contain the service's log; empty if there is none."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sources:
    """The content of data/log_sources.yml."""

    files: t.Mapping[str, tuple[str, ...]]
    """Paths of log files by the name of their source. The paths may contain wildcards."""
    event_logs: tuple[str, ...]
    commands: tuple[Command, ...]
    facts: tuple[StateCmdlet, ...]
    services: tuple[NodeService, ...]
    never_files: tuple[str, ...]
    never_folders: tuple[str, ...]
    never_event_logs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all sources that a user can choose."""
        return (*self.files, EVENT_LOGS, COMMANDS, FACTS, HNS)

    def forbids(self, path: str) -> str | None:
        """Return why a file is never collected, or None if it may be collected.

        Args:
            path: Windows path.
        """
        name = path.rsplit("\\", 1)[-1].casefold()
        pattern = next((pattern for pattern in self.never_files if fnmatch.fnmatchcase(name, pattern.casefold())), None)
        if pattern:
            return f"files named {pattern} are never collected"
        folder = path.casefold()
        for never in self.never_folders:
            if fnmatch.fnmatchcase(folder, never.casefold() + "\\*"):
                return f"files in {never} are never collected"
        return None

    def forbids_event_log(self, channel: str) -> bool:
        """Return whether an event log channel must never be collected."""
        return any(fnmatch.fnmatchcase(channel.casefold(), never.casefold()) for never in self.never_event_logs)


@functools.cache
def sources() -> Sources:
    """Return the log sources that the collection defines."""
    data = yaml_load((DATA / "log_sources.yml").read_text(encoding="utf-8"))
    return Sources(
        files={name: tuple(entry["paths"]) for name, entry in data["files"].items()},
        event_logs=tuple(channel for entry in data["event_logs"] for channel in entry["channels"]),
        commands=tuple(
            Command(name=name, command=entry["command"], arguments=tuple(entry["arguments"]))
            for name, entry in data["commands"].items()
        ),
        facts=tuple(
            StateCmdlet(
                name=name,
                command=entry["command"],
                parameters=entry.get("parameters", {}),
                select=tuple(entry["select"]),
            )
            for name, entry in data["facts"].items()
        ),
        services=tuple(
            NodeService(name=name, version=entry.get("version", ""), log=entry.get("log", ""))
            for name, entry in data["services"].items()
        ),
        never_files=tuple(data["never_files"]),
        never_folders=tuple(data["never_folders"]),
        never_event_logs=tuple(data["never_event_logs"]),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RequestedLogs:
    """The logs that the user has selected for collection."""

    since: datetime.timedelta
    """Maximum age of events and files."""
    limit: int
    """Maximum size of each source and each event log in bytes, before compression. The newest data is kept."""
    chosen: frozenset[str]
    """Names of the chosen sources."""
    namespaces: tuple[str, ...]
    """Namespaces whose pod logs are collected."""
    paths: tuple[str, ...]
    """Windows paths of additional files that the user selected. The paths may contain wildcards."""
    hns_timeout: float
    """Time limit of each HNS query in seconds, because HNS may hang."""

    def files(self) -> dict[str, list[str]]:
        """Return the paths of the selected file sources, by source. The paths may contain wildcards."""
        by_source: dict[str, list[str]] = {}
        for name, paths in sources().files.items():
            if name in self.chosen:
                by_source[name] = [
                    path.replace("{namespace}", namespace)
                    for path in paths
                    for namespace in (self.namespaces if "{namespace}" in path else ("",))
                ]
        if self.paths:
            by_source[MORE_FILES] = list(self.paths)
        return {name: paths for name, paths in by_source.items() if paths}


def requested_logs(options: t.Mapping[str, t.Any]) -> RequestedLogs:
    """Validate and convert the options of the node_logs module.

    Raises:
        ResourceError: an option is invalid. The message names the option and says what was expected.
    """
    return RequestedLogs(
        since=span(options["since"]),
        limit=_limit(options["limit_mb"]),
        chosen=_chosen(options["sources"]),
        namespaces=_namespaces(options["namespaces"]),
        paths=_paths(options["paths"]),
        hns_timeout=_timeout(options["hns_timeout"]),
    )


def span(text: str) -> datetime.timedelta:
    """Convert a string such as `24h` to a time span.

    Raises:
        ResourceError: the string is not a time span.
    """
    match = _SPAN.fullmatch(str(text).strip())
    if not match or not int(match[1]):
        raise ResourceError("since", text, "expected a number and a unit (m, h, d or w), such as 24h")
    return datetime.timedelta(seconds=int(match[1]) * _SECONDS[match[2]])


def _limit(megabytes: int) -> int:
    if not 1 <= megabytes <= 10_000:
        raise ResourceError("limit_mb", megabytes, "expected 1 to 10000 megabytes")
    return megabytes * _MEGABYTE


def _timeout(seconds: float) -> float:
    if not 1 <= seconds <= 600:
        raise ResourceError("hns_timeout", seconds, "expected 1 to 600 seconds")
    return float(seconds)


def _chosen(names: t.Sequence[str]) -> frozenset[str]:
    known = sources().names
    for name in names:
        if name not in known:
            raise ResourceError("sources", name, f"expected one of {', '.join(known)}", "An empty list selects all.")
    return frozenset(names or known)


def _namespaces(names: t.Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            raise ResourceError("namespaces", name, "expected the name of a namespace, such as kube-system")
    return tuple(names)


def _paths(paths: t.Sequence[str]) -> tuple[str, ...]:
    for path in paths:
        if not _PATH.fullmatch(path) or "\\..\\" in f"{path}\\":
            expected = r"expected a Windows path (wildcards allowed), such as C:\app\logs\*.log"
            raise ResourceError("paths", path, expected)
        why = sources().forbids(path)
        if why:
            raise ResourceError("paths", path, "expected files without secrets", f"{why[:1].upper()}{why[1:]}.")
    return tuple(paths)
