# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compute the allowed disruptions of each PodDisruptionBudget, as Kubernetes' disruption controller does."""

from __future__ import annotations

from ..budgets import budget_status, covers
from ..objects import Objects
from ..resources import Object, type_of

_OWNERS = {"ReplicaSet": "replicasets", "StatefulSet": "statefulsets", "Deployment": "deployments"}


class DisruptionController:
    """The controller that maintains the status of PodDisruptionBudgets."""

    watches: tuple[str, ...] = ("poddisruptionbudgets", "pods", "replicasets", "statefulsets")
    every = 0.0

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def sync(self) -> None:
        """Update the status of every PodDisruptionBudget."""
        store = self._objects.store
        with store.lock:
            for budget in store.peek_all("poddisruptionbudgets"):
                metadata = budget["metadata"]
                pods = [pod for pod in store.peek_all("pods", metadata["namespace"]) if covers(budget, pod)]
                status = budget_status(budget, pods, self._replicas(metadata["namespace"], pods))
                self._write(metadata["namespace"], metadata["name"], status)

    def _write(self, namespace: str, name: str, status: Object) -> None:
        kind = type_of("poddisruptionbudgets")
        self._objects.update(kind, namespace, name, lambda live: live | {"status": status}, subresource="status")

    def _replicas(self, namespace: str, pods: list[Object]) -> int:
        """Return how many replicas the owners of the given pods want in total.

        A pod counts as one replica if its owner does not exist or is of a kind without replicas.
        """
        requested: dict[str, int] = {}
        for pod in pods:
            owners = [one for one in pod["metadata"].get("ownerReferences") or [] if one.get("controller")]
            owner = owners[0] if owners else None
            plural = _OWNERS.get(owner["kind"]) if owner else None
            found = self._objects.store.peek(plural, namespace, owner["name"]) if plural and owner else None
            if found and owner:
                requested[owner["uid"]] = int(found["spec"].get("replicas", 1))
            else:
                requested[pod["metadata"]["uid"]] = 1
        return sum(requested.values())
