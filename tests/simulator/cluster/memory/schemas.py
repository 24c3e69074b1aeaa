# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Apply the structural schemas of custom resources: prune unknown fields, set defaults, and validate.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/.
The validation covers types, `required`, `enum` and `pattern`. It does not cover expressions
(`x-kubernetes-validations`) or the limits of numbers and lengths.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator

from .errors import Cause, required, unsupported, wrong
from .resources import Object

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_METADATA = ("apiVersion", "kind", "metadata")


def schema_of(definition: Object, version: str) -> Object:
    """Return the schema of a CustomResourceDefinition's version, or an empty dict if the version has no schema."""
    for one in definition["spec"]["versions"]:
        if one["name"] == version:
            found: Object = (one.get("schema") or {}).get("openAPIV3Schema") or {}
            return found
    return {}


def complete(obj: Object, schema: Object) -> None:
    """Remove the fields that an object's schema does not define, and set the defaults of missing fields."""
    known = schema.get("properties") or {}
    if not schema.get("x-kubernetes-preserve-unknown-fields"):
        for name in [name for name in obj if name not in known and name not in _METADATA]:
            del obj[name]
    for name, part in known.items():
        if name not in _METADATA:
            _complete_field(obj, name, part)


def _complete_field(obj: Object, name: str, schema: Object) -> None:
    if obj.get(name) is None and "default" in schema:
        obj[name] = copy.deepcopy(schema["default"])
    if obj.get(name) is None and not schema.get("nullable"):
        obj.pop(name, None)
    value = obj.get(name)
    if isinstance(value, dict):
        _complete_object(value, schema)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                _complete_object(item, schema.get("items") or {})


def _complete_object(value: Object, schema: Object) -> None:
    more = schema.get("additionalProperties")
    if "properties" not in schema:
        if isinstance(more, dict):
            for item in value.values():
                if isinstance(item, dict):
                    _complete_object(item, more)
        elif more is None and not schema.get("x-kubernetes-preserve-unknown-fields"):
            value.clear()
        return
    if not schema.get("x-kubernetes-preserve-unknown-fields"):
        for name in [name for name in value if name not in schema["properties"]]:
            del value[name]
    for name, part in schema["properties"].items():
        _complete_field(value, name, part)


def validate(obj: Object, schema: Object) -> list[Cause]:
    """Return an error for each of an object's fields that violates the schema."""
    inner = {name: part for name, part in (schema.get("properties") or {}).items() if name not in _METADATA}
    causes = [required(name) for name in schema.get("required") or [] if name not in obj and name not in _METADATA]
    for name, part in inner.items():
        if name in obj:
            causes += _check(obj[name], part, name)
    return causes


def _check(value: object, schema: Object, path: str) -> Iterator[Cause]:
    if value is None and schema.get("nullable"):
        return
    kind = str(schema.get("type") or "")
    is_integer_or_string = bool(schema.get("x-kubernetes-int-or-string"))
    expected = (int, str) if is_integer_or_string else _TYPES.get(kind, (object,))
    if not isinstance(value, expected) or (isinstance(value, bool) and kind in ("integer", "number")):
        found = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
        name = found.get(type(value), "number")
        yield wrong(path, name, f'{path} in body must be of type {kind}: "{name}"')
        return
    if schema.get("enum") and value not in schema["enum"]:
        yield unsupported(path, str(value), [str(item) for item in schema["enum"]])
    if isinstance(value, str) and schema.get("pattern") and not _matches(schema["pattern"], value):
        yield wrong(path, value, f"{path} in body should match '{schema['pattern']}'")
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _check(item, schema.get("items") or {}, f"{path}[{number}]")
    if isinstance(value, dict):
        yield from _check_object(value, schema, path)


def _matches(pattern: str, value: str) -> bool:
    """Return whether a string matches a Go regular expression such as `^(?i)(Off|Info)$`.

    Unlike in Python, flags may follow the anchor.
    """
    flags = re.IGNORECASE if "(?i)" in pattern else 0
    return re.search(pattern.replace("(?i)", ""), value, flags) is not None


def _check_object(value: Object, schema: Object, path: str) -> Iterator[Cause]:
    known = schema.get("properties") or {}
    for name in schema.get("required") or []:
        if name not in value:
            yield required(f"{path}.{name}")
    for name, item in value.items():
        more = schema.get("additionalProperties")
        part = known.get(name) or (more if isinstance(more, dict) else {})
        yield from _check(item, part, f"{path}.{name}")
