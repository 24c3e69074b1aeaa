# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node with containerd whose network runs as services, in a cluster whose kubelets use kubespray's nodelocaldns."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from integration.conftest import SiteFactory
from integration.joined_nodes import wait_for
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes, node_name
from integration.power_cuts import started_after_a_power_cut
from kubernetes import client

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.kubelet import settings

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("test_network-services")]

HOST = "services"
NODELOCALDNS = "169.254.25.10"
"""kubespray's default of nodelocaldns_ip. Only Linux nodes serve it."""
LABEL = "winkube.node/network-runs-as"


def set_cluster_dns(site: Site, address: str) -> None:
    """Set clusterDNS in the configuration that kubeadm gives to the kubelets of new nodes."""
    core = client.CoreV1Api(cluster_api(site))
    document = yaml.safe_load(core.read_namespaced_config_map("kubelet-config", "kube-system").data["kubelet"])
    changed = {"kubelet": yaml.safe_dump({**document, "clusterDNS": [address]})}
    core.patch_namespaced_config_map("kubelet-config", "kube-system", {"data": changed})


@pytest.fixture(scope="module")
def joined(start_site: SiteFactory) -> tuple[Site, PlayRun]:
    """Return the site of a node on which flannel's overlay runs as services, and the run that joined it."""
    site = start_site(
        {"name": HOST, "windows": "2022", "link_drop_seconds": 0.5},
        cluster={"kind": "memory"},
        flannel_backend_type="vxlan",
        cni_run_as="service",
    )
    set_cluster_dns(site, NODELOCALDNS)
    run = site.run("site.yml").expect()
    site.counted["first"] = {HOST: site.counters(HOST)}
    return site, run


def test_services_run_the_network(joined: tuple[Site, PlayRun]) -> None:
    site, _ = joined
    machine = site.machine(HOST)
    found = {name: machine.services.get(name) for name in ("containerd", "kubelet", "flanneld", "kube-proxy")}
    states = {name: (service.state, service.dependencies) for name, service in found.items() if service is not None}
    assert states == {
        "containerd": ("Running", []),
        "kubelet": ("Running", ["containerd"]),
        # On an overlay, kube-proxy needs flannel's network.
        "flanneld": ("Running", ["kubelet"]),
        "kube-proxy": ("Running", ["flanneld"]),
    }
    configuration = machine.files.read_text(r"C:\etc\cni\net.d\10-flannel.conf")
    assert yaml.safe_load(configuration)["delegate"]["apiVersion"] == 2
    node = cluster_nodes(site)[node_name(HOST)]
    assert (node["ready"], node["labels"][LABEL]) == (True, "service")
    status: Any = site.node(HOST).status()
    (network,) = [item for item in status["hns"]["networks"] if item["name"] == "flannel.4096"]
    assert (network["type"], network["vni"], network["subnet"]) == ("Overlay", 4096, node["pod_cidr"])


def test_services_start_in_the_same_order_after_a_power_cut(joined: tuple[Site, PlayRun]) -> None:
    site, _ = joined
    order = ["containerd", "kubelet", "flanneld", "kube-proxy"]
    assert started_after_a_power_cut(site.machine(HOST), order) == order


def test_nothing_privileged_runs_there(joined: tuple[Site, PlayRun]) -> None:
    site, _ = joined
    api = cluster_api(site)
    on_node = f"spec.nodeName={node_name(HOST)}"
    assert client.CoreV1Api(api).list_pod_for_all_namespaces(field_selector=on_node).items == []
    names = [item.metadata.name for item in client.AppsV1Api(api).list_daemon_set_for_all_namespaces().items]
    assert not [name for name in names if name.endswith("-windows")]


def test_pods_get_an_address_and_services_a_load_balancer(joined: tuple[Site, PlayRun]) -> None:
    site, _ = joined
    assert site.world.registry is not None
    image = f"{site.world.registry.address}:{site.world.registry.port}/pause:3.10.2"
    spec = {"nodeName": node_name(HOST), "containers": [{"name": "app", "image": image}]}
    core = client.CoreV1Api(cluster_api(site))
    core.create_namespaced_pod("default", {"metadata": {"name": "app", "labels": {"app": "app"}}, "spec": spec})
    wait_for(lambda: core.read_namespaced_pod("app", "default").status.phase == "Running", "the pod runs", 30)
    prefix = cluster_nodes(site)[node_name(HOST)]["pod_cidr"].rpartition(".")[0]
    assert core.read_namespaced_pod("app", "default").status.pod_ip.startswith(f"{prefix}.")
    wait_for(lambda: site.node(HOST).status()["hns"]["policies"], "services have load balancers", 30)
    core.delete_namespaced_pod("app", "default", grace_period_seconds=0)


def test_pods_use_a_name_server_that_windows_nodes_reach(joined: tuple[Site, PlayRun]) -> None:
    site, _ = joined
    machine = site.machine(HOST)
    service = client.CoreV1Api(cluster_api(site)).read_namespaced_service("kube-dns", "kube-system")
    # kubeadm's own file has the cluster's setting, which the drop-in replaces.
    assert NODELOCALDNS in machine.files.read_text(r"C:\var\lib\kubelet\config.yaml")
    assert site.world.cluster is not None
    flags = [r"--config=C:\var\lib\kubelet\config.yaml", r"--config-dir=C:\etc\kubernetes\kubelet.conf.d"]
    effective = settings.read(machine, flags, site.world.cluster.version)
    assert effective.cluster_dns == [service.spec.cluster_ip]


# test_network_matrix.py runs site.yml twice for all networks.
@pytest.mark.variant
def test_a_second_run_changes_nothing(joined: tuple[Site, PlayRun]) -> None:
    site, _ = joined
    run = site.run("site.yml").expect()
    assert run.recap[HOST]["changed"] == 0
    assert site.counters(HOST)["remote_commands"] <= 3
    assert site.counted["first"][HOST]["remote_commands"] <= 12
    run, nodes = site.plan()
    run.expect()
    assert (nodes, site.counters(HOST)["remote_commands"]) == ({HOST: {"status": "in_sync"}}, 1)


# The last test, because pods start again after a reboot.
def test_kube_proxy_has_its_source_address_after_a_reboot(joined: tuple[Site, PlayRun]) -> None:
    machine = joined[0].machine(HOST)
    source = yaml.safe_load(machine.files.read_text(r"C:\k\kube-proxy\config.yaml"))["winkernel"]["sourceVip"]
    store = hns.store(machine)
    former = {one.id for one in store.networks()}
    machine.power.reset()

    def balanced() -> bool:
        addresses, vips = {one.address for one in store.endpoints()}, {one.source_vip for one in store.policies()}
        # The boot removed the network, and its load balancers with it.
        is_new = not former & {one.id for one in store.networks()}
        return is_new and source in addresses and vips == {source}

    wait_for(balanced, f"services have load balancers with the source address {source}", 60)
    # host-local gives it to no pod.
    assert machine.files.is_file(rf"C:\var\lib\cni\networks\flannel.4096\{source}")
