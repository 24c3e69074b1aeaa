# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The DaemonSet controller, which runs one pod on each eligible node.

Source: k8s.io/kubernetes/pkg/controller/daemon.
"""

from __future__ import annotations

import copy
import hashlib
import json

from ..budgets import is_ready, scaled
from ..errors import ApiErrorResponse
from ..objects import Objects
from ..resources import Object, type_of
from .placement import UNSCHEDULABLE, selects, untolerated

_EVERYWHERE = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    (UNSCHEDULABLE, "NoSchedule"),
)
_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def template_hash(template: Object) -> str:
    """Return a short hash of a pod template, for use in names. Equal templates have the same hash."""
    digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()
    return "".join("bcdfghjklmnpqrstvwxz2456789"[int(digest[i : i + 2], 16) % 27] for i in range(0, 20, 2))


def owner_reference(owner: Object) -> Object:
    """Return an owner reference to a controlling object such as a DaemonSet."""
    metadata = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    return reference | {"uid": metadata["uid"], "controller": True, "blockOwnerDeletion": True}


def owned(owner: Object, objects: list[Object]) -> list[Object]:
    """Return only the objects that an owner such as a DaemonSet controls."""
    uid = owner["metadata"]["uid"]
    return [
        one
        for one in objects
        if any(ref["uid"] == uid and ref.get("controller") for ref in one["metadata"].get("ownerReferences") or [])
    ]


def is_alive(pod: Object) -> bool:
    """Return whether a pod counts as alive, that is, has not finished and is not being deleted."""
    gone = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return not gone and not pod["metadata"].get("deletionTimestamp")


class DaemonSetController:
    """The controller that creates, replaces and deletes the pods of DaemonSets, and updates the DaemonSets' status."""

    watches: tuple[str, ...] = ("daemonsets", "nodes", "pods")
    every = 0.0

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def sync(self) -> None:
        """Reconcile the pods of every DaemonSet."""
        store = self._objects.store
        failed: ApiErrorResponse | None = None
        for daemon in store.peek_all("daemonsets"):
            try:
                if not daemon["metadata"].get("deletionTimestamp"):
                    self._sync_one(daemon)
            except ApiErrorResponse as error:  # an error in one set must not stop the others
                failed = error
        if failed:
            raise failed

    def _sync_one(self, daemon: Object) -> None:
        store, spec = self._objects.store, daemon["spec"]["template"]["spec"]
        tolerations = [*(spec.get("tolerations") or []), *_added_tolerations(spec)]
        requested, allowed = set(), set()
        for node in store.peek_all("nodes"):
            if not selects(spec, node):
                continue
            name = node["metadata"]["name"]
            if not untolerated(node, tolerations, ("NoSchedule", "NoExecute")):
                requested.add(name)
            if not untolerated(node, tolerations, ("NoExecute",)):
                allowed.add(name)
        pods = owned(daemon, store.peek_all("pods", daemon["metadata"]["namespace"]))
        revision = template_hash(daemon["spec"]["template"])
        for pod in pods:
            failed = pod.get("status", {}).get("phase") in ("Failed", "Succeeded")
            if (failed or _node_of(pod) not in allowed) and not pod["metadata"].get("deletionTimestamp"):
                self._delete(pod)
        occupied = {_node_of(pod) for pod in pods if pod.get("status", {}).get("phase") not in ("Failed", "Succeeded")}
        for name in sorted(requested - occupied):
            self._create(daemon, name, tolerations, revision)
        self._replace_outdated(daemon, pods, requested, revision)
        pods = owned(daemon, store.peek_all("pods", daemon["metadata"]["namespace"]))
        self._count(daemon, pods, requested, revision)

    def _create(self, daemon: Object, node: str, tolerations: list[Object], revision: str) -> None:
        metadata, template = daemon["metadata"], copy.deepcopy(daemon["spec"]["template"])
        labels = dict(template.get("metadata", {}).get("labels") or {})
        labels |= {"controller-revision-hash": revision, "pod-template-generation": str(metadata.get("generation", 1))}
        spec = template["spec"] | {"tolerations": copy.deepcopy(tolerations)}
        affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        term = {"matchFields": [field]}
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [term]}
        pod: Object = {"metadata": {"generateName": f"{metadata['name']}-", "labels": labels}, "spec": spec}
        if annotations := template.get("metadata", {}).get("annotations"):
            pod["metadata"]["annotations"] = annotations
        pod["metadata"]["ownerReferences"] = [owner_reference(daemon)]
        self._objects.create(type_of("pods"), metadata["namespace"], pod)

    def _delete(self, pod: Object) -> None:
        metadata = pod["metadata"]
        self._objects.delete(type_of("pods"), metadata["namespace"], metadata["name"], {})

    def _replace_outdated(self, daemon: Object, pods: list[Object], requested: set[str], revision: str) -> None:
        """Delete a DaemonSet's outdated pods if they are not ready, and as many ready ones as maxUnavailable allows.

        A later sync creates the new pods.
        """
        strategy = daemon["spec"]["updateStrategy"]
        if strategy["type"] != "RollingUpdate":
            return
        ours = [pod for pod in pods if _node_of(pod) in requested]
        ready = {_node_of(pod) for pod in ours if is_alive(pod) and is_ready(pod)}
        outdated = [pod for pod in ours if is_alive(pod) and _revision_of(pod) != revision]
        for pod in [one for one in outdated if not is_ready(one)]:
            self._delete(pod)
        limit = max(1, scaled((strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1), len(requested)))
        spare = limit - len(requested - ready)
        for pod in [one for one in outdated if is_ready(one)][: max(0, spare)]:
            self._delete(pod)

    def _count(self, daemon: Object, pods: list[Object], requested: set[str], revision: str) -> None:
        alive = [pod for pod in pods if is_alive(pod)]
        placed = {_node_of(pod) for pod in alive}
        ready = {_node_of(pod) for pod in alive if is_ready(pod)} & requested
        updated = {_node_of(pod) for pod in alive if _revision_of(pod) == revision} & requested
        status: Object = {
            "currentNumberScheduled": len(placed & requested),
            "desiredNumberScheduled": len(requested),
            "numberMisscheduled": len(placed - requested),
            "numberReady": len(ready),
            "observedGeneration": daemon["metadata"].get("generation", 1),
        }
        optional = {
            "updatedNumberScheduled": len(updated),
            "numberAvailable": len(ready),
            "numberUnavailable": len(requested - ready),
        }
        status |= {key: value for key, value in optional.items() if value}
        metadata = daemon["metadata"]
        self._objects.update(
            type_of("daemonsets"),
            metadata["namespace"],
            metadata["name"],
            lambda live: live | {"status": status},
            subresource="status",
        )


def _added_tolerations(spec: Object) -> list[Object]:
    pairs = [*_EVERYWHERE, _HOST_NETWORK] if spec.get("hostNetwork") else _EVERYWHERE
    given = [(one.get("key"), one.get("effect")) for one in spec.get("tolerations") or []]
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in pairs if (key, effect) not in given]


def _node_of(pod: Object) -> str:
    """Return the name of the node on which a DaemonSet's pod runs or will run, or an empty string if there is none."""
    if name := pod["spec"].get("nodeName"):
        return str(name)
    affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in affinity.get("nodeSelectorTerms") or []:
        for field in term.get("matchFields") or []:
            return str(field["values"][0])
    return ""


def _revision_of(pod: Object) -> str:
    return str((pod["metadata"].get("labels") or {}).get("controller-revision-hash", ""))
