# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Send API requests about nodes, pods and evictions. Every method raises ApiError if its request fails."""

from __future__ import annotations

import typing as t

from .api_forms import BUDGET, DAEMON_SET, NODE, POD
from .cluster_client import Cluster
from .pods import Pod

_NODES = "api/v1/nodes"


class NodeApi:
    """Sends API requests about the nodes, pods and DaemonSets of a cluster.

    Args:
        cluster: a client of the cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def node(self, name: str) -> dict[str, t.Any] | None:
        """Return a node, or None if the cluster has no node with this name."""
        return self._cluster.lookup(_NODES, name, form=NODE)

    def nodes(self) -> list[dict[str, t.Any]]:
        """Return all nodes of the cluster."""
        return self._cluster.items(_NODES, form=NODE)

    def patch_node(self, name: str, body: t.Mapping[str, t.Any]) -> None:
        """Change a node with a strategic merge patch."""
        self._cluster.ask("PATCH", _NODES, name, body=body)

    def delete_node(self, node: t.Mapping[str, t.Any]) -> None:
        """Delete a node, unless it has been replaced by a newer Node object with the same name.

        Args:
            node: the node as the API returned it.
        """
        metadata = node["metadata"]
        preconditions = {"uid": metadata.get("uid")}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        self._cluster.ask("DELETE", _NODES, metadata["name"], body=body)

    def pods(self, node: str) -> list[Pod]:
        """Return all pods that are bound to a node."""
        query = {"fieldSelector": f"spec.nodeName={node}"}
        return t.cast("list[Pod]", self._cluster.items("api/v1/pods", form=POD, query=query))

    def namespaced_pods(self, namespace: str) -> list[Pod]:
        """Return all pods in a namespace."""
        return t.cast("list[Pod]", self._cluster.items("api/v1/namespaces", namespace, "pods", form=POD))

    def daemon_set(self, place: str) -> dict[str, t.Any] | None:
        """Return a DaemonSet, or None if it does not exist.

        Args:
            place: the DaemonSet, as `NAMESPACE/NAME`.
        """
        namespace, _slash, name = place.partition("/")
        return self._cluster.lookup("apis/apps/v1/namespaces", namespace, "daemonsets", name, form=DAEMON_SET)

    def evict(self, pod: Pod, grace_period: int | None) -> None:
        """Ask the API server to evict a pod. Source: kubernetes.io, API-initiated Eviction.

        Args:
            pod: the pod as the API returned it.
            grace_period: seconds that the pod is given to stop, or None for the pod's own grace period.
        """
        metadata = pod["metadata"]
        options: dict[str, t.Any] = {"preconditions": {"uid": metadata["uid"]}}
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        name, namespace = metadata["name"], metadata["namespace"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        self._cluster.ask("POST", "api/v1/namespaces", namespace, "pods", name, "eviction", body=body)

    def budgets(self, namespace: str) -> list[t.Mapping[str, t.Any]]:
        """Return the PodDisruptionBudgets in a namespace."""
        path = ("apis/policy/v1/namespaces", namespace, "poddisruptionbudgets")
        return t.cast("list[t.Mapping[str, t.Any]]", self._cluster.items(*path, form=BUDGET))
