# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""hns_info and hns_cleanup on nodes in use, over Ansible's real connections: what is removed, and what is kept."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from integration.actions import connect, run_action
from integration.networks import free_network

from simulator.fleet import Fleet
from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cri import shims
from simulator.kubernetes_node.docker import fixtures as docker_fixtures
from simulator.kubernetes_node.hns import fixtures
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("hns")]

JOURNAL = r"C:\ProgramData\winkube\hns\cleanup.json"
QUICK = {"grace": 0.05, "hns_timeout": 5, "timeout": 60, "network_timeout": 1}
NodeFactory = Callable[..., Machine]


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    network = free_network()
    kinds = {
        "": {},
        "S": {"uplink": {"static": True, "gateway": f"{network}.254", "dns": [f"{network}.250", f"{network}.251"],
                         "routes": [{"destination": "10.9.0.0/16", "next_hop": f"{network}.253", "metric": 5}]}},
    }  # fmt: skip
    entries = [
        {"name": f"HNS{kind}-{version}-{number}", "windows": version, **more}
        for kind, more in kinds.items()
        for version in ("2019", "2022", "2025")
        for number in range(10 if not kind and version == "2022" else 3)
    ]
    nodes = [
        MachineSettings.read({"address": f"{network}.{number}", "features": ["Containers"], "link_drop_seconds": 0.3,
                       "port_pool_seconds": 2, "reboot_seconds": 0.3, "pause_scale": 0.1, **entry})
        for number, entry in enumerate(entries, start=1)
    ]  # fmt: skip
    nodes.append(MachineSettings.read({"name": "PLAIN", "address": f"{network}.99"}))
    with Fleet(nodes) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def plain(fleet: Fleet) -> Machine:
    """Return a server without features."""
    return fleet.machine("PLAIN")


@pytest.fixture(scope="module")
def node(fleet: Fleet) -> NodeFactory:
    """Return a function that creates a fresh machine: `node("2022")`, `node("2019", static=True)`."""
    unused: dict[str, Iterator[int]] = {}

    def take(windows: str = "2022", *, static: bool = False, runtime: bool = True) -> Machine:
        kind = f"HNS{'S' if static else ''}-{windows}"
        machine = fleet.machine(f"{kind}-{next(unused.setdefault(kind, itertools.count()))}")
        if runtime:
            fixtures.install(machine)
        return machine

    return take


def cleanup(
    machine: Machine, scope: str, *, check_mode: bool = False, kind: str = "psrp", **more: Any
) -> dict[str, Any]:
    """Run hns_cleanup as one task."""
    with connect(machine, kind) as connection:
        return run_action(connection, "hns_cleanup", {"scope": scope, **QUICK, **more}, check_mode=check_mode)


def endpoints(machine: Machine) -> set[str]:
    return set(machine.part(hns.HnsState).endpoints)


def hns_objects(machine: Machine) -> dict[str, set[str]]:
    """Return the objects in HNS, by kind."""
    state = machine.part(hns.HnsState)
    namespaces = {item.id for item in state.namespaces.values() if not item.default}
    networks = {item.name for item in state.networks.values()}
    return {
        "networks": networks,
        "endpoints": set(state.endpoints),
        "policies": set(state.policies),
        "namespaces": namespaces,
    }


def services(machine: Machine) -> dict[str, str]:
    names = ("containerd", "kubelet", "kube-proxy", "flanneld", "docker", "hns")
    return {name: found.state for name in names if (found := machine.services.get(name)) is not None}


def adapter(machine: Machine) -> dict[str, Any]:
    """Return the settings of the external adapter, from the interface that has them."""
    found: Any = machine.families.status["network"](machine)
    return {name: found[name] for name in ("Ethernet", "vEthernet (Ethernet)") if name in found}


SCENES = {
    "flannel-host-gw": "2019", "flannel-vxlan": "2022", "calico": "2025", "azure": "2022"
}  # fmt: skip


@pytest.mark.parametrize("scene", SCENES)
def test_scope_stale_keeps_everything_that_is_in_use(node: NodeFactory, scene: str) -> None:
    machine = node(SCENES[scene])
    put = fixtures.populate(
        machine,
        scene,
        running=3,
        stale=3,
        creating=1,
        policies=2,
        stale_policies=2,
        mixed_policies=1,
        dangling_policies=1,
    )
    before, running = hns_objects(machine), services(machine)
    result = cleanup(machine, "stale", kind="winrm")
    assert not result.get("failed"), result
    after = hns_objects(machine)
    assert before["endpoints"] - after["endpoints"] == set(put.stale)
    assert before["policies"] - after["policies"] == {*put.stale_policies, *put.dangling_policies}
    # Those of the running pods, and of the one that is being created.
    assert len(after["namespaces"]) == 4
    assert result["counts"]["namespaces"] == len(before["namespaces"] - after["namespaces"])
    assert after["networks"] == before["networks"]
    assert services(machine) == running
    assert {change["name"] for change in result["changes"] if change["type"] == "HnsEndpoint"}
    assert result["remote_commands"] <= 3
    again = cleanup(machine, "stale")
    assert not again["changed"]
    assert again["remote_commands"] == 1


