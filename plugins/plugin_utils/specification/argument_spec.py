# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Derive Ansible's argument specifications from the fields of dataclasses. This module does no I/O."""

from __future__ import annotations

import dataclasses
import typing as t

from .describe import has_default, is_mapping, is_secret, members, nested, properties, property_types

Spec = dict[str, t.Any]
"""The specification of one option in Ansible's format, without a description."""
_TYPES: t.Mapping[t.Any, str] = {str: "str", int: "int", bool: "bool", float: "float"}


def of_annotation(annotation: t.Any) -> Spec:
    """Return the specification of an option: `type` and, if the annotation implies them, `elements` and so on.

    Args:
        annotation: the annotation of a field. Ansible has no unions, so a union of several types is `raw`.
    """
    accepted = members(annotation)
    (first, *others) = accepted
    if others or first is t.Any:
        return {"type": "raw"}
    origin, arguments = t.get_origin(first), t.get_args(first)
    if origin is t.Literal:
        return {"type": "str", "choices": [str(choice) for choice in arguments]}
    if origin is tuple:
        inner = of_annotation(arguments[0])
        return {"type": "list", "elements": inner.pop("type"), **inner}
    if is_mapping(first):
        return {"type": "dict"}
    if nested(first):
        return {"type": "dict", "options": of_dataclass(first)}
    return {"type": _TYPES[first]}


def of_dataclass(type_: type[t.Any]) -> dict[str, Spec]:
    """Return an option's specification for each field of a dataclass, by name. Fields that many types share are last.

    Args:
        type_: the dataclass.
    """
    hashable = t.cast("t.Hashable", type_)  # mypy does not recognize a type as hashable
    hints = property_types(hashable)
    return {name: _of_field(field, hints[name]) for name, field in properties(hashable).items()}


def has_secrets(annotation: t.Any) -> bool:
    """Return whether the values that an annotation accepts have secret parts.

    Args:
        annotation: the annotation of a field.
    """
    if nested(annotation):
        hints = property_types(annotation)
        return any(is_secret(field) or has_secrets(hints[name]) for name, field in properties(annotation).items())
    return any(map(has_secrets, t.get_args(annotation)))


def _of_field(field: dataclasses.Field[t.Any], annotation: t.Any) -> Spec:
    spec = of_annotation(annotation)
    if not has_default(field):
        spec["required"] = True
    elif field.default not in (dataclasses.MISSING, None):
        spec["default"] = field.default
    if is_secret(field):
        spec["no_log"] = True
    return spec
