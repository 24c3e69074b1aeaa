# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Taint new nodes, and limit what kubelets may write.

In kube-apiserver, the TaintNodesByCondition and NodeRestriction admission plug-ins do this.
"""

from __future__ import annotations

from ..errors import ApiErrorResponse, forbidden
from ..resources import Object
from .context import Context
from .pods import check_pod_of_node

NOT_READY = "node.kubernetes.io/not-ready"
# k8s.io/kubernetes/pkg/kubelet/apis/well_known_labels.go
_OWN_LABELS = {
    "kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/instance-type",
}  # fmt: skip
_OWN_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")


def create_node(context: Context, obj: Object) -> None:
    """Add the taint that a node has until it is ready, as the TaintNodesByCondition admission plug-in does."""
    spec = obj.setdefault("spec", {})
    taints = spec.get("taints") or []
    if all((one.get("key"), one.get("effect")) != (NOT_READY, "NoSchedule") for one in taints):
        spec["taints"] = [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]
    obj.setdefault("status", {})


def restrict(context: Context, verb: str, plural: str, obj: Object, old: Object | None) -> None:
    """Raise an error if a kubelet must not write an object. Other users are not checked.

    Args:
        context: the cluster and the user who sent the request.
        verb: create, update or delete.
        plural: the resource's plural name.
        obj: the new object, or the object to delete.
        old: the object before the change, or None if it is new.

    Raises:
        ApiErrorResponse: the object does not belong to the kubelet's node, or this change is not allowed (403).
    """
    node = context.user.node
    if not node:
        return
    error = None
    if plural == "nodes":
        error = _check_node(node, obj, old)
    elif plural == "pods" and verb == "create":
        error = check_pod_of_node(node, obj)
    elif plural == "pods" and (old or obj)["spec"].get("nodeName") != node:
        name = obj["metadata"]["name"]
        rule = "delete pods" if verb == "delete" else "update pod status for pods"
        error = forbidden("pods", "", name, f'node "{node}" can only {rule} with spec.nodeName set to itself')
    elif plural == "leases" and obj["metadata"]["name"] != node:
        why = "can only access node lease with the same name as the requesting node"
        error = forbidden("leases", "coordination.k8s.io", obj["metadata"]["name"], why)
    if error:
        raise error


def _check_node(node: str, obj: Object, old: Object | None) -> ApiErrorResponse | None:
    name = obj["metadata"]["name"]
    if name != node:
        return forbidden("nodes", "", name, f'node "{node}" is not allowed to modify node "{name}"')
    if old is not None and obj.get("spec", {}).get("taints") != old.get("spec", {}).get("taints"):
        return forbidden("nodes", "", name, f'node "{node}" is not allowed to modify taints')
    before = (old or {}).get("metadata", {}).get("labels") or {}
    after = obj["metadata"].get("labels") or {}
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    wrong = sorted(key for key in changed if _kept_from_kubelets(key))
    if wrong:
        what = "set the following labels" if old is None else "modify labels"
        return forbidden("nodes", "", name, f'node "{node}" is not allowed to {what}: {", ".join(wrong)}')
    return None


def _kept_from_kubelets(label: str) -> bool:
    domain = label.partition("/")[0] if "/" in label else ""
    if domain == "node-restriction.kubernetes.io" or domain.endswith(".node-restriction.kubernetes.io"):
        return True
    ours = any(domain == one or domain.endswith("." + one) for one in ("kubernetes.io", "k8s.io"))
    own = label in _OWN_LABELS or any(domain == one or domain.endswith("." + one) for one in _OWN_PREFIXES)
    return ours and not own
