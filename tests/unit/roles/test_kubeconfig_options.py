# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every task that accesses a cluster uses the user's kubeconfig and context."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).parents[3]
RUNTIME = yaml.safe_load((REPOSITORY / "meta" / "runtime.yml").read_text(encoding="utf-8"))
CLUSTER = {f"winkube.node.{name}" for name in RUNTIME["action_groups"]["cluster"]}
FILES = sorted((REPOSITORY / "roles").glob("*/tasks/*.yml"))


def tasks(entries: list[dict[str, t.Any]]) -> Iterator[dict[str, t.Any]]:
    for entry in entries:
        yield entry
        for section in ("block", "rescue", "always"):
            yield from tasks(entry.get(section, []))


def cluster_tasks() -> Iterator[t.Any]:
    for file in FILES:
        for task in tasks(yaml.safe_load(file.read_text(encoding="utf-8"))):
            for name, arguments in task.items():
                if name in CLUSTER or name.startswith("kubernetes.core."):
                    role = file.parents[1].name
                    yield pytest.param(role, arguments, id=f"{role}/{file.name}: {task['name']}")


@pytest.mark.parametrize(("role", "arguments"), cluster_tasks())
def test_a_task_uses_the_roles_kubeconfig_and_context(role: str, arguments: dict[str, t.Any]) -> None:
    assert arguments["kubeconfig"] == f"{{{{ {role}_kubeconfig }}}}"
    assert arguments["context"] == f"{{{{ {role}_kubeconfig_context or omit }}}}"


def test_these_tasks_are_found() -> None:
    assert len(list(cluster_tasks())) >= 15
