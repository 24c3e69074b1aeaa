# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubespray's cluster with Calico and BGP: a Windows node routes with Remote Access, until it gets another network.

All runs use an account with the rights in docs/rbac.yaml and docs/rbac_calico.yaml, and Calico's images come from an
archive, because no registry has them under their names.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
import yaml
from integration import image_archives, kubespray_sample
from integration.conftest import SiteFactory
from integration.limited_account import limited_kubeconfig
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes
from integration.test_kubespray_calico import AFFINITY, DRIFT, FIRST, HOST, PROXY, SECOND, run_sample
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.windows.networking.remote_access import RemoteAccessState
from simulator.windows.software.features import state_of

pytestmark = pytest.mark.integration

ASN = "projectcalico.org/ASNumber"
LABEL = "k8s-app=calico-node-windows"
UNREACHABLE = "registry.invalid"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory, cluster_kind: str) -> Site:
    calico = {"install": "kubespray", "linux_nodes": 2, "backend": "bird", "vxlan_mode": "Never"}
    cluster = {"kind": cluster_kind, "calico": calico, **kubespray_sample.NETWORKS}
    site = start_site({"name": HOST, "windows": "2022"}, cluster=cluster)
    kubespray_sample.write(site.folder / "sample", calico_network_backend="bird", calico_vxlan_mode="Never")
    return site


@pytest.fixture(scope="module")
def settings(site: Site) -> dict[str, Any]:
    """The variables of the Windows group."""
    assert site.world.cluster is not None
    kubeconfig = limited_kubeconfig(site.world.cluster, site.folder, "rbac_calico.yaml")
    return {**AFFINITY, "kubeconfig": str(kubeconfig), **archive_of_images(site)}


def archive_of_images(site: Site) -> dict[str, str]:
    """Serve an archive of Calico's images, and return the variables that name it."""
    assert site.world.registry is not None
    assert site.world.artifacts is not None
    names = [f"calico/{name}-windows:v3.31.5" for name in ("cni", "node")]
    images = {f"{UNREACHABLE}/{name}": f"quay.io/{name}" for name in names}
    data = image_archives.archive(site.world.registry.images, images)
    site.world.artifacts.put("site/calico-images.tar", data)
    return {
        "cni_calico_image_repo": UNREACHABLE,
        "cni_calico_url": f"{site.world.artifacts.url}/site/calico-images.tar",
        "cni_calico_sha256": hashlib.sha256(data).hexdigest(),
    }


def features(site: Site) -> set[str]:
    return set(state_of(site.machine(HOST)).installed or ())


def service(site: Site) -> tuple[str, str]:
    found = site.machine(HOST).services.get("RemoteAccess")
    assert found is not None
    return found.state, found.start_mode


@pytest.fixture(scope="module")
def fresh(site: Site) -> set[str]:
    """The features of the server before the first run."""
    return features(site)


@pytest.fixture(scope="module")
def first(site: Site, fresh: set[str], settings: dict[str, Any]) -> PlayRun:
    run = run_sample(site, **settings).expect()
    site.counted["first"] = {HOST: site.counters(HOST)}
    return run


def test_the_node_is_ready_on_an_l2bridge(site: Site, first: PlayRun) -> None:
    assert cluster_nodes(site)[HOST]["ready"]
    machine = site.machine(HOST)
    # The node is Ready when its CNI configuration exists, which install-cni writes before the container node starts.
    wait_for(lambda: hns.store(machine).network_named("Calico") is not None, "Calico makes its network", 60)
    networks = {network.name: network.kind for network in hns.store(machine).networks()}
    assert {networks["Calico"], networks["External"]} == {"L2Bridge"}
    assert yaml.safe_load(machine.files.read_text(PROXY))["winkernel"] == {"networkName": "Calico", "enableDSR": True}


def test_the_bgp_router_knows_the_other_nodes(site: Site, first: PlayRun) -> None:
    machine = site.machine(HOST)
    assert service(site) == ("Running", "Automatic")
    state = machine.part(RemoteAccessState)
    wait_for(lambda: bool(state.routes), "the node announces its block", 60)
    assert state.router == (machine.address, 64512)
    linux = {node["internal_ip"] for name, node in addresses(site).items() if name != HOST}
    assert {peer.address for peer in state.peers.values()} == linux


