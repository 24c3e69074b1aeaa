# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the variables of roles into dataclasses."""

from __future__ import annotations

import functools
import typing as t

import jinja2

from ..role_variables.roles import by_name
from ..specification.describe import nested, properties
from ..specification.variable import Variable, variables
from ..values.ansible_data import plain
from .own_templates import OwnTemplates

Settings = t.TypeVar("Settings")
_REQUIRED: t.Final = object()


class MissingVariableError(KeyError):
    """A host does not have a variable that a role reads."""

    def __str__(self) -> str:
        return f"{self.args[0]}: expected a variable of this name, got none"


class Variables:
    """The variables of a host. Each variable is templated, checked and converted when it is first read, then cached.

    Args:
        variables: maps the names of variables to their values, not templated.
        template: function that templates a value.
        decisions: maps names of variables to the functions in `role_decisions` that compute their values. Without
            these functions, Ansible calls the role_decision lookup plugin.
    """

    def __init__(
        self,
        variables: t.Mapping[str, t.Any],
        template: t.Callable[[t.Any], object],
        decisions: t.Mapping[str, t.Callable[[Variables], t.Any]] | None = None,
    ) -> None:
        self._variables = variables
        self._decisions = decisions or {}
        self.templates = OwnTemplates(variables, template, self.decided)
        self._known: dict[str, object] = {}
        self._converted: dict[str, object] = {}
        self._other_hosts: dict[str, t.Mapping[str, t.Any]] = {}

    def value(self, name: str) -> t.Any:
        """Return a variable's value, templated, but not converted to its type, and without Ansible's tags.

        Args:
            name: name of the variable.

        Raises:
            MissingVariableError: the host has no such variable.
            ResourceError: the value is not of the type that `role_variables` declares.
        """
        if name not in self._known:
            if name not in self._variables:
                raise MissingVariableError(name)
            value = plain(self.templates.variable(name))
            declared = by_name().get(name)
            if declared is not None:
                self._converted[name] = declared.convert(value)
            self._known[name] = value
        return self._known[name]

    def converted(self, variable: Variable) -> t.Any:
        """Return a variable's value, converted to the variable's type. Declared variables are converted only once.

        Args:
            variable: the variable's declaration.

        Raises:
            MissingVariableError: the host has no such variable.
            ResourceError: the value is not of the variable's type.
        """
        value = self.value(variable.name)
        known = variable.name in self._converted
        return self._converted[variable.name] if known else variable.convert(value)

    def optional(self, name: str, default: t.Any = "") -> t.Any:
        """Return the value of an optional variable.

        Args:
            name: name of the variable, such as a variable of another role.
            default: returned if the host has no such variable.

        Returns:
            The value without Ansible's tags.
        """
        return self.value(name) if name in self._variables else default

    def decided(self, name: str) -> t.Any:
        """Return the value that a role's decision function computes for one of the role's variables.

        Args:
            name: name of the variable.

        Raises:
            KeyError: there is no decision function for this variable.
        """
        return self._decisions[name](self)

    def part(self, name: str, *keys: str, default: t.Any = _REQUIRED) -> t.Any:
        """Return one part of a variable. The other parts, which may be large, are not converted.

        Args:
            name: name of the variable, such as the registered result of a task.
            keys: keys of nested mappings that lead to the part.
            default: returned if the host does not have the variable or the part.

        Returns:
            The part without Ansible's tags.

        Raises:
            MissingVariableError: the host does not have this part, and there is no default.
        """
        value = self._raw_part(name, keys)
        if value is not _REQUIRED:
            return plain(self.templates.template(value))
        if default is _REQUIRED:
            raise MissingVariableError(".".join((name, *keys)))
        return default

    def has(self, name: str, *keys: str) -> bool:
        """Return whether the host has a variable, or a part of a variable. `name` and `keys` are as for `part`."""
        return self._raw_part(name, keys) is not _REQUIRED

    def _raw_part(self, name: str, keys: t.Sequence[str]) -> t.Any:
        value = self._variables.get(name, _REQUIRED)
        if isinstance(value, str) and keys:
            value = self.templates.variable(name)
        for key in keys:
            if not isinstance(value, t.Mapping) or key not in value:
                return _REQUIRED
            value = value[key]
        return value

    def of_host(self, host: str, name: str, *keys: str, default: t.Any = "") -> t.Any:
        """Return a variable of another host, or one part of the variable, from `hostvars`.

        `hostvars` contains the variables of the inventory, facts and registered results, but not the variables of roles
        and plays. When Ansible first reads a variable of a host, it collects all variables of that host, which takes
        about a millisecond. Callers therefore read the variables of no more hosts than necessary.

        Args:
            host: name of the host in the inventory.
            name: name of the variable.
            keys: keys of nested mappings that lead to the part.
            default: returned if the host does not have the variable or the part.

        Returns:
            The value without Ansible's tags.
        """
        if host not in self._other_hosts:
            self._other_hosts[host] = self._variables["hostvars"].get(host, {})
        value: t.Any = self._other_hosts[host]
        for key in (name, *keys):
            if not isinstance(value, t.Mapping) or key not in value:
                return default
            value = value[key]
        # Inside of a template, Ansible returns an object instead of an error for a value that it cannot template.
        return default if isinstance(value, jinja2.Undefined) else plain(value)

    @property
    def runtime(self) -> str:
        """The container runtime, which all roles share: `containerd`, `docker` or `moby`."""
        return str(self.optional("container_runtime", "containerd"))

    def read(self, settings: type[Settings], prefix: str) -> Settings:
        """Return an instance of a dataclass, with each field filled from the variable PREFIX_FIELD.

        If a field's type is a dataclass, and the field does not correspond to a declared variable, the field is filled
        from variables with the same prefix. If the dataclass has a method `of(variables, prefix)`, this method creates
        the instance instead.

        Args:
            settings: the dataclass. Its annotations are the types of the variables. Most of these dataclasses are
                defined in `role_variables`, or derive from a dataclass there. That package declares the variables that
                users set.
            prefix: prefix of the variables' names, which is the role's name.

        Returns:
            The instance.

        Raises:
            MissingVariableError: the host does not have a variable.
            ResourceError: a value does not match the type of its field.
        """
        own: t.Callable[[Variables, str], Settings] | None = getattr(settings, "of", None)
        return own(self, prefix) if own else self.fields(settings, prefix)

    def fields(self, settings: type[Settings], prefix: str, **given: t.Any) -> Settings:
        """Return an instance of a dataclass as `read` does, but without calling the dataclass's method `of`.

        Args:
            settings: the dataclass. Its annotations are the types of the variables.
            prefix: prefix of the variables' names, which is the role's name.
            given: values of fields that are not read from variables.

        Returns:
            The instance.

        Raises:
            MissingVariableError: the host does not have a variable.
            ResourceError: a value does not match the type of its field.
        """
        values = dict(given)
        for field, variable in _variables(t.cast("t.Hashable", settings), prefix).items():
            if field in values:
                continue
            group = None if variable.name in by_name() else nested(variable.annotation)
            values[field] = self.read(group, prefix) if group else self.converted(variable)
        return settings(**values)


@functools.cache
def _variables(settings: t.Any, prefix: str) -> t.Mapping[str, Variable]:
    """Map the name of each field of a dataclass to the variable that sets the field."""
    return dict(zip(properties(settings), variables(settings, prefix).values(), strict=True))
