# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Argument specifications and READMEs of roles document the defaults of the roles, with the same descriptions."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml

ROLES = Path(__file__).parents[3] / "roles"
NAMES = sorted(path.name for path in ROLES.iterdir())
_ROW = re.compile(r"^\| `(?P<name>\w+)` \| [^|]*\| (?P<default>[^|]*) \| (?P<description>.*) \|$", re.MULTILINE)
_SHARED = re.compile(r"\{\{ \w+ \| default\((?P<default>[^()]*)\)(?: \| bool)? \}\}")


def defaults(role: str) -> dict[str, t.Any]:
    return yaml.safe_load((ROLES / role / "defaults" / "main.yml").read_text(encoding="utf-8"))


def options(role: str) -> dict[str, t.Any]:
    specification = yaml.safe_load((ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    return specification["argument_specs"]["main"]["options"]


def constant(value: object) -> tuple[object] | None:
    """The value that a variable has without others, in a tuple; None for a template of other variables."""
    if "{{" not in str(value):
        return (value,)
    shared = _SHARED.fullmatch(str(value))
    return None if shared is None else (yaml.safe_load(shared["default"]),)


def stated_defaults(specified: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {name: option["default"] for name, option in specified.items() if "default" in option}


def as_stated(value: t.Any, stated: object) -> t.Any:
    return str(value) if isinstance(stated, str) and isinstance(value, (int, float)) else value


@pytest.mark.parametrize("role", NAMES)
def test_the_argument_specification_has_every_variable_with_its_default(role: str) -> None:
    found, specified = defaults(role), options(role)
    # A variable that only users define.
    assert set(specified) - set(found) <= {"kubernetes_node_hostname"}
    assert set(found) <= set(specified)
    constants = {name: value[0] for name, given in found.items() if (value := constant(given)) is not None}
    stated = stated_defaults(specified)
    # Ansible makes a text of a number where the option is a text.
    assert stated == {name: as_stated(constants[name], stated[name]) for name in stated}
    # Null is what a missing default means, and templates that read other variables have none.
    unstated = {name for name, value in constants.items() if value is not None and "{{" not in str(found[name])}
    assert unstated <= set(stated)


@pytest.mark.parametrize("role", NAMES)
def test_the_readme_has_the_defaults_of_the_specification(role: str) -> None:
    rows = {row["name"]: row["default"].strip() for row in _ROW.finditer((ROLES / role / "README.md").read_text())}
    stated = stated_defaults(options(role))
    documented = {}
    for name in stated.keys() & rows.keys():
        text = re.fullmatch(r"`(.*)`", rows[name])
        documented[name] = as_stated(yaml.safe_load(text[1]) if text else rows[name], stated[name])
    assert documented == {name: stated[name] for name in documented}
    assert len(documented) >= len(stated) / 2


def readme_text(description: str) -> str:
    """Return a description of an argument specification as the README has it."""
    return re.sub(r"\b[COVMP]\(([^()]*)\)", r"`\1`", " ".join(description.split()))


def described(row: str) -> str:
    """Return a description of a README without what the specification has elsewhere: choices, and links of pages."""
    without_choices = re.sub(r" ?One of (?:`[^`]*`(?:, )?)+\.$", "", row)
    return re.sub(r"\[[^]]*\]\(\.\./\.\./([^)]*)\)", r"\1", without_choices)


@pytest.mark.parametrize("role", NAMES)
def test_the_readme_has_the_descriptions_of_the_specification(role: str) -> None:
    rows = {
        row["name"]: described(row["description"]) for row in _ROW.finditer((ROLES / role / "README.md").read_text())
    }
    assert rows == {name: readme_text(option["description"]) for name, option in options(role).items()}
