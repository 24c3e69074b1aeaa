# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node with PowerShell in constrained language mode: modules cannot run, and the message says what to allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from integration.actions import connect, run_action
from integration.networks import free_network

from simulator.fleet import Fleet
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

pytestmark = pytest.mark.integration


@pytest.fixture
def machine() -> Iterator[Machine]:
    entry = {"name": "closed", "address": f"{free_network()}.21", "language_mode": "ConstrainedLanguage"}
    with Fleet([MachineSettings.read(entry)]) as fleet:
        yield fleet.nodes["closed"].machine


@pytest.mark.parametrize("kind", ["winrm", "psrp"])
def test_constrained_language_is_named_with_what_to_allow(machine: Machine, kind: str) -> None:
    requested: dict[str, Any] = {"resources": [{"type": "Directory", "name": "C:\\k"}]}
    with connect(machine, kind) as connection:
        result = run_action(connection, "node_state", requested)
    assert result["failed"]
    assert "PowerShell is in constrained language mode here" in result["msg"]
    assert "let the account that Ansible uses run all scripts" in result["msg"]
    assert not machine.files.exists("C:\\k")
