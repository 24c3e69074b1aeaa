# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calico's DaemonSet creates a node's network, pods get addresses and policies, and mistakes fail as on Windows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.cluster import real_unavailable
from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cni.calico import initialisation
from simulator.kubernetes_node.hns import acls
from simulator.kubernetes_node.registry.server import SimulatedRegistry

from . import manifests
from .calico_nodes import (
    CRD,
    calico_cluster,
    calico_pod,
    daemon_set,
    deploy,
    environment,
    joined,
    logs,
    wait_calico,
    wait_log,
)
from .conftest import Admin, Node

pytestmark = [pytest.mark.waits, pytest.mark.usefixtures("simulated_kubeadm")]

NANO = "mcr.microsoft.com/windows/nanoserver:ltsc2022"
Make = Callable[..., Node]


@pytest.fixture
def strict() -> Iterator[Admin]:
    """Start a cluster of kubespray with strict affinity and one Linux node."""
    found = calico_cluster(strict_affinity=True, linux_nodes=1)
    yield found
    found.cluster.stop()


@pytest.fixture
def default() -> Iterator[Admin]:
    """Start a cluster of kubespray with its defaults."""
    found = calico_cluster()
    yield found
    found.cluster.stop()


def block_of(admin: Admin, node: Node) -> dict[str, Any]:
    """Return the spec of a node's IPAM block."""
    blocks = admin.client.get(f"{CRD}/ipamblocks")["items"]
    (found,) = [item["spec"] for item in blocks if item["spec"]["affinity"] == f"host:{node.name}"]
    return dict(found)


def running(admin: Admin, node: Node, name: str, **labels: str) -> dict[str, Any]:
    """Create a pod, and return it when it has an address."""
    document = manifests.pod(name, node.name, [{"name": "main", "image": NANO}])
    document["metadata"]["labels"] = labels
    path = "/api/v1/namespaces/default/pods"
    admin.client.create(path, document)
    wait_for(
        lambda: admin.client.get(f"{path}/{name}").get("status", {}).get("podIP"),
        f"{name} has an address; it is {admin.client.get(f'{path}/{name}').get('status')}",
    )
    return admin.client.get(f"{path}/{name}")


def endpoint_at(node: Node, address: str) -> Any:
    return next(item for item in hns.store(node.machine).endpoints() if item.address == address and item.container)


@pytest.mark.parametrize("kind", ["memory", "real"])
def test_a_windows_node_gets_a_vxlan_network_and_its_pods_addresses(
    make_node: Make, registry: SimulatedRegistry, kind: str
) -> None:
    if kind == "real" and (reason := real_unavailable()):
        pytest.skip(reason)
    admin = calico_cluster(kind, strict_affinity=True, linux_nodes=1)
    try:
        _check_vxlan(admin, make_node, registry)
    finally:
        admin.cluster.stop()


def _check_vxlan(admin: Admin, make_node: Make, registry: SimulatedRegistry) -> None:
    node = joined(make_node, registry, admin)
    deploy(admin, daemon_set(admin.cluster))
    wait_calico(admin, node)

    block = block_of(admin, node)
    base = block["cidr"].removesuffix("/26")
    first = ".".join(base.split(".")[:3])
    last = int(base.split(".")[3])
    networks = {item.name: item for item in hns.store(node.machine).networks()}
    assert {name: item.kind for name, item in networks.items()} == {"External": "Overlay", "Calico": "Overlay"}
    assert (networks["Calico"].subnet, networks["Calico"].vni) == (block["cidr"], 4096)
    (own,) = [item for item in hns.store(node.machine).endpoints() if item.name == "Calico_ep"]
    assert (own.address, own.remote) == (f"{first}.{last + 2}", True)
    assert own.policies == [{"Type": "PA", "PA": node.machine.address}]
    assert node.machine.registry.data(initialisation.KEY, "LastBootTime") == initialisation.boot_time(node.machine)
    assert block["unallocated"][0] == 3
    assert block["attributes"][0]["handle_id"] == "windows-reserved-ipam-handle"

    annotations = admin.client.get(f"/api/v1/nodes/{node.name}")["metadata"]["annotations"]
    assert annotations["projectcalico.org/IPv4Address"].startswith(f"{node.machine.address}/")
    assert annotations["projectcalico.org/IPv4VXLANTunnelAddr"] == f"{first}.{last + 1}"
    information = admin.client.get(f"{CRD}/clusterinformations/default")["spec"]
    assert information["clusterType"].split(",")[-1] == "win"
    routes = [item["Settings"] for item in networks["Calico"].policies if item["Type"] == "RemoteSubnetRoute"]
    assert [(item["DestinationPrefix"], item["ProviderAddress"]) for item in routes] == [
        ("10.233.64.0/26", "192.0.2.20")
    ]
    admin.wait_ready(node.name, "True")

    pod = running(admin, node, "first")
    address = pod["status"]["podIP"]
    assert address == f"{first}.{last + 3}"
    assert pod["metadata"]["annotations"]["cni.projectcalico.org/podIP"] == f"{address}/32"
    endpoint = endpoint_at(node, address)
    assert endpoint.name.endswith("_Calico")
    assert endpoint.mac.startswith("0E-2A-0A-E9-")
    nat = [item for item in endpoint.policies if item["Type"] == "OutBoundNAT"]
    assert nat[0]["ExceptionList"] == ["10.233.0.0/18", "10.233.64.0/18"]
    handles = admin.client.get(f"{CRD}/ipamhandles")["items"]
    assert [item["spec"]["block"] for item in handles] == [{block["cidr"]: 1}]

    admin.client.delete("/api/v1/namespaces/default/pods/first", {"gracePeriodSeconds": 0})
    wait_for(lambda: not admin.client.get(f"{CRD}/ipamhandles")["items"], "the address is released")
    assert 3 in block_of(admin, node)["unallocated"]


