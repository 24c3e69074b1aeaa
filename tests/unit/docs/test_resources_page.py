# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""docs/resources.md and the list of types in node_state.yml are what docs/generate_resources.py makes of the types."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.resources import TYPES


def test_the_page_of_resources_is_up_to_date(repository: Path) -> None:
    script = repository / "docs" / "generate_resources.py"
    spec = importlib.util.spec_from_file_location("generate_resources", script)
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    page = (repository / "docs" / "resources.md").read_text(encoding="utf-8")
    if page != generate.page():
        pytest.fail("docs/resources.md is out of date: run make docs")
    module = generate.MODULE.read_text(encoding="utf-8")
    if module != generate.module_text():
        pytest.fail("plugins/modules/node_state.yml is out of date: run make docs")
    assert all(f"C({name})" in module for name in TYPES)
    for name in TYPES:
        assert f"\n## {name}\n" in page
