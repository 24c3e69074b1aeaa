# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compute the status of PodDisruptionBudgets, and check evictions against them.

Sources: k8s.io/kubernetes/pkg/controller/disruption and pkg/registry/core/pod/storage/eviction.go.
"""

from __future__ import annotations

import math

from . import clock
from .errors import ApiErrorResponse
from .resources import Object
from .selectors import selector_matches

_REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget."
_MULTIPLE = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def is_ready(pod: Object) -> bool:
    """Return whether a pod's Ready condition is true."""
    conditions = pod.get("status", {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def scaled(value: int | str | None, total: int, *, up: bool = True) -> int:
    """Return `value` as a number. A percentage means that share of `total`, rounded up if `up` is true, else down."""
    if isinstance(value, str) and value.endswith("%"):
        share = int(value[:-1]) * total / 100
        return math.ceil(share) if up else math.floor(share)
    return int(value or 0)


def covers(budget: Object, pod: Object) -> bool:
    """Return whether a PodDisruptionBudget applies to a pod."""
    if budget["metadata"]["namespace"] != pod["metadata"]["namespace"]:
        return False
    return selector_matches(budget["spec"].get("selector"), pod["metadata"].get("labels") or {})


def budget_status(budget: Object, pods: list[Object], desired_replicas: int) -> Object:
    """Return the current status of a PodDisruptionBudget.

    Args:
        budget: the PodDisruptionBudget.
        pods: the pods to which it applies.
        desired_replicas: the number of replicas that the owners of these pods want in total.
    """
    spec, generation = budget["spec"], budget["metadata"].get("generation", 1)
    before = budget.get("status", {})
    alive = [pod for pod in pods if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")]
    names = {pod["metadata"]["name"] for pod in alive if not pod["metadata"].get("deletionTimestamp")}
    disrupted = {
        name: when
        for name, when in (before.get("disruptedPods") or {}).items()
        if name in names and clock.age(when) < 120
    }
    healthy = sum(is_ready(pod) and pod["metadata"]["name"] in names - disrupted.keys() for pod in alive)
    if spec.get("maxUnavailable") is not None:
        expected = desired_replicas
        desired = max(0, expected - scaled(spec["maxUnavailable"], expected))
    else:
        minimum = spec.get("minAvailable", 1)
        expected = desired_replicas if isinstance(minimum, str) else len(alive)
        desired = scaled(minimum, expected)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    status: Object = {
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "observedGeneration": generation,
        "conditions": _conditions(before, allowed, generation),
    }
    return status | ({"disruptedPods": disrupted} if disrupted else {})


def _conditions(before: Object, allowed: int, generation: int) -> list[Object]:
    value, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    old: Object = next(iter(before.get("conditions") or []), {})
    since = old.get("lastTransitionTime") if old.get("status") == value else None
    condition = {"type": "DisruptionAllowed", "status": value, "reason": reason, "message": ""}
    return [condition | {"lastTransitionTime": since or clock.now(), "observedGeneration": generation}]


def needs_no_budget(pod: Object) -> bool:
    """Return whether a pod's eviction needs no budget, because the pod is not running or is already being deleted."""
    phase = pod.get("status", {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or bool(pod["metadata"].get("deletionTimestamp"))


def charge(budgets: list[Object], pod: Object) -> Object | None:
    """Use up one of the disruptions that a pod's PodDisruptionBudget allows.

    Args:
        budgets: the PodDisruptionBudgets that apply to the pod.
        pod: the pod to evict.

    Returns:
        The budget's new status, or None if it does not change.

    Raises:
        ApiErrorResponse: the budget allows no disruption or has changed since its status was computed (429), or more
            than one budget applies to the pod (500).
    """
    if needs_no_budget(pod) or not budgets:
        return None
    if len(budgets) > 1:
        raise ApiErrorResponse(500, "InternalError", f"Internal error occurred: {_MULTIPLE}")
    budget = budgets[0]
    name, status = budget["metadata"]["name"], budget.get("status", {})
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if not is_ready(pod):
        always = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
        if always or (healthy >= desired and desired > 0):
            return None
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", 10)
    if status.get("disruptionsAllowed", 0) <= 0:
        text = f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        raise _too_many(text, 0)
    disrupted = dict(status.get("disruptedPods") or {}) | {pod["metadata"]["name"]: clock.now()}
    charged: Object = status | {"disruptionsAllowed": status["disruptionsAllowed"] - 1, "disruptedPods": disrupted}
    return charged


def _too_many(text: str, seconds: int) -> ApiErrorResponse:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": text}]}
    if seconds:
        details["retryAfterSeconds"] = seconds
    return ApiErrorResponse(429, "TooManyRequests", _REFUSAL, details)
