# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The examples in the documentation of node_state are accepted."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load


@pytest.fixture
def documents(repository: Path) -> dict[str, t.Any]:
    text = (repository / "plugins" / "modules" / "node_state.yml").read_text(encoding="utf-8")
    return t.cast("dict[str, t.Any]", yaml.safe_load(text))


def test_every_example_is_accepted(documents: dict[str, t.Any]) -> None:
    tasks = [task["winkube.node.node_state"] for task in yaml.safe_load(documents["EXAMPLES"])]
    lists = [task["resources"] for task in tasks if isinstance(task["resources"], list)]
    assert len(lists) == 2
    for items in lists:
        assert len(load(items)) == len(items)
