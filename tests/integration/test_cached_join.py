# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A cache with several versions of everything: a node joins from it without a network, changes versions, and prunes."""

from __future__ import annotations

from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name

from simulator.artifacts.archives import zip_archive
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("cached_join")]

NODE = "cached"
CACHE = r"C:\ProgramData\winkube\cache"
CORE_DNS = "registry.example/dns/coredns"
# Mirantis' builds have no public URL, so the site sets its own.
DOCKER = "files.example/docker-{version}.zip"
# The name is that of AKS Engine's parameter DefaultContainerdVersion.
OLDER = {"kubernetes_node_version": "1.37.0", "default_containerd_version": "2.2.9"}
NEWER = {
    "kubernetes_node_version": "1.37.1",
    "container_runtime_containerd_version": "2.3.7",
    "kube_node_versions": ["1.37.1"],
    "azure_vnet_versions": [],
    "image_cache_prune_artifacts": True,
}
LISTS: dict[str, Any] = {
    "kube_node_versions": ["1.36.3", "1.37.0", "1.37.1"],
    "containerd_versions": ["2.1.9", "2.2.9", "2.3.7"],
    "moby_versions": ["28.5.2", "29.1.5", "29.2.0"],
    "docker_versions": ["25.0.12", "25.0.13", "25.0.14"],
    "artifact_kinds": {"docker": {"url": f"https://{DOCKER}"}},
    "azure_vnet_versions": ["1.6.20", "1.6.21", "1.7.0"],
    # No checksum is published. (That of 0.3.1 is known, but differs from the simulated file.)
    "sdn_plugin_versions": ["0.2.0", "0.3.0", "0.3.2"],
    "core_dns_versions": ["1.11.3", "1.12.0", "1.12.1"],
    "image_cache_core_dns_repository": CORE_DNS,
    "image_cache_artifacts": {
        "crictl": ["1.35.0", "1.36.0", "1.37.0"],
        "cni-plugins": ["1.7.1", "1.8.0", "1.9.0"],
        "cri-dockerd": ["0.4.0", "0.4.1", "0.4.2"],
    },
    "container_tags": [f"registry.k8s.io/pause:{version}" for version in ("3.9", "3.10.1", "3.10.2")],
}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    site = start_site({"name": NODE, "windows": "2022"}, cluster={"kind": "memory"}, **LISTS)
    artifacts, registry = site.world.artifacts, site.world.registry
    assert artifacts is not None
    assert registry is not None
    for version in LISTS["docker_versions"]:
        programs = {f"docker/{name}.exe": version.encode() for name in ("docker", "dockerd")}
        artifacts.put(DOCKER.format(version=version), zip_archive(programs))
    for version in LISTS["core_dns_versions"]:
        registry.images.add(f"{CORE_DNS}:v{version}", ["2022"])
    mirror = {"mirrors": [registry.url]}
    hosts = ("registry.k8s.io", "mcr.microsoft.com", "registry.example")
    site.variables["container_runtime_registries"] = dict.fromkeys(hosts, mirror)
    return site


@pytest.fixture(scope="module")
def cached(site: Site) -> PlayRun:
    """Prepare the node and fill its cache while there is a network."""
    return site.run("site.yml", "--tags", "install", variables=OLDER).expect()


@pytest.fixture(scope="module")
def joined(site: Site, cached: PlayRun) -> PlayRun:
    """Join without a network: artifacts and container images are only on the node."""
    assert site.world.artifacts is not None
    assert site.world.registry is not None
    site.world.artifacts.reset()
    site.world.registry.stop()
    return site.run("site.yml", variables=OLDER).expect()


@pytest.fixture(scope="module")
def switched(site: Site, joined: PlayRun) -> PlayRun:
    """Change the versions that the node runs, and remove others from the cache."""
    return site.run("site.yml", variables=NEWER).expect()


def versions(machine: Machine, kind: str) -> list[str]:
    """Return the versions of a kind in the node's cache."""
    folder = machine.files.real(rf"{CACHE}\{kind}")
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def requests(site: Site) -> int:
    assert site.world.artifacts is not None
    return int(site.world.artifacts.status()["total"])


def test_three_versions_of_each_artifact_are_cached(site: Site, cached: PlayRun) -> None:
    machine = site.machine(NODE)
    for kind, name in {"kubernetes": "kube_node_versions", "containerd": "containerd_versions"}.items():
        assert versions(machine, kind) == LISTS[name], kind
    assert versions(machine, "crictl") == ["1.35.0", "1.36.0", "1.37.0"]
    assert versions(machine, "sdn-plugins") == LISTS["sdn_plugin_versions"]
    assert versions(machine, "docker") == LISTS["docker_versions"]
    assert len([change for change in cached.changes(NODE) if change.startswith("Artifact ")]) >= 27
    status: Any = site.node(NODE).status()
    images = {image["name"] for image in status["container_images"]}
    assert {f"{CORE_DNS}:v{version}" for version in LISTS["core_dns_versions"]} <= images


def test_a_node_joins_without_a_network(site: Site, joined: PlayRun) -> None:
    node = cluster_nodes(site)[node_name(NODE)]
    assert node["ready"]
    assert (node["version"], node["runtime"]) == ("v1.37.0", "containerd://2.2.9")
    assert requests(site) == 0


# test_upgrade_together.py changes versions from the cache.
@pytest.mark.variant
def test_versions_change_without_a_network(site: Site, switched: PlayRun) -> None:
    node = cluster_nodes(site)[node_name(NODE)]
    assert node["ready"]
    assert (node["version"], node["runtime"]) == ("v1.37.1", "containerd://2.3.7")
    assert not [change for change in switched.changes(NODE) if change.startswith("Artifact ")]
    assert requests(site) == 0


# test_artifact_cache_module.py removes unlisted artifacts.
@pytest.mark.variant
def test_unlisted_files_are_removed_on_request(site: Site, switched: PlayRun) -> None:
    machine = site.machine(NODE)
    assert versions(machine, "kubernetes") == ["1.37.1"]
    assert versions(machine, "azure-vnet") == []
    # Listed versions, and installed ones that are not listed, stay.
    assert versions(machine, "containerd") == LISTS["containerd_versions"]
    assert versions(machine, "flannel")
    assert cluster_nodes(site)[node_name(NODE)]["ready"]
    assert requests(site) == 0


# test_site.py runs site.yml twice.
@pytest.mark.variant
def test_a_further_run_changes_nothing(site: Site, switched: PlayRun) -> None:
    run = site.run("site.yml", variables=NEWER).expect()
    assert run.recap[NODE]["changed"] == 0
    assert site.counters(NODE)["remote_commands"] <= 8
