# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fleets of hosts with different networks, versions of Windows and runtimes, which are in one run."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import pytest
import yaml
from integration.conftest import SiteFactory
from integration.playbooks import Site, cluster_api
from integration.test_docker_runtime import docker_variables
from kubernetes import client

from simulator.artifacts import catalog

PATCHED = 6899
"""The update build revision of Windows Server 2025 with KB5066835, from which on it has overlay networks."""
AZURE = {"subnet": "10.244.0.0/16", "primary": "10.244.0.4", "secondary": ["10.244.0.5", "10.244.0.6"]}
ARCHIVE = "packages.aks.azure.com/azure-cni/v1.6.21/binaries/azure-vnet-cni-windows-amd64-v1.6.21.zip"
SITE_PROXY = "http://robot:Pr0xy-Secret@192.0.2.1:3128"
"""No server listens there, so everything that should bypass the proxy and does not will fail."""
NODELOCALDNS = "169.254.25.10"
"""kubespray's default of nodelocaldns_ip. Only Linux nodes serve it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Host:
    """A host: its machine, its variables, and the HNS network that it gets."""

    windows: str
    variables: dict[str, Any]
    network: tuple[str, str] | None
    """Type and name; None if no pod has run yet that would create it."""
    machine: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def is_overlay(self) -> bool:
        return self.network is not None and self.network[0] == "Overlay"


SERVICE = {"cni_run_as": "service"}
OLD_CONTAINERD = {"container_runtime_containerd_version": "1.7.35"}
HOSTS = {
    "bridge19": Host(
        windows="2019", variables={"cni_flannel_backend": "host-gw", **SERVICE}, network=("L2Bridge", "cbr0")
    ),
    "overlay25": Host(
        windows="2025",
        variables={"cni_flannel_backend": "vxlan", **SERVICE},
        network=("Overlay", "flannel.4096"),
        machine={"ubr": PATCHED},
    ),
    "docker22": Host(
        windows="2022",
        variables={"container_runtime": "moby", "cni_flannel_backend": "vxlan"},
        network=("Overlay", "flannel.4096"),
    ),
    "sdn22": Host(
        windows="2022",
        variables={"cni_plugin": "sdnoverlay", **OLD_CONTAINERD, **SERVICE},
        network=("Overlay", "vxlan0"),
    ),
    "azure22": Host(
        windows="2022",
        variables={
            "cni_plugin": "azure",
            "cni_azure_vnet_sha256": hashlib.sha256(catalog.content(ARCHIVE) or b"").hexdigest(),
            "kubernetes_node_kubelet_configuration": {"maxPods": 2},
            **SERVICE,
        },
        network=None,
        machine={"azure": AZURE},
    ),
    # The only network of this run whose programs are pods.
    "pods25": Host(windows="2025", variables={"cni_plugin": "sdnbridge"}, network=("L2Bridge", "l2bridge")),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fleet:
    """Hosts that are in one run, because one cluster can have their networks."""

    hosts: dict[str, Host]
    calico: dict[str, Any] = dataclasses.field(default_factory=dict)
    """How Calico is installed in the cluster; empty if it is not."""


def calico_fleet(kind: str, prefix: str, **options: Any) -> Fleet:
    """Return hosts with each version of Windows that Calico supports."""
    network = (kind, "Calico")
    plugin = {"cni_plugin": "calico"}
    hosts = {
        f"{prefix}19": Host(windows="2019", variables={**plugin, **OLD_CONTAINERD}, network=network),
        f"{prefix}22": Host(windows="2022", variables=plugin, network=network),
    }
    return Fleet(hosts=hosts, calico={"install": "kubespray", "strict_affinity": True, "linux_nodes": 1, **options})


FLEETS = {
    "networks": Fleet(hosts=HOSTS),
    "calico": calico_fleet("Overlay", "calico"),
    "calico-bgp": calico_fleet("L2Bridge", "bgp", backend="bird", vxlan_mode="Never"),
}


def of_fleets(*names: str) -> pytest.MarkDecorator:
    """Run a test with these fleets, each in a group of its own."""
    params = [
        pytest.param(
            FLEETS[name],
            id=name,
            marks=[
                pytest.mark.xdist_group(f"network_matrix-{name}"),
                *([] if name == "networks" else [pytest.mark.variant]),
            ],
        )
        for name in names
    ]
    return pytest.mark.parametrize("fleet", params, indirect=True, scope="module")


ALL_FLEETS = of_fleets(*FLEETS)
NETWORKS = of_fleets("networks")


def set_cluster_dns(site: Site, address: str) -> None:
    """Set clusterDNS in the configuration that kubeadm gives to the kubelets of new nodes."""
    core = client.CoreV1Api(cluster_api(site))
    document = yaml.safe_load(core.read_namespaced_config_map("kubelet-config", "kube-system").data["kubelet"])
    changed = {"kubelet": yaml.safe_dump({**document, "clusterDNS": [address]})}
    core.patch_namespaced_config_map("kubelet-config", "kube-system", {"data": changed})


def start(start_site: SiteFactory, fleet: Fleet) -> Site:
    """Start a fleet and its cluster. Nothing is installed yet."""
    machines = [
        {"name": name, "windows": host.windows, "link_drop_seconds": 0.3, **host.machine}
        for name, host in fleet.hosts.items()
    ]
    calico = {"calico": fleet.calico} if fleet.calico else {}
    # Kubernetes 1.36 works with containerd 1.7.
    site = start_site(*machines, cluster={"kind": "memory", "version": "1.36.3", **calico})
    site.host_variables = {name: dict(host.variables) for name, host in fleet.hosts.items()}
    assert site.world.registry is not None
    if "docker22" in fleet.hosts:
        proxies = {"http_proxy": SITE_PROXY, "https_proxy": SITE_PROXY}
        proxies["no_proxy"] = f"{site.world.registry.address},.example.org"
        site.host_variables["docker22"] |= docker_variables(site, **proxies)
        set_cluster_dns(site, NODELOCALDNS)
    mirror = {"mirrors": [site.world.registry.url]}
    names = ("registry.k8s.io", "mcr.microsoft.com", "quay.io")
    site.variables["container_runtime_registries"] = dict.fromkeys(names, mirror)
    return site
