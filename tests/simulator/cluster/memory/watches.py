# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Answer list and watch requests, which can contain selectors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from .errors import ApiErrorResponse, bad_request
from .resources import Object, ResourceType
from .selectors import fields_match, labels_match
from .store import ObjectStore

_DEFAULT_SECONDS = 1800.0
_BOOKMARK_SECONDS = 30.0


class ObjectSelection:
    """The set of objects that the selectors of a list or watch request select."""

    def __init__(self, kind: ResourceType, namespace: str, name: str, query: Mapping[str, str]) -> None:
        self._kind = kind
        self._namespace = namespace
        self._name = name
        self._labels = query.get("labelSelector", "")
        self._fields = query.get("fieldSelector", "")

    def has(self, obj: Object | None) -> bool:
        """Return whether the selection contains an object."""
        if obj is None:
            return False
        metadata = obj["metadata"]
        if self._namespace and metadata.get("namespace") != self._namespace:
            return False
        if self._name and metadata["name"] != self._name:
            return False
        return labels_match(self._labels, metadata.get("labels") or {}) and fields_match(self._kind, self._fields, obj)


def list_objects(store: ObjectStore, kind: ResourceType, selection: ObjectSelection) -> Object:
    """Return the List object that contains the selected objects."""
    with store.lock:
        revision, found = store.revision, [one for one in store.peek_all(kind.key) if selection.has(one)]
    selection.has({"metadata": {"name": ""}})  # an invalid selector is an error even if the list is empty
    items = [{key: value for key, value in one.items() if key not in ("kind", "apiVersion")} for one in found]
    return {
        "kind": f"{kind.kind}List",
        "apiVersion": kind.group_version,
        "metadata": {"resourceVersion": str(revision)},
        "items": items,
    }


def watch_objects(
    store: ObjectStore, kind: ResourceType, selection: ObjectSelection, query: Mapping[str, str]
) -> Iterator[Object]:
    """Yield watch events until the time limit is reached. The client can set it with timeoutSeconds.

    An empty event marks a pause, in which the caller should check whether the client is still connected.

    Args:
        store: the store of the cluster's objects.
        kind: the resource type.
        selection: the objects to watch.
        query: the query parameters, of which these are used: resourceVersion, timeoutSeconds, allowWatchBookmarks,
            sendInitialEvents.

    Raises:
        ApiErrorResponse: the resourceVersion is malformed (400) or too old (410).
    """
    requested = query.get("resourceVersion", "")
    if requested and not requested.isdigit():
        raise bad_request(f'invalid resource version "{requested}"')
    initial = query.get("sendInitialEvents") == "true" or requested in ("", "0")
    with store.lock:
        revision = store.revision if initial else int(requested)
        current = [one for one in store.peek_all(kind.key) if selection.has(one)] if initial else []
        if not initial:
            store.changes_after(kind, revision)  # an old revision raises an error before the response begins
    seconds = float(query.get("timeoutSeconds") or _DEFAULT_SECONDS)
    return _events(store, kind, selection, query, current, revision, time.monotonic() + seconds)


def _events(
    store: ObjectStore,
    kind: ResourceType,
    selection: ObjectSelection,
    query: Mapping[str, str],
    current: list[Object],
    revision: int,
    end: float,
) -> Iterator[Object]:
    bookmarks = query.get("allowWatchBookmarks") == "true"
    for one in current:
        yield {"type": "ADDED", "object": one}
    if query.get("sendInitialEvents") == "true":
        yield _bookmark(kind, revision, {"k8s.io/initial-events-end": "true"})
    bookmarked = time.monotonic()
    while not store.closed and time.monotonic() < end:
        seen = store.revision
        try:
            changes = store.changes_after(kind, revision)
        except ApiErrorResponse as error:
            yield {"type": "ERROR", "object": error.status()}
            return
        for change in changes:
            revision = change.revision
            before, after = selection.has(change.before), selection.has(change.after)
            if after:
                yield {"type": "MODIFIED" if before else "ADDED", "object": change.after}
            elif before:
                shown = change.before if change.after is None else _at_revision(change.before or {}, revision)
                yield {"type": "DELETED", "object": shown}
        if bookmarks and time.monotonic() - bookmarked > _BOOKMARK_SECONDS:
            bookmarked = time.monotonic()
            yield _bookmark(kind, revision, {})
        if not changes:
            yield {}
            store.wait(seen, min(1.0, max(0.0, end - time.monotonic())))


def _at_revision(obj: Object, revision: int) -> Object:
    return obj | {"metadata": obj["metadata"] | {"resourceVersion": str(revision)}}


def _bookmark(kind: ResourceType, revision: int, annotations: Mapping[str, str]) -> Object:
    metadata: Object = {"resourceVersion": str(revision), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "type": "BOOKMARK",
        "object": {"kind": kind.kind, "apiVersion": kind.group_version, "metadata": metadata},
    }
