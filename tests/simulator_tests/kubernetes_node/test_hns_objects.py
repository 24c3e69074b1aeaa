# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The objects of HNS as its cmdlets print them, and nodes that have been in use."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.hns import fixtures
from simulator.machine import commands, faults
from simulator.machine.objects import CmdletError, PSObject
from wire_provider.properties import select

from .conftest import Node

pytestmark = pytest.mark.waits

ALL = ("2019", "2022", "2025")


def listed(node: Node, command: str, **parameters: object) -> list[PSObject]:
    found = commands.run(node.machine, command, parameters).objects
    return [item for item in found if isinstance(item, PSObject)]


def in_use(make_node: Callable[..., Node], windows: str = "2022", **entry: object) -> Node:
    node = make_node(windows, **entry)
    fixtures.install(node.machine)
    return node


@pytest.mark.parametrize("windows", ALL)
@pytest.mark.parametrize(
    ("scene", "networks", "name"),
    [
        ("flannel-host-gw", [("cbr0", "L2Bridge")], "{}_cbr0"),
        ("flannel-vxlan", [("flannel.4096", "Overlay")], "{}_flannel.4096"),
        ("calico", [("External", "Overlay"), ("Calico", "Overlay")], "{}_Calico"),
        ("azure", [("azure", "L2Bridge")], "{:.8}-eth0"),
    ],
)
def test_objects_that_a_cni_plugin_leaves_behind(
    make_node: Callable[..., Node], windows: str, scene: str, networks: list[tuple[str, str]], name: str
) -> None:
    node = in_use(make_node, windows)
    found = fixtures.populate(node.machine, scene, running=2, stale=3, remote=1)

    assert [(item["Name"], item["Type"]) for item in listed(node, "Get-HnsNetwork")] == networks
    printed = {str(item["ID"]).upper(): item for item in listed(node, "Get-HnsEndpoint")}
    pods = json.loads(node.run("crictl.exe", "pods", "-o", "json").stdout)["items"]
    assert [printed[key]["Name"] for key in found.running] == [name.format(pod["id"]) for pod in reversed(pods)]
    assert all(printed[key]["SharedContainers"] for key in found.running)
    assert {printed[key]["IsRemoteEndpoint"] for key in found.remote} == {True}
    assert {printed[key]["Name"] for key in found.remote} == {"Ethernet"}
    assert all(printed[key].get("IsRemoteEndpoint") is None for key in found.running)
    (stale,) = [item for item in listed(node, "Get-HnsPolicyList") if item["ID"] in found.stale_policies]
    references = stale["References"]
    assert isinstance(references, list)
    assert [text.upper() for text in references] == [f"/ENDPOINTS/{found.stale[0]}"]
    assert node.machine.network.drops == 0


@pytest.mark.parametrize("windows", ALL)
def test_the_case_of_ids(make_node: Callable[..., Node], windows: str) -> None:
    """Since 2022, the ids of endpoints and references are in lower case, and all others in upper case."""
    node = in_use(make_node, windows)
    fixtures.populate(node.machine, "flannel-host-gw", running=1)

    (network,) = listed(node, "Get-HnsNetwork")
    endpoint = listed(node, "Get-HnsEndpoint")[-1]
    changed = str.upper if windows == "2019" else str.lower
    assert network["ID"] == str(network["ID"]).upper()
    assert endpoint["ID"] == changed(str(endpoint["ID"]))
    assert endpoint["VirtualNetwork"] == changed(str(network["ID"]))
    assert listed(node, "Get-HnsEndpoint", Id=str(endpoint["ID"]).upper())[0]["ID"] == endpoint["ID"]
    assert {item["Version"] for item in (network, endpoint)} == {
        {"2019": 38654705666, "2022": 55834574851, "2025": 64424509444}[windows]
    }