def test_isolated_pods_keep_their_endpoints(node: NodeFactory) -> None:
    machine = node()
    put = fixtures.populate(machine, "flannel-vxlan", running=2, stale=2, isolated=True)
    assert not cleanup(machine, "stale").get("failed")
    assert endpoints(machine) == {*put.running, *put.remote, *put.host}


def test_a_pod_gets_back_the_traffic_that_a_stale_remote_endpoint_took(node: NodeFactory) -> None:
    """This is microsoft/Windows-Containers#631: a pod on this node reuses an address of a pod on another node."""
    machine = node()
    put = fixtures.populate(machine, "flannel-host-gw", running=2, remote=2)
    store, state = hns.store(machine), machine.part(hns.HnsState)
    pod, remote = state.endpoints[put.running[0]], state.endpoints[put.remote[0]]
    remote.address = pod.address
    # The pod was created after the one on the other node had gone.
    state.endpoints[pod.id] = state.endpoints.pop(pod.id)
    assert not store.connected(pod)
    result = cleanup(machine, "stale")
    assert not result.get("failed"), result
    assert [change["id"] for change in result["changes"]] == [remote.id]
    assert store.connected(pod)
    assert not cleanup(machine, "stale")["changed"]


def test_containers_of_other_tools_keep_their_endpoints(node: NodeFactory) -> None:
    machine = node()
    put = fixtures.populate(machine, "flannel-host-gw", running=1, stale=3)
    state, elsewhere = machine.part(hns.HnsState), shims.settle(machine).elsewhere
    elsewhere["default"] = [state.endpoints[put.stale[0]].container]
    elsewhere["team"] = [state.endpoints[put.stale[1]].container]
    # After measuring container images, the collection has its own namespace without containers.
    elsewhere["winkube-sizes"] = []
    result = cleanup(machine, "stale")
    assert not result["changed"]
    assert "not queried: team (set containerd_namespaces)" in result["warnings"][0]
    result = cleanup(machine, "stale", containerd_namespaces=["default", "team"])
    assert result["counts"]["endpoints"] == 1
    assert {*put.running, *put.stale[:2]} <= endpoints(machine)
    assert put.stale[2] not in endpoints(machine)


def test_five_hundred_endpoints_cost_three_commands(node: NodeFactory) -> None:
    machine = node("2025")
    put = fixtures.populate(machine, "azure", running=300, stale=200, policies=5)
    result = cleanup(machine, "stale")
    assert result["counts"]["endpoints"] == 200
    assert result["remote_commands"] <= 3
    assert endpoints(machine) == {*put.running, *put.remote, *put.host}
    assert len([change for change in result["changes"] if change["type"] == "HnsEndpoint"]) == 200


def test_a_runtime_that_cannot_be_asked_makes_nothing_stale(node: NodeFactory) -> None:
    machine = node()
    fixtures.populate(machine, "flannel-host-gw", running=1, stale=2)
    machine.services.stop("kubelet")
    machine.services.stop("containerd")
    before = hns_objects(machine)
    result = cleanup(machine, "stale")
    assert not result["changed"]
    assert any("nothing counts as stale" in text for text in result["warnings"])
    assert hns_objects(machine) == before


def test_a_machine_without_hns_has_nothing_to_clean(plain: Machine) -> None:
    for scope in ("stale", "all"):
        result = cleanup(plain, scope)
        assert not result.get("failed"), result
        assert not result["changed"]
        assert "this machine has no HNS" in result["warnings"][0]


def test_one_undeletable_endpoint_does_not_block_the_others(node: NodeFactory) -> None:
    machine = node()
    put = fixtures.populate(machine, "flannel-host-gw", running=1, stale=4)
    machine.families.faults["hns_refuses"](machine, {"ids": put.stale[:1]})
    result = cleanup(machine, "stale")
    assert result["failed"]
    assert put.stale[0] in result["msg"]
    assert endpoints(machine) == {put.stale[0], *put.running, *put.remote, *put.host}
    assert result["counts"]["endpoints"] == 3
    machine.families.faults["hns_refuses"](machine, {"ids": []})
    assert not cleanup(machine, "stale").get("failed")
    assert put.stale[0] not in endpoints(machine)


def test_docker_pulls_missing_images_again(node: NodeFactory) -> None:
    machine = node(runtime=False)
    docker_fixtures.install(machine)
    put = docker_fixtures.populate(machine, running=2, stale=2, stopped=2)
    everything = endpoints(machine)
    assert not cleanup(machine, "stale")["changed"]
    assert endpoints(machine) == everything
    result = cleanup(machine, "stale", protected_networks=[], stopped_containers=True)
    assert not result.get("failed"), result
    assert endpoints(machine) == set(put.running)
    for container in put.stopped_containers:
        assert machine.programs.run("docker.exe", ["start", container]).exit_code == 0