def test_kube_proxy_uses_the_endpoint_of_calico_as_source_address(
    make_node: Make, registry: SimulatedRegistry, strict: Admin
) -> None:
    node = joined(make_node, registry, strict)
    deploy(strict, daemon_set(strict.cluster))
    wait_calico(strict, node)
    (own,) = [item for item in hns.store(node.machine).endpoints() if item.name == "Calico_ep"]
    address = own.address
    configuration = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": r"C:\etc\kubernetes\admin.conf"},
        "winkernel": {"networkName": "Calico", "sourceVip": address},
        "featureGates": {"WinOverlay": True},
    }
    node.write(r"C:\proxy.yaml", json.dumps(configuration))
    node.write(r"C:\etc\kubernetes\admin.conf", strict.cluster.kubeconfig.read_text())
    node.machine.processes.detach(
        "kube-proxy.exe",
        "NT AUTHORITY\\SYSTEM",
        lambda process: node.run(r"C:\k\kube-proxy.exe", r"--config=C:\proxy.yaml", stop=process.stop),
    )
    wait_for(lambda: hns.store(node.machine).policies(), "a load balancer")
    found = [item for item in hns.store(node.machine).endpoints() if item.address == address]
    assert [item.name for item in found] == ["Calico_ep"]


def test_without_strict_affinity_the_node_has_no_network(
    make_node: Make, registry: SimulatedRegistry, default: Admin
) -> None:
    node = joined(make_node, registry, default)
    deploy(default, daemon_set(default.cluster))
    text = "Unable to ensure network for os error=global strict affinity should not be false for Windows node"
    wait_log(node, "node", text)
    assert hns.store(node.machine).network_named("Calico") is None
    assert hns.store(node.machine).network_named("External") is not None
    wait_log(node, "felix", "didn't find any HNS networks matching regular expression (?i)calico.*")
    names = {item["name"]: item["ready"] for item in calico_pod(default, node)["status"]["containerStatuses"]}
    assert names == {"node": True, "felix": False}

    assert default.cluster.calico is not None
    default.cluster.calico.set_strict_affinity(True)
    wait_calico(default, node)
    assert hns.store(node.machine).network_named("Calico") is not None

    # kubespray's next run switches strict affinity off: the network stays, and new pods get no address.
    default.cluster.calico.set_strict_affinity(False)
    document = manifests.pod("late", node.name, [{"name": "main", "image": NANO}])
    default.client.create("/api/v1/namespaces/default/pods", document)
    wait_for(
        lambda: (
            "global strict affinity should not be false"
            in str(default.client.get("/api/v1/namespaces/default/pods/late").get("status", {}).get("message"))
        ),
        "the sandbox fails",
    )


