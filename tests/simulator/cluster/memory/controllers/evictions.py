# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Delete pods because of their node's NoExecute taints, and mark pods on unreachable nodes as not ready.

In Kubernetes, the taint-eviction and node-lifecycle controllers do this.
"""

from __future__ import annotations

import time

from .. import clock
from ..budgets import is_ready
from ..objects import Objects
from ..resources import Object, type_of
from .nodes import condition
from .placement import tolerates


class TaintEvictionController:
    """The controller that deletes pods that do not, or no longer, tolerate a NoExecute taint of their node."""

    watches: tuple[str, ...] = ("nodes", "pods")
    every = 0.5

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._since: dict[tuple[str, str], float] = {}

    def sync(self) -> None:
        """Delete pods because of NoExecute taints, and mark pods on unreachable nodes as not ready."""
        store = self._objects.store
        nodes = {one["metadata"]["name"]: one for one in store.peek_all("nodes")}
        seen: dict[tuple[str, str], float] = {}
        for pod in store.peek_all("pods"):
            node = nodes.get(pod["spec"].get("nodeName", ""))
            if node is None or pod["metadata"].get("deletionTimestamp"):
                continue
            if condition(node, "Ready").get("status") == "Unknown" and is_ready(pod):
                self._mark_not_ready(pod)
            for taint in node["spec"].get("taints") or []:
                if taint["effect"] == "NoExecute" and self._is_over(pod, taint, seen):
                    self._delete(pod)
                    break
        self._since = seen

    def _is_over(self, pod: Object, taint: Object, seen: dict[tuple[str, str], float]) -> bool:
        covering = [one for one in pod["spec"].get("tolerations") or [] if tolerates(one, taint)]
        limits = [one["tolerationSeconds"] for one in covering if one.get("tolerationSeconds") is not None]
        if covering and not limits:
            return False
        key = (pod["metadata"]["uid"], taint["key"])
        seen[key] = self._since.get(key, time.monotonic())
        return time.monotonic() - seen[key] >= min(limits, default=0)

    def _delete(self, pod: Object) -> None:
        metadata = pod["metadata"]
        self._objects.delete(type_of("pods"), metadata["namespace"], metadata["name"], {})

    def _mark_not_ready(self, pod: Object) -> None:
        conditions = [
            one | {"status": "False", "lastTransitionTime": clock.now()} if one["type"] == "Ready" else one
            for one in pod["status"]["conditions"]
        ]
        status, metadata = pod["status"] | {"conditions": conditions}, pod["metadata"]
        self._objects.update(
            type_of("pods"),
            metadata["namespace"],
            metadata["name"],
            lambda live: live | {"status": status},
            subresource="status",
        )
