# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a pod is to somebody who empties its node, or waits for it to be of use again. Pure.

A pod is a mapping as the API's JSON has it.
"""

from __future__ import annotations

import typing as t

Pod = t.Mapping[str, t.Any]

_MIRROR = "kubernetes.io/config.mirror"
"""Annotation of the API's picture of a static pod (kubernetes.io: Create static Pods)."""


class SortedPods(t.NamedTuple):
    """The pods of a node that is to be drained."""

    evict: list[Pod]
    ignored: dict[str, str]
    """By pod, why it stays."""
    refused: dict[str, str]
    """By pod, why it may not be evicted without being told so."""


def pod_name(pod: Pod) -> str:
    """NAMESPACE/NAME."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def going(pod: Pod) -> bool:
    """Whether it is being deleted."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def controller(pod: Pod) -> t.Mapping[str, t.Any]:
    """The reference to the object that makes a new one of it; empty for a pod of its own."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), {})


def sort_pods(pods: t.Iterable[Pod], *, force: bool, delete_emptydir_data: bool) -> SortedPods:
    """Says which pods of a node have to go, by the rules of `kubectl drain --ignore-daemonsets`.

    kubernetes/kubectl, pkg/drain/filters.go: DaemonSets' pods and static pods stay; what has finished may go; a pod
    with an emptyDir volume loses its data, one without a controller does not come back: both only where asked for.

    Args:
        pods: all of the node.
        force: pods without a controller may go.
        delete_emptydir_data: pods with emptyDir volumes may go.
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
            reasons = [] if finished or going(pod) else _objections(pod, force, delete_emptydir_data)
            if reasons:
                result.refused[name] = " and ".join(reasons)
            else:
                result.evict.append(pod)
    return result


def _objections(pod: Pod, force: bool, delete_emptydir_data: bool) -> list[str]:
    reasons = []
    if not delete_emptydir_data and any("emptyDir" in volume for volume in pod["spec"].get("volumes") or ()):
        reasons.append("it has emptyDir volumes, whose data would be lost (delete_emptydir_data: true allows it)")
    if not force and not controller(pod):
        reasons.append("no controller would make it again (force: true allows it)")
    return reasons


def covering(budgets: t.Iterable[t.Mapping[str, t.Any]], pod: Pod) -> list[str]:
    """Names of the PodDisruptionBudgets of a pod's namespace that are about it.

    In policy/v1 an empty selector is about every pod, none at all about no pod.
    """
    labels = pod["metadata"].get("labels") or {}
    return [
        budget["metadata"]["name"]
        for budget in budgets
        if budget["spec"].get("selector") is not None and _selects(budget["spec"]["selector"], labels)
    ]


def _selects(selector: t.Mapping[str, t.Any], labels: t.Mapping[str, str]) -> bool:
    """Whether a label selector (kubernetes.io: Labels and Selectors) selects an object with these labels."""
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


def host_process_sets(pods: t.Iterable[Pod]) -> dict[str, list[Pod]]:
    """The pods of a node that DaemonSets run as HostProcess containers, by NAMESPACE/DAEMONSET.

    Those that are being deleted do not count.
    """
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        owner = controller(pod)
        if owner.get("kind") == "DaemonSet" and not going(pod) and _is_host_process(pod):
            found.setdefault(f"{pod['metadata']['namespace']}/{owner['name']}", []).append(pod)
    return found


def container_ids(pods: t.Iterable[Pod]) -> list[str]:
    """Ids of the containers that the pods' status tells of; each start of a container makes a new one."""
    statuses = (status for pod in pods for status in (pod.get("status") or {}).get("containerStatuses") or ())
    return sorted(status["containerID"] for status in statuses if status.get("containerID"))


def host_process_missing(pods: t.Iterable[Pod], before: t.Mapping[str, t.Collection[str]]) -> list[str]:
    """What is not yet as it should be with the HostProcess DaemonSets of a node.

    Args:
        pods: all of the node.
        before: container ids by DaemonSet, from before the node rebooted: until the kubelet has reported, the cluster
            still believes that those run.

    Returns:
        Sentences; none where every set's pod is Ready.
    """
    sets = host_process_sets(pods)
    missing = [f"DaemonSet {name} has no pod on it" for name in sorted(set(before) - set(sets))]
    for name, members in sorted(sets.items()):
        if set(container_ids(members)) & set(before.get(name, ())):
            missing.append(f"the kubelet has not reported DaemonSet {name} since the reboot")
            continue
        missing += [f"pod {pod_name(pod)} is not ready{_waits_for(pod)}" for pod in members if not _is_ready(pod)]
    return missing


def _is_ready(pod: Pod) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _waits_for(pod: Pod) -> str:
    """Why a container of a pod does not run, in the kubelet's words."""
    status = pod.get("status") or {}
    for one in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        waiting = (one.get("state") or {}).get("waiting") or {}
        if waiting.get("reason"):
            return f" ({waiting['reason']})"
    return ""


def _is_host_process(pod: Pod) -> bool:
    """Whether a pod, or a container of it, is a HostProcess one; all or none of a pod's containers are."""
    levels = [pod["spec"], *(pod["spec"].get("containers") or ())]
    options = (((level.get("securityContext") or {}).get("windowsOptions") or {}) for level in levels)
    return any(option.get("hostProcess") for option in options)
