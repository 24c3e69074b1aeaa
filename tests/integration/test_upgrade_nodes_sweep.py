# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Links, power and controllers fail at all points of `upgrade_nodes.yml`: each node ends up upgraded and in service."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from integration import joined_nodes
from integration.fault_lives import PlaybookSweep, Subject, connections, host_failed
from integration.member_state import member_state
from integration.networks import free_network
from integration.playbooks import PlayRun, Site, describe, link_variables
from integration.sweeps import Sweeps

from simulator.world import World

pytestmark = [pytest.mark.integration, pytest.mark.sweep]

REQUESTS = 45
BEFORE, BETWEEN, AFTER = "1.35.4", "1.36.3", "1.37.1"
VARIABLES: Mapping[str, Any] = {
    "kube_version": AFTER,
    "node_upgrade_versions": [BETWEEN],
    "node_maintenance_serial": 100,
    "node_maintenance_max_failed": 100,
    "cni_plugin": "none",
}
_COPIES = r"c:\etc\kubernetes\tmp"
"""Where kubeadm keeps copies of earlier configurations, in folders that are named after the time."""


def state(site: Site, host: str) -> Mapping[str, Any]:
    """Return the state of the server and its node. A cordon would be in the node's spec and annotations."""
    found = dict(member_state(site, host, host))
    server = dict(found["server"])
    server["files"] = {path: data for path, data in server["files"].items() if not path.lower().startswith(_COPIES)}
    return {**found, "server": server}


def statuses(site: Site) -> dict[str, str]:
    """Return the status of each node in the run's report."""
    path = site.folder / "build" / "upgrade.json"
    nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"] if path.exists() else {}
    return {host: entry["status"] for host, entry in nodes.items()}


def gave_up(site: Site, run: PlayRun) -> set[str]:
    found = statuses(site)
    done = ("upgraded", "up_to_date")
    return {host for host in site.hosts() if host_failed(run, host) or found.get(host) not in done}


def changed(site: Site, run: PlayRun, host: str) -> list[str]:
    status = statuses(site).get(host, "missing")
    return run.changes(host) or ([] if status == "up_to_date" else [f"its status is {status}"])


UPGRADE_NODES = Subject("upgrade_nodes.yml", state, gave_up, changed)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("connection", connections(4))
def test_nodes_are_upgraded_wherever_the_run_is_hit(
    connection: str, sweep: Sweeps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A real kubeadm for each of many servers would take most of the time, and test_upgrade_nodes has it.
    monkeypatch.setenv("KUBEBUILDER_ASSETS", "")
    numbers = iter(range(1000))

    @contextlib.contextmanager
    def start(names: Sequence[str]) -> Iterator[Site]:
        servers = [joined_nodes.server(name, reboot_seconds=0.3) for name in names]
        file = describe(servers, free_network(), {"kind": "memory", "version": AFTER})
        folder = tmp_path / str(next(numbers))
        with World(file, folder / "fleet") as world:
            site = Site(world, folder / "controller", VARIABLES)
            site.host_variables = {name: link_variables(connection) for name in names}
            joined_nodes.join(site, names, BEFORE)
            yield site

    PlaybookSweep(sweep, start, UPGRADE_NODES, REQUESTS, connection).run(8)
