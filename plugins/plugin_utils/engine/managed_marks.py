# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Notes on a node of what is managed there: so that what is no longer wanted goes, and what others set stays."""

from __future__ import annotations

import dataclasses
import typing as t

from ..windows.registry_calls import make_key, remove_value, set_value
from ..wire.messages import Call, Json
from .changes import remove, update
from .resource import Change, Resource

KEY = "HKLM:\\SOFTWARE\\winkube\\managed"
"""Holds a value for each resource with `managed`: its name says which, its data nothing but that. Of a service that was
disabled for a while, the data is how it started before."""


def question(resource: Resource) -> dict[str, Json]:
    """An entry for `@read-registry` that tells whether the note is there."""
    return {"path": KEY, "name": resource.title}


def write(name: str, data: str | int) -> tuple[Call, ...]:
    """Calls that take a note."""
    kind = "DWord" if isinstance(data, int) else "String"
    return (*make_key(KEY, "note-"), set_value("note", KEY, name, kind, data))


def plan(
    resource: Resource,
    state: t.Literal["present", "absent"],
    answer: t.Mapping[str, t.Any],
    change: t.Callable[[], Change | None],
    *,
    undo: Call,
) -> Change | None:
    """The change of a resource with `managed`.

    Args:
        resource: the resource.
        state: what it should be; `absent` is done only where there is a note.
        answer: to `question`.
        change: what `present` takes, beside the note.
        undo: removes what the note is about, or does nothing where it is gone.
    """
    noted = bool(answer.get("exists"))
    if state == "present":
        return _wanted(resource, noted, change())
    return _unwanted(resource, undo) if noted else None


def _wanted(resource: Resource, noted: bool, change: Change | None) -> Change | None:
    """The note comes first, so that nothing is set without one."""
    if noted:
        return change
    take = write(resource.title, 1)
    if change is None:
        return update(resource, {"managed": False}, {"managed": True}, take)
    return dataclasses.replace(change, calls=(*take, *change.calls))


def _unwanted(resource: Resource, undo: Call) -> Change:
    """The note goes last."""
    calls = [undo, remove_value("forget", KEY, resource.title)]
    return remove(resource, {"name": resource.name}, calls, why="was managed, and is no longer wanted")
