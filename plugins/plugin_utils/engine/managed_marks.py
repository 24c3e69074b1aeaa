# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Mark the settings that the collection manages on a node, so that it never removes other settings."""

from __future__ import annotations

import dataclasses
import typing as t

from ..windows.registry_calls import make_key, remove_value, set_value
from ..wire.messages import Call, Json
from ..wire.scopes import Scope
from .changes import remove, update
from .resource import Change, Resource

KEY = "HKLM:\\SOFTWARE\\winkube\\managed"
"""Registry key with a value for each managed resource. The value's name is the resource's title. The value's data has
no meaning, with two exceptions: for a temporarily disabled service, the data is the previous start mode, and for the
password of the built-in administrator, it is the SID of the account."""


def registry_entry(resource: Resource) -> dict[str, Json]:
    """Return the path and name of the registry value that marks a resource, for `values` of `@read-registry`."""
    return {"path": KEY, "name": resource.title}


def write(name: str, data: str | int) -> tuple[Call, ...]:
    """Return the calls that mark a resource as managed.

    Args:
        name: the resource's title.
        data: data of the registry value.
    """
    kind = "DWord" if isinstance(data, int) else "String"
    return (*map(Scope("note-").call, make_key(KEY)), set_value("note", KEY, name, kind, data))


def plan(
    resource: Resource,
    state: t.Literal["present", "absent"],
    answer: t.Mapping[str, t.Any],
    change: t.Callable[[], Change | None],
    *,
    undo: Call,
) -> Change | None:
    """Return the change that a managed resource needs, or None if it needs none.

    Args:
        resource: the resource.
        state: the desired state. `absent` removes only a setting that has a mark.
        answer: the registry value that `registry_entry` describes, as the node returned it.
        change: function that returns the change for the state `present`, without the mark.
        undo: the call that removes the setting, and does nothing if the setting does not exist.
    """
    noted = bool(answer.get("exists"))
    if state == "present":
        return _present(resource, noted, change())
    return _absent(resource, undo) if noted else None


def _present(resource: Resource, noted: bool, change: Change | None) -> Change | None:
    """Return the change that makes the setting present and marked, or None if nothing must change.

    A missing mark is written before the setting, so that no managed setting lacks a mark.
    """
    if noted:
        return change
    take = write(resource.title, 1)
    if change is None:
        return update(resource, {"managed": False}, {"managed": True}, take)
    return dataclasses.replace(change, calls=(*take, *change.calls))


def _absent(resource: Resource, undo: Call) -> Change:
    """Return the change that removes the setting, and then its mark."""
    calls = [undo, remove_value("forget", KEY, resource.title)]
    return remove(resource, {"name": resource.name}, calls, why="was managed, and is no longer listed")
