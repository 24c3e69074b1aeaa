# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The status of a pod, as a kubelet reports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from simulator.kubernetes_node.cri.shims import Container


@dataclass(frozen=True)
class Known:
    """The state of a container: its runs, the reason if it is waiting, and whether its readiness probe succeeds."""

    current: Container | None
    last: Container | None
    restarts: int
    waiting: str
    message: str
    ready: bool = True


def build(pod: Mapping[str, Any], known: Mapping[str, Known], address: str, host: str, event: str) -> dict[str, Any]:
    """Return the status of a pod.

    Args:
        known: the states of the containers by name. A container without an entry has not started.
        address: the address of the pod, or an empty string while the pod has no sandbox.
        event: the reason why the pod makes no progress, which becomes the status message, or an empty string.
    """
    spec, metadata = pod["spec"], pod["metadata"]
    initial = [_container(item, known.get(item["name"]), True) for item in spec.get("initContainers") or []]
    statuses = [_container(item, known.get(item["name"]), bool(initial)) for item in spec["containers"]]
    initialized = all(
        "terminated" in item["state"] and item["state"]["terminated"]["exitCode"] == 0 for item in initial
    )
    ready = initialized and all(item["ready"] for item in statuses)
    phase = _phase(spec, initial, statuses)
    before = {item["type"]: item for item in (pod.get("status") or {}).get("conditions") or []}
    conditions = []
    for kind, holds, reason in (
        ("PodReadyToStartContainers", bool(address), ""),
        ("Initialized", initialized, "ContainersNotInitialized"),
        ("Ready", ready, "ContainersNotReady"),
        ("ContainersReady", ready, "ContainersNotReady"),
        ("PodScheduled", True, ""),
    ):
        state = "True" if holds else "False"
        old = before.get(kind, {})
        moment = old.get("lastTransitionTime") if old.get("status") == state else None
        condition = {"type": kind, "status": state, "lastTransitionTime": moment or _latest(known, metadata)}
        if not holds and reason:
            condition["reason"] = reason
        conditions.append(condition)
    found: dict[str, Any] = {
        "phase": phase,
        "conditions": conditions,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "startTime": (pod.get("status") or {}).get("startTime") or metadata.get("creationTimestamp"),
        "containerStatuses": statuses,
        "message": event or None,
    }
    if initial:
        found["initContainerStatuses"] = initial
    if address:
        found |= {"podIP": address, "podIPs": [{"ip": address}]}
    return found


def _phase(spec: Mapping[str, Any], initial: list[dict[str, Any]], statuses: list[dict[str, Any]]) -> str:
    policy = spec.get("restartPolicy", "Always")
    ended = [item["state"].get("terminated") for item in statuses]
    if all(ended) and policy != "Always":
        if all(item["exitCode"] == 0 for item in ended if item):
            return "Succeeded"
        if policy == "Never":
            return "Failed"
    failed = [item for item in initial if item["state"].get("terminated", {}).get("exitCode", 0) != 0]
    if failed and policy == "Never":
        return "Failed"
    if any("running" in item["state"] or item["restartCount"] or item["state"].get("terminated") for item in statuses):
        return "Running"
    return "Pending"


def _container(container: Mapping[str, Any], known: Known | None, after_init: bool) -> dict[str, Any]:
    current = known.current if known else None
    found: dict[str, Any] = {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": known.restarts if known else 0,
        "lastState": {},
    }
    if known and known.last:
        found["lastState"] = {"terminated": _terminated(known.last)}
    if current is None:
        reason = known.waiting if known else ("PodInitializing" if after_init else "ContainerCreating")
        message = known.message if known else ""
        found["state"] = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        return found
    found["imageID"] = current.image_id
    found["containerID"] = f"containerd://{current.id}"
    if current.alive:
        found["state"] = {"running": {"startedAt": _text(current.started)}}
        found["started"], found["ready"] = True, known.ready if known else True
    elif known and known.waiting == "CrashLoopBackOff" and current.state == "EXITED":
        found["state"] = {"waiting": {"reason": known.waiting, "message": known.message}}
        found["lastState"] = {"terminated": _terminated(current)}
    else:
        found["state"] = {"terminated": _terminated(current)}
        found["ready"] = current.exit_code == 0
    return found


def _terminated(container: Container) -> dict[str, Any]:
    found: dict[str, Any] = {
        "exitCode": container.exit_code,
        "reason": container.reason or "Error",
        "startedAt": _text(container.started),
        "finishedAt": _text(container.finished),
        "containerID": f"containerd://{container.id}",
    }
    if container.message:
        found["message"] = container.message
    return found


def _latest(known: Mapping[str, Known], metadata: Mapping[str, Any]) -> str:
    times = [
        moment
        for item in known.values()
        if item.current
        for moment in (item.current.started, item.current.finished)
        if moment
    ]
    return _text(max(times)) if times else str(metadata.get("creationTimestamp"))


def _text(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else "1970-01-01T00:00:00Z"
