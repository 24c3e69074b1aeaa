# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The link is cut at every request while a node changes its network: nothing of the former network is left.

The first test runs what tasks/change.yml of role cni runs on a node, with the arguments that the role's variables have.
The second test, only in a full sweep, runs `site.yml` on live nodes.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from integration.actions import CONNECTIONS, connect, run_action
from integration.fault_lives import CUTS, PlaybookSweep, Subject, connections, differences, host_failed
from integration.member_state import member_state
from integration.networks import free_network
from integration.playbooks import PlayRun, Site, describe, link_variables, node_name
from integration.states import configured
from integration.sweeps import Sweeps, is_full, seed
from integration.test_azure_and_sdn_networks import ARCHIVE as AZURE_ARCHIVE
from integration.test_azure_and_sdn_networks import AZURE
from unit.roles.templates import templar, value

from simulator.artifacts import catalog
from simulator.fleet import Fleet
from simulator.kubernetes_node import hns
from simulator.kubernetes_node.hns import fixtures
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.transport.faults import TransportFault
from simulator.windows.networking import remote_access
from simulator.windows.software import features
from simulator.world import World

pytestmark = [pytest.mark.integration, pytest.mark.sweep]

SAMPLE = 3
WORKERS = 6
BOOTED_AT_ONCE = 15
FORMER: Mapping[str, Mapping[str, str]] = {
    "flannel-vxlan": {"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096"},
    "calico": {"plugin": "calico", "mode": "vxlan", "network": "Calico"},
    "azure": {"plugin": "azure", "mode": "bridge", "network": "azure"},
    "calico-bgp": {"plugin": "calico", "mode": "bgp", "network": "Calico"},
}
"""The records of nodes with these networks, by the name of the simulated scene."""
NEXT = {"flannel-vxlan": "calico", "calico": "azure", "azure": "flannel", "calico-bgp": "flannel"}
"""The network that comes next."""
ROUTER = ("RemoteAccess", "Routing", "RSAT-RemoteAccess-PowerShell")
"""The features of Calico with BGP."""
QUICK = {"timeout": 60, "port_pool_timeout": 2, "network_timeout": 0, "reboot_timeout": 60}
FILES = (r"C:\etc\cni\net.d", r"C:\opt\cni\bin", r"C:\run", r"C:\var", r"C:\CalicoWindows", r"C:\Windows\System32")


@dataclass(frozen=True)
class Point:
    """One cut of the link, on a node with one of the networks, over one kind of connection."""

    scene: str
    connection: str
    kind: str
    request: int

    def __str__(self) -> str:
        return f"{self.scene} over {self.connection}: {self.kind} {self.request}"


