# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of the cni role."""

from __future__ import annotations

import dataclasses
import typing as t

from ..specification.describe import SECRET
from .shared import DownloadVariables


@dataclasses.dataclass(frozen=True, kw_only=True)
class PodNetworkVariables:
    """The variables of the pod network."""

    plugin: t.Literal["flannel", "calico", "azure", "sdnbridge", "sdnoverlay", "none"] = dataclasses.field(
        metadata={
            "hint": "For any other network, set cni_plugin: none on the Windows hosts, and use that network's own tool."
        }
    )
    run_as: t.Literal["daemonset", "service"]
    flannel_backend: t.Literal["host-gw", "vxlan"]
    calico_mode: t.Literal["", "vxlan", "bgp"]
    network_policy: t.Literal["", "azure", "calico"]
    block_wireserver: t.Literal["auto", "always", "never"]
    block_imds: bool
    azure_vnet_subnets: tuple[str, ...]
    pods_subnet: str
    services_subnet: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class CniProgramVariables:
    """The variables of the programs that pod networks run on a node: their versions, URLs, checksums and folders."""

    plugins_version: str
    plugins_url: str = dataclasses.field(metadata=SECRET)
    plugins_sha256: str
    flannel_version: str
    flannel_url: str = dataclasses.field(metadata=SECRET)
    flannel_sha256: str
    flannel_plugin_version: str
    flannel_plugin_url: str = dataclasses.field(metadata=SECRET)
    flannel_plugin_sha256: str
    azure_vnet_version: str
    azure_vnet_url: str = dataclasses.field(metadata=SECRET)
    azure_vnet_sha256: str
    sdn_plugin_version: str
    sdn_plugin_url: str = dataclasses.field(metadata=SECRET)
    sdn_plugin_sha256: str
    bin_dir: str
    conf_dir: str
    flannel_dir: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class CniVariables(PodNetworkVariables, CniProgramVariables, DownloadVariables):
    """The variables `cni_*`."""

    calico_version: str
    calico_url: str = dataclasses.field(metadata=SECRET)
    calico_sha256: str
    calico_image_repo: str
    calico_cni_image: str
    calico_node_image: str
    calico_set_strict_affinity: bool
    calico_enable_windows: bool
    flannel_image: str
    kube_proxy_image: str
    host_process_image: str
    kubeconfig: str
    kubeconfig_context: str
    proxy: str = dataclasses.field(metadata=SECRET)
    no_proxy: str
    mtu: int
    linux_namespaces: tuple[str, ...]
    linux_daemon_sets: tuple[str, ...]
    unbound_daemon_sets: tuple[t.Mapping[str, t.Any], ...]
    remove_daemon_sets: bool
    change_throttle: int
    api_server: str
