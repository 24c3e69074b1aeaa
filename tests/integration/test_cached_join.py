# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A cache of several versions of everything: a node joins from it with the network shut, changes versions, prunes."""

from __future__ import annotations

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name

from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("cached_join")]

NODE = "cached"
CACHE = r"C:\ProgramData\winkube\cache"
# By the name of AKS Engine's parameter DefaultContainerdVersion.
OLDER = {"kubernetes_node_version": "1.37.0", "default_containerd_version": "2.2.9"}
NEWER = {"kubernetes_node_version": "1.37.1", "container_runtime_containerd_version": "2.3.7"}
LISTS = {
    "kube_node_versions": ["1.36.3", "1.37.0", "1.37.1"],
    "containerd_versions": ["2.1.9", "2.2.9", "2.3.7"],
    "moby_versions": ["28.5.2", "29.1.5", "29.2.0"],
    "azure_vnet_versions": ["1.6.20", "1.6.21", "1.7.0"],
    "image_cache_artifacts": {
        "crictl": ["1.35.0", "1.36.0", "1.37.0"],
        "cni-plugins": ["1.7.1", "1.8.0", "1.9.0"],
        "cri-dockerd": ["0.4.0", "0.4.1", "0.4.2"],
    },
    "container_tags": [f"registry.k8s.io/pause:{version}" for version in ("3.9", "3.10.1", "3.10.2")],
}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    return start_site({"name": NODE, "windows": "2022"}, cluster={"kind": "memory"}, **LISTS)


@pytest.fixture(scope="module")
def cached(site: Site) -> PlayRun:
    """The node is prepared, and its cache filled, while there is a network."""
    return site.run("site.yml", "--tags", "install", variables=OLDER).expect()


@pytest.fixture(scope="module")
def joined(site: Site, cached: PlayRun) -> PlayRun:
    """Then the network is shut: neither artifacts nor container images are anywhere but on the node."""
    assert site.world.artifacts is not None
    assert site.world.registry is not None
    site.world.artifacts.reset()
    site.world.registry.stop()
    return site.run("site.yml", variables=OLDER).expect()


@pytest.fixture(scope="module")
def switched(site: Site, joined: PlayRun) -> PlayRun:
    return site.run("site.yml", variables=NEWER).expect()


@pytest.fixture(scope="module")
def pruned(site: Site, switched: PlayRun) -> PlayRun:
    fewer = {"kube_node_versions": ["1.37.1"], "azure_vnet_versions": [], "image_cache_prune_artifacts": True}
    return site.run("site.yml", variables=NEWER | fewer).expect()


def versions(machine: Machine, kind: str) -> list[str]:
    """Which versions of a kind are in the node's cache."""
    folder = machine.files.real(rf"{CACHE}\{kind}")
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def requests(site: Site) -> int:
    assert site.world.artifacts is not None
    return int(site.world.artifacts.status()["total"])


def test_three_versions_of_everything_are_there(site: Site, cached: PlayRun) -> None:
    machine = site.machine(NODE)
    for kind, name in {"kubernetes": "kube_node_versions", "containerd": "containerd_versions"}.items():
        assert versions(machine, kind) == LISTS[name], kind
    assert versions(machine, "crictl") == ["1.35.0", "1.36.0", "1.37.0"]
    assert len([change for change in cached.changes(NODE) if change.startswith("Artifact ")]) >= 21


def test_it_joins_without_a_network(site: Site, joined: PlayRun) -> None:
    node = cluster_nodes(site)[node_name(NODE)]
    assert node["ready"]
    assert (node["version"], node["runtime"]) == ("v1.37.0", "containerd://2.2.9")
    assert requests(site) == 0


def test_it_changes_versions_without_a_network(site: Site, switched: PlayRun) -> None:
    node = cluster_nodes(site)[node_name(NODE)]
    assert node["ready"]
    assert (node["version"], node["runtime"]) == ("v1.37.1", "containerd://2.3.7")
    assert not [change for change in switched.changes(NODE) if change.startswith("Artifact ")]
    assert requests(site) == 0


def test_what_is_not_listed_goes_when_asked(site: Site, pruned: PlayRun) -> None:
    machine = site.machine(NODE)
    assert versions(machine, "kubernetes") == ["1.37.1"]
    assert versions(machine, "azure-vnet") == []
    # Listed, and what is installed though nobody lists it, stay.
    assert versions(machine, "containerd") == LISTS["containerd_versions"]
    assert versions(machine, "flannel")
    assert cluster_nodes(site)[node_name(NODE)]["ready"]
    assert requests(site) == 0


def test_a_further_run_changes_nothing(site: Site, pruned: PlayRun) -> None:
    fewer = {"kube_node_versions": ["1.37.1"], "azure_vnet_versions": [], "image_cache_prune_artifacts": True}
    run = site.run("site.yml", variables=NEWER | fewer).expect()
    assert run.recap[NODE]["changed"] == 0
    assert site.counters(NODE)["remote_commands"] <= 8
