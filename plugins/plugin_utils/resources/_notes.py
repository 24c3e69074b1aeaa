# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Notes on a node of what is managed there: so that what is no longer wanted goes, and what others set stays.

Private to the collection.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..calls import Call, Json
from ._base import Change, Resource
from ._registry_keys import make_key, remove_value, set_value
from ._state import remove, update

KEY = "HKLM:\\SOFTWARE\\winkube\\managed"
"""Holds a value for each resource with `managed`: its name says which, its data nothing but that. Of a service that was
disabled for a while, the data is how it started before."""


def question(resource: Resource) -> dict[str, Json]:
    """An entry for `@read-registry` that tells whether the note is there."""
    return {"path": KEY, "name": resource.title}


def is_there(entry: t.Mapping[str, t.Any]) -> bool:
    """Whether the answer to `question` says so."""
    return bool(entry.get("exists"))


def write(name: str, data: str | int) -> tuple[Call, ...]:
    """Calls that take a note."""
    kind = "DWord" if isinstance(data, int) else "String"
    return (*make_key(KEY, "note-"), set_value("note", KEY, name, kind, data))


def wanted(resource: Resource, noted: bool, change: Change | None) -> Change | None:
    """The change of a managed resource that is wanted: the note comes first, so that nothing is set without one.

    Parameters:
        resource: the resource.
        noted: whether the note is there.
        change: what else has to be done.
    """
    if noted:
        return change
    take = write(resource.title, 1)
    if change is None:
        return update(resource, {"managed": False}, {"managed": True}, take)
    return dataclasses.replace(change, calls=(*take, *change.calls))


def unwanted(resource: Resource, noted: bool, undo: Call) -> Change | None:
    """The change of a managed resource that is no longer wanted: the note goes last.

    Parameters:
        resource: the resource.
        noted: whether the note is there.
        undo: removes what the note is about, or does nothing where it is gone.
    """
    if not noted:
        return None
    calls = [undo, remove_value("forget", KEY, resource.title)]
    return remove(resource, {"name": resource.name}, calls, why="was managed, and is no longer wanted")
