# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""flanneld, kube-proxy and containerd with networks that are right, wrong, missing, or owned by another program."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable
from typing import Any

import pytest

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cni import flannel_leases, flannel_network
from simulator.kubernetes_node.cni.flannel_network import Backend, FlannelError, Log
from simulator.kubernetes_node.cni.kube_proxy_sync import Programmer, ProxyLog
from simulator.kubernetes_node.hns.objects import NON_PERSISTENT
from simulator.machine import commands
from simulator.machine.faults import set_fault
from simulator.windows.networking.network_state import state_of

from .conftest import BIN_DIR, CONF_DIR, Node

SUBNET = ipaddress.IPv4Network("10.244.9.0/24")
HOST_GW, VXLAN = Backend("cbr0", "L2Bridge"), Backend("flannel.4096", "Overlay", 4096)
SERVICE = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"clusterIP": "10.96.7.7", "ports": [{"port": 80}]},
}
SLICE = {
    "metadata": {"namespace": "default", "labels": {"kubernetes.io/service-name": "web"}},
    "ports": [{"port": 8080}],
    "endpoints": [{"addresses": ["10.244.200.9"]}],
}


def announced(name: str, subnet: str, address: str, kind: str, data: object = None) -> dict[str, Any]:
    """Return a node with the annotations of its flanneld."""
    values = {
        "public-ip": address,
        "backend-type": kind,
        "backend-data": json.dumps(data),
        "kube-subnet-manager": "true",
    }
    notes = {f"flannel.alpha.coreos.com/{key}": value for key, value in values.items()}
    return {"metadata": {"name": name, "annotations": notes}, "spec": {"podCIDR": subnet}}


def applied(node: Node, backend: Backend, *nodes: dict[str, Any]) -> Log:
    """Apply the leases of other nodes as flanneld does."""
    log = Log()
    found = flannel_leases.leases([*nodes, announced("own", str(SUBNET), node.machine.address, "host-gw")], "own")
    flannel_leases.Leases(node.machine, backend, "own", log).apply(found)
    return log


# -- flanneld


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ({"DirectRouting": True}, "config. DirectRouting is not supported on Windows"),
        ({"GBP": True}, "config. GBP is not supported on Windows"),
        ({"MacPrefix": "0E2A"}, "config.MacPrefix [0E2A] is invalid, prefix must be of the format xx-xx e.g. 0E-2A"),
        ({"VNI": "4096"}, "error decoding VXLAN backend config: json: cannot unmarshal string"),
        ({"Type": "ipip"}, "Error fetching backend: unknown backend type: ipip"),
    ],
)
def test_flanneld_refuses_backends(backend: dict[str, object], message: str) -> None:
    with pytest.raises(FlannelError) as raised:
        flannel_network.backend_of({"Backend": {"Type": "vxlan", **backend}})
    assert message in str(raised.value)


def test_flanneld_replaces_the_network_of_another_owner(make_node: Callable[..., Node]) -> None:
    node, log = make_node(), Log()
    store = hns.store(node.machine)
    other = store.create_network("cbr0", "Overlay", "10.1.0.0/24", "10.1.0.1")
    store.add_endpoint("pod", other.id, "10.1.0.5", container="c")

    flannel_network.ensure(node.machine, HOST_GW, SUBNET, log)
    flannel_network.attach_host(node.machine, HOST_GW, SUBNET, log)

    (network,) = store.networks()
    assert (network.kind, network.subnet, network.flags) == ("L2Bridge", str(SUBNET), 0)
    assert [(item.name, item.address) for item in store.endpoints()] == [("cbr0_ep", "10.244.9.2")]
    assert "Deleted stale HNSNetwork cbr0" in log.text()
    forwarding = [item.alias for item in state_of(node.machine).interfaces.values() if item.forwarding]
    assert sorted(forwarding) == ["vEthernet (Ethernet)", "vEthernet (cbr0_ep)"]
    flannel_network.ensure(node.machine, HOST_GW, SUBNET, log)
    assert "Found existing HNSNetwork cbr0" in log.text()


@pytest.mark.parametrize(
    ("fault", "backend", "message"),
    [
        ("adapter_taken", HOST_GW, "failed to create HNSNetwork cbr0: hnsCall failed in Win32: An adapter was not"),
        ("adapter_taken", VXLAN, "failed to create VXLAN network: failed to create HostComputeNetwork flannel.4096: "),
        ("no_management_ip", HOST_GW, "timeout, failed to get management IP from HNSNetwork cbr0: context deadline"),
        ("no_management_ip", VXLAN, "interface bound to flannel.4096 took too long to get ready."),
    ],
)  # fmt: skip
def test_flanneld_needs_the_adapter_and_its_address(
    make_node: Callable[..., Node], fault: str, backend: Backend, message: str
) -> None:
    node = make_node()
    set_fault(node.machine, {"kind": fault})

    with pytest.raises(FlannelError) as raised:
        flannel_network.ensure(node.machine, backend, SUBNET, Log())

    assert str(raised.value).startswith("Error registering network: ")
    assert message in str(raised.value)


