# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Authorize API requests with RBAC and, for kubelets, with the node authorizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .errors import ApiErrorResponse, forbidden
from .pod_references import references
from .requests import Target, User
from .resources import Object
from .store import ObjectStore

# The verbs of requests that only read.
_READ = ("get", "list", "watch")


class Authorizer:
    """An authorizer that combines RBAC (with the stored roles and bindings) with the node authorizer for kubelets."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def require(self, user: User, target: Target) -> None:
        """Raise an error unless a request is allowed.

        Raises:
            ApiErrorResponse: the request is not allowed (403).
        """
        allowed, reason = self.decide(user, target)
        if not allowed:
            raise _refusal(user, target, reason)

    def decide(self, user: User, target: Target) -> tuple[bool, str]:
        """Return whether a user may send a request, and the reason for a refusal (an empty string if there is none)."""
        if "system:masters" in user.groups:
            return True, ""
        reason = ""
        if user.node and target.resource:
            reason = self._node_refusal(user.node, target)
            if not reason and any(
                _rule_allows(rule, target) for rule in self._rules("clusterroles", "", "system:node")
            ):
                return True, ""
        if any(_rule_allows(rule, target) for rule in self._user_rules(user, target.namespace)):
            return True, ""
        return False, reason

    def _user_rules(self, user: User, namespace: str) -> Iterator[Object]:
        bindings = self._store.peek_all("clusterrolebindings")
        if namespace:
            bindings = bindings + self._store.peek_all("rolebindings", namespace)
        for binding in bindings:
            own = binding["metadata"].get("namespace", "")
            if any(_is_subject(subject, user, own) for subject in binding.get("subjects") or []):
                reference = binding["roleRef"]
                plural = "clusterroles" if reference["kind"] == "ClusterRole" else "roles"
                yield from self._rules(plural, "" if plural == "clusterroles" else own, reference["name"])

    def _rules(self, plural: str, namespace: str, name: str) -> Iterable[Object]:
        role = self._store.peek(plural, namespace, name)
        return (role or {}).get("rules") or []

    def _node_refusal(self, node: str, target: Target) -> str:
        """Return why the node authorizer denies a kubelet's request, or an empty string if it allows the request."""
        own_only = f"node '{node}' cannot read '{target.name}', only its own Node object"
        if target.resource == "nodes" and target.verb in _READ:
            return "" if target.name == node else own_only
        if target.resource == "pods" and target.verb in ("list", "watch"):
            requested = (f"spec.nodeName={node}", f"spec.nodeName=={node}")
            found = any(one in requested for one in target.field_selector.split(","))
            return "" if found else "can only list/watch pods with spec.nodeName field selector"
        if target.resource == "leases":
            return _lease_refusal(node, target)
        if target.resource in ("secrets", "configmaps", "serviceaccounts"):
            return self._reference_refusal(node, target)
        return ""

    def _reference_refusal(self, node: str, target: Target) -> str:
        if target.resource == "serviceaccounts" and target.subresource != "token":
            return "" if target.verb == "get" else "can only create tokens for individual service accounts"
        if target.resource != "serviceaccounts" and target.verb not in _READ:
            return "can only read resources of this type"
        requested = (target.resource, target.name)
        for pod in self._store.peek_all("pods", target.namespace):
            if pod["spec"].get("nodeName") == node and requested in references(pod):
                return ""
        return f"no relationship found between node '{node}' and this object"


def _lease_refusal(node: str, target: Target) -> str:
    if target.namespace != "kube-node-lease":
        return 'can only access leases in the "kube-node-lease" system namespace'
    if target.verb != "create" and target.name != node:
        return "can only access node lease with the same name as the requesting node"
    return ""


def _is_subject(subject: Object, user: User, namespace: str) -> bool:
    if subject["kind"] == "Group":
        return subject["name"] in user.groups
    if subject["kind"] == "ServiceAccount":
        return user.name == f"system:serviceaccount:{subject.get('namespace') or namespace}:{subject['name']}"
    return bool(subject["name"] == user.name)


def _rule_allows(rule: Object, target: Target) -> bool:
    def among(values: list[str] | None, value: str) -> bool:
        return bool(values) and ("*" in (values or []) or value in (values or []))

    if not among(rule.get("verbs"), target.verb):
        return False
    if not target.resource:
        paths = rule.get("nonResourceURLs") or []
        return any(one == target.path or (one.endswith("*") and target.path.startswith(one[:-1])) for one in paths)
    resource = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
    resources = rule.get("resources") or []
    known = among(resources, resource) or (bool(target.subresource) and f"*/{target.subresource}" in resources)
    names = rule.get("resourceNames")
    return among(rule.get("apiGroups"), target.group) and known and (not names or target.name in names)


def _refusal(user: User, target: Target, reason: str) -> ApiErrorResponse:
    suffix = f": {reason}" if reason else ""
    if not target.resource:
        text = f'forbidden: User "{user.name}" cannot {target.verb} path "{target.path}"{suffix}'
        return ApiErrorResponse(403, "Forbidden", text, {})
    resource = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
    where = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    why = f'User "{user.name}" cannot {target.verb} resource "{resource}" in API group "{target.group}" {where}{suffix}'
    return forbidden(target.resource, target.group, target.name, why)
