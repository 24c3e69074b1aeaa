# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Determine which pods of a node to evict before maintenance, and which must be ready afterwards (no I/O).

The functions take pods as the API returns them.
"""

from __future__ import annotations

import typing as t

Pod = t.Mapping[str, t.Any]

_MIRROR = "kubernetes.io/config.mirror"
"""The annotation that the mirror pod of a static pod has. Source: kubernetes.io, Create static Pods."""


class SortedPods(t.NamedTuple):
    """The pods of a node, grouped by how a drain treats them."""

    evict: list[Pod]
    ignored: dict[str, str]
    """Maps pod names to the reasons why these pods stay on the node."""
    refused: dict[str, str]
    """Maps pod names to the reasons why these pods are evicted only if the user allows it."""


def pod_name(pod: Pod) -> str:
    """Return the namespace and name of a pod as NAMESPACE/NAME."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def is_being_deleted(pod: Pod) -> bool:
    """Return whether the pod is being deleted."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def controller(pod: Pod) -> t.Mapping[str, t.Any]:
    """Return the owner reference of the pod's controller, or an empty mapping if the pod has no controller."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), {})


def sort_pods(pods: t.Iterable[Pod], *, force: bool, delete_emptydir_data: bool) -> SortedPods:
    """Group the pods of a node by how a drain treats them, as `kubectl drain --ignore-daemonsets` does.

    Pods of DaemonSets and static pods stay, and finished pods are evicted. A pod with an emptyDir volume would lose its
    data, and a pod without a controller would not be recreated. Such pods are evicted only if the user allows it.
    Source: kubernetes/kubectl, pkg/drain/filters.go.

    Args:
        pods: all pods of the node.
        force: whether to evict pods without a controller.
        delete_emptydir_data: whether to evict pods with emptyDir volumes.
    """
    result = SortedPods([], {}, {})
    for pod in pods:
        name = pod_name(pod)
        finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        owner = controller(pod)
        if owner.get("kind") == "DaemonSet" and not finished:
            result.ignored[name] = f"DaemonSet {owner['name']}"
        elif _MIRROR in (pod["metadata"].get("annotations") or {}):
            result.ignored[name] = "static pod"
        else:
            reasons = [] if finished or is_being_deleted(pod) else _objections(pod, force, delete_emptydir_data)
            if reasons:
                result.refused[name] = " and ".join(reasons)
            else:
                result.evict.append(pod)
    return result


def _objections(pod: Pod, force: bool, delete_emptydir_data: bool) -> list[str]:
    reasons = []
    if not delete_emptydir_data and any("emptyDir" in volume for volume in pod["spec"].get("volumes") or ()):
        reasons.append("it has emptyDir volumes, whose data would be lost (delete_emptydir_data: true allows this)")
    if not force and not controller(pod):
        reasons.append("it has no controller that would recreate it (force: true allows this)")
    return reasons


def covering(budgets: t.Iterable[t.Mapping[str, t.Any]], pod: Pod) -> list[str]:
    """Return the names of the PodDisruptionBudgets that select a pod.

    In the policy/v1 API, an empty selector selects every pod, and a PodDisruptionBudget without a selector
    selects no pod.
    """
    labels = pod["metadata"].get("labels") or {}
    return [
        budget["metadata"]["name"]
        for budget in budgets
        if budget["spec"].get("selector") is not None and _selects(budget["spec"]["selector"], labels)
    ]


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def _selects(selector: t.Mapping[str, t.Any], labels: t.Mapping[str, str]) -> bool:
    """Return whether a label selector selects an object with the given labels.

    Source: kubernetes.io, Labels and Selectors.
    """
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for one in selector.get("matchExpressions") or ():
        present = one["key"] in labels
        matches = {
            "In": present and labels.get(one["key"]) in (one.get("values") or ()),
            "NotIn": labels.get(one["key"]) not in (one.get("values") or ()),
            "Exists": present,
            "DoesNotExist": not present,
        }
        if not matches.get(one["operator"], False):
            return False
    return True


def may_run_on(daemon_set: t.Mapping[str, t.Any], labels: t.Mapping[str, str]) -> bool:
    """Return whether the node selector and node affinity of a DaemonSet select a node with the given labels.

    Node affinity expressions with the operators Gt and Lt are ignored, as if they selected every node. Source:
    kubernetes.io, Assigning Pods to Nodes.
    """
    pod = daemon_set["spec"]["template"]["spec"]
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = [one.get("matchExpressions") or () for one in required.get("nodeSelectorTerms") or ()]
    known = [[one for one in term if one["operator"] in _OPERATORS] for term in terms] or [[]]
    selector = pod.get("nodeSelector") or {}
    return any(_selects({"matchLabels": selector, "matchExpressions": term}, labels) for term in known)


