# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide on which nodes a pod may run, based on its node selector, node affinity and tolerations."""

from __future__ import annotations

from collections.abc import Iterable

from ..resources import Object
from ..selectors import requirement_met

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def tolerates(toleration: Object, taint: Object) -> bool:
    """Return whether a toleration matches a taint."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def untolerated(node: Object, tolerations: Iterable[Object], effects: tuple[str, ...]) -> list[Object]:
    """Return a node's taints that have one of the given effects and that no toleration matches."""
    listed = list(tolerations)
    return [
        taint
        for taint in node.get("spec", {}).get("taints") or []
        if taint.get("effect") in effects and not any(tolerates(one, taint) for one in listed)
    ]


def selects(spec: Object, node: Object) -> bool:
    """Return whether a node matches a pod's node name, node selector and required node affinity."""
    name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
    if spec.get("nodeName") and spec["nodeName"] != name:
        return False
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(_term_met(term, labels, {"metadata.name": name}) for term in required.get("nodeSelectorTerms") or [])


def _term_met(term: Object, labels: dict[str, str], fields: dict[str, str]) -> bool:
    expressions, by_field = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not by_field:
        return False
    return all(
        requirement_met(one["key"], one["operator"], one.get("values") or [], values)
        for group, values in ((expressions, labels), (by_field, fields))
        for one in group
    )


def schedulable(spec: Object, node: Object) -> bool:
    """Return whether a node is not cordoned or a pod tolerates the cordon's taint."""
    if not node.get("spec", {}).get("unschedulable"):
        return True
    taint = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}
    return any(tolerates(one, taint) for one in spec.get("tolerations") or [])
