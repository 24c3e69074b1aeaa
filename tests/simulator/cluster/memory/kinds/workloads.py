# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Set the defaults of DaemonSets, Deployments, ReplicaSets and PodDisruptionBudgets, and validate them."""

from __future__ import annotations

from ..errors import Cause, required, unsupported, wrong
from ..resources import Object
from ..selectors import selector_matches
from .context import Context
from .pod_defaults import default_pod_spec
from .pod_validation import validate_pod_spec

_STRATEGIES = {"daemonsets": ("RollingUpdate", "OnDelete"), "deployments": ("Recreate", "RollingUpdate")}


def create_workload(plural: str, obj: Object) -> None:
    """Set the defaults of a workload such as a Deployment.

    Source: k8s.io/kubernetes/pkg/apis/apps/v1/defaults.go.
    """
    spec = obj.setdefault("spec", {})
    default_pod_spec(spec.setdefault("template", {}).setdefault("spec", {}))
    if plural == "daemonsets":
        spec.setdefault("revisionHistoryLimit", 10)
        strategy = spec.setdefault("updateStrategy", {})
        if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        return
    spec.setdefault("replicas", 1)
    if plural == "deployments":
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)
        strategy = spec.setdefault("strategy", {})
        if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")


def validate_workload(plural: str, obj: Object, old: Object | None) -> list[Cause]:
    """Validate the selector, strategy and pod template of a workload, and return the errors."""
    spec, causes = obj["spec"], []
    selector, template = spec.get("selector"), spec["template"]
    labels = template.get("metadata", {}).get("labels") or {}
    if not selector:
        causes.append(required("spec.selector"))
    elif not selector_matches(selector, labels):
        text = "`selector` does not match template `labels`"
        causes.append(wrong("spec.template.metadata.labels", labels, text))
    if old is not None and selector != old["spec"].get("selector"):
        causes.append(wrong("spec.selector", selector, "field is immutable"))
    field = "updateStrategy" if plural == "daemonsets" else "strategy"
    kind = (spec.get(field) or {}).get("type", "")
    if plural in _STRATEGIES and kind not in _STRATEGIES[plural]:
        causes.append(unsupported(f"spec.{field}.type", kind, _STRATEGIES[plural]))
    if template["spec"]["restartPolicy"] != "Always":
        causes.append(unsupported("spec.template.spec.restartPolicy", template["spec"]["restartPolicy"], ("Always",)))
    return causes + validate_pod_spec(template["spec"], "spec.template.spec")


def validate_budget(obj: Object, old: Object | None) -> list[Cause]:
    """Validate a PodDisruptionBudget, and return the errors."""
    spec = obj.get("spec", {})
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        return [wrong("spec", "", text)]
    return []


def create_budget(context: Context, obj: Object) -> None:
    """Set the status of a new PodDisruptionBudget. It allows no disruption until the disruption controller has run."""
    obj["status"] = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