def test_addresses_that_an_external_network_moves(make_node: Callable[..., Node]) -> None:
    node = in_use(make_node)
    fixtures.populate(node.machine, "flannel-vxlan", running=3, remote=0)

    (network,) = listed(node, "Get-HnsNetwork")
    paths = ["ManagementIP", "NetworkAdapterName", "CurrentEndpointCount", "Subnets", "NatName"]
    travelled: Any = select(network, paths)
    (subnet,) = travelled.pop("Subnets")
    assert travelled == {
        "ManagementIP": node.machine.address,
        "NetworkAdapterName": "Ethernet",
        "CurrentEndpointCount": 4,
        "NatName": None,
    }
    assert (subnet["AddressPrefix"], subnet["GatewayAddress"]) == ("10.244.16.0/20", "10.244.16.1")
    assert subnet["Policies"] == ["@{Type=VSID; VSID=4096}"], "what lies deeper travels as text"


def test_namespaces_know_their_containers_by_twelve_digits(make_node: Callable[..., Node]) -> None:
    node = in_use(make_node)
    found = fixtures.populate(node.machine, "flannel-host-gw", running=1, stale=3, orphans=2)

    spaces = {str(item["ID"]): item for item in listed(node, "Get-HnsNamespace")}
    (default,) = [item for item in spaces.values() if item["IsDefault"]]
    assert default["CompartmentId"] == 1
    for orphan in found.orphans:
        assert (spaces[orphan]["Containers"], spaces[orphan].get("ResourceList")) == ([], None)
    pod = json.loads(node.run("crictl.exe", "inspectp").stdout)
    own = spaces[pod["info"]["runtimeSpec"]["windows"]["network"]["networkNamespace"].upper()]
    containers = own["Containers"]
    assert isinstance(containers, list)
    assert containers[0] == pod["status"]["id"][:12]
    # Of three vanished pods, one left a namespace with its id, one a namespace without it, and one no namespace.
    others = [item for key, item in spaces.items() if key not in (*found.orphans, own["ID"], default["ID"])]
    assert sorted(len(item["Containers"]) for item in others) == [0, 1]  # type: ignore[arg-type]


def test_hyper_v_isolated_pods_are_not_among_shared_containers(make_node: Callable[..., Node]) -> None:
    node = in_use(make_node)
    fixtures.populate(node.machine, "calico", running=2, remote=0, isolated=True)
    endpoints = listed(node, "Get-HnsEndpoint")
    assert endpoints[0]["Name"] == "Calico_ep"
    assert all(item["SharedContainers"] == [] and item.get("Namespace") for item in endpoints[1:])


def test_a_pod_that_begins_has_a_lease_and_an_endpoint_before_cri_lists_it(make_node: Callable[..., Node]) -> None:
    node = in_use(make_node)
    found = fixtures.populate(node.machine, "flannel-host-gw", running=1, creating=1, remote=0)

    (endpoint,) = [item for item in listed(node, "Get-HnsEndpoint") if str(item["ID"]).upper() in found.creating]
    identity = str(endpoint["Name"]).partition("_")[0]
    assert identity in node.run("ctr.exe", "-n", "k8s.io", "leases", "list", "-q").stdout.split()
    assert identity not in node.run("crictl.exe", "pods", "-q").stdout
    assert identity not in node.run("ctr.exe", "-n", "k8s.io", "tasks", "list", "-q").stdout


def test_five_hundred_endpoints(make_node: Callable[..., Node]) -> None:
    node = in_use(make_node)
    found = fixtures.populate(node.machine, "flannel-vxlan", running=300, stale=200, remote=0)
    ids = {str(item["ID"]).upper() for item in listed(node, "Get-HnsEndpoint")}
    assert ids == {*found.running, *found.stale, *found.host}
    assert len(ids) == 501


def test_azure_keeps_its_state_in_files(make_node: Callable[..., Node]) -> None:
    node = in_use(make_node)
    fixtures.populate(node.machine, "azure", running=1, stale=1, remote=0)
    state = json.loads(node.machine.files.read_text(r"C:\k\azure-vnet.json"))
    endpoints = state["Network"]["ExternalInterfaces"]["Ethernet"]["Networks"]["azure"]["Endpoints"]
    assert sorted(endpoints) == sorted(item["Name"] for item in listed(node, "Get-HnsEndpoint"))  # type: ignore[type-var]
    assert all(node.machine.files.is_file(rf"C:\k\azure-vnet{name}") for name in (".json.lock", "-ipam.json", ".log"))


