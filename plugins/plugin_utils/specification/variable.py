# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Derive the variables that users set from the fields of a dataclass, and check the variables' values without I/O."""

from __future__ import annotations

import dataclasses
import types
import typing as t

from ...module_utils.redaction import hidden
from ..values.errors import ResourceError
from ..values.shown import AsItIs, kind
from .convert import convert, short_text
from .describe import describe, is_mapping, is_secret, members, nested, one_of, properties, property_types


@dataclasses.dataclass(frozen=True, kw_only=True)
class Variable:
    """A variable that users set."""

    name: str
    annotation: t.Any
    """The type annotation, which determines the accepted values."""
    secret: bool = False
    """Whether messages must not contain the value."""
    hint: str = ""
    """How to fix a value that is not accepted."""

    def convert(self, value: t.Any) -> t.Any:
        """Check a value, and convert it to the variable's type.

        Args:
            value: the templated value. None, which users write by leaving the value out, means an empty value.

        Returns:
            The converted value.

        Raises:
            ResourceError: the value is invalid. The message does not contain a secret value.
        """
        if value is None:
            return self._empty()
        try:
            converted = convert(value, self.annotation, self.name)
            _check_form(value, self.annotation, self.name)
        except ResourceError as error:
            raise self._refused(value, error) from None
        return converted

    def errors(self, value: t.Any) -> list[ResourceError]:
        """Return the errors in a value, with at most one error for each item of a list or mapping.

        Args:
            value: the templated value. None means an empty value.
        """
        try:
            self.convert(value)
        except ResourceError as error:
            return [self._refused(value, one) for one in _item_errors(value, self.annotation, self.name)] or [error]
        return []

    def _empty(self) -> t.Any:
        if types.NoneType in t.get_args(self.annotation):
            return None
        first = members(self.annotation)[0]
        if first is str:
            return ""
        if t.get_origin(first) is tuple:
            return ()
        if is_mapping(first):
            return {}
        if nested(first):
            return convert({}, first, self.name)
        raise ResourceError(self.name, None, f"expected {describe(self.annotation)}", self.hint)

    def _refused(self, value: t.Any, error: ResourceError) -> ResourceError:
        given, hint = error.value, error.hint or self.hint
        if self.secret and isinstance(given, str) and not isinstance(given, AsItIs):
            given = AsItIs(hidden(f"a {kind(given)}"))
        if isinstance(value, str) and not hint and _is_list_of_mappings(self.annotation):
            hint = f"With --extra-vars, write the list as JSON, such as -e '{{\"{self.name}\": [{{…}}]}}'."
        return ResourceError(error.where, given, error.expected, hint)


def variables(type_: type[t.Any], prefix: str) -> t.Mapping[str, Variable]:
    """Return a mapping from names to variables, with one variable for each field of a dataclass.

    Args:
        type_: the dataclass. The metadata of a field may contain `secret`, a `hint` for messages, and `variable`, the
            name of the variable. The default name is PREFIX_FIELD.
        prefix: prefix of the variables' names, which is the role's name.
    """
    hashable = t.cast("t.Hashable", type_)  # mypy does not recognize a type as hashable
    hints = property_types(hashable)
    declared = {}
    for key, field in properties(hashable).items():
        name = field.metadata.get("variable", f"{prefix}_{key}")
        hint = field.metadata.get("hint", "")
        declared[name] = Variable(name=name, annotation=hints[key], secret=is_secret(field), hint=hint)
    return types.MappingProxyType(declared)


def _check_form(value: t.Any, annotation: t.Any, where: str) -> None:
    """Reject values that `convert` accepts but that roles' templates, which read the original value, cannot use.

    Raises:
        ResourceError: a choice is written in the wrong case, or a single mapping is given instead of a list.
    """
    if t.get_origin(annotation) is tuple:
        if isinstance(value, t.Mapping):
            raise ResourceError(where, value, f"expected {describe(annotation)}")
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            _check_form(item, t.get_args(annotation)[0], f"{where}[{index}]")
    elif (known := nested(annotation)) and isinstance(value, t.Mapping):
        hints = property_types(t.cast("t.Hashable", known))
        for key, item in value.items():
            _check_form(item, hints[key], f"{where}.{key}")
    elif t.get_origin(annotation) is t.Literal and str(value) not in map(str, t.get_args(annotation)):
        raise ResourceError(where, value, *one_of(value, t.get_args(annotation)))


def _item_errors(value: t.Any, annotation: t.Any, where: str) -> t.Iterator[ResourceError]:
    """Yield an error for each invalid item of a list or mapping. Yield nothing for other values."""
    if t.get_origin(annotation) is tuple and isinstance(value, list):
        items = [(f"{where}[{index}]", item) for index, item in enumerate(value)]
    elif is_mapping(annotation) and isinstance(value, t.Mapping):
        items = [(f"{where}.{short_text(str(key))}", item) for key, item in value.items()]
    else:
        return
    for place, item in items:
        try:
            convert(item, t.get_args(annotation)[-1 if is_mapping(annotation) else 0], place)
        except ResourceError as error:
            yield error


def _is_list_of_mappings(annotation: t.Any) -> bool:
    if t.get_origin(annotation) is not tuple:
        return False
    inner = t.get_args(annotation)[0]
    return is_mapping(inner) or dataclasses.is_dataclass(inner)
