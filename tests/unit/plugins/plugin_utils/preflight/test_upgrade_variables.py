# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of upgrades are checked before any node is touched."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import upgrade

GOOD: dict[str, t.Any] = {
    "node_upgrade_versions": ["1.35.4", "v1.36.3"],
    "node_upgrade_roles": ["container_runtime", "kubernetes_node"],
    "node_upgrade_patches": False,
}


@pytest.mark.parametrize(
    "values", [{}, GOOD, {**GOOD, "node_upgrade_patches": True, "windows_patches_public": ["KB1"]}]
)
def test_good_values_have_no_problem(values: dict[str, t.Any]) -> None:
    assert upgrade.problems(values) == []


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ({"node_upgrade_versions": ["1.35.4", "1.36"]}, ["node_upgrade_versions[1]", "MAJOR.MINOR.PATCH", "'1.36'"]),
        ({"node_upgrade_roles": ["cni"]}, ["node_upgrade_roles", "expected a list with kubernetes_node", "'cni'"]),
        ({"node_upgrade_patches": "yes"}, ["node_upgrade_patches", "at least one patch", "windows_patches_public"]),
    ],
)
def test_wrong_values_are_explained(values: dict[str, t.Any], texts: list[str]) -> None:
    (problem,) = upgrade.problems({**GOOD, **values})
    assert [text for text in texts if text not in str(problem)] == []
