# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the values of a host's variables: their types first, then what each value means."""

from __future__ import annotations

import typing as t

from ..specification.variable import Variable
from ..values.ansible_data import plain
from ..values.errors import ResourceError
from . import artifacts, container_images, folders, image, patches
from .variables import Problem, Role, rollout_problems


class MistypedVariable(Problem):
    """A variable whose value has the wrong type, or is none of the accepted ones."""


def problems(
    variables: t.Mapping[str, t.Any], values: t.Mapping[str, t.Any], known_roles: t.Sequence[Role], *, strict: bool
) -> list[Problem]:
    """Return the values that are not acceptable.

    Args:
        variables: all variables of a host, not templated.
        values: templated values of the options that are set.
        known_roles: the roles to check.
        strict: whether to return unverified downloads, too, if there are no other problems.
    """
    found = [*mistyped_variables(values, known_roles), *artifacts.problems(values)]
    if strict and not found:
        found += artifacts.refused(values, values.get("node_prepare_roles") or ())
    found += container_images.problems(values)
    found += folders.problems(values)
    found += patches.problems(plain({name: values.get(name) for name in patches.VARIABLES}))
    return [*found, *rollout_problems(values), *image.problems(variables, values, known_roles)]


def mistyped_variables(values: t.Mapping[str, t.Any], known_roles: t.Sequence[Role]) -> list[Problem]:
    """Return variables whose value has the wrong type, or is none of the accepted ones.

    Args:
        values: templated values of the options that are set.
        known_roles: the roles to check.
    """
    problems: list[Problem] = []
    for role in known_roles:
        for name, variable in role.options.items():
            if name not in values:
                continue
            try:
                _convert(variable, values[name])
            except ResourceError as error:
                source = f" (from {role.sources[name]})" if name in role.sources else ""
                where = f"{name}{source}{error.where.removeprefix(name)}"
                problems.append(MistypedVariable(where, error.value, error.expected, error.hint))
    return problems


def without_consequences(problems: t.Sequence[Problem]) -> list[Problem]:
    """Return problems without those that other checks find in a value of the wrong type.

    Args:
        problems: all problems of a host.
    """
    mistyped = {problem.name for problem in problems if isinstance(problem, MistypedVariable)}
    return [problem for problem in problems if isinstance(problem, MistypedVariable) or problem.name not in mistyped]


def _convert(variable: Variable, value: t.Any) -> t.Any:
    """Return a value as its variable's type. Ansible's own types, such as vaulted text, are rare, so they come second.

    Raises:
        ResourceError: the value is not acceptable.
    """
    try:
        return variable.convert(value)
    except ResourceError:
        return variable.convert(plain(value))
