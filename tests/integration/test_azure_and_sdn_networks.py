# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Nodes with Azure CNI and with Microsoft's plugins: their join, their pods, and a second run.

In each cluster, another machine then joins with `kubeadm join` alone, and becomes the same node.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.imaging import put
from integration.joined_nodes import prepare, server
from integration.launcher_machines import install_launcher, join_alone
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes, node_name
from kubernetes import client
from simulator_tests.waiting import wait_for

from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.catalogue import network
from ansible_collections.winkube.node.plugins.plugin_utils.resources.directory import closed
from simulator.artifacts import catalog
from simulator.machine.executables import make
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("test_azure_and_sdn_networks")]

SECONDARY = ["10.244.0.5", "10.244.0.6", "10.244.0.7"]
BARE, BARE_SECONDARY = "bare1", ["10.244.1.5", "10.244.1.6"]
AZURE = {"subnet": "10.244.0.0/16", "primary": "10.244.0.4", "secondary": SECONDARY}
ARCHIVE = "packages.aks.azure.com/azure-cni/v1.6.21/binaries/azure-vnet-cni-windows-amd64-v1.6.21.zip"
CONF = r"C:\etc\cni\net.d"
MAC_KEY = r"HKLM:\SYSTEM\CurrentControlSet\Services\hns\State"
WIRE_SERVER = "winkube-azure-wireserver"
FIRST, SECOND, DRIFT = 12, 3, 1
"""The largest number of remote commands of a first run, of a second run, and of a plan."""


def counted(site: Site, host: str, playbook: str = "site.yml", exit_code: int = 0) -> tuple[PlayRun, int]:
    """Run a playbook for a node, and return the number of remote commands that the node counted."""
    run = site.run(playbook, "--limit", f"{host},localhost").expect(exit_code)
    return run, site.counters(host)["remote_commands"]


def hns(site: Site, host: str) -> dict[str, Any]:
    status: dict[str, Any] = site.node(host).status()["hns"]
    return status