def test_check_mode_changes_nothing_and_lists_everything(node: NodeFactory) -> None:
    machine = node("2019")
    put = fixtures.populate(machine, "flannel-host-gw", running=2, stale=2)
    before = hns_objects(machine)
    for scope, expected in (("stale", put.stale), ("all", endpoints(machine))):
        result = cleanup(machine, scope, check_mode=True)
        assert result["changed"]
        text = "".join(block["before"] for block in result["diff"])
        assert all(one in text for one in expected), scope
        assert result["remote_commands"] == 1
    assert hns_objects(machine) == before
    assert "kubelet running" in text


# --- Scopes all and networks.


@pytest.mark.parametrize(
    ("scene", "windows", "kind"),
    [("flannel-vxlan", "2019", "psrp"), ("calico", "2022", "winrm"), ("azure", "2025", "psrp")],
)
def test_scope_all_removes_only_objects_of_kubernetes(node: NodeFactory, scene: str, windows: str, kind: str) -> None:
    machine = node(windows, static=True)
    fixtures.populate(machine, scene, running=3, stale=2, orphans=1)
    fixtures.add_network(machine, "lab", "Transparent")
    running, uplink = services(machine), adapter(machine)
    result = cleanup(machine, "all", kind=kind)
    assert not result.get("failed"), result
    assert hns_objects(machine) == {"networks": {"lab"}, "endpoints": set(), "policies": set(), "namespaces": set()}
    assert services(machine) == running
    assert not machine.files.exists(JOURNAL)
    # The other network still uses the switch, so the settings stay where they were.
    assert adapter(machine) == uplink
    assert result["remote_commands"] <= 6
    assert not cleanup(machine, "all")["changed"]


def test_static_addresses_are_restored_when_the_switch_is_removed(node: NodeFactory) -> None:
    machine = node("2022", static=True)
    fixtures.populate(machine, "flannel-host-gw", running=2)
    result = cleanup(machine, "all", kind="winrm")
    assert not result.get("failed"), result
    assert result["remote_commands"] <= 6
    (uplink,) = [change for change in result["changes"] if change["type"] == "Uplink"]
    assert uplink["name"] == "Ethernet"
    assert "restore static address" in [step["step"] for step in result["steps"]]
    (settings,) = adapter(machine).values()
    assert settings["dhcp"] is False
    assert machine.address in str(settings["addresses"])
    assert "10.9.0.0/16" in str(settings)
    assert ".250" in str(settings["dns"])
    # Routes to other nodes' pods are gone together with the network.
    assert "10.244." not in str(settings)


def test_its_ports_are_free_before_services_start(node: NodeFactory) -> None:
    machine = node()
    fixtures.populate(machine, "flannel-host-gw", running=2)

    def reserved() -> list[str]:
        run = machine.programs.run("netsh.exe", ["interface", "ipv4", "show", "excludedportrange", "protocol=tcp"])
        words = [line.split() for line in run.stdout.splitlines()]
        return [first for first, last in (pair for pair in words if len(pair) == 2) if first.isdigit()]

    winrm = ["5985", "47001"]
    assert len(reserved()) > len(winrm)
    result = cleanup(machine, "networks", networks=["cbr0"])
    assert not result.get("failed")
    assert reserved() == winrm
    # It did not wait for anything outside of HNS.
    assert not result.get("warnings")


def test_one_network_is_removed_and_the_others_stay(node: NodeFactory) -> None:
    machine = node("2025")
    fixtures.populate(machine, "flannel-vxlan", running=2, name="vxlan0")
    fixtures.add_network(machine, "nat", "NAT")
    result = cleanup(machine, "networks", networks=["VXLAN0"])
    assert not result.get("failed"), result
    assert hns_objects(machine)["networks"] == {"nat"}
    assert not machine.files.exists(r"C:\run\flannel\subnet.env")


@pytest.mark.parametrize(
    ("networks", "message"),
    [(["cbr1"], "(cbr0, lab, nat), got 'cbr1'"), (["lab"], "got 'lab', which protected_networks protects")],
)
def test_a_missing_network_is_refused_before_anything_changes(
    refusing: Machine, networks: list[str], message: str
) -> None:
    before, running = hns_objects(refusing), services(refusing)
    result = cleanup(refusing, "networks", networks=networks)
    assert result["failed"]
    assert message in result["msg"]
    assert result["remote_commands"] == 1
    assert (hns_objects(refusing), services(refusing)) == (before, running)


@pytest.fixture(scope="module")
def refusing(node: NodeFactory) -> Machine:
    machine = node()
    fixtures.populate(machine, "flannel-host-gw")
    fixtures.add_network(machine, "nat", "NAT")
    fixtures.add_network(machine, "lab", "Transparent")
    return machine


def test_running_containers_can_be_kept(node: NodeFactory) -> None:
    machine = node("2019")
    put = fixtures.populate(machine, "flannel-host-gw", running=2, stale=2)
    result = cleanup(machine, "all", keep_running_containers=True)
    assert not result.get("failed"), result
    assert {*put.running, *put.host} <= endpoints(machine)
    assert not set(put.stale) & endpoints(machine)
    assert hns_objects(machine)["networks"] == {"cbr0"}
    assert [kept["name"] for kept in result["kept"]] == ["cbr0"]
    store, state = hns.store(machine), machine.part(hns.HnsState)
    assert all(store.connected(state.endpoints[one]) for one in put.running)
