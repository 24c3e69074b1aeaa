# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Settings of roles with their default values."""

from __future__ import annotations

import typing as t

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.containerd import ContainerdSettings
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.docker import DockerSettings, Engine
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.downloads import (
    Downloads,
    Proxy,
    ResourceMapping,
)
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.kubernetes_node import KubernetesSettings
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.node_join import JoinedNode
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.network import PodNetwork
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.settings import NetworkSettings

PASSWORD = Proxy(
    http_proxy="http://u:p@proxy.example:3128", https_proxy="http://u:p@proxy.example:3128", no_proxy="localhost"
)


def downloads(proxy: Proxy | None = None, **sources: t.Any) -> Downloads:
    return Downloads(
        artifact_cache="C:\\cache",
        artifact_mirror="",
        artifact_sources=sources,
        proxy=proxy or Proxy(http_proxy="", https_proxy=""),
    )


def containerd(**given: t.Any) -> ContainerdSettings:
    values: dict[str, t.Any] = {
        "containerd_version": "2.3.7",
        "containerd_url": "",
        "containerd_sha256": "",
        "crictl_version": "1.37.0",
        "crictl_url": "",
        "crictl_sha256": "",
        "install_dir": "C:\\containerd",
        "data_dir": "C:\\data",
        "log_file": "C:\\var\\log\\containerd\\containerd.log",
        "log_level": "info",
        "sandbox_image": "pause:1",
        "cni_bin_dir": "C:\\cni",
        "cni_conf_dir": "C:\\conf",
        "registries": {},
        "discard_unpacked_layers": True,
        "defender_exclusions": True,
        "downloads": downloads(),
    }
    return ContainerdSettings(**values | given)


def docker(**given: t.Any) -> DockerSettings:
    values: dict[str, t.Any] = {
        "engine": Engine(kind="moby", version="29.2.1", url="", sha256=""),
        "cri_dockerd_version": "0.4.10",
        "cri_dockerd_url": "",
        "cri_dockerd_sha256": "",
        "nssm_version": "2.24",
        "nssm_url": "",
        "nssm_sha256": "",
        "crictl_version": "1.37.0",
        "crictl_url": "",
        "crictl_sha256": "",
        "install_dir": "C:\\containerd",
        "docker_dir": "C:\\docker",
        "docker_data_dir": "C:\\docker-data",
        "docker_log_options": {"max-size": "50m"},
        "docker_credential_specs": {},
        "docker_daemon": {},
        "cri_dockerd_dir": "C:\\cri-dockerd",
        "cri_dockerd_log_dir": "C:\\var\\log\\cri-dockerd",
        "nssm_dir": "C:\\nssm",
        "log_level": "info",
        "sandbox_image": "pause:1",
        "cni_bin_dir": "C:\\cni",
        "cni_conf_dir": "C:\\conf",
        "registries": {},
        "defender_exclusions": True,
        "downloads": downloads(),
    }
    return DockerSettings(**values | given)


def kubernetes(**given: t.Any) -> KubernetesSettings:
    values: dict[str, t.Any] = {
        "version": "1.36.3",
        "url": "",
        "sha256": "",
        "install_dir": "C:\\k",
        "cluster_dns": (),
        "kubelet_configuration": {},
        "kube_reserved": {},
        "system_reserved": {},
        "eviction_hard": {},
        "kubelet_arguments": {},
        "credential_providers": (),
        "ccg_plugins": (),
        "cloud_provider": "",
        "kubelet_service": "native",
        "kubelet_log_file": "C:\\var\\log\\kubelet\\kubelet.log",
        "kubelet_log_max_mb": 50,
        "kubelet_log_max_days": 7,
        "open_kubelet_port": True,
        "kubelet_clients": (),
        "downloads": downloads(),
        "is_docker": False,
        "network_services": ("flanneld", "kube-proxy") if given.get("is_docker") else (),
    }
    return KubernetesSettings(**values | given)


def network(**given: t.Any) -> PodNetwork:
    values: dict[str, t.Any] = {
        "plugin": "flannel",
        "mode": "vxlan" if given.get("plugin", "flannel") == "flannel" else "none",
        "run_as": "service" if given.get("is_docker") else "daemonset",
        "is_docker": False,
        "pods_subnet": "10.244.0.0/16",
        "services_subnet": "10.96.0.0/12",
    }
    return PodNetwork(NetworkSettings(**values | given))


def joined(**given: t.Any) -> JoinedNode:
    values: dict[str, t.Any] = {
        "name": "win1",
        "pod_cidr": "10.244.3.0/24",
        "overlay_address": "",
        "internal_ip": "10.0.0.11",
        "kube_proxy_configuration": {},
        "network": network(),
        "kubernetes": kubernetes(),
        "api_server": "10.0.0.1:6443",
        "ca_certificate": "a certificate",
        "cluster_cidr": "10.244.0.0/16",
        "tokens": {"kube-system/kube-proxy-windows": "token 1", "kube-flannel/flannel-windows": "token 2"},
        "tokens_known": True,
        "conf_dir": "C:\\conf",
        "folders": {"bin_dir": "C:\\cni", "flannel_dir": "C:\\flannel"},
        "nssm_dir": "C:\\nssm",
        "network_changes": False,
        "former_services": "",
    }
    return JoinedNode(**values | given)


def named(resources: t.Iterable[ResourceMapping], name: str) -> ResourceMapping:
    """Return the resource with this name."""
    (found,) = [one for one in resources if one.get("name") == name]
    return found


def kinds(resources: t.Iterable[ResourceMapping]) -> list[tuple[str, str]]:
    """Return types and names, in order."""
    return [(one["type"], str(one.get("name") or one.get("value_name"))) for one in resources]
