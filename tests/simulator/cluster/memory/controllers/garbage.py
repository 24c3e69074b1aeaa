# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Delete dependents whose owners no longer exist, and pods whose node no longer exists."""

from __future__ import annotations

import time

from ..objects import Objects
from ..resources import TYPES, Object, ResourceType, type_of, type_of_kind

_ORPHAN_SECONDS = 2.0  # the real controller waits at least 40 s; 2 s are enough for a node that is recreated


class PodGarbageCollector:
    """The controller that deletes pods whose node is gone, without waiting for the node's kubelet.

    It corresponds to Kubernetes' podgc controller.
    """

    watches: tuple[str, ...] = ("pods", "nodes")
    every = 0.5

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._missing_since: dict[str, float] = {}

    def sync(self) -> None:
        """Delete the pods whose node has been missing for at least 2 seconds."""
        store = self._objects.store
        nodes = {one["metadata"]["name"] for one in store.peek_all("nodes")}
        pods = store.peek_all("pods")
        missing = {pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")} - nodes
        now = time.monotonic()
        self._missing_since = {name: self._missing_since.get(name, now) for name in missing}
        for pod in pods:
            node = pod["spec"].get("nodeName")
            if node in missing and now - self._missing_since[node] >= _ORPHAN_SECONDS:
                metadata = pod["metadata"]
                self._objects.delete(
                    type_of("pods"), metadata["namespace"], metadata["name"], {"gracePeriodSeconds": 0}
                )


class GarbageCollector:
    """The controller that deletes objects whose owners are all gone, and completes Foreground and Orphan deletions."""

    watches: tuple[str, ...] = tuple(one.plural for one in TYPES)
    every = 0.0

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def sync(self) -> None:
        """Finish Foreground and Orphan deletions, and delete the objects whose owners are all gone."""
        store = self._objects.store
        everything = [(kind, one) for kind in store.types() for one in store.peek_all(kind.key)]
        uids = {one["metadata"]["uid"] for _, one in everything}
        for kind, one in everything:
            finalizers = one["metadata"].get("finalizers") or []
            if one["metadata"].get("deletionTimestamp") and {"foregroundDeletion", "orphan"} & set(finalizers):
                self._finish(kind, one, everything)
            references = one["metadata"].get("ownerReferences") or []
            # An owner of an unknown kind may exist.
            known = all(type_of_kind(ref["apiVersion"], ref["kind"]) for ref in references)
            if references and known and not any(ref["uid"] in uids for ref in references):
                self._delete(kind, one)

    def _delete(self, kind: ResourceType, one: Object) -> None:
        metadata = one["metadata"]
        if not metadata.get("deletionTimestamp"):
            options = {"preconditions": {"uid": metadata["uid"]}}
            self._objects.delete(kind, metadata.get("namespace", ""), metadata["name"], options)

    def _finish(self, kind: ResourceType, owner: Object, everything: list[tuple[ResourceType, Object]]) -> None:
        uid, finalizers = owner["metadata"]["uid"], owner["metadata"]["finalizers"]
        dependents = [
            (other, one)
            for other, one in everything
            if any(ref["uid"] == uid for ref in one["metadata"].get("ownerReferences") or [])
        ]
        if "orphan" in finalizers:
            for other, one in dependents:
                self._disown(other, one, uid)
        else:
            for other, one in dependents:
                self._delete(other, one)
            if dependents:
                return
        left = [one for one in finalizers if one not in ("foregroundDeletion", "orphan")]
        self._change_metadata(kind, owner, {"finalizers": left})

    def _disown(self, kind: ResourceType, one: Object, uid: str) -> None:
        left = [ref for ref in one["metadata"]["ownerReferences"] if ref["uid"] != uid]
        self._change_metadata(kind, one, {"ownerReferences": left})

    def _change_metadata(self, kind: ResourceType, one: Object, change: Object) -> None:
        metadata = one["metadata"]
        self._objects.update(
            kind,
            metadata.get("namespace", ""),
            metadata["name"],
            lambda live: live | {"metadata": live["metadata"] | change},
        )
