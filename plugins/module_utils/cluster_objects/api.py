# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The requests of a set of objects; every method raises ApiError."""

from __future__ import annotations

import typing as t

from ..api_error import ApiError
from ..api_forms import CUSTOM_OBJECT
from ..cluster_client import APPLY_PATCH, Cluster
from .kinds import Object, Reference


class ObjectApi:
    """Reads, applies and deletes objects.

    Args:
        cluster: the cluster.
        manager: name of the field manager.
        force: whether to overwrite fields that other managers own.
    """

    def __init__(self, cluster: Cluster, manager: str, *, force: bool) -> None:
        self._cluster, self._manager, self._force = cluster, manager, force

    def knows(self, api_version: str) -> bool:
        """Return whether the API server serves a group and version."""
        return self._cluster.lookup(f"apis/{api_version}", form={}) is not None

    def read(self, of: Reference) -> Object | None:
        """Return an object, or None if it does not exist."""
        return self._cluster.lookup(*of.path, form=CUSTOM_OBJECT)

    def apply(self, of: Reference, item: t.Mapping[str, t.Any], *, dry_run: bool) -> Object:
        """Apply an object, and return what the API server makes of it.

        Args:
            of: the object's identity.
            item: the fields that the manager owns.
            dry_run: whether the API server only checks and computes the result.
        """
        query = {
            "fieldManager": self._manager,
            "force": str(self._force).lower(),
            "fieldValidation": "Strict",
            **({"dryRun": "All"} if dry_run else {}),
        }
        return self._cluster.ask(
            "PATCH", *of.path, body=item, query=query, form=CUSTOM_OBJECT, content_type=APPLY_PATCH
        )

    def delete(self, of: Reference) -> bool:
        """Delete an object, and return whether it existed. Dependents, such as pods, are deleted in the background."""
        try:
            self._cluster.ask("DELETE", *of.path, body={"propagationPolicy": "Background"})
        except ApiError as error:
            if error.status != 404:
                raise
            return False
        return True
