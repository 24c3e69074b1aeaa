# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read and write Calico's objects in the Kubernetes API, with the error messages of libcalico-go.

Sources: lib/errors and lib/backend/k8s/resources in libcalico-go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.kubernetes_node.api.client import STRATEGIC, ApiError, Client

Object = dict[str, Any]
GROUP = "crd.projectcalico.org/v1"
_CRD = f"/apis/{GROUP}"
_KINDS = {
    "blockaffinities": "BlockAffinity",
    "bgpconfigurations": "BGPConfiguration",
    "bgppeers": "BGPPeer",
    "clusterinformations": "ClusterInformation",
    "felixconfigurations": "FelixConfiguration",
    "ipamblocks": "IPAMBlock",
    "ipamconfigs": "IPAMConfig",
    "ipamhandles": "IPAMHandle",
    "ippools": "IPPool",
    "ipreservations": "IPReservation",
}


class DatastoreError(Exception):
    """Raised if a request for one of Calico's objects fails.

    Args:
        kind: the kind of failure: `missing`, `exists`, `conflict`, `unauthorized` or `other`.
        message: libcalico-go's message.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _failure(error: ApiError | OSError, what: str, method: str, url: str) -> DatastoreError:
    if isinstance(error, OSError):
        return DatastoreError("other", f'{method} "{url}": {error}')
    if error.status in (401, 403):
        return DatastoreError("unauthorized", f"connection is unauthorized: {error}")
    if error.status == 404:
        text = str(error)
        if not error.reason:  # no Status object: the API server does not know the resource
            text = f"the server could not find the requested resource ({method.lower()} {url.split('/v1/')[-1]})"
        return DatastoreError("missing", f"resource does not exist: {what} with error: {text}")
    if error.status == 409:
        if error.reason == "AlreadyExists":
            return DatastoreError("exists", f"resource already exists: {what}")
        return DatastoreError("conflict", f"update conflict: {what}")
    return DatastoreError("other", str(error))


class Datastore:
    """A program's access to Calico's datastore, which is the Kubernetes API.

    Args:
        client: the connection to the API server, with the rights of the program's account.
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    def request(
        self, method: str, path: str, what: str, body: Mapping[str, Any] | None = None, media: str = "application/json"
    ) -> Object:
        """Send a request, and return the response's object.

        Args:
            method: the HTTP method.
            path: the path of the object or collection.
            what: the object's name in error messages.
            body: the object or patch to send.
            media: the media type of the body.

        Raises:
            DatastoreError: the request failed.
        """
        verb = {"GET": "Get", "POST": "Post", "PUT": "Put", "DELETE": "Delete"}.get(method, method.capitalize())
        try:
            return self.client.call(method, path, body, content_type=media)
        except (ApiError, OSError) as error:
            raise _failure(error, what, verb, f"{self.client.access.server}{path}") from error

    def get(self, plural: str, name: str) -> Object:
        """Return one of Calico's objects.

        Raises:
            DatastoreError: the object does not exist, or it cannot be read.
        """
        return self.request("GET", f"{_CRD}/{plural}/{name}", f"{_KINDS[plural]}({name})")

    def find(self, plural: str, name: str) -> Object | None:
        """Return one of Calico's objects, or None if it does not exist.

        Raises:
            DatastoreError: the object cannot be read.
        """
        try:
            return self.get(plural, name)
        except DatastoreError as error:
            if error.kind == "missing":
                return None
            raise

    def all(self, plural: str) -> list[Object]:
        """Return all of Calico's objects of a kind. A kind without a CustomResourceDefinition has no objects.

        Raises:
            DatastoreError: the objects cannot be read.
        """
        try:
            return list(self.request("GET", f"{_CRD}/{plural}", _KINDS[plural]).get("items") or [])
        except DatastoreError as error:
            if error.kind == "missing":
                return []
            raise

    def create(self, plural: str, name: str, spec: Mapping[str, Any]) -> Object:
        """Create one of Calico's objects, and return it.

        Raises:
            DatastoreError: the object already exists, or the request fails.
        """
        kind = _KINDS[plural]
        document = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}
        return self.request("POST", f"{_CRD}/{plural}", f"{kind}({name})", document)

    def update(self, plural: str, found: Mapping[str, Any], spec: Mapping[str, Any]) -> Object:
        """Replace the spec of one of Calico's objects, and return the object.

        `found` is the object as it was last read.

        Raises:
            DatastoreError: the object has changed since it was read, or the request fails.
        """
        name = found["metadata"]["name"]
        document = {**found, "apiVersion": GROUP, "kind": _KINDS[plural], "spec": dict(spec)}
        return self.request("PUT", f"{_CRD}/{plural}/{name}", f"{_KINDS[plural]}({name})", document)

    def delete(self, plural: str, name: str) -> None:
        """Delete one of Calico's objects if it exists.

        Raises:
            DatastoreError: the request fails.
        """
        try:
            self.request("DELETE", f"{_CRD}/{plural}/{name}", f"{_KINDS[plural]}({name})")
        except DatastoreError as error:
            if error.kind != "missing":
                raise

    def node(self, name: str) -> Object:
        """Return the Kubernetes node with the given name.

        Raises:
            DatastoreError: the node does not exist, or it cannot be read.
        """
        return self.request("GET", f"/api/v1/nodes/{name}", f"Node({name})")

    def annotate_node(self, name: str, annotations: Mapping[str, str | None]) -> None:
        """Write the annotations that make a Kubernetes node a Calico node. The value None removes an annotation.

        Raises:
            DatastoreError: the node does not exist, or a request fails.
        """
        for attempt in range(5):
            node = self.node(name)
            metadata = dict(node["metadata"])
            merged = {**(metadata.get("annotations") or {}), **annotations}
            kept = {key: value for key, value in merged.items() if value is not None}
            if kept == (metadata.get("annotations") or {}):
                return
            document = {**node, "apiVersion": "v1", "kind": "Node", "metadata": {**metadata, "annotations": kept}}
            try:
                self.request("PUT", f"/api/v1/nodes/{name}/status", f"Node({name})", document)
                return
            except DatastoreError as error:
                if error.kind != "conflict" or attempt == 4:
                    raise

    def patch_status(self, path: str, what: str, document: Mapping[str, Any]) -> None:
        """Patch the status of a built-in Kubernetes object.

        Raises:
            DatastoreError: the request fails.
        """
        self.request("PATCH", f"{path}/status", what, document, STRATEGIC)

    def close(self) -> None:
        """Close the connection to the API server."""
        self.client.close()
