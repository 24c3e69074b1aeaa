# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the state of the nodes in the cluster from the result of the nodes_info module (no I/O)."""

from __future__ import annotations

import dataclasses
import typing as t

from ..node_config import kubelet_certificate
from ..values.printable import printable

NO_KUBECONFIG = "no kubeconfig was given"
_STATUSES = {"True": "Ready", "False": "NotReady", "": "NotReady"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeInCluster:
    """A node as the cluster knows it."""

    ready: str
    """Status of the Ready condition (True, False, Unknown), or an empty string if the kubelet has not reported yet."""
    reason: str = ""
    since: str = ""
    pressure: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Maps the type of each true condition, except Ready, to its message."""
    pending_pods: tuple[str, ...] = ()
    sandbox_errors: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterView:
    """What the cluster knows about all nodes."""

    problem: str = ""
    """Why the cluster was not queried or why the query failed, or an empty string if the query succeeded."""
    authorities: frozenset[str] = frozenset()
    """Certificates of the cluster's CA (see `kubelet_certificate.authorities`)."""
    nodes: t.Mapping[str, t.Mapping[str, t.Any]] = dataclasses.field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether the cluster was queried successfully."""
        return not self.problem

    @classmethod
    def of(cls, result: t.Mapping[str, t.Any] | None) -> ClusterView:
        """Return the state of the nodes in the cluster from the registered result of a nodes_info task.

        Args:
            result: the result. It may be None or empty if the task did not run.
        """
        if not result or result.get("skipped"):
            return cls(problem=NO_KUBECONFIG)
        if "nodes" not in result:
            return cls(problem=printable(" ".join(str(result.get("msg") or "the query failed").split())))
        pems = [kubelet_certificate.authorities(str(pem)) for pem in result.get("authorities") or ()]
        return cls(authorities=frozenset().union(*pems), nodes=result["nodes"])

    def node(self, name: str) -> NodeInCluster | None:
        """Return a node, or None if the cluster has no node of this name or could not be queried."""
        entry = self.nodes.get(name)
        if entry is None:
            return None
        return NodeInCluster(
            ready=str(entry["ready"]),
            reason=str(entry["reason"]),
            since=str(entry["since"]),
            pressure=dict(entry["pressure"]),
            pending_pods=tuple(entry["pending_pods"]),
            sandbox_errors=tuple(entry["sandbox_errors"]),
        )


def state_of(view: ClusterView, name: str) -> dict[str, str]:
    """Return a node's status in the cluster, and the reason for it.

    Args:
        view: the state of the nodes in the cluster.
        name: the node's name.

    Returns:
        `status` is Ready, NotReady, Unknown, `not in the cluster`, or `not asked` if the cluster was not queried or the
        query failed. `status_detail` is the reason.
    """
    if not view.known:
        return {"status": "not asked", "status_detail": view.problem}
    node = view.node(name)
    if node is None:
        return {"status": "not in the cluster", "status_detail": f"the cluster has no node {name}"}
    since = f" (since {node.since})" if node.since and node.reason else ""
    return {"status": _STATUSES.get(node.ready, "Unknown"), "status_detail": f"{node.reason}{since}"}
