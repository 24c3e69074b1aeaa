# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of each role equal the golden files, for some hosts."""

from __future__ import annotations

import pytest
from golden import comparison
from unit.roles import resource_cases

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import of_role
from ansible_collections.winkube.node.plugins.plugin_utils.windows import registry_fixes


@pytest.mark.parametrize("case", resource_cases.CASES)
def test_the_resources_of_a_host_are_the_golden_files(case: str) -> None:
    assert comparison.compare(resource_cases.of_host(case)) == ""


def test_every_golden_file_is_of_a_host() -> None:
    expected = {
        f"resources/{role}/{case}.yaml" for case, (roles, _variables) in resource_cases.CASES.items() for role in roles
    }
    assert comparison.recorded("resources") == expected


def test_registry_fixes_are_applied_by_default() -> None:
    host = resource_cases.variables({}, without="windows_settings_registry_fixes")
    found = [one for one in of_role("windows_settings", host) if one["type"] == "Registry"]
    assert found
    assert found == registry_fixes.resources(["2019", "2022", "2025"])
