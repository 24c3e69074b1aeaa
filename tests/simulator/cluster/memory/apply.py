# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Implement server-side apply, which merges a field manager's configuration into an object or reports conflicts.

Fields that the manager's configuration no longer contains are removed from the object. Unlike in the real
implementation (sigs.k8s.io/structured-merge-diff), only server-side apply makes a manager own fields; an update does
not.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from .errors import ApiErrorResponse
from .resources import Object

Path = tuple[str, ...]

# listMapKeys of k8s.io/api/*/types.go. Ports are also identified by their protocol.
_KEYS: dict[str, tuple[str, ...]] = {
    "conditions": ("type",),
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "imagePullSecrets": ("name",),
    "ownerReferences": ("uid",),
}
_DEFAULTS = {"protocol": "TCP"}
_IDENTITY = {"apiVersion", "kind"}
_IDENTITY_METADATA = {"name", "namespace", "uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"}


def _keys(field: str, elements: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(one, dict) for one in elements):
        return ()
    if field == "ports":
        number = "containerPort" if any("containerPort" in one for one in elements) else "port"
        return (number, "protocol")
    return _KEYS.get(field, ())


def _element(keys: tuple[str, ...], value: dict[str, Any]) -> str:
    found = {key: value.get(key, _DEFAULTS.get(key)) for key in keys}
    return "k:" + json.dumps(found, sort_keys=True, separators=(",", ":"))


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every field that a manager can own: scalars, empty objects, and lists replaced as a whole."""
    if not isinstance(value, dict) or not value:
        yield path
        return
    for name, child in value.items():
        if (not path and name in _IDENTITY) or (path == ("f:metadata",) and name in _IDENTITY_METADATA):
            continue
        keys = _keys(name, child) if isinstance(child, list) and child else ()
        here = (*path, f"f:{name}")
        if not keys:
            yield from _paths(child, here)
        for one in child if keys else ():
            yield from _paths(one, (*here, _element(keys, one)))


def _fields(paths: set[Path]) -> Object:
    """Convert paths of fields to the FieldsV1 format of managedFields."""
    root: Object = {}
    for path in sorted(paths):
        node = root
        for part in path:
            node = node.setdefault(part, {})
    return root


def _owned(fields: Object, path: Path = ()) -> Iterator[Path]:
    if not fields:
        yield path
    for part, children in fields.items():
        yield from _owned(children, (*path, part))


def _step(value: Any, part: str) -> tuple[Any, Callable[[], None]]:
    """Return the field or list element to which one step of a path leads, and a function that removes it.

    Raises:
        LookupError: there is no such field or list element.
    """
    if part.startswith("f:"):
        if isinstance(value, dict) and part[2:] in value:
            return value[part[2:]], lambda: value.pop(part[2:])
    elif isinstance(value, list):
        requested = json.loads(part[2:])
        for one in value:
            if all(one.get(key, _DEFAULTS.get(key)) == content for key, content in requested.items()):
                return one, lambda one=one: value.remove(one)
    raise LookupError(part)


def _lookup(value: Any, path: Path) -> Any:
    for part in path:
        value, _ = _step(value, part)
    return value


def _is_key(path: Path) -> bool:
    """Return whether a path leads to a field that identifies a list element, such as a container's name."""
    return len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in json.loads(path[-2][2:])


def _drop(obj: Object, path: Path) -> None:
    """Remove the field at a path, if it exists.

    A field that identifies a list element is kept as long as the element has other fields. If it has none, the whole
    element is removed.
    """
    try:
        parent = _lookup(obj, path[:-1])
        _, remove = _step(parent, path[-1])
    except LookupError:
        return
    if not _is_key(path):
        remove()
    elif set(parent) <= set(json.loads(path[-2][2:])):
        _drop(obj, path[:-1])


def _merge(target: Any, applied: Any, field: str = "") -> Any:
    if isinstance(applied, dict):
        result = dict(target) if isinstance(target, dict) else {}
        for name, value in applied.items():
            if value is not None:
                result[name] = _merge(result.get(name), value, name)
        return result
    keys = _keys(field, applied) if isinstance(applied, list) and applied else ()
    if not keys or not isinstance(target, list):
        return copy.deepcopy(applied)
    requested = {_element(keys, one): one for one in applied}
    merged = [_merge(one, requested.pop(_element(keys, one), {})) for one in target]
    return merged + [copy.deepcopy(one) for one in requested.values()]


def server_side_apply(live: Object | None, applied: Object, manager: str, force: bool, now: str) -> Object:
    """Apply a field manager's configuration to an object.

    Args:
        live: the current object; None if it does not exist.
        applied: the manager's configuration. Afterwards, the manager owns the fields in it.
        manager: the name of the field manager.
        force: whether to take over fields from other managers.
        now: the time for managedFields (RFC 3339).

    Returns:
        The new object.

    Raises:
        ApiErrorResponse: another manager applied a field with a different value, and `force` is false (409, with a
            cause for each field).
    """
    before = live or {}
    entries = list(before.get("metadata", {}).get("managedFields") or [])
    mine = next((one for one in entries if one["manager"] == manager and one["operation"] == "Apply"), None)
    others = [one for one in entries if one is not mine]
    new = set(_paths(applied))
    if not force:
        _refuse_conflicts(before, applied, new, others)
    result: Object = copy.deepcopy(_merge(before, applied))
    left = set(_owned(mine["fieldsV1"])) - new if mine else set()
    # Inner paths come first, and those that identify list elements come last.
    for path in sorted(left, key=lambda one: (_is_key(one), -len(one), one)):
        if not any(path in set(_owned(one["fieldsV1"])) for one in others):
            _drop(result, path)
    lost = {path for path in new if not _same(before, applied, path)}
    others = [one | {"fieldsV1": _fields(set(_owned(one["fieldsV1"])) - lost)} for one in others]
    fields = _fields(new)
    kept = mine["time"] if mine and mine["fieldsV1"] == fields else now
    entry = {"manager": manager, "operation": "Apply", "apiVersion": applied["apiVersion"], "time": kept}
    result.setdefault("metadata", {})["managedFields"] = [
        *others,
        entry | {"fieldsType": "FieldsV1", "fieldsV1": fields},
    ]
    return result


def _same(before: Object, applied: Object, path: Path) -> bool:
    try:
        return bool(_lookup(before, path) == _lookup(applied, path))
    except LookupError:
        return False


def _refuse_conflicts(before: Object, applied: Object, new: set[Path], others: list[Object]) -> None:
    causes = []
    for entry in others:
        for path in sorted(new & set(_owned(entry["fieldsV1"]))):
            if not _same(before, applied, path):
                field = "".join(f".{part[2:]}" if part.startswith("f:") else f"[{part[2:]}]" for part in path)
                text = f'conflict with "{entry["manager"]}"'
                causes.append({"reason": "FieldManagerConflict", "message": text, "field": field})
    if causes:
        listed = "; ".join(f"{one['message']}: {one['field']}" for one in causes)
        plural = "s" if len(causes) > 1 else ""
        text = f"Apply failed with {len(causes)} conflict{plural}: {listed}"
        raise ApiErrorResponse(409, "Conflict", text, {"causes": causes})
