# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Load resources from plain mappings, and check every value against the annotation of its property."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
import types
import typing as t

from ..engine.resource import Resource
from ..values.errors import ResourceError
from ..values.shown import AsItIs, shown
from ..values.url_credentials import HIDDEN
from ..windows import windows_versions
from . import TYPES

_TRUE = frozenset({"yes", "y", "on", "true", "t", "1"})
_FALSE = frozenset({"no", "n", "off", "false", "f", "0"})


def load(items: t.Sequence[t.Mapping[str, t.Any]]) -> list[Resource]:
    """Load a user's list of resources.

    Args:
        items: mappings with `type`, `name`, the properties of the type, and optionally `when` (false skips the item).

    Returns:
        The resources, in the order of the list.

    Raises:
        ResourceError: an item is not acceptable; the message is one line.
    """
    given: object = items
    if isinstance(given, (str, bytes)) or not isinstance(given, t.Sequence):
        raise ResourceError("resources", _short(items), "expected a list of resources")
    loaded: list[Resource] = []
    seen: dict[tuple[str, str], tuple[int, int]] = {}
    for position, item in enumerate(items):
        resource = _load_item(item, f"resources[{position}]")
        if resource is None:
            continue
        identity = (resource.type, resource.name.casefold())
        if identity not in seen:
            seen[identity] = (position, len(loaded))
            loaded.append(resource)
            continue
        earlier, index = seen[identity]
        union = loaded[index].joined(resource)
        if union is None:
            raise ResourceError(
                f"resources[{position}] ({resource.type} {_short_text(resource.name)}).name",
                _short(resource.name),
                "expected a name that is unique among resources of its type",
                f"resources[{earlier}] has this type and name already.",
            )
        loaded[index] = union
    return loaded


@functools.cache
def properties(type_: type[t.Any]) -> t.Mapping[str, dataclasses.Field[t.Any]]:
    """Return the properties of a resource type (or nested mapping): its own first, then those of all resources."""
    fields = {field.name: field for field in dataclasses.fields(type_)}
    common = {field.name for field in dataclasses.fields(Resource)} if issubclass(type_, Resource) else set()
    own = {name: field for name, field in fields.items() if name not in common}
    name = {"name": fields["name"]} if "name" in common else {}
    return {**name, **own, **{key: field for key, field in fields.items() if key in common}}


@functools.cache
def property_types(type_: type[t.Any]) -> t.Mapping[str, t.Any]:
    """Return the resolved annotations of a dataclass."""
    return t.get_type_hints(type_)


def _load_item(item: t.Any, where: str) -> Resource | None:
    if not isinstance(item, t.Mapping):
        raise ResourceError(where, _short(item), "expected a mapping with type and name")
    if "type" not in item:
        raise ResourceError(f"{where}.type", None, f"expected one of {', '.join(sorted(TYPES))}")
    type_ = TYPES.get(item["type"]) if isinstance(item["type"], str) else None
    if type_ is None:
        raise ResourceError(f"{where}.type", _short(item["type"]), *_one_of(item["type"], TYPES))
    name = item.get("name")
    where = f"{where} ({type_.type}{' ' + _short_text(str(name)) if isinstance(name, str) else ''})"
    if "when" in item and not _bool(item["when"], f"{where}.when"):
        return None
    hide = _is_true(item.get("no_log"))
    try:
        values = {key: value for key, value in item.items() if key not in ("type", "when")}
        resource = t.cast("Resource", _load_fields(type_, values, where))
        _check_windows(resource.windows, where)
    except ResourceError as problem:
        if hide and not problem.where.endswith(".name"):
            raise _hidden(problem) from None
        raise
    return resource


def _hidden(problem: ResourceError) -> ResourceError:
    """Return the error without its value, which may also be part of the texts."""
    if str(problem.value) in f"{problem.expected} {problem.hint}":
        return ResourceError(
            problem.where, AsItIs(HIDDEN), "expected another value", "See the documentation of this property."
        )
    return ResourceError(problem.where, AsItIs(HIDDEN), problem.expected, problem.hint)


def _check_windows(versions: tuple[str, ...], where: str) -> None:
    for version in versions:
        if version not in windows_versions.NAMES:
            known = ", ".join(windows_versions.NAMES)
            raise ResourceError(f"{where}.windows", _short(version), f"expected one of {known}")


def _load_fields(type_: type[t.Any], values: t.Mapping[t.Any, t.Any], where: str) -> object:
    known = t.cast("t.Hashable", type_)  # mypy does not recognise a type as hashable
    fields, hints = properties(known), property_types(known)
    loaded: dict[str, t.Any] = {}
    for key, value in values.items():
        if key not in fields:
            raise ResourceError(f"{where}.{_short_text(str(key))}", _short(key), *_one_of(key, fields, "property"))
        if value is None and _has_default(fields[key]):
            continue
        hidden = fields[key].metadata.get("secret") is True
        try:
            loaded[key] = convert(value, hints[key], f"{where}.{key}")
        except ResourceError as problem:
            if hidden:
                raise _hidden(problem) from None
            raise
    for key, field in fields.items():
        if key not in loaded and not _has_default(field):
            raise ResourceError(f"{where}.{key}", None, f"expected {describe(hints[key])}")
    try:
        return t.cast("object", type_(**loaded))
    except ResourceError as problem:  # __post_init__ of the type checks combinations of properties
        raise ResourceError(f"{where}.{problem.where}", _short(problem.value), problem.expected, problem.hint) from None


