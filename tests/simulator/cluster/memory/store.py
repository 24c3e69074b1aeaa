# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The store of objects, with their resource versions and the history that watches need.

Stored objects are never changed in place.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from dataclasses import dataclass

from .errors import expired
from .resources import TYPES, Object, ResourceType

_HISTORY = 5000
_FIRST_REVISION = 100
Key = tuple[str, str]


@dataclass(frozen=True)
class ObjectChange:
    """A change of one object. For a creation, `before` is None, and for a deletion, `after` is None."""

    revision: int
    before: Object | None
    after: Object | None


class ObjectStore:
    """A thread-safe store of all objects by type, namespace and name."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """The lock that callers must hold while they read, decide and write."""
        self.changed = threading.Condition(self.lock)
        """The condition that is notified after each change, and when the store is closed."""
        self.closed = False
        self.revision = _FIRST_REVISION
        self._types = {(one.group, one.version, one.plural): one for one in TYPES}
        self._objects: dict[str, dict[Key, Object]] = {one.key: {} for one in TYPES}
        self._history: dict[str, deque[ObjectChange]] = {one.key: deque(maxlen=_HISTORY) for one in TYPES}
        self._dropped = dict.fromkeys(self._objects, _FIRST_REVISION)
        self._changed_at = dict.fromkeys(self._objects, _FIRST_REVISION)

    def types(self) -> list[ResourceType]:
        """Return all resource types, including custom types."""
        with self.lock:
            return list(self._types.values())

    def find_type(self, group: str, version: str, plural: str) -> ResourceType | None:
        """Return the resource type for the group, version and plural in a URL, or None if there is no such type."""
        return self._types.get((group, version, plural))

    def define(self, kind: ResourceType) -> None:
        """Add a custom resource type, or replace its definition."""
        with self.lock:
            self._types[kind.group, kind.version, kind.plural] = kind
            self._objects.setdefault(kind.key, {})
            self._history.setdefault(kind.key, deque(maxlen=_HISTORY))
            self._dropped.setdefault(kind.key, self.revision)
            self._changed_at.setdefault(kind.key, self.revision)

    def undefine(self, kind: ResourceType) -> None:
        """Remove a version of a custom resource type. If no version is left, also remove all objects of the type."""
        with self.lock:
            self._types.pop((kind.group, kind.version, kind.plural), None)
            if any(other.key == kind.key for other in self._types.values()):
                return
            for namespace, name in list(self._objects.get(kind.key, {})):
                self.remove(kind.key, namespace, name)

    def peek(self, plural: str, namespace: str, name: str) -> Object | None:
        """Return an object, or None if it does not exist. The caller must not change the object."""
        with self.lock:
            return self._objects[plural].get((namespace, name))

    def get(self, plural: str, namespace: str, name: str) -> Object | None:
        """Return a copy of an object, or None if it does not exist."""
        return copy.deepcopy(self.peek(plural, namespace, name))

    def peek_all(self, plural: str, namespace: str = "") -> list[Object]:
        """Return the objects of a type, sorted by namespace and name. The caller must not change them.

        Args:
            plural: the plural name of the resource type, such as "pods".
            namespace: the namespace, or an empty string for all namespaces.
        """
        with self.lock:
            items = sorted(self._objects[plural].items())
        return [one for (where, _), one in items if not namespace or where == namespace]

    def changed_at(self, plural: str) -> int:
        """Return the latest revision that changed an object of the given type."""
        return self._changed_at[plural]

    def put(self, plural: str, obj: Object) -> Object:
        """Store an object, which the caller must not change afterwards.

        Returns:
            The same object, with its new resourceVersion.
        """
        with self.lock:
            metadata = obj["metadata"]
            key = (metadata.get("namespace", ""), metadata["name"])
            before = self._objects[plural].get(key)
            self.revision += 1
            metadata["resourceVersion"] = str(self.revision)
            self._objects[plural][key] = obj
            self._remember(plural, before, obj)
            return obj

    def remove(self, plural: str, namespace: str, name: str) -> Object:
        """Delete an object.

        Returns:
            The object's last state, with the revision of the deletion.
        """
        with self.lock:
            before = self._objects[plural].pop((namespace, name))
            self.revision += 1
            last = before | {"metadata": before["metadata"] | {"resourceVersion": str(self.revision)}}
            self._remember(plural, last, None)
            return last

    def _remember(self, plural: str, before: Object | None, after: Object | None) -> None:
        history = self._history[plural]
        if len(history) == _HISTORY:
            self._dropped[plural] = history[0].revision
        history.append(ObjectChange(self.revision, before, after))
        self._changed_at[plural] = self.revision
        self.changed.notify_all()

    def changes_after(self, kind: ResourceType, revision: int) -> list[ObjectChange]:
        """Return the changes to objects of a type after `revision`.

        Raises:
            ApiErrorResponse: the history does not go back that far (410).
        """
        with self.lock:
            if revision < self._dropped[kind.key]:
                raise expired(revision, self._dropped[kind.key])
            newer: list[ObjectChange] = []
            for change in reversed(self._history[kind.key]):
                if change.revision <= revision:
                    break
                newer.append(change)
            return newer[::-1]

    def wait(self, after: int, seconds: float) -> None:
        """Wait until there is a change after the revision `after`, the store is closed, or the time is up."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed or self.revision > after, seconds)

    def close(self) -> None:
        """End all watches and the controller loop."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
