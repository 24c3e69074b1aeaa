# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Apply strategic merge patches, in which lists of objects are merged by a key that the API's types declare.

The keys come from the `patchMergeKey` tags in k8s.io/api/*/types.go. Lists without a key (tolerations, taints, args …)
are replaced as a whole, as in the real server. Lists of plain values that the types declare as sets are merged.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from .errors import bad_request

_MERGE_KEYS = {
    "conditions": "type",
    "addresses": "type",
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "secrets": "name",
    "resourceClaims": "name",
    "hostAliases": "ip",
    "podIPs": "ip",
    "hostIPs": "ip",
    "ownerReferences": "uid",
    "topologySpreadConstraints": "topologyKey",
}
_SETS = ("finalizers", "podCIDRs")
_ORDER, _DELETE_VALUES, _RETAIN = "$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys"


def merge_key(field: str, elements: Sequence[Any]) -> str | None:
    """Return the key by which the list in a field is merged, or None if the list is replaced.

    Args:
        field: the name of the field.
        elements: the elements of the list. The key for a list of ports or addresses depends on them.
    """
    maps = [one for one in elements if isinstance(one, dict)]
    if not maps or len(maps) != len(elements):
        return None
    if field == "ports":
        return "containerPort" if any("containerPort" in one for one in maps) else "port"
    key = _MERGE_KEYS.get(field)
    if field == "addresses" and not all("type" in one for one in maps if "$patch" not in one):
        return None  # these are addresses of an Endpoints object, not of a node
    return key


def strategic_merge(target: Any, patch: Any) -> Any:
    """Apply a strategic merge patch to an object.

    Args:
        target: the object to patch. It can be any value if the patch is not an object.
        patch: the patch with its directives ($patch, $setElementOrder, $deleteFromPrimitiveList, $retainKeys).

    Returns:
        The patched value. The arguments are not changed.

    Raises:
        ApiErrorResponse: an element lacks its merge key (400).
    """
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    directive = patch.get("$patch")
    if directive == "replace":
        return copy.deepcopy({key: value for key, value in patch.items() if key != "$patch"})
    if directive == "delete":
        return {}
    result = dict(target) if isinstance(target, dict) else {}
    if _RETAIN in patch:
        result = {key: value for key, value in result.items() if key in patch[_RETAIN]}
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            result.pop(key, None)
        elif isinstance(value, list):
            result[key] = _merge_list(key, result.get(key) or [], value)
        else:
            result[key] = strategic_merge(result.get(key), value)
    _apply_list_directives(result, patch)
    return result


def _merge_list(field: str, target: list[Any], patch: list[Any]) -> list[Any]:
    if field in _SETS:
        return list(dict.fromkeys([*target, *patch]))
    if any(isinstance(one, dict) and one.get("$patch") == "replace" for one in patch):
        return copy.deepcopy([one for one in patch if one.get("$patch") != "replace"])
    key = merge_key(field, patch)
    if key is None:
        return copy.deepcopy(patch)
    result = list(target)
    for element in patch:
        if key not in element:
            raise bad_request(f"map: {element} does not contain declared merge key: {key}")
        index = next((i for i, one in enumerate(result) if one.get(key) == element[key]), None)
        if element.get("$patch") == "delete":
            result = [one for one in result if one.get(key) != element[key]]
        elif index is None:
            result.append(strategic_merge({}, element))
        else:
            result[index] = strategic_merge(result[index], element)
    return result


def _apply_list_directives(result: dict[str, Any], patch: dict[str, Any]) -> None:
    for directive, values in patch.items():
        field = directive.split("/", 1)[-1]
        if directive.startswith(_DELETE_VALUES) and field in result:
            result[field] = [one for one in result[field] if one not in values]
        if directive.startswith(_ORDER) and isinstance(result.get(field), list):
            result[field] = _ordered(field, result[field], values)


def _ordered(field: str, elements: list[Any], order: list[Any]) -> list[Any]:
    """Return a list's elements in the order that $setElementOrder requests. Elements that it omits stay in place."""
    key = merge_key(field, order)
    requested = [one.get(key) for one in order] if key else order
    listed = [one for one in elements if (one.get(key) if key else one) in requested]
    listed.sort(key=lambda one: requested.index(one.get(key) if key else one))
    rest = iter(listed)
    return [next(rest) if (one.get(key) if key else one) in requested else one for one in elements]