def steps(scene: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the actions of a change on the node, with the arguments that the role gives them."""
    known = {"inventory_hostname": "one", "groups": {}, "hostvars": {}, "cni_plugin": NEXT[scene]}
    found = templar(["container_runtime", "cni"], {**known, "winkube_node_information": {"cni": dict(FORMER[scene])}})
    assert value(found, "cni_network_changes") is True
    cleanup = {"networks": value(found, "cni_former_hns_networks"), "state_files": value(found, "cni_former_files")}
    return [
        ("hns_cleanup", {"scope": "networks", "ignore_missing": True, **cleanup, **QUICK}),
        ("node_state", {"resources": value(found, "cni_recorded_resources")}),
    ]


def change(machine: Machine, point: Point) -> dict[str, Any]:
    """Run the actions until one fails, as tasks of a role, and return what they changed and why they failed."""
    changed: list[Any] = []
    for name, arguments in steps(point.scene):
        with connect(machine, point.connection) as link:
            # As in a worker of Ansible, any exception is a failed task.
            try:
                result = run_action(link, name, arguments)
            except Exception as error:
                result = {"failed": True, "msg": str(error)}
        changed += result.get("changes", [])
        if result.get("failed") or result.get("unreachable"):
            return {"changed": changed, "failed": str(result.get("msg"))}
    return {"changed": changed, "failed": ""}


def populate(machine: Machine, scene: str) -> None:
    """Make a machine a node with a network: HNS objects, the network's files, and its registry values."""
    fixtures.install(machine)
    fixtures.populate(machine, scene, running=2, stale=1)
    cleanup, rest = (arguments for _name, arguments in steps(scene))
    names = [*cleanup["state_files"], *(one["name"] for one in rest["resources"] if one["type"] == "File")]
    for path in names:
        is_folder = "." not in path.rpartition("\\")[2]
        machine.files.make_directory(path if is_folder else path.rpartition("\\")[0])
        machine.files.write_text(f"{path}\\content" if is_folder else path, "{}")
    for one in rest["resources"]:
        if one["type"] == "Registry":
            machine.registry.set(one["key"], one.get("value_name", "Value"), "of the former network", "String")
    if FORMER[scene]["mode"] == "bgp":
        route_with_bgp(machine)


def route_with_bgp(machine: Machine) -> None:
    """Make a machine a router of Remote Access, as a node with Calico and BGP."""
    for name in ROUTER:
        features.mark(machine, features.catalogue(machine)[name.casefold()], install=True)
    features.on_boot(machine)
    router = machine.part(remote_access.RemoteAccessState)
    router.restarted, router.routing, router.router = True, True, (machine.address, 64512)
    machine.services.configure(remote_access.SERVICE, Start=2)
    machine.services.start(remote_access.SERVICE)


def state_of(machine: Machine) -> dict[str, Any]:
    """Return what a change of the network affects on a machine, in a form that is the same on all machines."""
    state, network = machine.part(hns.HnsState), str(machine.families.status["network"](machine))
    prefix = machine.address.rpartition(".")[0]
    files = {
        entry.path for folder in FILES if machine.files.is_directory(folder) for entry in machine.files.walk(folder)
    }
    return {
        "networks": sorted(item.name for item in state.networks.values()),
        "endpoints": len(state.endpoints),
        "policies": len(state.policies),
        "files": sorted(files),
        "record": machine.files.read_text(r"C:\ProgramData\winkube\cni.json"),
        "node": {name: configured(machine)[name] for name in ("services", "registry", "firewall")},
        "features": [name for name in ROUTER if features.is_installed(machine, name)],
        "routing": machine.part(remote_access.RemoteAccessState).routing,
        "network": network.replace(machine.address, "ADDRESS").replace(prefix, "NETWORK"),
        "reachable": machine.network.is_up,
    }


def start(count: int) -> Fleet:
    """Return a fleet with this number of new machines."""
    network = free_network()
    options = {"windows": "2022", "features": ["Containers"], "link_drop_seconds": 0.05, "port_pool_seconds": 0.2}
    nodes = [
        MachineSettings.read(
            {"name": f"SWEEP-{number}", "address": f"{network}.{number}", "time_scale": 0.01, **options}
        )
        for number in range(11, 11 + count)
    ]
    return Fleet(nodes)


def trouble(fleet: Fleet, name: str, point: Point, expected: Mapping[str, Any]) -> str:
    """Cut the link in one change, and return why the node did not converge; empty if it did."""
    machine, server = fleet.machine(name), fleet.nodes[name].server
    populate(machine, point.scene)
    server.set_fault(TransportFault(point.kind, point.request))
    first = change(machine, point)
    pending = server.faults.pending()
    server.faults.clear()
    if pending:
        return f"{point}: the fault did not hit"
    second = change(machine, point)
    if second["failed"]:
        return f"{point}: the second run failed: {second['failed']}; the first: {first}"
    if different := differences(state_of(machine), expected):
        return f"{point}: {different}"
    third = change(machine, point)
    return f"{point}: a further run changed {third}" if third["changed"] or third["failed"] else ""


def unhurt(scene: str) -> tuple[dict[str, int], dict[str, Any]]:
    """Change the network without faults, and return the requests by connection, and the state of the machine."""
    requests, states = {}, []
    with start(len(CONNECTIONS)) as fleet:
        for name, connection in zip(fleet.nodes, CONNECTIONS, strict=True):
            machine = fleet.machine(name)
            populate(machine, scene)
            begin = fleet.nodes[name].server.counters.snapshot()["wsman_requests"]
            result = change(machine, Point(scene, connection, "", 0))
            assert result["changed"], result
            assert not result["failed"], result
            requests[connection] = fleet.nodes[name].server.counters.snapshot()["wsman_requests"] - begin
            states.append(state_of(machine))
    assert differences(*states) == []
    return requests, states[0]


def scenes() -> list[str]:
    """Return the networks that nodes leave: all of them in a full sweep, one in a sample."""
    found = list(FORMER)
    return found if is_full() else [found[seed() % len(found)]]


@pytest.mark.xdist_group("network_change_sweep")
def test_a_network_changes_wherever_the_link_is_cut(sweep: Sweeps) -> None:
    expected, points = {}, []
    for scene in scenes():
        requests, expected[scene] = unhurt(scene)
        assert expected[scene]["networks"] == []
        assert (expected[scene]["features"], expected[scene]["routing"]) == ([], False)
        points += [
            Point(scene, connection, kind, number)
            for connection, last in requests.items()
            for kind in CUTS
            for number in range(1, last + 1)
        ]
    chosen = sweep.choose("change of the network", points, SAMPLE, by=lambda point: point.kind)
    found: list[str] = []
    for begin in range(0, len(chosen), BOOTED_AT_ONCE):
        some = chosen[begin : begin + BOOTED_AT_ONCE]
        with start(len(some)) as fleet, ThreadPoolExecutor(WORKERS) as pool:
            tasks = [
                pool.submit(trouble, fleet, name, point, expected[point.scene])
                for name, point in zip(fleet.nodes, some, strict=True)
            ]
            found += [task.result() for task in tasks]
    bad = [text for text in found if text]
    sweep.report("change of the network", injected=len(found), converged=len(found) - len(bad))
    assert not bad, "\n".join(bad)


VARIABLES: Mapping[str, Any] = {
    "kube_network_plugin": "flannel",
    "flannel_backend_type": "vxlan",
    "cni_azure_vnet_sha256": hashlib.sha256(catalog.content(AZURE_ARCHIVE) or b"").hexdigest(),
    "kubernetes_node_kubelet_configuration": {"maxPods": len(AZURE["secondary"])},
    "node_maintenance_serial": 100,
    "node_maintenance_max_failed": 100,
    "node_maintenance_hns_grace": 0.5,
}
REQUESTS = 90


def node_state(site: Site, host: str) -> Mapping[str, Any]:
    """Return the state of the server and its node, and the names of its HNS networks."""
    networks = sorted(item.name for item in site.machine(host).part(hns.HnsState).networks.values())
    return {**member_state(site, host, node_name(host)), "networks": networks}


def gave_up(site: Site, run: PlayRun) -> set[str]:
    return {host for host in site.hosts() if host_failed(run, host)}


def changed(site: Site, run: PlayRun, host: str) -> list[str]:
    """Return the changes of a run on a host. Changes in the cluster for all hosts count for the first host."""
    first = host == next(name for name in site.hosts() if name in run.recap)
    return run.changes(host) or ([] if first or not run.recap[host]["changed"] else run.changed_tasks(host))


CHANGE = Subject("site.yml", node_state, gave_up, changed)


@pytest.mark.skipif(not is_full(), reason="a sample of requests is in the other test; `make sweeps` runs this one")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("connection", connections(2))
def test_live_nodes_change_their_network_wherever_the_run_is_hit(
    connection: str, sweep: Sweeps, tmp_path: Path
) -> None:
    numbers = iter(range(1000))

    @contextlib.contextmanager
    def start_nodes(names: Sequence[str]) -> Iterator[Site]:
        quick = {"link_drop_seconds": 0.2, "time_scale": 0.02, "windows": "2022", "azure": AZURE}
        file = describe([{"name": name, **quick} for name in names], free_network(), {"kind": "memory"})
        folder = tmp_path / str(next(numbers))
        with World(file, folder / "fleet") as world:
            site = Site(world, folder / "controller", VARIABLES)
            site.host_variables = {name: link_variables(connection) for name in names}
            site.run("site.yml", "--forks", "8", timeout=1200).expect()
            site.variables["kube_network_plugin"] = "azure"
            yield site

    PlaybookSweep(sweep, start_nodes, CHANGE, REQUESTS, connection).run(8)