def _has_default(field: dataclasses.Field[t.Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def convert(value: t.Any, annotation: t.Any, where: str) -> t.Any:
    """Convert a value from YAML or Jinja to the type of its annotation.

    Raises:
        ResourceError: the value has another type.
    """
    origin = t.get_origin(annotation)
    if annotation is t.Any:
        return value
    if origin in (t.Union, types.UnionType):
        return _union(value, t.get_args(annotation), where)
    if origin is t.Literal:
        return _literal(value, t.get_args(annotation), where)
    if origin is tuple:
        inner = t.get_args(annotation)[0]
        # As in Ansible, a single value is accepted as a list with one item.
        items = value if isinstance(value, t.Sequence) and not isinstance(value, (str, bytes)) else [value]
        return tuple(convert(item, inner, f"{where}[{index}]") for index, item in enumerate(items))
    if origin is not None and issubclass(origin, t.Mapping):
        return _mapping(value, t.get_args(annotation), where)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        if not isinstance(value, t.Mapping):
            raise ResourceError(where, _short(value), f"expected {describe(annotation)}")
        return _load_fields(annotation, value, where)
    return _SCALARS[annotation](value, where)


def _union(value: t.Any, members: tuple[t.Any, ...], where: str) -> t.Any:
    problem: ResourceError | None = None
    for member in members:
        if member is types.NoneType:
            if value is None:
                return None
            continue
        try:
            return convert(value, member, where)
        except ResourceError as error:
            problem = problem or error
    accepted = " or ".join(describe(member) for member in members if member is not types.NoneType)
    if problem is not None and (problem.where != where or len([m for m in members if m is not types.NoneType]) == 1):
        raise problem
    raise ResourceError(where, _short(value), f"expected {accepted}")


def _literal(value: t.Any, choices: tuple[t.Any, ...], where: str) -> t.Any:
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    for choice in choices:
        if str(choice).casefold() == text.casefold():
            return choice
    raise ResourceError(where, _short(value), *_one_of(value, choices))


def _mapping(value: t.Any, inner: tuple[t.Any, ...], where: str) -> dict[str, t.Any]:
    if not isinstance(value, t.Mapping):
        raise ResourceError(where, _short(value), "expected a mapping of names to values")
    return {
        _str(key, where): convert(item, inner[1], f"{where}.{_short_text(str(key))}") for key, item in value.items()
    }


def _is_true(value: t.Any) -> bool:
    return value is True or (isinstance(value, (str, int)) and str(value).strip().casefold() in _TRUE)


def _bool(value: t.Any, where: str) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().casefold() if isinstance(value, (str, int)) else ""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ResourceError(where, _short(value), "expected true or false")


def _int(value: t.Any, where: str) -> int:
    if isinstance(value, bool):
        raise ResourceError(where, value, "expected a whole number")
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", value, re.ASCII):
        return int(value)
    raise ResourceError(where, _short(value), "expected a whole number")


def _float(value: t.Any, where: str) -> float:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = float("nan")
        if abs(number) < float("inf"):
            return number
    raise ResourceError(where, _short(value), "expected a number")


def _str(value: t.Any, where: str) -> str:
    if isinstance(value, str):
        if "\x00" in value:
            raise ResourceError(where, _short(value), "expected text without the null character")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ResourceError(where, _short(value), "expected text that is valid Unicode") from None
        return str(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ResourceError(where, _short(value), "expected text", "Put it in quotes.")


_SCALARS: t.Mapping[t.Any, t.Callable[[t.Any, str], t.Any]] = types.MappingProxyType(
    {str: _str, int: _int, bool: _bool, float: _float}
)


def describe(annotation: t.Any) -> str:
    """Return what an annotation accepts, as text for messages."""
    origin, arguments = t.get_origin(annotation), t.get_args(annotation)
    if annotation is t.Any:
        return "any value"
    if origin in (t.Union, types.UnionType):
        return " or ".join(describe(member) for member in arguments if member is not types.NoneType)
    if origin is t.Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin is tuple:
        return f"list of {describe(arguments[0])}"
    if origin is not None and issubclass(origin, t.Mapping):
        return f"mapping of names to {describe(arguments[1])}"
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return f"mapping with {', '.join(properties(annotation))}"
    return {str: "text", int: "whole number", bool: "true or false", float: "number"}[annotation]


def _one_of(value: t.Any, choices: t.Iterable[t.Any], what: str = "value") -> tuple[str, str]:
    """Return what is expected, and a hint at the choice that the user may have meant."""
    names = [str(choice) for choice in choices]
    by_fold = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(str(value)[:200].casefold(), by_fold)
    kinds = "one of the properties" if what == "property" else "one of"
    return f"expected {kinds} {', '.join(names)}", f"Did you mean {by_fold[close[0]]}?" if close else ""


def _short(value: t.Any) -> t.Any:
    """Return a value as text for a message of one line."""
    if value is None or isinstance(value, (bool, int, float)):
        return value if abs(value or 0) < 10**40 else "a huge number"
    if isinstance(value, str):
        return value if len(value) <= 100 else value[:97] + "..."
    return AsItIs(shown(value))


def _short_text(text: str) -> str:
    """Return a name for the part of a message that names the place, on one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:60])


# Ansible's main process imports this module before it forks workers, which then share these caches.
for _type in TYPES.values():
    properties(_type)
    property_types(_type)
