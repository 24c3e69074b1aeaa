# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Link and power are cut during kubeadm_join: at every request, and at every file that kubeadm writes."""

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
from integration.fault_lives import lasting_differences
from integration.fault_points import WORKERS, Point, all_points, attempt, failures, fleet, in_groups, set_fault
from integration.member_state import content, member_state
from integration.playbooks import Site
from integration.sweeps import Sweeps
from simulator_tests.waiting import wait_for

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.node_join import leftovers
from simulator.kubernetes_node.kubeadm import real as kubeadm_real
from simulator.machine.machine import Machine

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sweep,
    pytest.mark.xdist_group("join_sweep"),
    pytest.mark.usefixtures("prompt"),
]

OF_KUBEADM = ("c:\\etc\\kubernetes", "c:\\var\\lib\\kubelet")
SAMPLE = 6
KUBEADM = r"C:\k\kubeadm.exe"
# The role's step after kubeadm, which removes files with the token if kubeadm was interrupted.
LEFTOVERS = leftovers()


@pytest.fixture(autouse=True)
def simulated_kubeadm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the simulated kubeadm, which can be interrupted at each file, unlike a real kubeadm of Linux."""
    monkeypatch.setattr(kubeadm_real, "find", lambda dummy: None)


def run(site: Site, host: str, connection: str, token: str) -> dict[str, Any]:
    """Join like the role, and return the changes and the failures."""
    steps = {
        "kubeadm_join": {"configuration": joined_nodes.join_configuration(site, host, token), "kubeadm": KUBEADM},
        "node_state": {"resources": LEFTOVERS},
    }
    changed: list[Any] = []
    for name, arguments in steps.items():
        result = attempt(site, host, connection, name, {**arguments, "timeout": 60})
        changed += result.get("changes", [])
        if failed := failures(result):
            return {"changed": changed, "failed": failed}
    return {"changed": changed, "failed": []}


def watch_files(machine: Machine, wrote: Callable[[int], None]) -> None:
    """Call back with 1, 2, … after each write to a file in kubeadm's folders."""
    numbers, write = itertools.count(1), machine.files.write_text

    def write_text(path: str, *more: Any, **keywords: Any) -> None:
        write(path, *more, **keywords)
        if path.casefold().startswith(OF_KUBEADM):
            wrote(next(numbers))

    machine.files.write_text = write_text  # type: ignore[method-assign]


def trouble(site: Site, host: str, point: Point, token: str, unhurt: str) -> str:
    """Inject a fault into one join, and return why the node did not converge; empty if it did."""
    machine, server = site.machine(host), site.node(host).server
    hit = set_fault(site, host, point, watch_files)
    first = run(site, host, point.connection, token)
    server.faults.clear()
    if not hit.is_set():
        return f"{point}: the fault did not hit"
    wait_for(lambda: machine.network.is_up, f"{host} is up again", 60)
    second = run(site, host, point.connection, token)
    if second["failed"]:
        return f"{point}: the second run failed: {second}; the first: {first}"
    if different := lasting_differences(lambda: state(site, host, token), lambda: state(site, unhurt, token)):
        return f"{point}: {different}; the runs: {first}, {second}"
    third = run(site, host, point.connection, token)
    return f"{point}: a further run changed {third}" if third["changed"] or third["failed"] else ""


def state(site: Site, host: str, token: str) -> Mapping[str, Any]:
    """Return the state of the server and its node. `token` is used to find files that contain the bootstrap token."""
    machine, secret = site.machine(host), token.partition(".")[2].encode()
    files = [entry.path for entry in machine.files.walk("C:\\") if not entry.is_directory and entry.size < 2**20]
    holding = [path for path in files if secret in content(machine, path)]
    return {**member_state(site, host, host), "token": holding}


@contextlib.contextmanager
def prepared(folder: Path, count: int) -> Iterator[tuple[Site, str]]:
    """Yield a site with servers hurt-0, hurt-1, … that can join, and a bootstrap token."""
    with fleet(folder, count) as (site, hosts):
        for host in hosts:
            joined_nodes.prepare(site, host)
        joined_nodes.deploy_flannel(site)
        yield site, joined_nodes.make_token(site)


def count(folder: Path) -> tuple[dict[str, int], int]:
    """Join without faults, and return the requests by connection and the number of files that kubeadm writes."""
    requests, written = {}, [0]
    with prepared(folder, len(CONNECTIONS)) as (site, token):
        for host, connection in zip(site.hosts(), CONNECTIONS, strict=True):
            written = [0]
            watch_files(site.machine(host), written.append)
            result = run(site, host, connection, token)
            assert not result["failed"], result
            requests[connection] = site.counters(host)["wsman_requests"]
    return requests, max(written)


def test_a_node_joins_despite_a_fault_at_any_point(sweep: Sweeps, tmp_path: Path) -> None:
    requests, files = count(tmp_path / "count")
    points = all_points(requests, files)
    chosen = sweep.choose("kubeadm_join", points, SAMPLE, by=lambda point: point.kind)
    found = in_groups(tmp_path, chosen, sweep_some)
    bad = [text for text in found if text]
    sweep.report("kubeadm_join", injected=len(found), converged=len(found) - len(bad))
    assert not bad, "\n".join(bad)


def sweep_some(folder: Path, points: Sequence[Point]) -> list[str]:
    """Inject a fault into each server at its point, except the last server."""
    with prepared(folder, len(points) + 1) as (site, token), ThreadPoolExecutor(WORKERS) as pool:
        *hosts, unhurt = site.hosts()
        result = run(site, unhurt, "psrp", token)
        assert not result["failed"], result
        tasks = [
            pool.submit(trouble, site, host, point, token, unhurt) for host, point in zip(hosts, points, strict=True)
        ]
        return [task.result() for task in tasks]
