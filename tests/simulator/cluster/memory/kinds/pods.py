# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Set the fields of new pods as admission does, and check which fields an update changes."""

from __future__ import annotations

import random
from typing import Any

from ..errors import ApiErrorResponse, Cause, forbidden
from ..resources import Object
from .context import Context
from .pod_defaults import default_pod_spec
from .pod_validation import validate_pod_spec

_TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_MUTABLE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates")
_IMMUTABLE = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing"
    " tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def create_pod(context: Context, obj: Object) -> None:
    """Set a pod's defaults as the ServiceAccount, Priority and DefaultTolerationSeconds admission plug-ins do."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("enableServiceLinks", True)
    mirror = "kubernetes.io/config.mirror" in obj["metadata"].get("annotations", {})
    if not mirror:
        _service_account(context, obj)
    default_pod_spec(spec)
    _priority(context, obj)
    if not mirror:
        _toleration_seconds(spec)
    obj["status"] = {"phase": "Pending", "qosClass": _quality_of_service(spec)}


def _service_account(context: Context, obj: Object) -> None:
    spec, metadata = obj["spec"], obj["metadata"]
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    account = context.store.peek("serviceaccounts", metadata["namespace"], name)
    if account is None:
        found = f'serviceaccount "{name}" not found'
        why = f"error looking up service account {metadata['namespace']}/{name}: {found}"
        raise forbidden("pods", "", metadata["name"], why)
    spec["serviceAccountName"] = name
    mount = spec.get("automountServiceAccountToken")
    if mount is False or (mount is None and account.get("automountServiceAccountToken") is False):
        return
    containers = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    missing = [c for c in containers if all(m.get("mountPath") != _TOKEN_MOUNT for m in c.get("volumeMounts") or [])]
    if not missing:
        return
    volume = f"kube-api-access-{''.join(random.choices('bcdfghjklmnpqrstvwxz2456789', k=5))}"
    for container in missing:
        mounts = container["volumeMounts"] = list(container.get("volumeMounts") or [])
        mounts.append({"name": volume, "readOnly": True, "mountPath": _TOKEN_MOUNT})
    spec["volumes"] = [*(spec.get("volumes") or []), {"name": volume, "projected": _token_sources()}]


def _token_sources() -> Object:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources: list[dict[str, Any]] = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"sources": sources, "defaultMode": 0o644}


def _priority(context: Context, obj: Object) -> None:
    spec = obj["spec"]
    name = spec.get("priorityClassName")
    spec["preemptionPolicy"] = "PreemptLowerPriority"
    if not name:
        spec["priority"] = 0
        return
    found = context.store.peek("priorityclasses", "", name)
    if found is None:
        raise forbidden("pods", "", obj["metadata"]["name"], f"no PriorityClass with name {name} was found")
    spec["priority"] = found["value"]


def _toleration_seconds(spec: Object) -> None:
    tolerations = spec["tolerations"] = list(spec.get("tolerations") or [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        covered = any(
            (one.get("key") == key or not one.get("key")) and one.get("effect") in (None, "", "NoExecute")
            for one in tolerations
        )
        if not covered:
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})


def _quality_of_service(spec: Object) -> str:
    resources = [one.get("resources") or {} for one in spec.get("containers") or []]
    if not any(one.get("requests") or one.get("limits") for one in resources):
        return "BestEffort"
    guaranteed = all(
        set(one.get("limits") or {}) >= {"cpu", "memory"} and (one.get("requests") or one["limits"]) == one["limits"]
        for one in resources
    )
    return "Guaranteed" if guaranteed else "Burstable"


def validate_pod(obj: Object, old: Object | None) -> list[Cause]:
    """Return the errors in a new pod's spec, or one error if an update changes an immutable field of the spec."""
    if old is None:
        return validate_pod_spec(obj["spec"])
    if _frozen(obj["spec"]) != _frozen(old["spec"]):
        return [Cause("spec", "FieldValueForbidden", _IMMUTABLE)]
    return []


def _frozen(spec: Object) -> Object:
    kept = {key: value for key, value in spec.items() if key not in _MUTABLE}
    for kind in ("containers", "initContainers"):
        kept[kind] = [{k: v for k, v in one.items() if k != "image"} for one in spec.get(kind) or []]
    return kept


def check_pod_of_node(node: str, obj: Object) -> ApiErrorResponse | None:
    """Return an error unless a pod is a mirror pod of the given node.

    The NodeRestriction admission plug-in lets a kubelet create only such pods.
    """
    name = obj["metadata"].get("name", "")
    if "kubernetes.io/config.mirror" not in obj["metadata"].get("annotations", {}):
        text = 'pod does not have "kubernetes.io/config.mirror" annotation'
        return forbidden("pods", "", name, f'{text}, node "{node}" can only create mirror pods')
    if obj.get("spec", {}).get("nodeName") != node:
        return forbidden("pods", "", name, f'node "{node}" can only create pods with spec.nodeName set to itself')
    return None
