# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Argument specifications and READMEs of roles document the declared variables and the roles' defaults."""

from __future__ import annotations

import importlib.util
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.winkube.node.plugins.plugin_utils.role_variables.roles import ROLES, of_role

REMEDY = "is out of date: run make docs, which runs docs/generate_argument_specs.py"


@pytest.fixture(scope="module")
def generate() -> t.Any:
    script = Path(__file__).parents[3] / "docs" / "generate_argument_specs.py"
    spec = importlib.util.spec_from_file_location("generate_argument_specs", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_role_declares_its_variables(generate: t.Any) -> None:
    assert sorted(ROLES) == sorted(path.name for path in generate.ROLES.iterdir())


@pytest.mark.parametrize("role", ROLES)
def test_the_declared_variables_are_those_with_a_default(generate: t.Any, role: str) -> None:
    defaults = yaml.safe_load((generate.ROLES / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    # A variable that only users define.
    assert set(of_role(role)) - set(defaults) <= {"kubernetes_node_hostname"}
    assert set(defaults) <= set(of_role(role))


@pytest.mark.parametrize("role", ROLES)
def test_the_argument_specification_is_generated(generate: t.Any, role: str) -> None:
    path = generate.path_of(role)
    text = generate.text_of(role)
    if path.read_text(encoding="utf-8") != text:
        pytest.fail(f"{path} {REMEDY}")
    options = yaml.safe_load(text)["argument_specs"]["main"]["options"]
    assert set(options) == set(of_role(role))


@pytest.mark.parametrize("role", ROLES)
def test_the_readme_has_every_variable_as_generated(generate: t.Any, role: str) -> None:
    path = generate.readme_path_of(role)
    text = path.read_text(encoding="utf-8")
    if text != generate.readme_of(role):
        pytest.fail(f"{path} {REMEDY}")
    assert set(of_role(role)) - set(re.findall(r"`(\w+)`", text)) == set()


@pytest.mark.parametrize("role", ROLES)
def test_constant_defaults_are_acceptable(generate: t.Any, role: str) -> None:
    defaults = yaml.safe_load((generate.ROLES / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    checked = 0
    for name, variable in of_role(role).items():
        default = generate.constant(defaults.get(name))
        if default is not None:
            variable.convert(default)
            checked += 1
    assert checked


@pytest.mark.parametrize("role", ROLES)
def test_ansible_accepts_the_defaults(generate: t.Any, role: str) -> None:
    options = yaml.safe_load(generate.text_of(role))["argument_specs"]["main"]["options"]
    specified = {name: {**option, "no_log": False} for name, option in options.items()}
    defaults = {name: option["default"] for name, option in options.items() if "default" in option}
    assert ArgumentSpecValidator(specified).validate(defaults).error_messages == []


def test_a_variable_without_a_description_is_named(
    generate: t.Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "windows_features" / "meta").mkdir(parents=True)
    (tmp_path / "windows_features" / "defaults").mkdir()
    source = generate.ROLES / "windows_features"
    (tmp_path / "windows_features/defaults/main.yml").write_text((source / "defaults/main.yml").read_text())
    text = (source / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    (tmp_path / "windows_features/meta/argument_specs.yml").write_text(text.replace("windows_features_absent:", "x:"))
    monkeypatch.setattr(generate, "ROLES", tmp_path)
    with pytest.raises(SystemExit, match="expected a description of windows_features_absent"):
        generate.text_of("windows_features")
