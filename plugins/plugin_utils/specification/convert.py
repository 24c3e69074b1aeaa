# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check values from YAML or Jinja against dataclasses, and convert the values. This module does no I/O.

The annotation of a field says which values it accepts: `str`, `int`, `float`, `bool`, `Literal[…]`, `tuple[X, …]` (a
list), `Mapping[str, X]`, `X | None`, or another dataclass for a mapping with known keys. In a field's metadata,
`secret` keeps the field's values out of messages, and `expected` tells users what to set if the value is missing.
"""

from __future__ import annotations

import re
import types
import typing as t

from ...module_utils.redaction import HIDDEN, hidden
from ..values.errors import ResourceError
from ..values.shown import AsItIs, kind, shown
from .describe import describe, has_default, is_mapping, is_secret, members, one_of, properties, property_types

_TRUE = frozenset({"yes", "y", "on", "true", "t", "1"})
_FALSE = frozenset({"no", "n", "off", "false", "f", "0"})


def convert(value: t.Any, annotation: t.Any, where: str) -> t.Any:
    """Convert a value from YAML or Jinja to the type that the annotation of a field specifies.

    Args:
        value: the value to convert.
        annotation: the annotation of a field.
        where: the variable or property that error messages name.

    Returns:
        The converted value.

    Raises:
        ResourceError: the annotation does not accept the value.
    """
    scalar = _SCALARS.get(annotation)
    if scalar is not None:
        return scalar(value, where)
    if annotation is t.Any:
        return value
    origin, arguments = t.get_origin(annotation), t.get_args(annotation)
    if origin in (t.Union, types.UnionType):
        return _union(value, annotation, where)
    if origin is t.Literal:
        return _literal(value, arguments, where)
    if origin is tuple:
        return _list(value, arguments[0], where)
    if is_mapping(annotation):
        return _mapping(value, arguments[1], where)
    if isinstance(value, annotation):  # already converted
        return value
    if not isinstance(value, t.Mapping):
        raise ResourceError(where, _other_kind(value), f"expected {describe(annotation)}")
    return to_dataclass(annotation, value, where)


def to_dataclass(type_: type[t.Any], values: t.Mapping[t.Any, t.Any], where: str) -> object:
    """Return an instance of a dataclass with the values of a mapping.

    Args:
        type_: the dataclass.
        values: the mapping from field names to values.
        where: the variable or property that error messages name.

    Returns:
        The instance.

    Raises:
        ResourceError: a key is unknown or missing, or a value is invalid.
    """
    hashable = t.cast("t.Hashable", type_)  # mypy does not recognize a type as hashable
    fields, hints = properties(hashable), property_types(hashable)
    loaded: dict[str, t.Any] = {}
    for key, value in values.items():
        if key not in fields:
            raise ResourceError(f"{where}.{short_text(str(key))}", short(key), *one_of(key, fields, "property"))
        if value is None and has_default(fields[key]):
            continue
        try:
            loaded[key] = convert(value, hints[key], f"{where}.{key}")
        except ResourceError as problem:
            if is_secret(fields[key]):
                raise hidden_error(problem) from None
            raise
    for key, field in fields.items():
        if key not in loaded and not has_default(field):
            expected = field.metadata.get("expected", describe(hints[key]))
            raise ResourceError(f"{where}.{key}", None, f"expected {expected}")
    try:
        return t.cast("object", type_(**loaded))
    except ResourceError as problem:  # __post_init__ of the type checks combinations of properties
        raise ResourceError(f"{where}.{problem.where}", short(problem.value), problem.expected, problem.hint) from None


def hidden_error(problem: ResourceError) -> ResourceError:
    """Return the error without the rejected value, which the original message may quote."""
    if str(problem.value) in f"{problem.expected} {problem.hint}":
        return ResourceError(
            problem.where, AsItIs(HIDDEN), "expected a different value", "See the documentation of this property."
        )
    return ResourceError(problem.where, AsItIs(HIDDEN), problem.expected, problem.hint)


def _union(value: t.Any, annotation: t.Any, where: str) -> t.Any:
    if value is None and types.NoneType in t.get_args(annotation):
        return None
    accepted, problems = members(annotation), []
    for member in accepted:
        try:
            return convert(value, member, where)
        except ResourceError as error:
            problems.append(error)
    # An error inside the value shows which member of the union the user meant.
    inner = next((problem for problem in problems if problem.where != where), None)
    if inner is not None or len(accepted) == 1:
        raise inner or problems[0]
    raise ResourceError(where, problems[-1].value, f"expected {describe(annotation)}")


def _list(value: t.Any, inner: t.Any, where: str) -> tuple[t.Any, ...]:
    if isinstance(value, t.Sequence) and not isinstance(value, (str, bytes)):
        return tuple(convert(item, inner, f"{where}[{index}]") for index, item in enumerate(value))
    try:
        # As in Ansible, a single value is accepted as a list with one item.
        return (convert(value, inner, where),)
    except ResourceError as problem:
        if problem.where != where or (inner is str and isinstance(value, str)):
            raise
        raise ResourceError(where, problem.value, f"expected a list of {describe(inner, plural=True)}") from None


def _literal(value: t.Any, choices: tuple[t.Any, ...], where: str) -> t.Any:
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    for choice in choices:
        if str(choice).casefold() == text.casefold():
            return choice
    raise ResourceError(where, short(value), *one_of(value, choices))


def _mapping(value: t.Any, inner: t.Any, where: str) -> dict[str, t.Any]:
    if not isinstance(value, t.Mapping):
        raise ResourceError(where, _other_kind(value), "expected a mapping of names to values")
    return {_str(key, where): convert(item, inner, f"{where}.{short_text(str(key))}") for key, item in value.items()}


def _other_kind(value: t.Any) -> t.Any:
    """Return what a message shows for a value that should be a mapping. Strings are hidden: they may be secrets."""
    return AsItIs(hidden(f"a {kind(value)}")) if isinstance(value, str) and value else short(value)


def is_true(value: t.Any) -> bool:
    """Return whether a value means true in YAML or Ansible."""
    return value is True or (isinstance(value, (str, int)) and str(value).strip().casefold() in _TRUE)


def to_bool(value: t.Any, where: str) -> bool:
    """Return the Boolean that a value represents.

    Raises:
        ResourceError: the value means neither true nor false.
    """
    if isinstance(value, bool):
        return value
    text = str(value).strip().casefold() if isinstance(value, (str, int)) else ""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ResourceError(where, short(value), "expected true or false")


def _int(value: t.Any, where: str) -> int:
    if isinstance(value, bool):
        raise ResourceError(where, value, "expected a whole number")
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", value, re.ASCII):
        return int(value)
    raise ResourceError(where, short(value), "expected a whole number")


def _float(value: t.Any, where: str) -> float:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = float("nan")
        if abs(number) < float("inf"):
            return number
    raise ResourceError(where, short(value), "expected a number")


def _str(value: t.Any, where: str) -> str:
    if isinstance(value, str):
        if "\x00" in value:
            raise ResourceError(where, short(value), "expected a string without null characters")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ResourceError(where, short(value), "expected a string that is valid Unicode") from None
        return str(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ResourceError(where, short(value), "expected a string", "Put it in quotes.")


_SCALARS: t.Mapping[t.Any, t.Callable[[t.Any, str], t.Any]] = types.MappingProxyType(
    {str: _str, int: _int, bool: to_bool, float: _float}
)


def short(value: t.Any) -> t.Any:
    """Return a value as messages show it. A long string is cut, and a list or mapping is replaced by a description."""
    if value is None or isinstance(value, (bool, int, float)):
        return value if abs(value or 0) < 10**40 else "a huge number"
    if isinstance(value, str):
        return value if len(value) <= 100 else value[:97] + "..."
    return AsItIs(shown(value))


def short_text(text: str) -> str:
    """Return a mapping's key as messages show it: at most 60 characters, with ? in place of unprintable ones."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:60])
