# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Deployment and ReplicaSet controllers, simplified for tests.

In a rollout, the new ReplicaSet grows first, and then the old ReplicaSets shrink.
"""

from __future__ import annotations

import copy

from .. import clock
from ..budgets import is_ready, scaled
from ..objects import Objects
from ..resources import Object, type_of
from .daemonsets import is_alive, owned, owner_reference, template_hash

_REVISION = "deployment.kubernetes.io/revision"


class ReplicaSetController:
    """The controller that keeps each ReplicaSet at its desired number of pods."""

    watches: tuple[str, ...] = ("replicasets", "pods")
    every = 0.0

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def sync(self) -> None:
        """Reconcile the pods of every ReplicaSet."""
        for one in self._objects.store.peek_all("replicasets"):
            if not one["metadata"].get("deletionTimestamp"):
                self._sync_one(one)

    def _sync_one(self, owner: Object) -> None:
        namespace = owner["metadata"]["namespace"]
        pods = [pod for pod in owned(owner, self._objects.store.peek_all("pods", namespace)) if is_alive(pod)]
        requested = owner["spec"]["replicas"]
        for _ in range(requested - len(pods)):
            template = copy.deepcopy(owner["spec"]["template"])
            metadata = template.get("metadata") or {}
            metadata |= {"generateName": f"{owner['metadata']['name']}-", "ownerReferences": [owner_reference(owner)]}
            self._objects.create(type_of("pods"), namespace, {"metadata": metadata, "spec": template["spec"]})
        # The least useful pods are deleted first.
        pods.sort(key=lambda pod: (is_ready(pod), bool(pod["spec"].get("nodeName"))))
        for pod in pods[: max(0, len(pods) - requested)]:
            self._objects.delete(type_of("pods"), namespace, pod["metadata"]["name"], {})
        left = [pod for pod in owned(owner, self._objects.store.peek_all("pods", namespace)) if is_alive(pod)]
        ready = sum(is_ready(pod) for pod in left)
        status: Object = {"replicas": len(left), "observedGeneration": owner["metadata"]["generation"]}
        if left:
            status["fullyLabeledReplicas"] = len(left)
        if ready:
            status |= {"readyReplicas": ready, "availableReplicas": ready}
        self._objects.update(
            type_of("replicasets"),
            namespace,
            owner["metadata"]["name"],
            lambda live: live | {"status": status},
            subresource="status",
        )


class DeploymentController:
    """The controller that keeps a ReplicaSet for each Deployment's pod template, and scales down older ReplicaSets."""

    watches: tuple[str, ...] = ("deployments", "replicasets")
    every = 0.0

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def sync(self) -> None:
        """Reconcile the ReplicaSets of every Deployment."""
        for one in self._objects.store.peek_all("deployments"):
            if not one["metadata"].get("deletionTimestamp"):
                self._sync_one(one)

    def _sync_one(self, owner: Object) -> None:
        namespace, requested = owner["metadata"]["namespace"], owner["spec"]["replicas"]
        revision = template_hash(owner["spec"]["template"])
        sets = owned(owner, self._objects.store.peek_all("replicasets", namespace))
        newest = next((one for one in sets if one["metadata"]["labels"].get("pod-template-hash") == revision), None)
        if newest is None:
            newest = self._create(owner, revision, len(sets) + 1)
        self._scale(newest, requested)
        others = [one for one in sets if one["metadata"]["uid"] != newest["metadata"]["uid"]]
        available = _number(newest, "availableReplicas")
        for one in others:
            self._scale(one, min(one["spec"]["replicas"], max(0, requested - available)))
        self._count(owner, newest, others)

    def _create(self, owner: Object, revision: str, number: int) -> Object:
        metadata, template = owner["metadata"], copy.deepcopy(owner["spec"]["template"])
        labels = dict(template["metadata"].get("labels") or {}) | {"pod-template-hash": revision}
        template["metadata"]["labels"] = labels
        selector = copy.deepcopy(owner["spec"]["selector"])
        selector["matchLabels"] = (selector.get("matchLabels") or {}) | {"pod-template-hash": revision}
        new: Object = {
            "metadata": {
                "name": f"{metadata['name']}-{revision}",
                "labels": dict(labels),
                "annotations": {_REVISION: str(number)},
                "ownerReferences": [owner_reference(owner)],
            },
            "spec": {"replicas": owner["spec"]["replicas"], "selector": selector, "template": template},
        }
        return self._objects.create(type_of("replicasets"), metadata["namespace"], new)

    def _scale(self, one: Object, replicas: int) -> None:
        if one["spec"]["replicas"] != replicas:
            metadata = one["metadata"]
            self._objects.update(
                type_of("replicasets"),
                metadata["namespace"],
                metadata["name"],
                lambda live: live | {"spec": live["spec"] | {"replicas": replicas}},
            )

    def _count(self, owner: Object, newest: Object, others: list[Object]) -> None:
        everything, requested = [newest, *others], owner["spec"]["replicas"]
        total, ready = (sum(_number(one, key) for one in everything) for key in ("replicas", "readyReplicas"))
        unavailable = max(0, requested - ready)
        rolling = (owner["spec"]["strategy"].get("rollingUpdate") or {}).get("maxUnavailable", 0)
        enough = ready >= requested - scaled(rolling, requested, up=False)
        complete = _number(newest, "availableReplicas") >= requested and total == requested
        status: Object = {"observedGeneration": owner["metadata"]["generation"]}
        numbers = {
            "replicas": total,
            "updatedReplicas": _number(newest, "replicas"),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": unavailable,
        }
        status |= {key: value for key, value in numbers.items() if value}
        before = owner.get("status", {}).get("conditions") or []
        status["conditions"] = [
            _condition(before, "Available", enough, "MinimumReplicas" + ("Available" if enough else "Unavailable")),
            _condition(before, "Progressing", True, "NewReplicaSetAvailable" if complete else "ReplicaSetUpdated"),
        ]
        metadata = owner["metadata"]
        self._objects.update(
            type_of("deployments"),
            metadata["namespace"],
            metadata["name"],
            lambda live: live | {"status": status},
            subresource="status",
        )


def _number(one: Object, key: str) -> int:
    return int(one.get("status", {}).get(key, 0))


def _condition(before: list[Object], kind: str, value: bool, reason: str) -> Object:
    old = next((one for one in before if one["type"] == kind), {})
    status = "True" if value else "False"
    if (old.get("status"), old.get("reason")) == (status, reason):
        return old
    now = clock.now()
    since = old["lastTransitionTime"] if old.get("status") == status else now
    return {"type": kind, "status": status, "reason": reason, "lastUpdateTime": now, "lastTransitionTime": since}