def test_network_policies_become_rules_of_the_endpoints(
    make_node: Make, registry: SimulatedRegistry, strict: Admin
) -> None:
    node = joined(make_node, registry, strict)
    deploy(strict, daemon_set(strict.cluster))
    wait_calico(strict, node)
    server = running(strict, node, "server", app="web")["status"]["podIP"]
    friend = running(strict, node, "friend", role="client")["status"]["podIP"]
    stranger = running(strict, node, "stranger")["status"]["podIP"]

    def allowed(source: str, port: int) -> bool:
        return acls.allows(endpoint_at(node, server).policies, "In", source, port)

    wait_for(lambda: allowed(stranger, 80), "without policies, the profile allows everything")
    rule = {
        "from": [{"podSelector": {"matchLabels": {"role": "client"}}}],
        "ports": [{"protocol": "TCP", "port": 80}, {"protocol": "TCP", "port": "metrics"}],
    }
    strict.client.create(
        "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
        {
            "metadata": {"name": "web"},
            "spec": {"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Ingress"], "ingress": [rule]},
        },
    )
    wait_for(lambda: not allowed(stranger, 80), "the policy blocks")
    assert allowed(friend, 80)
    assert not allowed(friend, 443)
    assert allowed(node.machine.address, 443), "the node reaches its pods"
    assert acls.allows(endpoint_at(node, server).policies, "Out", stranger, 443)
    wait_log(node, "felix", "Skipped rule because it's not supported on Windows.")
    strict.client.delete("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/web")
    wait_for(lambda: allowed(stranger, 80), "the rules are gone")


def test_a_first_run_removes_other_networks_but_a_restart_does_not(
    make_node: Make, registry: SimulatedRegistry, strict: Admin
) -> None:
    node = joined(make_node, registry, strict)
    store = hns.store(node.machine)
    other = store.create_network("cbr0", "L2Bridge", "10.244.9.0/24", "10.244.9.1")
    store.add_endpoint("cbr0_ep", other.id, "10.244.9.2")
    store.create_network("nat", "NAT", "172.20.0.0/16", "172.20.0.1")
    deploy(strict, daemon_set(strict.cluster))
    wait_calico(strict, node)
    assert sorted(item.name for item in store.networks()) == ["Calico", "External", "nat"]

    first = store.network_named("Calico")
    strict.client.delete(
        f"/api/v1/namespaces/kube-system/pods/{calico_pod(strict, node)['metadata']['name']}", {"gracePeriodSeconds": 0}
    )
    before = len(logs(node)["node"])
    wait_for(lambda: len(logs(node)["node"]) > before, "the pod is replaced")
    wait_calico(strict, node)
    known = store.network_named("Calico")
    assert known is not None
    assert first is not None
    assert known.id == first.id


MISTAKES = [
    ("node", "VXLAN_VNI", "", 'strconv.ParseInt: parsing "": invalid syntax'),
    ("node", "VXLAN_VNI", "100", "Windows does not support VXLANVNI < 4096"),
    ("node", "CALICO_NETWORKING_BACKEND", "bird", "invalid backend configuration"),
    ("node", "NODENAME", "another", "Failed to read Node from datastore"),
    ("node", "IP_AUTODETECTION_METHOD", "interface=Missing", "failed to autodetect an IPv4 address"),
    ("install-cni", "CNI_NETWORK_CONFIG", "{", "is not a valid json object"),
    ("install-cni", "CALICO_CNI_SERVICE_ACCOUNT", "other", "Unable to create token for CNI kubeconfig"),
]
"""A container of the DaemonSet, one of its variables, a wrong value, and a part of the error in its log."""


def test_mistakes_in_the_daemon_set_are_in_the_log(make_node: Make, registry: SimulatedRegistry) -> None:
    """Each mistake has a cluster and a node. All of them run at the same time, because they wait most of the time."""
    found = [make_node() for _ in MISTAKES]

    def check(number: int) -> None:
        container, variable, value, text = MISTAKES[number]
        admin = calico_cluster(strict_affinity=True, linux_nodes=1)
        try:
            node = joined(lambda: found[number], registry, admin)
            daemon = daemon_set(admin.cluster)
            known = environment(daemon, container)
            known[:] = [item for item in known if item["name"] != variable]
            known.append({"name": variable, "value": value})
            deploy(admin, daemon)
            wait_log(node, container, text)
            assert hns.store(node.machine).network_named("Calico") is None, (container, variable)
        finally:
            admin.cluster.stop()

    with ThreadPoolExecutor(len(MISTAKES)) as pool:
        list(pool.map(check, range(len(MISTAKES))))