def start_pod(site: Site, node: str, name: str = "web") -> str:
    """Start a pod on a node, and return its address."""
    core = client.CoreV1Api(cluster_api(site))
    container = {"name": "web", "image": "mcr.microsoft.com/oss/kubernetes/pause:3.10.2"}
    spec = {"nodeName": node, "containers": [container], "tolerations": [{"operator": "Exists"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    core.create_namespaced_pod("default", body)

    def address() -> str:
        return str(core.read_namespaced_pod(name, "default").status.pod_ip or "")

    wait_for(lambda: bool(address()), f"the address of the pod {name}")
    return address()


def bare_join(site: Site, plugin: str, programs: dict[str, str]) -> tuple[Machine, str]:
    """Join a machine on which nothing but the image's content is, with `kubeadm join` alone.

    Args:
        site: a cluster whose DaemonSets a playbook has applied.
        plugin: the network.
        programs: versions of the programs in the folder of CNI plugins, by name.

    Returns:
        The machine, and the name of its node.
    """
    prepare(site, BARE)
    machine = site.machine(BARE)
    for name, version in programs.items():
        put(machine, rf"C:\opt\cni\bin\{name}.exe", make(name, version))
    values = [
        {"type": "Registry", "key": one.key, "value_name": one.value_name, "value": one.value, "restarts": ["hns"]}
        for one in network(plugin).registry
    ]
    install_launcher(machine, {}, [*closed([CONF], users="read"), *values], programs=("kubectl", "kube-proxy"))
    assert machine.files.listing(CONF) == []
    return machine, join_alone(site, machine)


def texts_of_node(site: Site, machine: Machine, node: str, file: str) -> list[str]:
    """Return the CNI configuration and kube-proxy's configuration of a node, without its own name and addresses."""
    read = client.CoreV1Api(cluster_api(site)).read_node(node)
    (address,) = [one.address for one in read.status.addresses if one.type == "InternalIP"]
    proxy = r"C:\k\kube-proxy\config.yaml"
    wait_for(lambda: machine.files.is_file(proxy), "kube-proxy's configuration")
    texts = [machine.files.read_bytes(path).decode() for path in (rf"{CONF}\{file}", proxy)]
    source = f"{read.spec.pod_cidr.rpartition('.')[0]}.254"
    for own in (node, f'"{address}"', f"sourceVip: {source}"):
        texts = [text.replace(own, "own") for text in texts]
    return texts


def daemon_sets_running_on(site: Site, node: str) -> set[str]:
    """Return the names of the DaemonSets whose pods on a node are ready."""
    pods = client.CoreV1Api(cluster_api(site)).list_pod_for_all_namespaces(field_selector=f"spec.nodeName={node}").items
    return {
        pod.metadata.owner_references[0].name
        for pod in pods
        if pod.metadata.owner_references and all(one.ready for one in pod.status.container_statuses or [None])
    }


@pytest.fixture(scope="module")
def azure(start_site: SiteFactory) -> tuple[Site, int]:
    """Return a node with Azure CNI, in a virtual machine of Azure."""
    pin = hashlib.sha256(catalog.content(ARCHIVE) or b"").hexdigest()
    site = start_site(
        {"name": "vm1", "windows": "2022", "azure": AZURE},
        server(BARE, windows="2022", azure={**AZURE, "primary": "10.244.1.4", "secondary": BARE_SECONDARY}),
        cluster={"kind": "memory"},
        kube_network_plugin="azure",
        cni_azure_vnet_sha256=pin,
    )
    refused, _ = counted(site, "vm1", exit_code=2)
    assert refused.recap["vm1"]["changed"] == 0
    message = refused.messages("vm1")
    assert "its network interfaces have 3 secondary addresses for pods, expected at least 110" in message
    assert "kubernetes_node_kubelet_configuration: {maxPods: 3}" in message
    site.variables["kubernetes_node_kubelet_configuration"] = {"maxPods": 3}
    return site, counted(site, "vm1")[1]


def test_azure_cni_joins_within_the_budget(azure: tuple[Site, int]) -> None:
    site, first = azure
    assert cluster_nodes(site)[node_name("vm1")]["ready"]
    assert first <= FIRST
    assert site.machine("vm1").registry.data(MAC_KEY, "SDNRemoteArpMacAddress") == "12-34-56-78-9a-bc"


def test_pods_of_azure_cni_have_addresses_of_the_virtual_machine(azure: tuple[Site, int]) -> None:
    site, _ = azure
    assert start_pod(site, node_name("vm1")) in SECONDARY
    (network,) = [one for one in hns(site, "vm1")["networks"] if one["name"] == "azure"]
    assert (network["type"], network["subnet"]) == ("L2Bridge", "10.244.0.0/16")
    machine = site.machine("vm1")
    proxy = machine.files.read_text(r"C:\k\kube-proxy\config.yaml")
    assert "networkName: azure" in proxy
    assert "enableDSR: true" in proxy
    assert "sourceVip" not in proxy


def test_containers_in_azure_cannot_reach_wire_server(azure: tuple[Site, int]) -> None:
    site, _ = azure
    conflist = json.loads(site.machine("vm1").files.read_text(r"C:\etc\cni\net.d\10-azure.conflist"))
    values = [one["Value"] for one in conflist["plugins"][0]["AdditionalArgs"]]
    rules = [one for one in values if one["Type"] == "ACL"]
    blocked = [(one["RemoteAddresses"], one["RemotePorts"]) for one in rules if one["Action"] == "Block"]
    assert blocked == [("168.63.129.16/32", "80"), ("168.63.129.16/32", "32526")]
    assert [(one["Direction"], one["Priority"]) for one in rules if one["Action"] == "Allow"] == [
        ("In", 65500),
        ("Out", 65500),
    ]
    rule = site.node("vm1").status()["firewall"][WIRE_SERVER]
    assert (rule["action"], rule["direction"], rule["remote_address"]) == ("Block", "Outbound", ["168.63.129.16"])
    # SYSTEM is exempt. This server has no user of cloudbase-init.
    assert rule["local_user"] == "O:LSD:(D;;CC;;;S-1-5-18)(A;;CC;;;S-1-1-0)"


@pytest.fixture
def bare_azure(azure: tuple[Site, int]) -> Iterator[tuple[Machine, str]]:
    """Yield a machine and its node, which leaves the cluster afterwards."""
    site, _ = azure
    machine, node = bare_join(site, "azure", {"azure-vnet": "1.6.21", "azure-vnet-ipam": "1.6.21"})
    yield machine, node
    machine.services.stop("kubelet")
    client.CoreV1Api(cluster_api(site)).delete_node(node)


def test_a_bare_join_makes_the_same_node_with_azure_cni(
    azure: tuple[Site, int], bare_azure: tuple[Machine, str]
) -> None:
    site, _ = azure
    machine, node = bare_azure
    expected = texts_of_node(site, site.machine("vm1"), node_name("vm1"), "10-azure.conflist")
    assert texts_of_node(site, machine, node, "10-azure.conflist") == expected
    assert start_pod(site, node, "bare") in BARE_SECONDARY
    wait_for(lambda: daemon_sets_running_on(site, node) == {"kube-proxy-windows"}, "kube-proxy runs")


# test_network_matrix.py runs site.yml twice for all networks.
@pytest.mark.variant
def test_a_second_run_changes_nothing_with_azure_cni(azure: tuple[Site, int]) -> None:
    site, _ = azure
    second, commands = counted(site, "vm1")
    assert second.recap["vm1"]["changed"] == 0
    assert commands <= SECOND
    _, document = site.plan()
    assert site.counters("vm1")["remote_commands"] == DRIFT, document


@pytest.mark.variant
def test_nothing_of_azure_cni_is_left_after_a_change_to_flannel(azure: tuple[Site, int]) -> None:
    site, _ = azure
    assert start_pod(site, node_name("vm1"), "last") in SECONDARY
    core = client.CoreV1Api(cluster_api(site))
    # Drains wait for pods that no controller owns.
    for pod in core.list_namespaced_pod("default").items:
        core.delete_namespaced_pod(pod.metadata.name, "default", grace_period_seconds=0)
    site.variables["kube_network_plugin"] = "flannel"
    counted(site, "vm1")
    machine = site.machine("vm1")
    assert {one["name"] for one in hns(site, "vm1")["networks"]} & {"azure"} == set()
    assert machine.registry.get(MAC_KEY, "SDNRemoteArpMacAddress") is None
    folders = (r"C:\Windows\System32", r"C:\opt\cni\bin", r"C:\etc\cni\net.d")
    names = {entry.name for folder in folders for entry in machine.files.listing(folder)}
    assert {name for name in names if "azure" in name} == set()
    assert cluster_nodes(site)[node_name("vm1")]["ready"]
    assert counted(site, "vm1")[0].recap["vm1"]["changed"] == 0


@pytest.fixture(scope="module")
def bridge(start_site: SiteFactory) -> tuple[Site, int]:
    """Return a node with sdnbridge."""
    return sdn_site(start_site, "sdnbridge", windows="2025")


def sdn_site(start_site: SiteFactory, plugin: str, **windows: Any) -> tuple[Site, int]:
    """Return a cluster with a node that a playbook joined, and with a machine that has not joined."""
    site = start_site(
        {"name": "sdn1", **windows},
        server(BARE, **windows),
        cluster={"kind": "memory"},
        kube_network_plugin=plugin,
    )
    return site, counted(site, "sdn1")[1]


@pytest.mark.variant
def test_sdnbridge_joins_within_the_budget(bridge: tuple[Site, int]) -> None:
    site, first = bridge
    assert cluster_nodes(site)[node_name("sdn1")]["ready"]
    assert first <= FIRST


@pytest.mark.variant
def test_pods_of_sdnbridge_are_on_flannels_network(bridge: tuple[Site, int]) -> None:
    site, _ = bridge
    wait_for(lambda: any(one["name"] == "l2bridge" for one in hns(site, "sdn1")["networks"]), "flannel's network")
    (network,) = [one for one in hns(site, "sdn1")["networks"] if one["name"] == "l2bridge"]
    assert (network["type"], network["subnet"]) == ("L2Bridge", cluster_nodes(site)[node_name("sdn1")]["pod_cidr"])
    address = start_pod(site, node_name("sdn1"))
    assert address.rpartition(".")[0] == network["subnet"].rpartition(".")[0]
    machine = site.machine("sdn1")
    configuration = json.loads(machine.files.read_text(r"C:\etc\cni\net.d\10-sdnbridge.conf"))
    assert configuration["delegate"]["type"] == "sdnbridge"
    # The machine is not in Azure.
    policies = configuration["delegate"]["AdditionalArgs"]
    assert {one["Value"]["Type"] for one in policies} == {"OutBoundNAT", "SDNRoute"}
    assert WIRE_SERVER not in site.node("sdn1").status()["firewall"]


@pytest.mark.variant
def test_a_second_run_changes_nothing_with_sdnbridge(bridge: tuple[Site, int]) -> None:
    site, _ = bridge
    second, commands = counted(site, "sdn1")
    assert second.recap["sdn1"]["changed"] == 0
    assert commands <= SECOND


# Like test_a_bare_join_makes_the_same_node_with_azure_cni, with an address in the configuration of sdnoverlay, which
# test_cni_setup.py checks, too.
@pytest.mark.variant
@pytest.mark.parametrize("plugin", ["sdnbridge", "sdnoverlay"])
def test_a_bare_join_makes_the_same_node_with_a_plugin_of_microsoft(
    request: pytest.FixtureRequest, start_site: SiteFactory, plugin: str
) -> None:
    is_bridge = plugin == "sdnbridge"
    site, _ = request.getfixturevalue("bridge") if is_bridge else sdn_site(start_site, plugin, windows="2022")
    machine, node = bare_join(site, plugin, {plugin: "0.3.3"})
    file = f"10-{plugin}.conf"
    assert texts_of_node(site, machine, node, file) == texts_of_node(
        site, site.machine("sdn1"), node_name("sdn1"), file
    )
    pod_cidr = client.CoreV1Api(cluster_api(site)).read_node(node).spec.pod_cidr
    assert start_pod(site, node, "bare").rpartition(".")[0] == pod_cidr.rpartition(".")[0]
    running = {"kube-flannel-windows", "kube-proxy-windows"}
    wait_for(lambda: daemon_sets_running_on(site, node) == running, "the pods run")
