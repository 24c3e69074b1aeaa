# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The unmodified sample inventory, and images that replace the cached programs of flannel and kube-proxy."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from integration.conftest import SiteFactory
from integration.playbooks import PASSWORD, ROOT, PlayRun, Site, cluster_api, cluster_nodes, simulated_pins
from kubernetes import client
from simulator_tests.waiting import wait_for

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("kubespray_inventory")]

HOST = "windows01"
NOTE = r"C:\ProgramData\winkube\cni.json"
CNI = r"C:\etc\cni\net.d"
OTHER = rf"{CNI}\10-other.conf"
FLANNEL, KUBE_PROXY = "registry.example/flannel:1", "registry.example/kube-proxy:1"
SAMPLE = ROOT / "inventories" / "kubespray"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    site = start_site({"name": HOST, "windows": "2022"}, cluster={"kind": "memory"})
    registry, cluster = site.world.registry, site.world.cluster
    assert registry is not None
    assert cluster is not None
    for image in (FLANNEL, KUBE_PROXY):
        registry.images.add(image, ["2022"])
    # The paths of the kubeconfig and the servers' certificates in the sample.
    (site.folder / ".kube").mkdir()
    shutil.copy(cluster.kubeconfig, site.folder / ".kube" / "config")
    shutil.copytree(SAMPLE, site.folder / SAMPLE.name)
    certificate = site.world.fleet.certificate
    assert certificate is not None
    pins = site.folder / SAMPLE.name / "certificates"
    pins.mkdir(exist_ok=True)
    shutil.copy(certificate.certificate, pins / f"{HOST}.pem")
    return site


def run_sample(site: Site, **more: Any) -> PlayRun:
    """Run site.yml with the sample inventory, on the simulated server instead of the sample's address.

    A second inventory adds the groups of kubernetes-for-windows, with the images as variables of all its hosts;
    `more` are extra variables.
    """
    server = {HOST: {"ansible_host": site.machine(HOST).address}}
    groups = {"k8s_cluster": {}, "master-ubuntu": {}, "node-windows": {"hosts": server}}
    local = {"children": groups, "vars": {"flannel_image": FLANNEL, "kube_proxy_image": KUBE_PROXY}}
    inventory = {"all": {"children": {"k8s-cluster-local": local}}}
    (site.folder / "servers.yml").write_text(json.dumps(inventory), encoding="utf-8")
    assert site.world.registry is not None
    assert site.world.artifacts is not None
    mirror = {"mirrors": [site.world.registry.url]}
    variables: dict[str, Any] = {
        "artifact_mirror": site.world.artifacts.url,
        "artifact_upstream": False,
        **simulated_pins(),
        **more,
        "container_runtime_registries": dict.fromkeys(
            ("registry.k8s.io", "mcr.microsoft.com", "registry.example"), mirror
        ),
    }
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(ROOT / "playbooks" / "site.yml")]
    command += [
        "-i",
        str(site.folder / SAMPLE.name / "hosts.ini"),
        "-i",
        str(site.folder / "servers.yml"),
        "--limit",
        HOST,
    ]
    site.node(HOST).server.counters.reset()
    environment = {"HOME": str(site.folder), "WINDOWS_PASSWORD": PASSWORD}
    return site.execute([*command, "-e", json.dumps(variables)], environment=environment, timeout=600)


@pytest.fixture(scope="module")
def first(site: Site) -> PlayRun:
    return run_sample(site).expect()


def test_no_windows_host_is_in_a_group_of_kubespray() -> None:
    inventory = InventoryManager(loader=DataLoader(), sources=[str(SAMPLE / "hosts.ini")])
    groups = inventory.get_groups_dict()
    # kubespray's roles run on the hosts of these groups.
    kubespray = {host for name in ("kube_control_plane", "kube_node", "etcd", "k8s_cluster") for host in groups[name]}
    assert HOST in groups["all"]
    assert HOST not in kubespray


# test_kubespray_calico.py joins a node of the same inventory.
@pytest.mark.variant
def test_a_node_of_the_sample_inventory_joins(site: Site, first: PlayRun) -> None:
    nodes = cluster_nodes(site)
    assert {name: node["ready"] for name, node in nodes.items()} == {HOST: True}
    # A variable of the group k8s_cluster, which contains no Windows host.
    assert nodes[HOST]["version"] == "v1.37.1"


# test_kubespray_calico.py joins a node of the same inventory.
@pytest.mark.variant
def test_pods_run_the_images_of_the_site(site: Site, first: PlayRun) -> None:
    api = client.CoreV1Api(cluster_api(site))

    def images() -> dict[str, str]:
        pods = api.list_pod_for_all_namespaces(field_selector=f"spec.nodeName={HOST}").items
        return {
            status.name: status.image
            for pod in pods
            for status in pod.status.container_statuses or ()
            if status.state.running
        }

    expected = {"kube-flannel": FLANNEL, "kube-proxy": KUBE_PROXY}
    wait_for(lambda: images() == expected, f"the pods run {expected}", 60)
    status: Any = site.node(HOST).status()
    assert set(expected.values()) <= {image["name"] for image in status["container_images"]}


# test_kubespray_calico.py runs site.yml twice.
@pytest.mark.variant
def test_a_second_run_changes_nothing(site: Site, first: PlayRun) -> None:
    run = run_sample(site).expect()
    assert run.recap[HOST]["changed"] == 0
    assert site.counters(HOST)["remote_commands"] <= 3


@pytest.fixture(scope="module")
def replaced(site: Site, first: PlayRun) -> PlayRun:
    """Another tool provides the network from now on. Its configuration exists before flannel's is removed."""
    conf = {"name": "other", "cniVersion": "1.0.0", "type": "win-bridge", "ipam": {"type": "host-local"}}
    site.machine(HOST).files.write_text(OTHER, json.dumps(conf))
    return run_sample(site, kube_network_plugin="cni").expect()


@pytest.mark.variant
def test_flannel_is_removed_if_another_tool_replaces_it(site: Site, replaced: PlayRun) -> None:
    daemon_sets = client.AppsV1Api(cluster_api(site)).list_daemon_set_for_all_namespaces().items
    assert "kube-flannel-windows" not in [item.metadata.name for item in daemon_sets]
    files = site.machine(HOST).files
    assert [entry.path for entry in files.listing(CNI)] == [OTHER]
    assert json.loads(files.read_text(NOTE)) == {"plugin": "none", "mode": "", "network": ""}
    assert cluster_nodes(site)[HOST]["ready"]


@pytest.mark.variant
def test_a_run_after_that_changes_nothing(site: Site, replaced: PlayRun) -> None:
    assert run_sample(site, kube_network_plugin="cni").expect().recap[HOST]["changed"] == 0
