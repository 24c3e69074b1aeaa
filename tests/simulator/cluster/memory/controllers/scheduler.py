# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bind pods to nodes according to selectors, node affinity, taints and cordons. CPU and memory are ignored."""

from __future__ import annotations

from collections import Counter

from .. import clock
from ..objects import Objects
from ..resources import Object, type_of
from ..subresources import bind_pod
from .placement import schedulable, selects, untolerated

_EFFECTS = ("NoSchedule", "NoExecute")


class Scheduler:
    """The scheduler, which binds each pending pod to the eligible node with the fewest pods."""

    watches: tuple[str, ...] = ("pods", "nodes")
    every = 0.0

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def sync(self) -> None:
        """Bind the pods that have no node yet."""
        store = self._objects.store
        pods, nodes = store.peek_all("pods"), store.peek_all("nodes")
        load = Counter(pod["spec"].get("nodeName", "") for pod in pods)
        for pod in pods:
            waiting = not pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
            if waiting and pod["spec"].get("schedulerName") == "default-scheduler":
                self._schedule(pod, nodes, load)

    def _schedule(self, pod: Object, nodes: list[Object], load: Counter[str]) -> None:
        reasons = {node["metadata"]["name"]: refusal(pod["spec"], node) for node in nodes}
        fitting = [name for name, reason in reasons.items() if not reason]
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        if fitting:
            node = min(fitting, key=lambda one: (load[one], one))
            load[node] += 1
            bind_pod(self._objects, namespace, name, node)
            return
        counted = Counter(reasons.values())
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(counted.items()))
        text = f"0/{len(nodes)} nodes are available: {why}." if nodes else "no nodes available to schedule pods"
        self._note(pod, text)

    def _note(self, pod: Object, text: str) -> None:
        conditions = pod["status"].get("conditions") or []
        old: Object = next((one for one in conditions if one["type"] == "PodScheduled"), {})
        if old.get("message") == text:
            return
        new: Object = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": text}
        new |= {"lastProbeTime": None, "lastTransitionTime": old.get("lastTransitionTime") or clock.now()}
        others = [one for one in conditions if one["type"] != "PodScheduled"]
        status = pod["status"] | {"conditions": [*others, new]}
        metadata = pod["metadata"]
        self._objects.update(
            type_of("pods"),
            metadata["namespace"],
            metadata["name"],
            lambda live: live | {"status": status},
            subresource="status",
        )


def refusal(spec: Object, node: Object) -> str:
    """Return why the scheduler cannot bind a pod to a node, or an empty string if it can."""
    if not selects(spec, node):
        return "node(s) didn't match Pod's node affinity/selector"
    if not schedulable(spec, node):
        return "node(s) were unschedulable"
    taints = untolerated(node, spec.get("tolerations") or [], _EFFECTS)
    return f"node(s) had untolerated taint {{{taints[0]['key']}: {taints[0].get('value', '')}}}" if taints else ""
