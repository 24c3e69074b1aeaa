# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Link and power are cut during node_reset: at every request, and at every file and folder that the reset removes."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from integration import joined_nodes
from integration.actions import CONNECTIONS
from integration.fault_points import WORKERS, Point, all_points, attempt, failures, fleet, in_groups, set_fault
from integration.playbooks import Site
from integration.reset_machines import differences, machine_state
from integration.sweeps import Sweeps
from simulator_tests.waiting import wait_for
from unit.roles import resource_cases

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import node_reset
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import of_role
from simulator.kubernetes_node.kubeadm import real as kubeadm_real
from simulator.machine.machine import Machine

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sweep,
    pytest.mark.xdist_group("reset_sweep"),
    pytest.mark.usefixtures("prompt"),
]

SAMPLE = 6
# These servers have no kube-log-runner.exe.
VARIABLES = {"kubernetes_node_kubelet_log_file": ""}
ARGUMENTS: Mapping[str, Any] = {
    "resources": list(of_role("node_reset", resource_cases.variables(VARIABLES))),
    "stopped_services": list(node_reset.service_names()),
    "timeout": 60,
}


@pytest.fixture(autouse=True)
def simulated_kubeadm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the simulated kubeadm, which a power cut interrupts, unlike a real kubeadm of Linux."""
    monkeypatch.setattr(kubeadm_real, "find", lambda dummy: None)


def reset(site: Site, host: str, connection: str) -> dict[str, Any]:
    """Reset a machine like the role, and return the changes and the failures."""
    result = attempt(site, host, connection, "node_reset", ARGUMENTS)
    return {"changed": result.get("changes", []), "failed": failures(result)}


def watch_removals(machine: Machine, removed: Callable[[int], None]) -> None:
    """Call back with 1, 2, … after each removal of a file or folder."""
    numbers, delete = itertools.count(1), machine.files.delete

    def count_delete(path: str) -> None:
        delete(path)
        if not path.casefold().startswith("c:\\programdata\\winkube"):
            removed(next(numbers))

    machine.files.delete = count_delete  # type: ignore[method-assign]


def trouble(site: Site, host: str, point: Point, prepared: Mapping[str, Any]) -> str | None:
    """Inject a fault into one reset, and return why the machine did not converge; empty if it did.

    The number of polls depends on the load, so a run may have fewer requests than the counted one: None if the fault
    did not occur.
    """
    machine, server = site.machine(host), site.node(host).server
    hit = set_fault(site, host, point, watch_removals)
    first = reset(site, host, point.connection)
    server.faults.clear()
    if not hit.is_set():
        return f"{point}: failed without a fault: {first}" if first["failed"] else None
    wait_for(lambda: machine.network.is_up, f"{host} is up again", 60)
    second = reset(site, host, point.connection)
    if second["failed"]:
        return f"{point}: the second run failed: {second}; the first: {first}"
    if different := differences(prepared, machine_state(machine)):
        return f"{point}: {different}; the runs: {first}, {second}"
    third = reset(site, host, point.connection)
    return f"{point}: a further run changed {third}" if third["changed"] or third["failed"] else ""


@contextlib.contextmanager
def joined(folder: Path, count: int) -> Iterator[tuple[Site, dict[str, Mapping[str, Any]]]]:
    """Yield a site with nodes hurt-0, hurt-1, …, and the states of the machines before they joined."""
    with fleet(folder, count) as (site, hosts):
        # One after the other, because Ansible's plugin loader is not thread-safe.
        before = {host: prepare(site, host) for host in hosts}
        joined_nodes.join_prepared(site, hosts)
        for host in hosts:
            site.machine(host).files.delete(joined_nodes.CONFIGURATION)
        yield site, before


def prepare(site: Site, host: str) -> Mapping[str, Any]:
    """Make a server ready to join, with the definitions of the roles, and return its state."""
    joined_nodes.prepare(site, host)
    files = site.machine(host).files
    files.make_directory(r"C:\etc\kubernetes\kubelet.conf.d")
    for one in ARGUMENTS["resources"]:
        if one["type"] == "StateFolder" and "acl" in one and files.exists(one["name"]):
            files.set_sddl(one["name"], one["acl"])
    result = reset(site, host, "psrp")
    assert not result["failed"], result
    return machine_state(site.machine(host))


def count(folder: Path) -> tuple[dict[str, int], int]:
    """Reset without faults, and return the requests by connection and the number of removals."""
    requests, removed = {}, [0]
    with joined(folder, len(CONNECTIONS)) as (site, prepared):
        for host, connection in zip(prepared, CONNECTIONS, strict=True):
            removed = [0]
            watch_removals(site.machine(host), removed.append)
            before = site.counters(host)["wsman_requests"]
            result = reset(site, host, connection)
            assert not result["failed"], result
            different = differences(prepared[host], machine_state(site.machine(host)))
            assert not different, "\n".join(different)
            requests[connection] = site.counters(host)["wsman_requests"] - before
    return requests, max(removed)


def test_a_machine_is_reset_despite_a_fault_at_any_point(sweep: Sweeps, tmp_path: Path) -> None:
    requests, removals = count(tmp_path / "count")
    points = all_points(requests, removals)
    chosen = sweep.choose("node_reset", points, SAMPLE, by=lambda point: point.kind)
    found = in_groups(tmp_path, chosen, sweep_some)
    occurred, bad = [text for text in found if text is not None], [text for text in found if text]
    sweep.report("node_reset", injected=len(occurred), converged=len(occurred) - len(bad))
    assert not bad, "\n".join(bad)
    assert len(occurred) * 2 > len(found)


def sweep_some(folder: Path, points: Sequence[Point]) -> list[str | None]:
    """Inject a fault into each server at its point, and return the results of `trouble`."""
    with joined(folder, len(points)) as (site, prepared), ThreadPoolExecutor(WORKERS) as pool:
        tasks = [
            pool.submit(trouble, site, host, point, prepared[host])
            for host, point in zip(prepared, points, strict=True)
        ]
        return [task.result() for task in tasks]
