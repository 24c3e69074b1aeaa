# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Hosts whose resources are compared with golden files: their inventory, and their roles."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from golden import yaml_text
from unit.roles import rendered
from unit.roles.templates import ROLES, templar

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import of_role
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.variables import Variables

WITH_RESOURCES = (
    *("windows_settings", "windows_features", "container_runtime", "cni", "kubernetes_node", "image_cache"),
    *("cloudbase_init", "node_join", "node_reset"),
)
DIGEST = f"sha256:{64 * 'd'}"
HOST: Mapping[str, t.Any] = {
    "inventory_hostname": "win1",
    "ansible_host": "10.0.0.11",
    "groups": {"all": ["win1"]},
    "hostvars": {"win1": {}},
    "ansible_play_hosts": ["win1"],
    "ansible_play_hosts_all": ["win1"],
    "ansible_search_path": [str(ROLES / "cni")],
    # There are many, and a separate test compares them.
    "windows_settings_registry_fixes": False,
    "node_join_cluster": rendered.CLUSTER,
    "node_join_info": {"computer_name": "WIN1", "joined": False, "cni": {}},
    "cni_tokens": {"kube-system/kube-proxy-windows": "token 1", "kube-flannel/flannel-windows": "token 2"},
}
PROXY = {
    "http_proxy": "http://proxy.example:3128",
    "https_proxy": "http://user:secret@proxy.example:3129",
    "no_proxy": "intranet.example,10.0.0.0/8",
}
DOWNLOADS = {
    "artifact_cache": "D:\\cache",
    "artifact_mirror": "https://mirror.example/artifacts",
    "artifact_sites": [
        {"url": "https://site.example/files", "query": "sig=1", "headers": {"X-Key": "key"}, "proxy": ""}
    ],
    "artifact_limit_rate": "10M",
    "artifact_ignore_revocation": True,
    "artifact_allowed_signers": [40 * "0"],
}
SETTINGS = {
    "windows_settings_time_zone": "W. Europe Standard Time",
    "windows_settings_time_servers": ["ntp1.example", "ntp2.example"],
    "windows_settings_hosts": {"api.example": "10.0.0.1"},
    "windows_settings_automatic_updates": "notify",
    "windows_settings_wsus_server": "http://wsus.example:8530",
    "windows_settings_page_file": {"files": [{"path": "D:\\pagefile.sys", "initial_mb": 4096, "maximum_mb": 8192}]},
    "windows_settings_hostname": "win-1",
    "windows_features_absent": ["FS-SMB1"],
    "windows_settings_trusted_certificates": [rendered.CERTIFICATE],
}
RUNTIME = {
    "container_runtime_containerd_version": "1.7.35",
    "container_runtime_containerd_url": "https://own.example/containerd.tar.gz",
    "container_runtime_containerd_sha256": 64 * "a",
    "container_runtime_crictl_url": "https://own.example/crictl.tar.gz",
    "container_runtime_crictl_sha256": 64 * "b",
    "container_runtime_log_file": "",
    "container_runtime_discard_unpacked_layers": False,
    "container_runtime_defender_exclusions": False,
    "container_runtime_registries": rendered.REGISTRIES,
}
KUBERNETES = {
    "kube_version": "v1.33.8",
    "kubernetes_node_url": "https://own.example/kubernetes.tar.gz",
    "kubernetes_node_sha256": 64 * "c",
    "kubernetes_node_kubelet_log_max_mb": 10,
    "kubernetes_node_kubelet_configuration": {"maxPods": 30, "resolvConf": "C:\\resolv.conf"},
    "kubernetes_node_kubelet_arguments": {"v": 2, "node-ip": "10.0.0.11"},
    "kubernetes_node_kubelet_clients": ["10.0.0.0/8"],
    "node_join_kube_proxy_configuration": {"mode": "kernelspace", "winkernel": {"enableDSR": True}},
    "cni_flannel_backend": "vxlan",
    "cni_plugins_url": "https://own.example/cni-plugins.tgz",
    "cni_plugins_sha256": 64 * "1",
    "cni_flannel_url": "https://own.example/flannel.tar.gz",
    "cni_flannel_sha256": 64 * "2",
    "cni_flannel_plugin_url": "https://own.example/flannel-plugin.tgz",
    "cni_flannel_plugin_sha256": 64 * "3",
}
CACHED = {
    "kube_node_versions": ["1.35.6"],
    "containerd_versions": ["1.7.35", {"version": "2.2.9", "sha256": 64 * "e"}],
    "moby_versions": ["29.2.1"],
    "docker_versions": [{"version": "25.0.14", "url": "https://own.example/docker.zip", "sha256": 64 * "7"}],
    "sdn_plugin_versions": ["0.3.0"],
    "sdn_plugins_url": "https://own.example/sdn-{version}.zip",
    "azure_vnet_versions": [{"version": "1.4.58", "sha256": 64 * "8"}],
    "azure_vnet_url": "https://own.example/azure-vnet-{version}.zip",
    "image_cache_artifacts": {"crictl": ["1.36.0"], "kubernetes": ["1.34.4"]},
    "image_cache_prune_artifacts": True,
    "image_cache_prune_images": True,
    "image_cache_images": ["nginx:1", {"name": "app.example/app:2", "digest": DIGEST, "aliases": ["app:2"]}],
    "container_tags": ["registry.example/tool:3"],
    "core_dns_versions": ["1.12.0"],
    "image_cache_core_dns_repository": "registry.example/coredns",
    "image_cache_windows_base_images": ["nanoserver"],
    "nano_server_name": "insider.example/nanoserver:10.0.99999.1",
    "image_cache_test_images": [{"name": "test.example/hello:1", "dockerfile": "FROM scratch\n"}],
    "buildkit_url": "https://own.example/buildkit.tar.gz",
    "image_cache_buildkit_sha256": 64 * "f",
    "image_cache_parallel_pulls": 2,
}
FULL = {**PROXY, **DOWNLOADS, **SETTINGS, **RUNTIME, **KUBERNETES}
DOCKER = {
    "container_runtime": "docker",
    "docker_url": "https://own.example/docker.zip",
    "container_runtime_docker_sha256": 64 * "4",
    "cri_dockerd_url": "https://own.example/cri-dockerd.zip",
    "container_runtime_cri_dockerd_sha256": 64 * "5",
    "nssm_url": "https://own.example/nssm.zip",
    "container_runtime_nssm_sha256": 64 * "6",
    "container_runtime_docker_daemon": {"debug": True},
    "windows_features_names": ["Containers", "Hyper-V"],
    "windows_features_hyper_v": True,
}
BARE = {
    "windows_settings_artifact_cache": "",
    "windows_settings_page_file": {"automatic": True},
    "cni_plugin": "none",
    "kubernetes_node_kubelet_log_max_days": 0,
    "kubernetes_node_open_kubelet_port": False,
    "image_cache_prune_images": True,
    "image_cache_base_images": [],
}
FORMER = {
    "node_join_info": {"computer_name": "WIN1", "joined": True, "cni": {"plugin": "flannel", "services": True}},
}
IMAGE = {"winkube_builds_image": True, "cloudbase_init_enabled": True, "cloudbase_init_platform": "azure"}
OWN_IMAGE = {
    **IMAGE,
    "cloudbase_init_platform": "vmware",
    "cloudbase_init_version": "1.1.6",
    "cloudbase_init_url": "https://own.example/init-{version}/CloudbaseInitSetup_{underscores}_x64.msi",
    "cloudbase_init_sha256": 64 * "9",
    "cloudbase_init_unattend_plugins": ["cloudbaseinit.plugins.common.mtu.MTUPlugin"],
    "cloudbase_init_serial_port": "COM1,115200,N,8",
    "cloudbase_init_settings": {"san_policy": "OnlineAll", "config_drive": {"types": ["iso"]}},
}
CASES: Mapping[str, tuple[tuple[str, ...], Mapping[str, t.Any]]] = {
    "plain": (WITH_RESOURCES, {}),
    "full": (WITH_RESOURCES, FULL),
    "docker": (WITH_RESOURCES[2:], {"container_runtime": "moby"}),
    "docker-full": (WITH_RESOURCES[1:], {**FULL, **DOCKER, "cni_flannel_backend": "host-gw"}),
    "bare": (("windows_settings", "cni", "kubernetes_node", "image_cache"), BARE),
    "cached": (("image_cache",), {**CACHED, **PROXY, "container_runtime_registries": rendered.REGISTRIES}),
    "docker-cached": (("image_cache",), {**CACHED, **DOCKER}),
    "former-services": (("node_join",), FORMER),
    "image": (("cloudbase_init",), IMAGE),
    "image-own": (("cloudbase_init",), {**OWN_IMAGE, **PROXY, **DOWNLOADS}),
}
"""The roles and the variables of each host, by the names of their golden files."""


def variables(given: Mapping[str, t.Any], without: str = "") -> Variables:
    """Return the variables of a host: the given ones, those of HOST, and the roles' defaults.

    Args:
        given: variables that take precedence over all others.
        without: a variable of HOST for which the default is used.
    """
    host = {name: value for name, value in HOST.items() if name != without}
    found = templar(WITH_RESOURCES, {**host, "kube_version": "v1.36.3", **given})
    return Variables(found.available_variables, found.template)


def of_host(case: str) -> dict[str, str]:
    """Return the resources of each role of a host in YAML, by the name of their golden file.

    Args:
        case: one of CASES.
    """
    roles, given = CASES[case]
    host = variables(given)
    return {f"resources/{role}/{case}.yaml": _yaml(of_role(role, host)) for role in roles}


def _yaml(listed: list[dict[str, t.Any]]) -> str:
    return f"---\n{yaml_text.of(listed)}"