def test_the_overlay_is_gone_after_a_reboot_and_its_switch_with_it(make_node: Callable[..., Node]) -> None:
    node = make_node()
    flannel_network.ensure(node.machine, VXLAN, SUBNET, Log())
    (network,) = hns.store(node.machine).networks()
    assert network.flags == NON_PERSISTENT
    assert "vEthernet (Ethernet)" in state_of(node.machine).interfaces

    node.machine.power.reset()

    assert hns.store(node.machine).networks() == []
    card = state_of(node.machine).interfaces["Ethernet"]
    assert (card.address, card.bound) == (node.machine.address, True)
    flannel_network.ensure(node.machine, VXLAN, SUBNET, Log())
    assert [item.name for item in hns.store(node.machine).networks()] == ["flannel.4096"]


def test_host_gw_routes_to_other_nodes_even_across_subnets(make_node: Callable[..., Node]) -> None:
    node = make_node()
    neighbour = node.machine.address.rpartition(".")[0] + ".200"
    log = applied(
        node,
        HOST_GW,
        announced("near", "10.244.1.0/24", neighbour, "host-gw"),
        announced("far", "10.244.2.0/24", "192.0.2.7", "host-gw"),
        announced("other", "10.244.3.0/24", neighbour, "vxlan"),
    )

    routes = {item.destination: item.next_hop for item in state_of(node.machine).routes}
    assert (routes["10.244.1.0/24"], routes["10.244.2.0/24"]) == (neighbour, "192.0.2.7")
    assert flannel_leases.unreachable(node.machine) == ["10.244.2.0/24"]
    assert "Ignoring non-host-gw subnet(10.244.3.0/24): type=vxlan" in log.text()
    assert "10.244.3.0/24" not in routes


def test_vxlan_routes_to_nodes_with_a_vni_of_windows_only(make_node: Callable[..., Node]) -> None:
    node = make_node()
    flannel_network.ensure(node.machine, VXLAN, SUBNET, Log())
    log = applied(
        node,
        VXLAN,
        announced("good", "10.244.1.0/24", "10.0.0.1", "vxlan", {"VNI": 4096, "VtepMAC": "00:15:5d:00:00:01"}),
        announced("linux", "10.244.2.0/24", "10.0.0.2", "vxlan", {"VNI": 1, "VtepMAC": "00:15:5d:00:00:02"}),
        announced("bridge", "10.244.3.0/24", "10.0.0.3", "host-gw"),
    )

    (network,) = hns.store(node.machine).networks()
    (policy,) = network.policies
    assert policy["Type"] == "RemoteSubnetRoute"
    assert policy["Settings"] == {"IsolationId": 4096, "DistributedRouterMacAddress": "00:15:5d:00:00:01",
                                  "ProviderAddress": "10.0.0.1", "DestinationPrefix": "10.244.1.0/24"}  # fmt: skip
    assert "VNI is 1 but it is required to be greater than or equal to 4096 on Windows." in log.text()
    assert "ignoring non-vxlan subnet(10.244.3.0/24): type=host-gw" in log.text()


def test_a_route_goes_with_its_node(make_node: Callable[..., Node]) -> None:
    node = make_node()
    neighbour = node.machine.address.rpartition(".")[0] + ".200"
    found = flannel_leases.leases([announced("near", "10.244.1.0/24", neighbour, "host-gw")], "own")
    leases = flannel_leases.Leases(node.machine, HOST_GW, "own", Log())
    leases.apply(found)
    leases.apply([])
    assert "10.244.1.0/24" not in [item.destination for item in state_of(node.machine).routes]


# -- kube-proxy


@pytest.mark.parametrize(
    ("address", "number"), [("10.244.1.2", "0x803b001e"), ("10.244.9.1", "0x803b002f"), ("10.244.9.255", "0x803b002f")]
)
def test_kube_proxy_programs_nothing_without_its_source_address(
    make_node: Callable[..., Node], address: str, number: str
) -> None:
    node = make_node()
    store = hns.store(node.machine)
    network = store.create_network("flannel.4096", "Overlay", str(SUBNET), "10.244.9.1", 4096)

    with pytest.raises(hns.HnsError):
        Programmer(node.machine, network, address, dsr=False).sync([SERVICE], [SLICE])

    (line,) = node.machine.part(ProxyLog).lines
    assert '"Source Vip endpoint creation failed" err="hcnCreateEndpoint failed in Win32: ' in line
    assert number in line
    assert store.policies() == []


