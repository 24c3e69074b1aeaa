# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The code policies that a site allows are passed to every task that checks them."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from unit.roles.templates import ROLES

CHECKED = ("winkube.node.node_state", "winkube.node.bundle_push")
FILES = sorted([*ROLES.glob("*/tasks/*.yml"), *(ROLES.parent / "playbooks").rglob("*.yml")])


def tasks(found: t.Any) -> t.Iterator[dict[str, t.Any]]:
    """Yield all tasks in a file, including those in plays and blocks."""
    for item in found or ():
        yield item
        for key in ("pre_tasks", "tasks", "post_tasks", "block", "rescue", "always"):
            yield from tasks(item.get(key))


def changing(file: Path) -> list[dict[str, t.Any]]:
    found = tasks(yaml.safe_load(file.read_text(encoding="utf-8")))
    return [task for task in found if set(CHECKED) & set(task) and "check_mode" not in task]


@pytest.mark.parametrize(
    "file", [file for file in FILES if changing(file)], ids=lambda file: f"{file.parts[-3]}-{file.stem}"
)
def test_every_task_that_changes_a_node_passes_the_setting(file: Path) -> None:
    for task in changing(file):
        (options,) = [task[name] for name in CHECKED if name in task]
        assert "allowed_code_policies" in options, task["name"]


def test_some_tasks_change_nodes() -> None:
    assert sum(len(changing(file)) for file in FILES) > 10
