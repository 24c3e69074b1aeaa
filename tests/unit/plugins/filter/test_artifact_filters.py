# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters of lists of artifacts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.filter.artifacts import artifacts_together


@given(st.lists(st.sampled_from(["Artifact", "Archive", "File"])))
def test_artifacts_stand_together_and_nothing_else_moves(types: list[str]) -> None:
    resources: list[dict[str, Any]] = [{"type": kind, "name": str(number)} for number, kind in enumerate(types)]
    together = artifacts_together(resources)
    assert sorted(resource["name"] for resource in together) == sorted(resource["name"] for resource in resources)
    places = [place for place, resource in enumerate(together) if resource["type"] == "Artifact"]
    first = types.index("Artifact") if "Artifact" in types else 0
    assert places == list(range(first, first + types.count("Artifact")))
    for wanted in (True, False):
        assert [resource for resource in together if (resource["type"] == "Artifact") is wanted] == [
            resource for resource in resources if (resource["type"] == "Artifact") is wanted
        ]
