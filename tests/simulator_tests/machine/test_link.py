# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node's real ports while HNS takes over the network adapter, and while the node has lost its address."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node.hns import fixtures
from simulator.machine import commands
from simulator.machine.machine import Machine
from simulator.machine.processes import Process
from simulator.pytest_fleet import FleetFactory, simulated_fleet

pytestmark = pytest.mark.waits

__all__ = ["simulated_fleet"]


def answers(machine: Machine) -> bool:
    try:
        with socket.create_connection((machine.address, 5985), timeout=60):
            return True
    except OSError:
        return False


def node(simulated_fleet: FleetFactory, **entry: object) -> Machine:
    known: dict[str, Any] = {"name": "win-link", "features": ["Containers"], "link_drop_seconds": 0.3}
    machine = simulated_fleet({**known, **entry}).machine("win-link")
    fixtures.populate(machine, "flannel-host-gw", running=1)
    return machine


def clean(machine: Machine) -> None:
    for noun in ("Endpoint", "Network"):
        found = commands.run(machine, f"Get-Hns{noun}", {}).objects
        commands.run(machine, f"Remove-Hns{noun}", {}, pipeline=found)


def test_removing_the_last_external_network_cuts_every_connection(simulated_fleet: FleetFactory) -> None:
    machine = node(simulated_fleet)
    with socket.create_connection((machine.address, 5985), timeout=60) as connection:
        clean(machine)
        connection.settimeout(5)
        assert connection.recv(1) == b"", "cut, not kept waiting"
    wait_for(lambda: answers(machine), "the node is reachable again")


def test_a_node_without_its_address_is_unreachable_until_a_detached_process_sets_it(
    simulated_fleet: FleetFactory,
) -> None:
    machine = node(simulated_fleet, uplink={"static": True})

    def restore(process: Process) -> None:
        clean(machine)
        while not machine.network.is_linked:
            process.sleep(0.05)
        assert not answers(machine), "the link alone is not enough"
        parameters = {"InterfaceAlias": "Ethernet", "IPAddress": machine.address, "PrefixLength": 24}
        commands.run(machine, "New-NetIPAddress", parameters, stop=process.stop)

    process = machine.processes.detach("powershell.exe", "Administrator", restore)

    assert process.ended.wait(60)
    wait_for(lambda: answers(machine), "the node is reachable again")
    assert machine.network.drops == 1


def test_a_lost_address_does_not_come_back_by_itself(simulated_fleet: FleetFactory) -> None:
    machine = node(simulated_fleet, uplink={"static": True}, reboot_seconds=0.1)
    clean(machine)
    while not machine.network.is_linked:
        time.sleep(0.05)
    assert not answers(machine)
    machine.power.reset()
    assert not answers(machine)
