# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The roles' `vars` hold constants and references; package role_decisions has the logic."""

from __future__ import annotations

import typing as t
from pathlib import Path

import jinja2
import pytest
import yaml
from jinja2 import nodes
from unit.roles.templates import ROLES

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.own_templates import ROLE_DECISION
from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions.table import DECISIONS

ROOT = ROLES.parent
VARS = sorted(ROLES.glob("*/vars/*.yml"))
OTHERS = sorted([*ROLES.glob("*/tasks/*.yml"), *ROLES.glob("*/defaults/*.yml"), *ROOT.glob("playbooks/**/*.yml")])
REFERENCES = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Const, nodes.Name, nodes.Getattr, nodes.Dict),
    *(nodes.Filter, nodes.Call, nodes.Not),
)
"""What a template without logic consists of."""
FILTERS = ("default", "bool", "expanduser", "winkube.node.maintenance_selection")


def texts(value: object) -> t.Iterator[str]:
    """Yield all texts of a YAML document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value


def variables(files: t.Iterable[Path]) -> t.Iterator[tuple[str, str, object]]:
    """Yield role, name and value of each variable."""
    for path in files:
        for name, value in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            yield path.parts[-3], name, value


def problem(text: str) -> str:
    """Return why a text is more than a constant or a reference; empty if it is not."""
    if "\n" in text.strip() and "{{" in text:
        return "more than one line"
    for node in jinja2.Environment(autoescape=True).parse(text).find_all(nodes.Node):
        is_empty = isinstance(node, nodes.List) and not node.items
        if not isinstance(node, REFERENCES) and not is_empty:
            return type(node).__name__
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            return f"filter {node.name}"
    return ""


@pytest.mark.parametrize("path", VARS, ids=lambda path: path.parts[-3])
def test_variables_are_constants_or_references(path: Path) -> None:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    found = {name: [why for text in texts(value) if (why := problem(text))] for name, value in content.items()}
    assert {name: reasons for name, reasons in found.items() if reasons} == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{% if a %}b{% endif %}", "If"),
        ("{{ a if b else c }}", "CondExpr"),
        ("{{ a[1:] }}", "Getitem"),
        ("{{ a + b }}", "Add"),
        ("{{ [a, b] }}", "List"),
        ("{{ a | map(attribute='b') }}", "filter map"),
        ("{{ a | combine(b) }}", "filter combine"),
        ("{{ a | rejectattr('b') }}", "filter rejectattr"),
        ("{{ a }}\n{{ b }}", "more than one line"),
        ("{{ a == b }}", "Compare"),
        ("{{ a and b }}", "And"),
        ("{{ lookup('x', 'y') }}", ""),
        ("{{ a.b | default({}) }}\\c", ""),
        ("{{ a.b | default([]) }}", ""),
    ],
)
def test_expressions_that_count_as_logic(text: str, why: str) -> None:
    assert problem(text) == why


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_tasks_defaults_and_playbooks_have_no_statements(path: Path) -> None:
    assert "{%" not in path.read_text(encoding="utf-8")


def test_each_decision_is_that_of_the_variable_of_its_name() -> None:
    decided = {}
    for role, name, value in variables([*VARS, *ROLES.glob("*/defaults/*.yml")]):
        for text in texts(value):
            if ROLE_DECISION in text:
                assert text == f"{{{{ lookup('{ROLE_DECISION}', '{name}') }}}}", (role, name)
                assert name not in decided, (role, decided[name])
                decided[name] = role
    assert set(decided) == set(DECISIONS)
    for name, role in decided.items():
        assert name.startswith((f"{role}_", "winkube_")), (name, role)
