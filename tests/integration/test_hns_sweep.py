# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The connection or the power is cut at every request of a cleanup, and the node converges to the same state.

A node has converged if, after the run with the fault and at most one more, it equals an unharmed node field by field, a
further run changes nothing, and (scope stale) all running and starting pods kept their endpoints.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from integration.actions import connect, run_action
from integration.fault_lives import chosen_connections
from integration.networks import free_network
from integration.patching import no_pauses
from integration.sweeps import Sweeps

from simulator.fleet import Fleet
from simulator.kubernetes_node import hns
from simulator.kubernetes_node.hns import fixtures
from simulator.kubernetes_node.hns.fixtures import Scene
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.transport.faults import TransportFault

SCOPES: Mapping[str, Mapping[str, Any]] = {
    "stale": {"scope": "stale"},
    # The uplink has a static address, which is lost with the network.
    "networks": {"scope": "networks", "networks": ["cbr0"], "ignore_missing": True},
    "all": {"scope": "all"},
}
CUTS = ("before", "during", "after")
QUICK = {"grace": 0.01, "timeout": 60, "port_pool_timeout": 10, "network_timeout": 0, "reboot_timeout": 60}
BOOTED_AT_ONCE = 15
SWEEPS = [
    *((scope, kind, CUTS) for number, scope in enumerate(SCOPES) for kind in chosen_connections(number)),
    ("all", "winrm", ("reboot",)),
]

SAMPLE = 5

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.sweep,
    pytest.mark.usefixtures("no_pauses", "prompt"),
]
__all__ = ["no_pauses"]


@dataclass(frozen=True)
class Point:
    """One fault at one request."""

    kind: str
    request: int

    def __str__(self) -> str:
        return f"{self.kind} {self.request}"


class Cleanups:
    """One scope over one connection: a machine for each point, and an unharmed one."""

    def __init__(self, scope: str, kind: str) -> None:
        self.scope, self.kind = scope, kind
        self._network = free_network()
        # Earlier addresses are reserved, for example for the gateway.
        self._used = 10

    def start(self, count: int) -> Fleet:
        """Return a fleet with this number of new machines."""
        uplink: dict[str, Any] = {}
        if self.scope == "networks":
            uplink = {"uplink": {"static": True, "gateway": f"{self._network}.254", "dns": [f"{self._network}.253"]}}
        first, self._used = self._used + 1, self._used + count
        nodes = [
            MachineSettings.read({"name": f"SWEEP-{number}", "address": f"{self._network}.{number}", "windows": "2022",
                           "features": ["Containers"], "link_drop_seconds": 0.05, "port_pool_seconds": 0.2,
                           "time_scale": 0.01, "reboot_seconds": 0.1, "pause_scale": 0.1, **uplink})
            for number in range(first, first + count)
        ]  # fmt: skip
        return Fleet(nodes)

    def clean(self, machine: Machine) -> dict[str, Any]:
        """Run the cleanup once."""
        with connect(machine, self.kind) as connection:
            return run_action(connection, "hns_cleanup", {**SCOPES[self.scope], **QUICK})


def populate(machine: Machine) -> Scene:
    fixtures.install(machine)
    return fixtures.populate(
        machine, "flannel-host-gw", running=2, stale=3, creating=1, orphans=1, mixed_policies=1, dangling_policies=1
    )


def names(scene: Scene) -> dict[str, str]:
    """Return names for the objects of a scene by id, because ids differ between machines."""
    return {
        identity: f"{kind}-{number}"
        for kind in ("running", "stale", "creating", "remote", "host", "policies", "stale_policies", "mixed_policies",
                     "dangling_policies", "orphans")
        for number, identity in enumerate(getattr(scene, kind))
    }  # fmt: skip


def state_of(machine: Machine, scene: Scene) -> dict[str, Any]:
    """Return the part of a machine's state that a cleanup may change, with names that are the same on all machines."""
    state, known = machine.part(hns.HnsState), names(scene)
    network: Any = machine.families.status["network"](machine)
    folders = ("C:\\var\\lib\\cni", "C:\\run", "C:\\etc\\cni", "C:\\ProgramData\\winkube\\hns")
    services = {name: found.state for name in machine.services.names() if (found := machine.services.get(name))}
    return {
        "networks": sorted(item.name for item in state.networks.values()),
        "endpoints": sorted(known.get(identity, identity) for identity in state.endpoints),
        "policies": sorted(known.get(identity, identity) for identity in state.policies),
        "namespaces": sorted(
            ",".join(sorted(known.get(one, one) for one in item.endpoints)) for item in state.namespaces.values()
        ),
        "files": sorted(
            entry.path.split("10.244")[0]
            for folder in folders
            if machine.files.is_directory(folder)
            for entry in machine.files.walk(folder)
            if not entry.is_directory
        ),
        "services": {name: services[name] for name in ("containerd", "kubelet", "kube-proxy", "hns")},
        "network": str(network).replace(f"{machine.address}/", "ADDRESS/"),
        "reachable": machine.network.is_up,
    }


