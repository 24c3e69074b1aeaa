# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A simulated server for the clients of other projects."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest
from simulator_tests.clients.server import Server

from simulator.fleet import Fleet
from simulator.machine.settings import MachineSettings


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a newly installed Windows Server 2022 that listens on real sockets."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw") or 0)
    address = f"127.{150 + worker}.{os.getpid() % 250 + 1}.9"
    settings = MachineSettings.read({"name": "win-a", "address": address, "reboot_seconds": 0.2, "time_scale": 1})
    fleet = Fleet([settings], tmp_path_factory.mktemp("fleet"))
    fleet.start()
    yield Server(fleet.machine("win-a"))
    fleet.stop()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the proxy settings from the environment, so that clients connect to the server directly."""
    for name, case in itertools.product(("http_proxy", "https_proxy", "all_proxy"), (str.lower, str.upper)):
        monkeypatch.delenv(case(name), raising=False)
