# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Evaluate the templates of the roles' own defaults and variables, each compiled once for all hosts.

Ansible compiles each template again in each worker, and prepares all variables of the host for each template. For more
than two hundred short templates in the roles' defaults/main.yml and vars/main.yml, this took 60% of the CPU time that
plan.yml needs per node. This module compiles the simple templates before Ansible forks. Ansible still evaluates all
other templates: the users' templates, templates with plugins that this module does not know, and templates whose
evaluation fails here. So users see Ansible's own error messages.
"""

from __future__ import annotations

import functools
import pathlib
import re
import typing as t

import jinja2
from ansible.module_utils.common.yaml import yaml_load
from ansible.plugins.filter import core
from ansible.template import is_trusted_as_template
from jinja2 import meta, nodes

from . import artifact_sources

ROLES = pathlib.Path(__file__).parents[3] / "roles"
CLUSTER_VARIABLE = "winkube.node.cluster_variable"
ROLE_DECISION = "winkube.node.role_decision"
CLUSTER_GROUPS = ("kube_control_plane", "kube-master", "master-ubuntu", "k8s_cluster", "k8s-cluster")
"""Inventory groups of kubespray (old and new names) and of kubernetes-for-windows. The control plane comes first,
because its hosts have all variables of the cluster."""
_EXPRESSION = re.compile(r"\s*\{\{-?((?:(?!\{\{|\}\}|\{%).)*?)-?\}\}\s*", re.DOTALL)
"""Matches a template that consists of one expression."""
_FILTERS = frozenset({"default", "first", "length", "list", "lower"})
_ANSIBLE_FILTERS = frozenset({"bool", "flatten", "split"})
_TESTS = frozenset({"defined", "none", "in"})


class _Undefined(jinja2.ChainableUndefined, jinja2.StrictUndefined):
    """An undefined value as in Ansible: its attributes are also undefined, and only a use of its value is an error."""


class _Expression(t.NamedTuple):
    """A compiled template."""

    names: frozenset[str]
    """Names of the variables that the template reads."""
    evaluate: t.Callable[..., t.Any]


class OwnTemplates:
    """An evaluator of templates for one host. It evaluates each variable on first use, and then caches the value.

    Args:
        variables: maps the names of variables to their values, not templated.
        template: Ansible's function that templates a value.
        decide: function that returns the result of the role_decision lookup plugin for a term. Without this function,
            Ansible runs the plugin.
    """

    def __init__(
        self,
        variables: t.Mapping[str, t.Any],
        template: t.Callable[[t.Any], t.Any],
        decide: t.Callable[[str], t.Any] | None = None,
    ) -> None:
        self._variables = variables
        self._template = template
        self._decide = decide
        self._known: dict[str, t.Any] = {}
        self._hosts: list[t.Mapping[str, t.Any]] | None = None

    def variable(self, name: str) -> t.Any:
        """Return the value of a variable.

        Args:
            name: name of a variable that the host has.
        """
        if name not in self._known:
            self._known[name] = self.template(self._variables[name])
        return self._known[name]

    def template(self, value: t.Any) -> t.Any:
        """Evaluate the templates in a value, with the same result as Ansible.

        Args:
            value: the value, not templated.
        """
        try:
            return self._evaluated(value)
        except Exception:
            # Let Ansible evaluate the template again, so that users see Ansible's own error message.
            return self._template(value)

    def _evaluated(self, value: t.Any) -> t.Any:
        if isinstance(value, str):
            if "{" not in value:
                return value
            expression = compiled().get(value)
            if expression is None or not is_trusted_as_template(value):
                return self._template(value)
            return self._result(expression)
        if isinstance(value, dict):
            return {key: self._evaluated(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._evaluated(one) for one in value]
        if value is None or isinstance(value, (bool, int, float)):
            return value
        return self._template(value)

    def _result(self, expression: _Expression) -> t.Any:
        # Read all variables before the evaluation, as Jinja does.
        values = {name: self.variable(name) for name in expression.names if name in self._variables}
        return expression.evaluate(values, lookup=self._lookup)

    def of_cluster(self, name: str, default: t.Any = "") -> t.Any:
        """Return a variable of the host or, if the host lacks it, of the first of `cluster_hosts` that has it.

        Args:
            name: name of the variable. A null value counts as missing.
            default: returned if none of these hosts has the variable.
        """
        own = self.variable(name) if name in self._variables else None
        if own is not None:
            return own
        for host in self._cluster_hosts():
            theirs = host.get(name)
            if theirs is not None:
                return theirs
        return default

    def optional(self, name: str, default: t.Any = "") -> t.Any:
        """Return a variable of the host, or the default if the host does not have it."""
        return self.variable(name) if name in self._variables else default

    def _lookup(self, plugin: str, *names: str, **default: t.Any) -> t.Any:
        """Run a lookup plugin for a compiled template. _is_simple accepts only the plugins that are handled here."""
        if plugin == ROLE_DECISION:
            if self._decide is None:
                raise LookupError(plugin)
            return self._decide(*names)
        if plugin == artifact_sources.LOOKUP:
            return artifact_sources.artifact_sources(self.optional)
        return self.of_cluster(*names, **default)

    def _cluster_hosts(self) -> list[t.Mapping[str, t.Any]]:
        if self._hosts is None:
            names = cluster_hosts(self._variables.get("groups") or {})
            self._hosts = [self._variables["hostvars"][name] for name in names]
        return self._hosts


def cluster_hosts(groups: t.Mapping[str, t.Sequence[str]]) -> list[str]:
    """Return the first host of each of the cluster's inventory groups, without duplicates.

    The variables of these hosts describe the cluster.
    """
    return list(dict.fromkeys(groups[name][0] for name in CLUSTER_GROUPS if groups.get(name)))


@functools.cache
def compiled() -> t.Mapping[str, _Expression]:
    """Return the compiled templates of the roles' defaults and variables. The keys are the templates' texts."""
    environment = jinja2.Environment(undefined=_Undefined, autoescape=False)  # noqa: S701 - no HTML
    filters = core.FilterModule().filters()
    environment.filters |= {name: filters[name] for name in _ANSIBLE_FILTERS}
    environment.globals = {}
    expressions = {}
    for folder in sorted(ROLES.iterdir()):
        for path in (folder / "defaults" / "main.yml", folder / "vars" / "main.yml"):
            values = yaml_load(path.read_text(encoding="utf-8")) if path.exists() else None
            for text in set(_texts(values)):
                expression = _compile(environment, text)
                if expression:
                    expressions[text] = expression
    return expressions


def _texts(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)


def _compile(environment: jinja2.Environment, text: str) -> _Expression | None:
    """Return the compiled template, or None if it is not a single expression that this module can evaluate."""
    match = _EXPRESSION.fullmatch(text)
    if match is None:
        return None
    # As in Ansible, a backslash in a string literal is an ordinary character.
    inner = match[1].replace("\\", "\\\\")
    source = environment.parse(f"{{{{ {inner} }}}}")
    if not all(_is_simple(node) for node in source.find_all(nodes.Expr)):
        return None
    names = frozenset(meta.find_undeclared_variables(source)) - {"lookup"}
    if "omit" in names:
        return None
    run = environment.compile_expression(inner, undefined_to_none=False)

    def evaluate(*arguments: t.Any, **keywords: t.Any) -> t.Any:
        result = run(*arguments, **keywords)
        if isinstance(result, jinja2.Undefined):
            raise jinja2.UndefinedError(text)
        return result

    return _Expression(names, evaluate)


def _is_simple(node: nodes.Expr) -> bool:
    if isinstance(node, nodes.Filter):
        return node.name in _FILTERS | _ANSIBLE_FILTERS
    if isinstance(node, nodes.Test):
        return node.name in _TESTS
    if isinstance(node, nodes.Call):
        function, arguments = node.node, node.args
        first = arguments[0] if arguments else None
        accepted = {CLUSTER_VARIABLE: 2, ROLE_DECISION: 2, artifact_sources.LOOKUP: 1}
        return (
            isinstance(function, nodes.Name)
            and function.name == "lookup"
            and isinstance(first, nodes.Const)
            and accepted.get(first.value) == len(arguments)
        )
    return True