def host_process_sets(pods: t.Iterable[Pod]) -> dict[str, list[Pod]]:
    """Return a mapping from each DaemonSet that runs HostProcess containers on a node to its pods on this node.

    The keys are `NAMESPACE/NAME`. Pods that are being deleted are not included.

    Args:
        pods: all pods of the node.
    """
    sets: dict[str, list[Pod]] = {}
    for pod in pods:
        owner = controller(pod)
        if owner.get("kind") == "DaemonSet" and not is_being_deleted(pod) and _is_host_process(pod):
            sets.setdefault(f"{pod['metadata']['namespace']}/{owner['name']}", []).append(pod)
    return sets


def has_own_network(pod: Pod) -> bool:
    """Return whether a pod has not ended and has its own IP address instead of the node's address (`hostNetwork`)."""
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not ended and not pod["spec"].get("hostNetwork")


def container_ids(pods: t.Iterable[Pod]) -> list[str]:
    """Return the IDs of the containers in the status of pods. A container gets a new ID each time it starts."""
    statuses = (status for pod in pods for status in (pod.get("status") or {}).get("containerStatuses") or ())
    return sorted(status["containerID"] for status in statuses if status.get("containerID"))


def host_process_missing(pods: t.Iterable[Pod], before: t.Mapping[str, t.Collection[str]]) -> list[str]:
    """Return which pods of DaemonSets with HostProcess containers are not ready on a node after a reboot.

    Args:
        pods: all pods of the node.
        before: maps each DaemonSet (`NAMESPACE/NAME`) to the IDs of its containers before the reboot. The cluster
            shows these containers as running until the kubelet reports again.

    Returns:
        Messages, or an empty list if all these pods are ready.
    """
    sets = host_process_sets(pods)
    missing = [f"DaemonSet {name} has no pod on this node" for name in sorted(set(before) - set(sets))]
    for name, members in sorted(sets.items()):
        if set(container_ids(members)) & set(before.get(name, ())):
            missing.append(f"the kubelet has not reported DaemonSet {name} since the reboot")
            continue
        missing += [f"pod {pod_name(pod)} is not ready{_waits_for(pod)}" for pod in members if not is_pod_ready(pod)]
    return missing


def daemon_set_missing(pods: t.Iterable[Pod], node: str, expected: t.Iterable[str]) -> list[str]:
    """Return which DaemonSets have no ready pod on a node.

    Args:
        pods: pods, which may belong to several nodes.
        node: name of the node.
        expected: the DaemonSets to check, each as `NAMESPACE/NAME`.

    Returns:
        Messages, or an empty list if every DaemonSet has a ready pod.
    """
    sets: dict[str, list[Pod]] = {}
    for pod in pods:
        owner = controller(pod)
        is_here = pod["spec"].get("nodeName") == node and not is_being_deleted(pod)
        if is_here and owner.get("kind") == "DaemonSet":
            sets.setdefault(f"{pod['metadata']['namespace']}/{owner['name']}", []).append(pod)
    missing = []
    for name in sorted(expected):
        members = sets.get(name, [])
        if not members:
            missing.append(f"DaemonSet {name} has no pod on this node")
        elif not any(map(is_pod_ready, members)):
            missing += [f"pod {pod_name(pod)} is not ready{_waits_for(pod)}" for pod in members]
    return missing


def is_pod_ready(pod: Pod) -> bool:
    """Return whether a pod is ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _waits_for(pod: Pod) -> str:
    """Return the reason why a pod's container is waiting, in parentheses, or an empty string if no reason is known."""
    status = pod.get("status") or {}
    for one in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        waiting = (one.get("state") or {}).get("waiting") or {}
        if waiting.get("reason"):
            return f" ({waiting['reason']})"
    return ""


def _is_host_process(pod: Pod) -> bool:
    """Return whether the containers of a pod are HostProcess containers. In a pod, either all of them are, or none."""
    levels = [pod["spec"], *(pod["spec"].get("containers") or ())]
    options = (((level.get("securityContext") or {}).get("windowsOptions") or {}) for level in levels)
    return any(option.get("hostProcess") for option in options)
