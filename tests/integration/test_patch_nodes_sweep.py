# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Links, power and controllers fail at all points of `patch_nodes.yml`: each node ends up patched and in service."""

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
from integration.patching import state as patch_state
from integration.playbooks import Site, describe, link_variables
from integration.rollouts import swept
from integration.sweeps import Sweeps

from simulator.world import World

pytestmark = [pytest.mark.integration, pytest.mark.sweep]

REQUESTS = 45
BEFORE, PATCH = "KB5046616", "KB5048654"
QUICK: Mapping[str, Any] = {
    "updates": [BEFORE],
    "windows_update": {"offers": [PATCH]},
    "update_seconds": 10,
    "update_settle_seconds": 5,
    "reboot_seconds": 0.3,
}
VARIABLES: Mapping[str, Any] = {
    "windows_patches_public": [PATCH],
    "windows_patches_settle_timeout": 20,
    "node_maintenance_serial": 100,
    "node_maintenance_max_failed": 100,
}


def state(site: Site, host: str) -> Mapping[str, Any]:
    """Return the state of the server and its node. A cordon would be in the node's spec and annotations."""
    return {**member_state(site, host, host), "patches": patch_state(site.machine(host))}


PATCH_NODES = swept("patch_nodes.yml", "patch", "patched", state)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("connection", connections(1))
def test_nodes_are_patched_wherever_the_run_is_hit(connection: str, sweep: Sweeps, tmp_path: Path) -> None:
    numbers = iter(range(1000))

    @contextlib.contextmanager
    def start(names: Sequence[str]) -> Iterator[Site]:
        servers = [joined_nodes.server(name, **QUICK) for name in names]
        file = describe(servers, free_network(), {"kind": "memory"})
        folder = tmp_path / str(next(numbers))
        with World(file, folder / "fleet") as world:
            site = Site(world, folder / "controller", VARIABLES)
            site.host_variables = {name: link_variables(connection) for name in names}
            joined_nodes.join(site, names)
            yield site

    PlaybookSweep(sweep, start, PATCH_NODES, REQUESTS, connection).run(5)
