# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Match objects against label selectors and field selectors.

Label selectors are supported as strings and as LabelSelector objects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .errors import bad_request
from .resources import Object, ResourceType

_SET = re.compile(r"^(?P<key>[^\s!=,()]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^)]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[^\s!=,()]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^\s!=,()]*)$")
_PRESENT = re.compile(r"^(?P<absent>!?)\s*(?P<key>[^\s!=,()]+)$")


def _requirement(text: str) -> tuple[str, str, list[str]]:
    if found := _SET.match(text):
        values = [value.strip() for value in found["values"].split(",")]
        return found["key"], {"in": "In", "notin": "NotIn"}[found["operator"]], values
    if found := _EQUAL.match(text):
        return found["key"], "NotIn" if found["operator"] == "!=" else "In", [found["value"]]
    if found := _PRESENT.match(text):
        return found["key"], "DoesNotExist" if found["absent"] else "Exists", []
    raise bad_request(f"unable to parse requirement: found '{text}'")


def requirement_met(key: str, operator: str, values: list[str], labels: Mapping[str, str]) -> bool:
    """Return whether labels match one requirement of a label selector or node affinity.

    Args:
        key: the key of the label that the requirement is about.
        operator: In, NotIn, Exists, DoesNotExist, Gt or Lt.
        values: the values to compare with the label's value.
        labels: the labels of the object.
    """
    present, value = key in labels, labels.get(key, "")
    if operator in ("Gt", "Lt"):
        try:
            return present and (int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0]))
        except ValueError:
            return False
    met = {
        "In": present and value in values,
        "NotIn": not present or value not in values,
        "Exists": present,
        "DoesNotExist": not present,
    }
    return met.get(operator, False)


def labels_match(selector: str, labels: Mapping[str, str]) -> bool:
    """Return whether labels match a label selector in string form, such as "a=b,c in (d,e),!f".

    Raises:
        ApiErrorResponse: the selector is invalid (400).
    """
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", selector) if part.strip()]
    return all(requirement_met(*_requirement(part), labels) for part in parts)


def selector_matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Return whether labels match a LabelSelector. None matches nothing, and an empty selector matches everything."""
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return equal and all(
        requirement_met(one["key"], one["operator"], one.get("values") or [], labels)
        for one in selector.get("matchExpressions") or []
    )


def _field(obj: Object, path: str) -> str:
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def fields_match(kind: ResourceType, selector: str, obj: Object) -> bool:
    """Return whether an object matches a field selector, such as "spec.nodeName=a,status.phase!=Running".

    Raises:
        ApiErrorResponse: the selector is invalid, or contains a field that the type does not support (400).
    """
    for part in filter(None, (part.strip() for part in selector.split(","))):
        found = re.match(r"^([\w.]+)(==|=|!=)(.*)$", part)
        if not found:
            raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
        path, operator, value = found.groups()
        if path not in ("metadata.name", "metadata.namespace", *kind.fields):
            raise bad_request(f"field label not supported: {path}")
        default = {"spec.unschedulable": "false", "spec.hostNetwork": "false"}.get(path, "")
        if ((_field(obj, path) or default) == value) == (operator == "!="):
            return False
    return True
