# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a cluster of the tests can be started with."""

from __future__ import annotations

from dataclasses import dataclass

ADVERTISED = "192.0.2.10"
"""The address that the API server says it has: kubeadm refuses one of the loopback. Nothing ever listens on or connects
to this one (RFC 5737)."""


@dataclass(frozen=True)
class ClusterOptions:
    """How to start a cluster; the same for both kinds."""

    version: str = "1.37.1"
    """Version of the control plane, without "v". The real kind is what its programs are."""
    address: str = "127.0.0.1"
    """The address the API server listens on."""
    port: int = 0
    """Its port; 0 chooses a free one."""
    extra_sans: tuple[str, ...] = ()
    """More names and addresses for the server's certificate."""
    pod_cidr: str = "10.244.0.0/16"
    """Each node gets a /24 of it."""
    service_cidr: str = "10.96.0.0/12"
    cluster_name: str = "kubernetes"
    dns_domain: str = "cluster.local"
    node_grace_period: float = 40.0
    """Seconds without a heartbeat after which a node is Unknown (--node-monitor-grace-period)."""

    client_certificate_seconds: float = 365 * 86400
    """How long the kubelets' client certificates are valid (--cluster-signing-duration)."""

    @property
    def minor(self) -> str:
        """The version's first two parts, like "1.37"."""
        return ".".join(self.version.split(".")[:2])