def remove(node: Node, command: str, objects: list[PSObject], **parameters: object) -> commands.CmdletOutput:
    return commands.run(node.machine, command, parameters, pipeline=list(objects))


def test_an_error_leaves_the_others_alone_only_under_continue(make_node: Callable[..., Node]) -> None:
    node = in_use(make_node)
    found = fixtures.populate(node.machine, "flannel-host-gw", running=0, stale=3, remote=1)
    faults.set_fault(node.machine, {"kind": "hns_refuses", "ids": [found.stale[0]]})
    stale = [item for item in listed(node, "Get-HnsEndpoint") if str(item["ID"]).upper() in found.stale]

    with pytest.raises(CmdletError, match="HcnDeleteEndpoint -- HRESULT: 2147500037"):
        remove(node, "Remove-HnsEndpoint", stale)
    assert len(listed(node, "Get-HnsEndpoint")) == 5, "nothing after the first one was tried"
    written = remove(node, "Remove-HnsEndpoint", stale, ErrorAction="Continue")
    assert len(written.errors) == 1
    left = [str(item["ID"]).upper() for item in listed(node, "Get-HnsEndpoint")]
    assert set(left) == {found.stale[0], *found.host, *found.remote}
    faults.set_fault(node.machine, {"kind": "hns_refuses", "ids": []})
    remove(node, "Remove-HnsEndpoint", stale[:1])
    assert found.stale[0] not in node.machine.part(hns.HnsState).endpoints


def test_policy_lists_keep_references_to_deleted_endpoints(make_node: Callable[..., Node]) -> None:
    node = in_use(make_node)
    found = fixtures.populate(node.machine, "flannel-host-gw", stale=1)
    store = hns.store(node.machine)
    store.remove_endpoint(found.stale[0])
    assert [item.id for item in store.policies() if item.endpoints == (found.stale[0],)] == found.stale_policies


def test_a_namespace_with_a_running_pod_is_not_removed(make_node: Callable[..., Node]) -> None:
    node = in_use(make_node)
    found = fixtures.populate(node.machine, "flannel-host-gw", running=1, orphans=1)
    store = hns.store(node.machine)
    endpoint = node.machine.part(hns.HnsState).endpoints[found.running[0]]

    for used in (endpoint.namespace, next(item.id for item in store.namespaces() if item.default)):
        with pytest.raises(hns.HnsError, match="0x803b0015"):
            store.remove_namespace(used)
    store.remove_namespace(found.orphans[0])
    faults.set_fault(node.machine, {"kind": "pods_vanish"})
    store.remove_namespace(endpoint.namespace)
    assert endpoint.namespace == ""


def test_pods_that_vanish_leave_their_endpoints(make_node: Callable[..., Node]) -> None:
    node = in_use(make_node)
    found = fixtures.populate(node.machine, "flannel-host-gw", running=3)

    faults.set_fault(node.machine, {"kind": "pods_vanish", "count": 2})

    assert len(json.loads(node.run("crictl.exe", "pods", "-o", "json").stdout)["items"]) == 1
    state = node.machine.part(hns.HnsState)
    assert [state.endpoints[key].state for key in found.running] == [4, 4, 3]
    with pytest.raises(ValueError, match="count"):
        faults.set_fault(node.machine, {"kind": "pods_vanish", "count": "all"})


