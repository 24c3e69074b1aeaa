# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The configuration of Calico's CNI plugin for Windows. The install-cni container fills in the placeholders.

Source of the keys and placeholders: tigera/operator v1.40.8 pkg/render/windows.go, projectcalico/calico v3.31.5
cni-plugin/pkg/install (install.go, install_windows.go).
"""

from __future__ import annotations

import typing as t

from .settings import ClusterSettings, NetworkSettings

MAC_PREFIX = "0E-2A"
"""First bytes of the pods' MAC addresses, as in Calico's default configuration."""


def cni_configuration(
    settings: NetworkSettings, cluster: ClusterSettings, *, mode: str, vni: int, cni_version: str
) -> dict[str, t.Any]:
    """Return the configuration of Calico's CNI plugin.

    The plugin itself excludes the pods' networks from outbound NAT. An MTU of 0 means the MTU of the node's network
    adapter minus the encapsulation headers.

    Args:
        settings: the network's variables.
        cluster: the cluster.
        mode: the plugin's mode: `vxlan` or `windows-bgp`.
        vni: the VXLAN network identifier.
        cni_version: version of the CNI specification.
    """
    services = [settings.services_subnet]
    routes = [{"Type": "SDNROUTE", "DestinationPrefix": network, "NeedEncap": True} for network in services]
    policies = [{"Type": "OutBoundNAT", "ExceptionList": services}, *routes]
    plugin = {
        "type": "calico",
        "name": settings.known_mode.hns_network,
        "windows_use_single_network": True,
        "mode": mode,
        "vxlan_mac_prefix": MAC_PREFIX,
        "vxlan_vni": vni,
        "mtu": 0,
        "policy": {"type": "k8s"},
        "log_file_path": "c:/var/log/calico/cni/cni.log",
        "windows_loopback_DSR": "__DSR_SUPPORT__",
        "capabilities": {"dns": True},
        "nodename": "__KUBERNETES_NODE_NAME__",
        "nodename_file": "__NODENAME_FILE__",
        "nodename_file_optional": True,
        "datastore_type": "kubernetes",
        "ipam": {"type": "calico-ipam", "subnet": "usePodCidr"},
        "kubernetes": {
            "kubeconfig": f"{_with_drive(cluster.conf_dir)}/calico-kubeconfig",
            "k8s_api_root": f"https://{cluster.api_server}",
        },
        "DNS": {"Nameservers": list(settings.cluster_dns), "Search": [f"svc.{settings.dns_domain}"]},
        "policies": [{"Name": "EndpointPolicy", "Value": policy} for policy in policies],
    }
    return {"name": settings.known_mode.hns_network, "cniVersion": cni_version, "plugins": [plugin]}


def _with_drive(path: str) -> str:
    slashes = path.replace("\\", "/")
    return f"{slashes[:1].lower()}{slashes[1:]}"
