# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""docs/variables.md is the output of docs/generate_variables.py for the roles and playbooks."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def generate(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    script = repository / "docs" / "generate_variables.py"
    spec = importlib.util.spec_from_file_location("generate_variables", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_variables_is_up_to_date(generate: Any) -> None:
    if generate.PAGE.read_text(encoding="utf-8") != generate.page():
        pytest.fail("docs/variables.md is out of date: run make docs")


def test_the_page_describes_the_existing_variables(generate: Any) -> None:
    shared = generate.shared_variables()
    assert {"kube_version", "kubeconfig", "artifact_mirror", "bundle_dir", "http_proxy"} <= shared.keys()
    assert generate.SHARED.keys() <= shared.keys()
    found = generate.playbook_variables(shared)
    missing = f"describe them in docs/generate_variables.py: {sorted(found.keys() - generate.PLAYBOOKS.keys())}"
    assert found.keys() == generate.PLAYBOOKS.keys(), missing