def addresses(site: Site) -> dict[str, dict[str, Any]]:
    """Return the nodes of Calico by name, with their addresses."""
    annotated = {
        node.metadata.name: (node.metadata.annotations or {}).get("projectcalico.org/IPv4Address", "")
        for node in client.CoreV1Api(cluster_api(site)).list_node().items
    }
    return {name: {"internal_ip": text.partition("/")[0]} for name, text in annotated.items() if text}


def test_the_images_of_the_archive_run(site: Site, first: PlayRun) -> None:
    pods = client.CoreV1Api(cluster_api(site)).list_namespaced_pod("kube-system", label_selector=LABEL).items
    images = {container.image for pod in pods for container in pod.spec.containers}
    assert images == {f"{UNREACHABLE}/calico/node-windows:v3.31.5"}
    # The archive stays in the node's cache, so that a later run need not download it again.
    cache = site.machine(HOST).files.walk(r"C:\ProgramData\winkube\cache\calico-images")
    assert [entry.name for entry in cache if entry.name.endswith(".tar")] == ["calico-images.tar"]


def test_bgp_costs_no_more_remote_commands_than_flannel(site: Site, first: PlayRun) -> None:
    # The features of BGP share the reboot of the feature Containers. One command asks for the size of the archive.
    assert site.counted["first"][HOST]["remote_commands"] <= FIRST


@pytest.fixture(scope="module")
def second(site: Site, first: PlayRun, settings: dict[str, Any]) -> PlayRun:
    return run_sample(site, **settings).expect()


# test_network_matrix.py runs site.yml twice for all networks.
@pytest.mark.variant
def test_a_second_run_changes_nothing(second: PlayRun) -> None:
    assert second.recap[HOST]["changed"] == 0, second.changed_tasks(HOST)
    assert second.commands(HOST) <= SECOND


# test_site.py finds and repairs drift.
@pytest.mark.variant
def test_the_drift_check_sees_a_stopped_router(site: Site, second: PlayRun, settings: dict[str, Any]) -> None:
    site.machine(HOST).services.stop("RemoteAccess")
    assert run_sample(site, "plan.yml", **settings).exit_code == 2
    assert site.counters(HOST)["remote_commands"] == DRIFT
    assert "RemoteAccessRouting" in (site.folder / "build" / "plan.json").read_text(encoding="utf-8")
    run_sample(site, **settings).expect()
    assert service(site) == ("Running", "Automatic")


@pytest.fixture(scope="module")
def other(site: Site, second: PlayRun, settings: dict[str, Any]) -> PlayRun:
    """The run that gives the node flannel. An administrator had given the node an AS number of its own."""
    body = {"metadata": {"annotations": {ASN: "65010"}}}
    client.CoreV1Api(cluster_api(site)).patch_node(HOST, body)
    flannel = {"cni_plugin": "flannel", "cni_flannel_backend": "vxlan"}
    return run_sample(site, **settings, **flannel).expect()


@pytest.mark.variant
def test_another_network_leaves_no_router(site: Site, fresh: set[str], other: PlayRun) -> None:
    machine = site.machine(HOST)
    state = machine.part(RemoteAccessState)
    assert (state.routing, state.router, state.peers, state.routes) == (False, None, {}, [])
    assert service(site) == ("Stopped", "Disabled")
    # Only the feature that every node needs is new, and empty groups of features.
    assert features(site) - fresh <= {"containers", "rsat", "rsat-role-tools", "rsat-remoteaccess"}
    node = client.CoreV1Api(cluster_api(site)).read_node(HOST)
    assert not [name for name in node.metadata.annotations or {} if name.startswith("projectcalico.org/")]
    assert cluster_nodes(site)[HOST]["ready"]
    assert {"Calico", "External"}.isdisjoint(network.name for network in hns.store(machine).networks())
