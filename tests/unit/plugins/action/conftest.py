# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fixtures for tests of actions: a simulated machine, and a folder for a bundle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.action_run import Node
from unit.bundle_site import PATCH

from ansible_collections.winkube.node.plugins.action import bundle
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    entry = {"name": "win1", "address": "127.0.0.1", "windows": "2022", "time_scale": 0.001, "reboot_seconds": 0.0}
    machine = Machine(MachineSettings.read(entry), tmp_path / "machine")
    machine.power_on()
    yield Node(machine)
    machine.power.power_off()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a patch, and set the path where the controller records the bundles that it has used."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(bundle, "show", lambda _line: None)
    (tmp_path / "kb5999001.msu").write_bytes(PATCH)
    return tmp_path
