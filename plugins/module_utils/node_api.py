# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Nodes, pods and evictions over the official Python client, as plain JSON; errors are exceptions, not a module's end.

Private to the collection.
"""

from __future__ import annotations

import json
import typing as t

from .cluster_client import REQUEST_TIMEOUT, Cluster, describe
from .drain import ApiError
from .pods import Pod

try:
    from kubernetes import client
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError
except ImportError:  # its absence is told by Cluster
    pass


class NodeApi:
    """What draining and waiting need of a cluster.

    Args:
        cluster: a cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._policy = client.PolicyV1Api(cluster.api_client)

    def node(self, name: str) -> dict[str, t.Any] | None:
        """A node; None where the cluster knows none of that name."""
        try:
            return t.cast("dict[str, t.Any]", self._ask(self._cluster.core.read_node, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def nodes(self) -> list[dict[str, t.Any]]:
        """All nodes."""
        return t.cast("list[dict[str, t.Any]]", self._ask(self._cluster.core.list_node)["items"])

    def patch_node(self, name: str, body: t.Mapping[str, t.Any]) -> None:
        """Changes a node by a strategic merge patch."""
        self._ask(self._cluster.core.patch_node, name, body)

    def pods(self, node: str) -> list[Pod]:
        """All pods of a node."""
        selector = f"spec.nodeName={node}"
        return t.cast(
            "list[Pod]", self._ask(self._cluster.core.list_pod_for_all_namespaces, field_selector=selector)["items"]
        )

    def evict(self, pod: Pod, grace_period: int | None) -> None:
        """Asks for a pod's eviction (kubernetes.io: API-initiated Eviction)."""
        metadata = pod["metadata"]
        options: dict[str, t.Any] = {"preconditions": {"uid": metadata["uid"]}}
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "deleteOptions": options,
        }
        self._ask(self._cluster.core.create_namespaced_pod_eviction, metadata["name"], metadata["namespace"], body)

    def budgets(self, namespace: str) -> list[t.Mapping[str, t.Any]]:
        """The PodDisruptionBudgets of a namespace."""
        found = self._ask(self._policy.list_namespaced_pod_disruption_budget, namespace)
        return t.cast("list[t.Mapping[str, t.Any]]", found["items"])

    def _ask(self, function: t.Callable[..., t.Any], *args: t.Any, **kwargs: t.Any) -> t.Any:
        try:
            answer = function(*args, _request_timeout=REQUEST_TIMEOUT, **kwargs)
        except ApiException as error:
            raise _read(error) from error
        except HTTPError as error:
            raise ApiError(f"the API server {self._cluster.server} is not reached: {describe(error)}") from error
        return self._cluster.api_client.sanitize_for_serialization(answer)


def _read(error: ApiException) -> ApiError:
    """An answer of the API server other than success, from its Status object."""
    try:
        status = json.loads(error.body or "")
        details = status.get("details") or {}
        message = str(status.get("message") or describe(error))
    except (AttributeError, TypeError, ValueError):
        details, message = {}, describe(error)
    causes = {str(one.get("reason")): str(one.get("message")) for one in details.get("causes") or ()}
    return ApiError(message, error.status, causes, float(details.get("retryAfterSeconds") or 0))
