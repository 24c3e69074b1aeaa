# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Send the API requests that read, apply and delete Kubernetes objects.

Every method raises ApiError if its request fails.
"""

from __future__ import annotations

import typing as t

from ..api_error import ApiError
from ..api_forms import CUSTOM_OBJECT
from ..cluster_client import APPLY_PATCH, MERGE_PATCH, Cluster
from .kinds import Object, Reference


class ObjectApi:
    """Reads, applies and deletes Kubernetes objects.

    Args:
        cluster: the cluster.
        manager: name of the field manager that applies the objects.
        force: whether to overwrite fields that other field managers own.
    """

    def __init__(self, cluster: Cluster, manager: str, *, force: bool) -> None:
        self._cluster, self.manager, self._force = cluster, manager, force

    def knows(self, api_version: str) -> bool:
        """Return whether the API server serves a version of an API group, such as `apps/v1`."""
        return self._cluster.lookup(f"apis/{api_version}", form={}) is not None

    def read(self, of: Reference) -> Object | None:
        """Return an object, or None if it does not exist."""
        return self._cluster.lookup(*of.path, form=CUSTOM_OBJECT)

    def apply(self, of: Reference, item: t.Mapping[str, t.Any], *, dry_run: bool) -> Object:
        """Apply an object, and return the resulting object.

        Args:
            of: the object's identity.
            item: the object with the fields to set; the field manager owns these fields from then on.
            dry_run: whether the API server only checks the object and computes the result, without storing anything.
        """
        query = {
            "fieldManager": self.manager,
            "force": str(self._force).lower(),
            "fieldValidation": "Strict",
            **({"dryRun": "All"} if dry_run else {}),
        }
        return self._cluster.ask(
            "PATCH", *of.path, body=item, query=query, form=CUSTOM_OBJECT, content_type=APPLY_PATCH
        )

    def remove_label(self, of: Reference, label: str) -> None:
        """Remove a label from an object, and change nothing else."""
        body = {"metadata": {"labels": {label: None}}}
        query = {"fieldManager": self.manager}
        self._cluster.ask("PATCH", *of.path, body=body, query=query, content_type=MERGE_PATCH)

    def delete(self, of: Reference, uid: str) -> bool:
        """Delete an object, and return whether it existed. Dependents, such as pods, are deleted in the background.

        Args:
            of: the object's identity.
            uid: the object's UID. The API server does not delete an object with the same name and a different UID.
        """
        body = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        try:
            self._cluster.ask("DELETE", *of.path, body=body)
        except ApiError as error:
            if error.status != 404:
                raise
            return False
        return True