def test_the_address_of_the_kubernetes_service_does_not_work_before_kube_proxy(
    make_node: Make, registry: SimulatedRegistry, strict: Admin
) -> None:
    node = joined(make_node, registry, strict)
    daemon = daemon_set(strict.cluster)
    for name in ("install-cni", "node", "felix"):
        known = environment(daemon, name)
        known[:] = [item for item in known if not item["name"].startswith("KUBERNETES_SERVICE_")]
    deploy(strict, daemon)
    wait_log(node, "install-cni", "A connection attempt failed because the connected party did not properly respond")


def test_a_missing_folder_for_the_configuration_stops_the_installation(
    make_node: Make, registry: SimulatedRegistry, strict: Admin
) -> None:
    node = joined(make_node, registry, strict)
    node.machine.files.delete(r"C:\etc\cni\net.d")
    deploy(strict, daemon_set(strict.cluster))
    wait_log(node, "install-cni", "The system cannot find the path specified.")


def test_without_definitions_nothing_works(make_node: Make, registry: SimulatedRegistry) -> None:
    admin = calico_cluster(datastore="etcd")
    try:
        node = joined(make_node, registry, admin)
        deploy(admin, daemon_set(admin.cluster))
        wait_log(node, "node", "Unable to set global default configuration error=resource does not exist")
    finally:
        admin.cluster.stop()


def test_without_permissions_calico_node_ends(make_node: Make, registry: SimulatedRegistry, strict: Admin) -> None:
    node = joined(make_node, registry, strict)
    deploy(strict, daemon_set(strict.cluster))
    wait_calico(strict, node)
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/calico-node"
    strict.client.patch(path, {"rules": []})
    strict.client.delete(
        f"/api/v1/namespaces/kube-system/pods/{calico_pod(strict, node)['metadata']['name']}", {"gracePeriodSeconds": 0}
    )
    wait_log(node, "install-cni", "Unable to create token for CNI kubeconfig error=")


def test_release_3_33_has_one_program(make_node: Make, registry: SimulatedRegistry, strict: Admin) -> None:
    node = joined(make_node, registry, strict)
    deploy(strict, daemon_set(strict.cluster, "3.33.1"))
    wait_calico(strict, node)
    assert node.machine.files.is_file(r"C:\opt\cni\bin\calico.exe")
    assert strict.client.get(f"{CRD}/clusterinformations/default")["spec"]["calicoVersion"] == "v3.33.1"


def test_the_operator_renders_what_a_node_runs(make_node: Make, registry: SimulatedRegistry) -> None:
    admin = calico_cluster(install="operator", windows=True, strict_affinity=True)
    try:
        calico = admin.cluster.calico
        assert calico is not None
        wait_for(lambda: calico.status()[0] == "Available", f"the operator is content: {calico.status()}")
        node = joined(make_node, registry, admin)
        wait_calico(admin, node)
        assert hns.store(node.machine).network_named("Calico") is not None
        wait_log(node, "uninstall-calico", "Done.")
    finally:
        admin.cluster.stop()


@pytest.mark.parametrize(
    ("windows", "containerd", "name", "pulled"),
    [
        ("2022", "2.1.4", "node-windows:v3.31.5", True),
        ("2019", "1.7.35", "cni-windows:v3.31.5", True),
        ("2025", "1.6.39", "node-windows:v3.31.5", False),
        ("2025", "2.1.4", "node-windows:v3.31.5-windows-ltsc2022", True),
        ("2019", "1.7.35", "node-windows:v3.31.5-windows-ltsc2022", False),
        ("2022", "2.1.4", "node-windows:v3.32.1-windows-1809", False),
    ],
)
def test_images_exist_for_2019_and_2022(
    make_node: Make, registry: SimulatedRegistry, windows: str, containerd: str, name: str, pulled: bool
) -> None:
    node = make_node(windows, containerd=containerd)
    text = f"server = 'https://quay.io'\n[host.'{registry.url}']\n  capabilities = ['pull', 'resolve']\n"
    node.write(r"C:\certs.d\quay.io\hosts.toml", text)
    node.start_containerd()
    result = node.ctr("images", "pull", "--hosts-dir", r"C:\certs.d", f"quay.io/calico/{name}")
    assert (result.exit_code == 0) is pulled, result.stderr
    if not pulled:
        missing = "failed to resolve reference" if "windows-1809" in name else "no match for platform in manifest"
        assert missing in result.stderr
