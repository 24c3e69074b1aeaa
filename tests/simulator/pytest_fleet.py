# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A pytest fixture that starts simulated servers. Enable it with `pytest_plugins = ["simulator.pytest_fleet"]`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from simulator.fleet import Fleet
from simulator.machine.settings import MachineSettings

FleetFactory = Callable[..., Fleet]


@pytest.fixture
def simulated_fleet(tmp_path: Path) -> Iterator[FleetFactory]:
    """Yield a function that starts a fleet: `simulated_fleet({"name": "win-a", "windows": "2022"}, …)`.

    A node without an address gets an address that no other xdist worker uses. All fleets are stopped at the end of the
    test.
    """
    started: list[Fleet] = []
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw") or 0)
    numbers = itertools.count(11)

    def start(*entries: Mapping[str, object], **options: Any) -> Fleet:
        nodes = []
        for entry in entries:
            number = next(numbers)
            free = f"127.{100 + worker}.{(os.getpid() + len(started)) % 250 + 1}.{number}"
            nodes.append(MachineSettings.read({"name": f"win-{number}", "address": free, **entry}))
        fleet = Fleet(nodes, tmp_path / f"fleet-{len(started)}", **options)
        fleet.start()
        started.append(fleet)
        return fleet

    yield start
    for fleet in started:
        fleet.stop()
