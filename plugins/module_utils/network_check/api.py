# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Send the API requests of a check of the pod network. Every method raises ApiError if its request fails."""

from __future__ import annotations

import typing as t

from ..api_error import ApiError
from ..api_forms import DAEMON_SET, NAMESPACE, NODE, POD, SERVICE
from ..cluster_client import Cluster
from .objects import LABELS, ROLE_LABEL

_NAMESPACES = "api/v1/namespaces"
_POLICIES = "apis/networking.k8s.io/v1/namespaces"


class NetworkCheckApi:
    """Sends the API requests of a check of the pod network.

    Args:
        cluster: a client of the cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def nodes(self) -> list[dict[str, t.Any]]:
        """Return all nodes of the cluster."""
        return self._cluster.items("api/v1/nodes", form=NODE)

    def daemon_set_names(self) -> set[str]:
        """Return the names of the DaemonSets of all namespaces."""
        return {item["metadata"]["name"] for item in self._cluster.items("apis/apps/v1/daemonsets", form=DAEMON_SET)}

    def namespaces(self) -> list[dict[str, t.Any]]:
        """Return the namespaces that this run and earlier runs of the network check have created."""
        selector = ",".join(f"{name}={value}" for name, value in LABELS.items())
        return self._cluster.items(_NAMESPACES, form=NAMESPACE, query={"labelSelector": selector})

    def namespace_exists(self, name: str) -> bool:
        """Return whether a namespace exists. A namespace that is being deleted still exists."""
        return self._cluster.lookup(_NAMESPACES, name, form=NAMESPACE) is not None

    def create_namespace(self, body: t.Mapping[str, t.Any]) -> None:
        """Create a namespace."""
        self._cluster.ask("POST", _NAMESPACES, body=body)

    def delete_namespace(self, name: str) -> None:
        """Ask the API server to delete a namespace with its content. Do nothing if the namespace does not exist."""
        try:
            self._cluster.ask("DELETE", _NAMESPACES, name)
        except ApiError as error:
            # 409: it is already being deleted.
            if error.status not in (404, 409):
                raise

    def create_pod(self, namespace: str, body: t.Mapping[str, t.Any]) -> None:
        """Create a pod. An existing pod is not an error: the response to an earlier request may have been lost."""
        try:
            self._cluster.ask("POST", _NAMESPACES, namespace, "pods", body=body)
        except ApiError as error:
            if error.status != 409:
                raise

    def pods(self, namespace: str, role: str) -> list[dict[str, t.Any]]:
        """Return the pods in a namespace that have the given role, `server` or `probe`."""
        query = {"labelSelector": f"{ROLE_LABEL}={role}"}
        return self._cluster.items(_NAMESPACES, namespace, "pods", form=POD, query=query)

    def delete_pod(self, namespace: str, name: str) -> None:
        """Ask the API server to delete a pod. Do nothing if the pod does not exist."""
        try:
            self._cluster.ask("DELETE", _NAMESPACES, namespace, "pods", name)
        except ApiError as error:
            if error.status != 404:
                raise

    def create_service(self, namespace: str, body: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Create a Service, and return it with the addresses and ports that the API server assigned."""
        return self._cluster.ask("POST", _NAMESPACES, namespace, "services", body=body, form=SERVICE)

    def create_policy(self, namespace: str, body: t.Mapping[str, t.Any]) -> None:
        """Create a NetworkPolicy."""
        self._cluster.ask("POST", _POLICIES, namespace, "networkpolicies", body=body)
