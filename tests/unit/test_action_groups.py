# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action groups of meta/runtime.yml: `module_defaults` apply to every module with the group's options."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml


def with_fragment(repository: Path, fragment: str) -> list[str]:
    files = sorted((repository / "plugins" / "modules").iterdir())
    found = {file.stem for file in files if file.is_file() and fragment in file.read_text(encoding="utf-8")}
    return sorted(found)


@pytest.mark.parametrize(
    ("group", "fragment", "others"),
    [
        ("cluster", "winkube.node.cluster_options", []),
        # It documents these options itself.
        ("node", "winkube.node.node_options", ["node_state"]),
    ],
)
def test_a_group_has_all_modules_with_its_options(
    repository: Path, group: str, fragment: str, others: list[str]
) -> None:
    runtime = yaml.safe_load((repository / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    expected = with_fragment(repository, fragment)
    assert len(expected) > 5
    assert runtime["action_groups"][group] == sorted([*expected, *others])