@pytest.mark.parametrize("keeps", [True, False])
def test_hns_keeps_networks_over_a_reboot(make_node: Callable[..., Node], keeps: bool) -> None:
    node = in_use(make_node, hns_keeps_endpoints=keeps)
    found = fixtures.populate(node.machine, "flannel-host-gw", running=2, orphans=1)

    node.machine.power.reset()

    state = node.machine.part(hns.HnsState)
    assert [item.name for item in state.networks.values()] == ["cbr0"]
    if not keeps:
        assert state.endpoints == {}
        return
    kept = [state.endpoints[key] for key in found.running]
    assert [(item.state, item.shared) for item in kept] == [(1, []), (1, [])]
    assert {item.compartment for item in state.namespaces.values() if not item.default} == {0}
    assert len(state.policies) == 1
    wait_for(lambda: node.machine.services.get("containerd").state == "Running", "containerd", 5)  # type: ignore[union-attr]
    pods = json.loads(node.run("crictl.exe", "pods", "-o", "json").stdout)["items"]
    assert {pod["state"] for pod in pods} == {"SANDBOX_NOTREADY"}


@pytest.mark.parametrize(("windows", "refused"), [("2019", False), ("2022", True), ("2025", True)])
def test_a_stale_endpoint_keeps_its_address(make_node: Callable[..., Node], windows: str, refused: bool) -> None:
    """Newer versions of Windows reject a second endpoint with the address. 2019 creates it, but it gets no traffic."""
    node = in_use(make_node, windows)
    found = fixtures.populate(node.machine, "flannel-host-gw", running=0, stale=1)
    store = hns.store(node.machine)
    stale = node.machine.part(hns.HnsState).endpoints[found.stale[0]]

    if refused:
        with pytest.raises(hns.HnsError, match=r"An address provided is invalid or reserved\. \(0x803b002f\)"):
            store.add_endpoint("new", stale.network, stale.address, container="c")
        store.remove_endpoint(stale.id)
        assert store.connected(store.add_endpoint("new", stale.network, stale.address, container="c"))
        return
    added = store.add_endpoint("new", stale.network, stale.address, container="c")
    assert not store.connected(added)
    store.remove_endpoint(stale.id)
    assert store.connected(added)


@pytest.mark.parametrize("windows", ALL)
def test_a_pod_gets_no_traffic_while_a_remote_endpoint_has_its_address(
    make_node: Callable[..., Node], windows: str
) -> None:
    node = in_use(make_node, windows)
    found = fixtures.populate(node.machine, "flannel-host-gw", running=0, remote=1)
    store = hns.store(node.machine)
    network = node.machine.part(hns.HnsState).endpoints[found.remote[0]].network
    # kube-proxy created the remote endpoint for a pod that was on another node.
    remote = store.add_endpoint("Ethernet", network, "10.244.5.9", remote=True)

    added = store.add_endpoint("new", remote.network, remote.address, container="c", namespace=hns.new_id())

    assert not store.connected(added)
    store.remove_endpoint(remote.id)
    assert store.connected(added)


def test_scenes_can_be_set_from_outside(make_node: Callable[..., Node]) -> None:
    node = make_node()

    def scene(**fault: object) -> None:
        faults.set_fault(node.machine, {"kind": "hns_scene", **fault})

    scene(scene="flannel-vxlan", running=1, stale=2, name="vxlan0")
    scene(scene="docker", running=1)
    scene(network="lab", type="Transparent")
    assert [item["Name"] for item in listed(node, "Get-HnsNetwork")] == ["vxlan0", "nat", "lab"]
    assert len(listed(node, "Get-HnsEndpoint")) == 1 + 3 + 2 + 1
    for fault, message in (
        ({"scene": "weave"}, "expected one of the scenes flannel-host-gw.* got weave"),
        ({"scene": "azure", "walking": 1}, "unknown scene parameter walking: expected one of"),
        ({"scene": "azure", "running": "many"}, "expected the type int for the scene parameter running"),
        ({"network": "x", "type": "Token Ring"}, "expected one of the network types"),
        (
            {"network": "x", "mask": "24"},
            "unknown scene parameter mask: expected one of gateway, network,",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            scene(**fault)
    with pytest.raises(ValueError, match="the Windows feature Containers"):
        faults.set_fault(make_node(features=[]).machine, {"kind": "hns_scene", "scene": "azure"})