def alive(machine: Machine, scene: Scene) -> bool:
    """Return whether all running and starting pods still have their original endpoints."""
    return {*scene.running, *scene.creating} <= set(machine.part(hns.HnsState).endpoints)


def differences(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{name}: {actual[name]} != {expected[name]}" for name in expected if actual[name] != expected[name]
    )


def trouble(cleanups: Cleanups, fleet: Fleet, name: str, point: Point, expected: Mapping[str, Any]) -> str:
    """Inject one fault into one run, and return why the node did not converge; empty if it did."""
    machine, server = fleet.machine(name), fleet.nodes[name].server
    scene = populate(machine)
    reboot = TransportFault("call", point.request, callback=machine.power.reboot)
    server.set_fault(reboot if point.kind == "reboot" else TransportFault(point.kind, point.request))
    boots = machine.power.boots
    first = cleanups.clean(machine)
    for dummy in range(200):
        # A machine goes down a moment after the order to reboot.
        rebooted = point.kind != "reboot" or machine.power.boots > boots or server.faults.pending()
        if rebooted and machine.network.is_up:
            break
        time.sleep(0.1)
    server.faults.clear()
    if first.get("failed") or first.get("unreachable") or state_of(machine, scene) != expected:
        second = cleanups.clean(machine)
        if second.get("failed") or second.get("unreachable"):
            return f"the next run failed: {second.get('msg')}"
    if difference := differences(state_of(machine, scene), expected):
        return difference
    if cleanups.scope == "stale" and point.kind != "reboot" and not alive(machine, scene):
        return "a pod lost its endpoint"
    last = cleanups.clean(machine)
    if last["changed"] or last.get("failed"):
        return f"a further run changed {last['changes']}, {last.get('msg')}"
    return differences(state_of(machine, scene), expected)


@pytest.fixture
def cleanups(scope: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> Cleanups:
    return Cleanups(scope, kind)


@pytest.mark.parametrize(
    ("scope", "kind", "points"),
    [
        pytest.param(
            scope, kind, points, id=f"{scope}-{kind}-{'-'.join(points)}",
            marks=pytest.mark.xdist_group(f"hns_sweep_{number}"),
        )
        for number, (scope, kind, points) in enumerate(SWEEPS)
    ],
)  # fmt: skip
def test_a_cleanup_converges_after_any_fault(cleanups: Cleanups, points: tuple[str, ...], sweep: Sweeps) -> None:
    with cleanups.start(1) as fleet:
        (node,) = fleet.nodes
        machine = fleet.machine(node)
        scene = populate(machine)
        counted = fleet.nodes[node].server.counters.snapshot
        begin = counted()["wsman_requests"]
        unfaulted = cleanups.clean(machine)
        requests = counted()["wsman_requests"] - begin
        assert unfaulted["changed"], unfaulted
        assert not unfaulted.get("failed"), unfaulted
        requested = state_of(machine, scene)
    name = f"hns_cleanup: {cleanups.scope} over {cleanups.kind}, {'/'.join(points)}"
    possible = [Point(kind, request) for request in range(1, requests + 1) for kind in points]
    faults = sweep.choose(name, possible, SAMPLE, by=lambda point: point.kind)
    with contextlib.ExitStack() as fleets, ThreadPoolExecutor(8) as pool:
        tasks = {}
        for begin in range(0, len(faults), BOOTED_AT_ONCE):
            chosen = faults[begin : begin + BOOTED_AT_ONCE]
            # They boot while faults are injected into the machines before them.
            fleet = fleets.enter_context(cleanups.start(len(chosen)))
            for node, point in zip(fleet.nodes, chosen, strict=True):
                tasks[str(point)] = pool.submit(trouble, cleanups, fleet, node, point, requested)
        found = {point: task.result() for point, task in tasks.items()}
    bad = {point: why for point, why in found.items() if why}
    sweep.report(name, injected=len(faults), converged=len(faults) - len(bad))
    assert not bad
