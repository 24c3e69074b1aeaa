# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Describe dataclass fields, and the values that their annotations allow, for messages and documentation."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import types
import typing as t

SECRET: t.Mapping[str, t.Any] = types.MappingProxyType({"secret": True})
"""Metadata of a field whose values may be secret. Messages do not contain such values."""
_SCALARS: t.Mapping[t.Any, tuple[str, str]] = types.MappingProxyType(
    {
        str: ("a string", "strings"),
        int: ("a whole number", "whole numbers"),
        bool: ("true or false", "true or false"),
        float: ("a number", "numbers"),
    }
)
"""Maps each type to the descriptions of one value and of several values, such as `a string` and `strings`."""


@functools.cache
def properties(type_: type[t.Any]) -> t.Mapping[str, dataclasses.Field[t.Any]]:
    """Return a mapping from field names to the fields of a dataclass. Fields that many types share are last."""
    fields = sorted(dataclasses.fields(type_), key=lambda field: bool(field.metadata.get("common")))
    return {field.name: field for field in fields}


@functools.cache
def property_types(type_: type[t.Any]) -> t.Mapping[str, t.Any]:
    """Return a mapping from the names of a dataclass's fields to the resolved type annotations."""
    return t.get_type_hints(type_)


def has_default(field: dataclasses.Field[t.Any]) -> bool:
    """Return whether a field may be left out."""
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def is_secret(field: dataclasses.Field[t.Any]) -> bool:
    """Return whether messages must not contain the field's value."""
    return field.metadata.get("secret") is True


def members(annotation: t.Any) -> tuple[t.Any, ...]:
    """Return the members of a union except None, or only the annotation itself if it is not a union."""
    if t.get_origin(annotation) in (t.Union, types.UnionType):
        return tuple(member for member in t.get_args(annotation) if member is not types.NoneType)
    return (annotation,)


def is_mapping(annotation: t.Any) -> bool:
    """Return whether an annotation represents a mapping from names to values."""
    origin = t.get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, t.Mapping)


def nested(annotation: t.Any) -> type[t.Any] | None:
    """Return the annotation if it is a dataclass, which represents a mapping with known keys, or None otherwise."""
    return annotation if isinstance(annotation, type) and dataclasses.is_dataclass(annotation) else None


def describe(annotation: t.Any, *, plural: bool = False) -> str:
    """Return a description of the values that an annotation accepts, such as `a list of whole numbers`.

    Args:
        annotation: the annotation of a field.
        plural: whether to return the plural form.
    """
    origin, arguments = t.get_origin(annotation), t.get_args(annotation)
    if annotation is t.Any:
        return "any values" if plural else "any value"
    if origin in (t.Union, types.UnionType):
        return " or ".join(describe(member, plural=plural) for member in members(annotation))
    if origin is t.Literal:
        *others, last = map(str, arguments)
        return f"{', '.join(others)} or {last}" if plural and others else "one of " + ", ".join(map(str, arguments))
    if origin is tuple:
        return f"{'lists' if plural else 'a list'} of {describe(arguments[0], plural=True)}"
    mapping = "mappings" if plural else "a mapping"
    if is_mapping(annotation):
        return f"{mapping} of names to {describe(arguments[1], plural=True)}"
    if nested(annotation):
        return f"{mapping} with {', '.join(properties(annotation))}"
    return _SCALARS[annotation][plural]


def one_of(value: t.Any, choices: t.Iterable[t.Any], what: str = "value") -> tuple[str, str]:
    """Return a string such as `expected one of a, b`, and a hint with the choice that the user may have meant.

    The hint is an empty string if no choice is similar to the value.

    Args:
        value: the value that is not one of the choices.
        choices: the accepted values.
        what: `property` if the choices are names of properties, otherwise `value`.
    """
    names = [str(choice) for choice in choices]
    by_fold = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(str(value)[:200].casefold(), by_fold)
    kinds = "one of the properties" if what == "property" else "one of"
    return f"expected {kinds} {', '.join(names)}", f"Did you mean {by_fold[close[0]]}?" if close else ""
