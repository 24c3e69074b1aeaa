# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""DaemonSets that select no operating system, and their managers. A run restricts some of these DaemonSets to Linux."""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import typing as t

from ..specification.data_files import load_data

NODE_SELECTOR = {"kubernetes.io/os": "linux"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledManager:
    """A tool that manages DaemonSets. A label or annotation of these DaemonSets names the tool."""

    key: str
    value: str = "*"
    """Pattern for the value of the label or annotation."""
    title: str
    reverts: bool
    """Whether the tool immediately reverts changes that it did not make."""
    remedy: str
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnerKind:
    """A kind of object whose controller creates DaemonSets."""

    title: str
    remedy: str
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinuxDaemonSets:
    """Content of data/linux_daemon_sets.yml."""

    restricted: tuple[str, ...]
    managers: tuple[LabelledManager, ...]
    owners: t.Mapping[str, OwnerKind]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Manager:
    """The tool or controller that manages a DaemonSet."""

    title: str
    reverts: bool
    remedy: str


@functools.cache
def known() -> LinuxDaemonSets:
    """Return the known facts about DaemonSets that select no operating system.

    Raises:
        ResourceError: the data file has an unknown or missing key, or a value of the wrong type.
    """
    return load_data(LinuxDaemonSets, "linux_daemon_sets.yml")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Restricted:
    """The DaemonSets that the run may restrict to Linux nodes."""

    namespaces: t.Collection[str] = ()
    """Namespaces in which known DaemonSets are restricted to Linux nodes (`cni_linux_namespaces`)."""
    patterns: t.Collection[str] = ()
    """Patterns `NAMESPACE/NAME` of further DaemonSets (`cni_linux_daemon_sets`)."""

    def is_requested(self, daemon_set: t.Mapping[str, t.Any]) -> bool:
        """Return whether the user's variables ask the run to restrict a DaemonSet to Linux nodes.

        Args:
            daemon_set: an entry of `unbound_daemon_sets` in the result of cluster_info.
        """
        name, where = str(daemon_set["name"]), place(daemon_set)
        if any(fnmatch.fnmatchcase(where, pattern) for pattern in self.patterns):
            return True
        own = any(fnmatch.fnmatchcase(name, pattern) for pattern in known().restricted)
        return own and daemon_set["namespace"] in self.namespaces

    def of(self, daemon_sets: t.Iterable[t.Mapping[str, t.Any]]) -> list[dict[str, str]]:
        """Return the namespaces and names of the DaemonSets that the run restricts to Linux nodes.

        A DaemonSet whose manager would immediately revert the change is left out, even if the variables select it.

        Args:
            daemon_sets: `unbound_daemon_sets` in the result of cluster_info.
        """
        return [
            {"namespace": str(one["namespace"]), "name": str(one["name"])}
            for one in daemon_sets
            if self.is_requested(one) and not reverts(one)
        ]


def place(daemon_set: t.Mapping[str, t.Any]) -> str:
    """Return a DaemonSet as `NAMESPACE/NAME`."""
    return f"{daemon_set['namespace']}/{daemon_set['name']}"


def manager(daemon_set: t.Mapping[str, t.Any]) -> Manager | None:
    """Return the manager of a DaemonSet, or None if the DaemonSet has no owner and names no known tool.

    The manager is the Kubernetes controller of the DaemonSet's owner, or the tool that the DaemonSet's labels or
    annotations name.

    Args:
        daemon_set: an entry of `unbound_daemon_sets` in the result of cluster_info.
    """
    kind, _space, name = str(daemon_set.get("owner") or "").partition(" ")
    if kind:
        of_kind = known().owners.get(kind)
        if of_kind is None:
            remedy = f"Change the {kind} {name}, from which its controller creates the DaemonSet."
            return Manager(title=f"the controller of the {kind} {name}", reverts=True, remedy=remedy)
        return Manager(title=of_kind.title, reverts=True, remedy=of_kind.remedy.replace("{name}", name))
    marks = daemon_set.get("managers") or {}
    for one in known().managers:
        value = str(marks.get(one.key) or "")
        if value and fnmatch.fnmatchcase(value, one.value):
            texts = [text.replace("{value}", value) for text in (one.title, one.remedy)]
            return Manager(title=texts[0], reverts=one.reverts, remedy=texts[1])
    return None


def reverts(daemon_set: t.Mapping[str, t.Any]) -> bool:
    """Return whether the DaemonSet's manager immediately reverts a change to the node selector."""
    owner = manager(daemon_set)
    return owner is not None and owner.reverts