def test_kube_proxy_recreates_its_source_address_on_a_new_network(make_node: Callable[..., Node]) -> None:
    node = make_node()
    store = hns.store(node.machine)
    network = store.create_network("flannel.4096", "Overlay", str(SUBNET), "10.244.9.1", 4096)
    programmer = Programmer(node.machine, network, "10.244.9.2", dsr=False)
    programmer.sync([SERVICE], [SLICE])
    assert "10.244.9.2" in [item.address for item in store.endpoints()]
    assert [item.vip for item in store.policies()] == ["10.96.7.7"]
    assert "Could not find provider address, assuming it is a public IP" in node.machine.part(ProxyLog).lines[-1]

    for endpoint in store.endpoints():
        store.remove_endpoint(endpoint.id)
    store.remove_network(network.id)
    programmer.sync([SERVICE], [SLICE])
    assert store.policies() == []
    assert "The HNS network is not present or has changed since the last sync" in node.machine.part(ProxyLog).lines[-1]

    store.create_network("flannel.4096", "Overlay", str(SUBNET), "10.244.9.1", 4096)
    programmer.sync([SERVICE], [SLICE])
    assert store.policies() == [], "this synchronization only notes the new network"
    programmer.sync([SERVICE], [SLICE])
    assert "10.244.9.2" in [item.address for item in store.endpoints()]
    assert [item.vip for item in store.policies()] == ["10.96.7.7"]


# -- containerd


LIST_FILE, FILE = "failed to load CNI config list file {0}: ", "failed to load CNI config file {0}: "
PARSING, INVALID = "error parsing configuration", "invalid cni config"


@pytest.mark.parametrize(
    ("name", "text", "status"),
    [
        ("10-x.conflist", "{", f"{LIST_FILE}{PARSING} list: unexpected end of JSON input: {INVALID}"),
        ("10-x.conflist", "{}", f"{LIST_FILE}{PARSING} list: no name: {INVALID}"),
        ("10-x.conflist", '{"name": "n"}', f"{LIST_FILE}no plugin configs found: {INVALID}"),
        (
            "10-x.conflist",
            '{"name": "n", "plugins": []}',
            f"{LIST_FILE}{PARSING} list: no plugins in list: {INVALID}",
        ),
        (
            "10-x.conflist",
            '{"name": "n", "plugins": [{}]}',
            f"{LIST_FILE}failed to parse plugin config 0: {PARSING}: missing 'type': {INVALID}",
        ),
        ("10-x.conf", '{"name": "n"}', f"{FILE}{PARSING}: missing 'type': {INVALID}"),
        ("10-x.txt", "{}", r"no network config found in C:\etc\cni\net.d: cni plugin not initialized"),
    ],
)
def test_containerd_reports_a_configuration_that_it_cannot_load(
    make_node: Callable[..., Node], name: str, text: str, status: str
) -> None:
    node = make_node()
    node.start_containerd()
    node.put(r"C:\k\crictl.exe", "crictl", "1.34.0")
    node.write(rf"{CONF_DIR}\{name}", text)
    valid = {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "win-bridge"}]}
    if name.endswith(("conf", "conflist")):
        node.write(rf"{CONF_DIR}\20-valid.conflist", json.dumps(valid))

    def info() -> Any:
        return json.loads(node.run(r"C:\k\crictl.exe", "info", "-o", "json").stdout)

    found = info()
    network = found["status"]["conditions"][1]
    assert (network["type"], network["status"], network["reason"]) == ("NetworkReady", False, "NetworkPluginNotReady")
    assert network["message"] == "Network plugin returns error: cni plugin not initialized"
    expected = status.format(rf"{CONF_DIR}\{name}")
    assert found["lastCNILoadStatus"] == f"cni config load failed: {expected}: failed to load cni config"

    node.machine.files.delete(rf"{CONF_DIR}\{name}")
    node.write(rf"{CONF_DIR}\20-valid.conflist", json.dumps(valid))
    node.put(rf"{BIN_DIR}\win-bridge.exe", "win-bridge", "1.9.0")
    found = info()
    assert (found["status"]["conditions"][1]["status"], found["lastCNILoadStatus"]) == (True, "OK")


# -- networks for sdnbridge without flannel, as a role creates them


def test_a_role_can_enable_forwarding_and_add_routes(make_node: Callable[..., Node]) -> None:
    node = make_node()

    def run(command: str, **parameters: object) -> list[Any]:
        return list(commands.run(node.machine, command, parameters).objects)

    neighbour = node.machine.address.rpartition(".")[0] + ".200"
    run("New-NetRoute", DestinationPrefix="10.244.1.0/24", NextHop=neighbour, InterfaceAlias="Ethernet")
    run("Set-NetIPInterface", InterfaceAlias="Ethernet", Forwarding="Enabled")

    (route,) = run("Get-NetRoute", DestinationPrefix="10.244.1.0/24")
    assert route["NextHop"] == neighbour
    (interface,) = run("Get-NetIPInterface", InterfaceAlias="Ethernet")
    assert str(interface["Forwarding"]) == "Enabled"
    assert flannel_leases.unreachable(node.machine) == []
