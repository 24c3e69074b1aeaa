# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The options of a cluster for tests."""

from __future__ import annotations

from dataclasses import dataclass

ADVERTISED = "192.0.2.10"
"""The advertised address of the API server.

kubeadm rejects a loopback address. This address is reserved for documentation (RFC 5737). No program listens on it or
connects to it.
"""


@dataclass(frozen=True)
class ClusterOptions:
    """The options of a cluster for tests. A simulated and a real control plane have the same options."""

    version: str = "1.37.1"
    """The version of the control plane, without "v". For a real control plane, programs of this version are needed."""
    address: str = "127.0.0.1"
    """The address on which the API server listens."""
    port: int = 0
    """The port of the API server, or 0 to pick a free port."""
    extra_sans: tuple[str, ...] = ()
    """Additional host names and IP addresses for the API server's certificate."""
    pod_cidr: str = "10.244.0.0/16"
    """The pod network, from which each node gets a /24."""
    service_cidr: str = "10.96.0.0/12"
    cluster_name: str = "kubernetes"
    dns_domain: str = "cluster.local"
    node_grace_period: float = 40.0
    """The seconds without a heartbeat after which a node's status is Unknown.

    It corresponds to kube-controller-manager's --node-monitor-grace-period flag.
    """

    client_certificate_seconds: float = 365 * 86400
    """The validity period of kubelets' client certificates in seconds.

    It corresponds to kube-controller-manager's --cluster-signing-duration flag.
    """
