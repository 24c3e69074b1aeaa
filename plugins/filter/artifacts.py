# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Filters of lists of artifacts."""

from __future__ import annotations

import typing as t


def artifacts_together(resources: t.Sequence[t.Mapping[str, t.Any]]) -> list[t.Mapping[str, t.Any]]:
    """The resources with all artifacts where the first of them stands: neighbours are downloaded side by side."""
    first = next((place for place, resource in enumerate(resources) if _is_artifact(resource)), len(resources))
    artifacts = [resource for resource in resources if _is_artifact(resource)]
    return [*resources[:first], *artifacts, *(resource for resource in resources[first:] if not _is_artifact(resource))]


def _is_artifact(resource: t.Mapping[str, t.Any]) -> bool:
    return resource.get("type") == "Artifact"


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"artifacts_together": artifacts_together}
