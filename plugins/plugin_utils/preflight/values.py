# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the values of a host's variables: first their types, then whether each value is valid."""

from __future__ import annotations

import re
import typing as t

from ..specification.variable import Variable
from ..values.ansible_data import plain
from ..values.errors import ResourceError
from . import (
    artifacts,
    cloudbase_init,
    container_images,
    domains,
    folders,
    image,
    joining,
    kubelet,
    patches,
    pod_networks,
    remote_access,
    rings,
    upgrade,
)
from .variables import Problem, Role, rollout_problems


class MistypedVariable(Problem):
    """The problem that a variable's value has the wrong type or is not an accepted value."""


def problems(
    variables: t.Mapping[str, t.Any], values: t.Mapping[str, t.Any], known_roles: t.Sequence[Role], *, strict: bool
) -> list[Problem]:
    """Return a problem for each invalid value.

    Args:
        variables: all variables of a host, not templated.
        values: templated values of the options that are set.
        known_roles: the roles to check.
        strict: whether to also return a problem for each unverified download. These are checked only if all values
            have the right types and the artifacts are valid.
    """
    refused = [*mistyped_variables(values, known_roles), *artifacts.problems(values)]
    if strict and not refused:
        refused += artifacts.refused(values, values.get("node_prepare_roles") or ())
    refused += container_images.problems(values)
    refused += cloudbase_init.problems(values)
    refused += folders.problems(values)
    refused += kubelet.problems(values, str(values.get("kubernetes_node_version") or ""))
    refused += joining.problems(values)
    refused += domains.problems(values)
    refused += pod_networks.problems(values)
    refused += remote_access.problems(values)
    refused += upgrade.problems(values)
    refused += rings.problems(values)
    refused += patches.problems(plain({name: values.get(name) for name in patches.VARIABLES}))
    return [*refused, *rollout_problems(values), *image.problems(variables, values, known_roles)]


def mistyped_variables(values: t.Mapping[str, t.Any], known_roles: t.Sequence[Role]) -> list[Problem]:
    """Return a problem for each variable whose value has the wrong type or is not an accepted value.

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
    """Return the problems without those that only follow from a value that has the wrong type or is not accepted.

    Args:
        problems: all problems of a host.
    """
    mistyped = [_item(problem) for problem in problems if isinstance(problem, MistypedVariable)]

    def is_consequence(problem: Problem) -> bool:
        return any(_is_part(_place(problem), item) or f" {item}: expected " in problem.hint for item in mistyped)

    return [problem for problem in problems if isinstance(problem, MistypedVariable) or not is_consequence(problem)]


def _place(problem: Problem) -> str:
    """Return the variable, or the part of its value, that a problem concerns, such as `VARIABLE[0].url`."""
    return re.sub(r" [(][^)]*[)]", "", problem.variable, count=1)


def _item(problem: Problem) -> str:
    """Return the variable, or the item of its value, that a problem concerns (`VARIABLE[0]` for `VARIABLE[0].url`)."""
    match = re.match(r"\w+(?:\[\d+\]|\.[^.\[]+)?", _place(problem))
    return match[0] if match else problem.variable


def _is_part(place: str, item: str) -> bool:
    return place.startswith(item) and place[len(item) : len(item) + 1] in ("", ".", "[")


def _errors(variable: Variable, value: t.Any) -> list[ResourceError]:
    """Return the errors in a variable's value.

    Ansible's own types, such as vaulted strings, are rare. So a value is converted to plain types only if its original
    form has errors.
    """
    return variable.errors(value) and variable.errors(plain(value))
