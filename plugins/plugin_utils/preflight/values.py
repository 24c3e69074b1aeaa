# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the values of a host's variables: their types first, then what each value means."""

from __future__ import annotations

import re
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
        for name in (name for name in role.options if name in values):
            source = f" (from {role.sources[name]})" if name in role.sources else ""
            for error in _errors(role.options[name], values[name]):
                where = f"{name}{source}{error.where.removeprefix(name)}"
                problems.append(MistypedVariable(where, error.value, error.expected, error.hint))
    return problems


def without_consequences(problems: t.Sequence[Problem]) -> list[Problem]:
    """Return problems without those that other checks find in a value of the wrong type.

    Args:
        problems: all problems of a host.
    """
    mistyped = [_item(problem) for problem in problems if isinstance(problem, MistypedVariable)]
    return [
        problem
        for problem in problems
        if isinstance(problem, MistypedVariable) or not any(_is_part(_place(problem), item) for item in mistyped)
    ]


def _place(problem: Problem) -> str:
    """Return the variable and the part of its value, without the source."""
    return re.sub(r" [(][^)]*[)]", "", problem.variable, count=1)


def _item(problem: Problem) -> str:
    """Return the variable, or the item of its value that has the wrong type."""
    found = re.match(r"\w+(?:\[\d+\]|\.[^.\[]+)?", _place(problem))
    return found[0] if found else problem.variable


def _is_part(place: str, item: str) -> bool:
    return place.startswith(item) and place[len(item) : len(item) + 1] in ("", ".", "[")


def _errors(variable: Variable, value: t.Any) -> list[ResourceError]:
    """Return what is wrong with a value. Ansible's own types, such as vaulted text, are rare, so they come second."""
    return variable.errors(value) and variable.errors(plain(value))
