# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a network adds to a node and to its cluster. Each network has a class that derives from `NetworkRules`."""

from __future__ import annotations

import typing as t

from .settings import ClusterSettings, KubernetesObject, NetworkFile, NetworkService, NetworkSettings, NodeSettings


class NetworkRules:
    """What this collection adds to nodes and the cluster for a network.

    This base class is for networks that other tools install, and adds nothing.

    Args:
        settings: the network's variables.
    """

    accounts: t.ClassVar[tuple[str, ...]] = ()
    """Service accounts (`NAMESPACE/NAME`) whose tokens the network's services need, except kube-proxy's."""
    configured_on_node: t.ClassVar[bool] = False
    """Whether the network's own pods leave the CNI configuration to others: playbooks write it, or kube-proxy's pod on
    nodes that join by themselves."""
    daemon_sets: t.ClassVar[tuple[str, ...]] = ()
    """The network's DaemonSets (`NAMESPACE/NAME`), except kube-proxy's. They are removed with the network."""

    def __init__(self, settings: NetworkSettings) -> None:
        self.settings = settings

    @staticmethod
    def cluster_mode(facts: t.Mapping[str, t.Any], of_cluster: t.Callable[[str], t.Any]) -> str:  # noqa: ARG004
        """Return the network's current or future mode on Linux nodes, or an empty string if it is not determined.

        Args:
            facts: how the network is installed on Linux nodes, as cluster_info returns it; empty if unknown.
            of_cluster: function that returns a variable of the cluster, or an empty string if it is not set.
        """
        return ""

    def cni_configuration(self, internal_ip: str = "") -> dict[str, t.Any] | None:  # noqa: ARG002  # for subclasses
        """Return the CNI configuration, or None if only the network's container or another tool can write it.

        Args:
            internal_ip: address of the node in the cluster; empty if unknown.
        """
        return None

    def cluster_objects(self, cluster: ClusterSettings) -> list[KubernetesObject]:  # noqa: ARG002  # for subclasses
        """Return the network's DaemonSets, and the Kubernetes objects that these DaemonSets need.

        Args:
            cluster: the cluster.
        """
        return []

    def images(self, cluster: ClusterSettings) -> list[str]:  # noqa: ARG002  # for subclasses
        """Return the container images that the network's DaemonSets pull.

        flannel's image and the base image of HostProcess containers are not included.

        Args:
            cluster: the cluster.
        """
        return []

    @staticmethod
    def account_objects() -> list[KubernetesObject]:
        """Return the Kubernetes objects for the service accounts whose tokens the network's services need."""
        return []

    def files(self, node: NodeSettings) -> list[NetworkFile]:  # noqa: ARG002  # for subclasses
        """Return the files that the network's services read on a registered node.

        Args:
            node: the node.
        """
        return []

    def services(self, node: NodeSettings) -> list[NetworkService]:  # noqa: ARG002  # for subclasses
        """Return the network's services on a registered node.

        Args:
            node: the node.
        """
        return []
