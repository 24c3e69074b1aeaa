# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Links, power and controllers fail at all points of `upgrade_nodes.yml`: each node ends up upgraded and in service."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from integration import joined_nodes
from integration.fault_lives import PlaybookSweep, connections
from integration.member_state import member_state
from integration.networks import free_network
from integration.playbooks import Site, describe, link_variables
from integration.rollouts import swept
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


UPGRADE_NODES = swept("upgrade_nodes.yml", "upgrade", "upgraded", state)


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

    PlaybookSweep(sweep, start, UPGRADE_NODES, REQUESTS, connection).run(5)
