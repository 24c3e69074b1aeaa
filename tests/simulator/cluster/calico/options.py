# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The options for installing Calico in a cluster for tests."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal


@dataclass(frozen=True)
class CalicoOptions:
    """The options for installing Calico; the defaults are the same as in kubespray 2.31."""

    install: Literal["kubespray", "operator"] = "kubespray"
    """The method: `kubespray` (manifests in kube-system) or `operator` (the Tigera operator in calico-system)."""
    version: str = "3.31.5"
    backend: str = "vxlan"
    """kubespray's `calico_network_backend`: vxlan, bird or none. For the operator, bird means `bgp: Enabled`."""
    vxlan_mode: str = "Always"
    """The vxlanMode of the IP pool: Always, CrossSubnet or Never."""
    ipip_mode: str = "Never"
    strict_affinity: bool | None = False
    """The strictAffinity of the IPAMConfig. If it is None, the IPAMConfig does not exist."""
    pool_cidr: str = ""
    """The network of Calico's IP pool in CIDR notation. An empty string means the cluster's pod network."""
    block_size: int = 26
    nat_outgoing: bool = True
    vxlan_vni: int = 4096
    vxlan_port: int = 4789
    mtu: int = 0
    """kubespray's `calico_mtu`; 0 leaves it unset."""
    bpf: bool = False
    wireguard: bool = False
    datastore: str = "kdd"
    linux_nodes: int = 0
    """The number of Linux nodes. They are only API objects with Calico's annotations and blocks, without a kubelet."""
    windows: bool = False
    """Only with the operator: whether the Installation has `windowsDataplane: HNS`."""
    service_cidrs: bool = True
    """Only with the operator: whether an Installation with Windows nodes has `serviceCIDRs`."""
    services_endpoint: bool = True
    """Only with the operator: whether the tigera-operator namespace has the kubernetes-services-endpoint ConfigMap."""
    api_server: bool = True
    """Only with the operator: whether Calico's API server is installed."""
    pod_cidr: str = "10.244.0.0/16"
    service_cidr: str = "10.96.0.0/12"
    nodelocaldns: bool = True

    @classmethod
    def read(cls, entry: Mapping[str, Any], **cluster: str) -> CalicoOptions:
        """Read the Calico options from a fleet file.

        Args:
            entry: the options in the file.
            cluster: the cluster's options that Calico also uses, such as `pod_cidr`. Options in the file override them.

        Raises:
            ValueError: an option is unknown.
        """
        known = {item.name for item in fields(cls)}
        if unknown := entry.keys() - known:
            raise ValueError(
                f"expected {', '.join(sorted(known))}, got unknown Calico options: {', '.join(sorted(unknown))}"
            )
        return cls(**{**cluster, **entry})

    @property
    def pool(self) -> ipaddress.IPv4Network:
        """The network of Calico's IP pool."""
        return ipaddress.IPv4Network(self.pool_cidr or self.pod_cidr)

    @property
    def dns_address(self) -> str:
        """The DNS service's IP address: the service network's third address with kubespray, otherwise its tenth."""
        return str(ipaddress.IPv4Network(self.service_cidr)[3 if self.install == "kubespray" else 10])
