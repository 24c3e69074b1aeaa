# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A static address while the first network of a node is created, at any time: afterwards it is restored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from integration.actions import CONNECTIONS, connect, run_action
from integration.networks import free_network
from integration.patching import no_pauses
from simulator_tests.waiting import wait_for

from simulator.fleet import Fleet
from simulator.kubernetes_node import hns
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.transport.faults import TransportFault
from simulator.windows.networking.network_state import Address, Interface, state_of

pytestmark = [
    pytest.mark.waits,
    pytest.mark.integration,
    pytest.mark.xdist_group("uplink_guard"),
    pytest.mark.usefixtures("no_pauses"),
]

__all__ = ["no_pauses"]

NOTE = r"C:\ProgramData\winkube\hns\uplink.json"
QUICK = {"network_timeout": 300, "settle": 0.1}
LONG = {"network_timeout": 3600, "settle": 0.1}


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    network = free_network()
    uplink = {"static": True, "gateway": f"{network}.254", "dns": [f"{network}.250"],
              "routes": [{"destination": "10.9.0.0/16", "next_hop": f"{network}.253", "metric": 5}]}  # fmt: skip
    static = ("WINRM", "PSRP", "IDLE", "TWO", "LATER", "REBOOT", "UNPLUGGED")
    kinds: dict[str, dict[str, Any]] = {**{name: {"uplink": uplink} for name in static}, "DHCP": {}}
    nodes = [
        MachineSettings.read({"name": name, "address": f"{network}.{number}", "features": ["Containers"],
                       "link_drop_seconds": 0.2, "time_scale": 0.05, "reboot_seconds": 0.1, "pause_scale": 0.1, **more})
        for number, (name, more) in enumerate(kinds.items(), start=1)
    ]  # fmt: skip
    with Fleet(nodes) as fleet:
        yield fleet


def guard(machine: Machine, kind: str = "psrp", *, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    with connect(machine, kind) as connection:
        return run_action(connection, "uplink_guard", options, check_mode=check_mode)


def adapter(machine: Machine) -> Any:
    """Return the settings of the external adapter, from whichever interface has them."""
    found = status(machine)
    return found.get("vEthernet (Ethernet)") or found["Ethernet"]


def status(machine: Machine) -> Any:
    """Return the settings of all interfaces, by name."""
    return machine.families.status["network"](machine)


def add_storage(machine: Machine, *, plugged: bool = True) -> Interface:
    """Add a second adapter with a static address, which no switch ever uses."""
    addresses = [Address("10.77.0.5", 24)]
    storage = Interface(
        "Storage", "Mellanox", 9, "00-15-5D-77-00-05", addresses, dhcp=False, physical=True, plugged=plugged
    )
    state_of(machine).interfaces["Storage"] = storage
    return storage


@pytest.mark.parametrize("kind", CONNECTIONS)
def test_a_static_address_outlives_a_network_that_comes_late(fleet: Fleet, kind: str) -> None:
    machine = fleet.machine(kind.upper())
    before = adapter(machine)
    started = guard(machine, kind, **QUICK)
    assert not started["changed"]
    assert machine.address in machine.files.read_text(NOTE)
    hns.store(machine).create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    assert adapter(machine)["dhcp"]
    finished = guard(machine, kind, state="absent", guard=started["guard"], timeout=30)
    assert not finished.get("failed"), finished
    assert [(change["type"], change["name"]) for change in finished["changes"]] == [("Uplink", "Ethernet")]
    assert finished["changed"]
    assert adapter(machine) == before
    assert not machine.files.exists(NOTE)
    # A switch uses the adapter now, so there is nothing left to guard.
    assert not guard(machine, kind)["guard"]


@pytest.mark.parametrize("kind", CONNECTIONS)
def test_a_broken_link_leaves_exactly_one_guard(fleet: Fleet, kind: str) -> None:
    """Cut at every request of its start: before it arrives, in its response, or after it."""
    machine, server = fleet.machine("IDLE"), fleet.nodes["IDLE"].server
    # Its end does not depend on a network.
    quick = {"network_timeout": 0, "settle": 0, "reconnect_timeout": 30}
    before = server.counters.snapshot()["wsman_requests"]
    assert guard(machine, kind, **quick)["guard"]
    requests = server.counters.snapshot()["wsman_requests"] - before
    for request in range(1, requests + 1):
        server.set_fault(TransportFault(("before", "during", "after")[request % 3], request))
        started = guard(machine, kind, **quick)
        server.faults.clear()
        assert started["guard"], (request, started)
        finished = guard(machine, kind, state="absent", guard=started["guard"], timeout=30)
        assert not finished.get("warnings"), (request, finished)
        assert not finished.get("failed"), (request, finished)
        assert not finished["changed"]
    assert not machine.files.exists(NOTE)


def test_a_guard_survives_a_request_that_comes_too_early(fleet: Fleet) -> None:
    machine = fleet.machine("IDLE")
    assert not guard(machine, check_mode=True, **QUICK)["guard"]
    assert not machine.files.exists(NOTE)
    started = guard(machine, **QUICK)
    early = guard(machine, state="absent", guard=started["guard"], timeout=1)
    assert early["guard"] == started["guard"]
    assert "the address guard is still waiting" in early["warnings"][0]
    assert not early["changed"]


def test_the_switch_of_one_adapter_is_enough(fleet: Fleet) -> None:
    """The lost address comes back, although the other adapter never gets a switch."""
    machine, server = fleet.machine("TWO"), fleet.nodes["TWO"].server
    add_storage(machine)
    before, storage = adapter(machine), status(machine)["Storage"]
    started = guard(machine, **LONG)
    assert [one["alias"] for one in started["guard"]["uplinks"]] == ["Ethernet", "Storage"]
    drops = machine.network.drops
    hns.store(machine).create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    finished = guard(machine, state="absent", guard=started["guard"], timeout=60)
    assert not finished.get("failed"), finished
    assert [change["name"] for change in finished["changes"]] == ["Ethernet"]
    assert (adapter(machine), status(machine)["Storage"]) == (before, storage)
    assert not machine.files.exists(NOTE)
    # The new switch drops the link, perhaps only after the guard has set the address again.
    wait_for(lambda: machine.network.drops > drops and machine.network.is_up, "the link was down", 30)
    wait_for(lambda: server.is_listening, "the ports are open again", 30)
    # A later run costs one observation, which join_info has already made, and starts no guard for the other adapter.
    again = guard(machine, **LONG)
    assert (again["guard"], again["remote_commands"]) == ({}, 1)
    with connect(machine, "psrp") as connection:
        assert not run_action(connection, "join_info", {})["uplink_at_risk"]
    assert not machine.files.exists(NOTE)


def test_a_later_run_leaves_no_second_guard(fleet: Fleet) -> None:
    """It does not wait for the first one, either, if no network is created, as with another tool."""
    machine = fleet.machine("LATER")
    storage = add_storage(machine)
    first = guard(machine, **LONG)
    again = guard(machine, **LONG)
    assert again["guard"] == first["guard"]
    assert again["remote_commands"] == 2
    looked = guard(machine, state="absent", guard=again["guard"], timeout=0)
    assert (looked["guard"], looked["changed"], looked.get("warnings")) == (first["guard"], False, None)
    assert looked["remote_commands"] == 1
    # A guard for addresses that the adapters no longer have does not count.
    storage.addresses[:] = [Address("10.77.0.6", 24)]
    other = guard(machine, **LONG)
    assert other["guard"]["key"] != first["guard"]["key"]
    assert other["guard"]["key"] in machine.files.read_text(NOTE)
    assert guard(machine, **LONG)["guard"] == other["guard"]
    before = adapter(machine)
    hns.store(machine).create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    assert guard(machine, state="absent", guard=other["guard"], timeout=60)["changed"]
    late = guard(machine, state="absent", guard=first["guard"], timeout=60)
    assert "a later guard" in late["warnings"][0]
    assert [item.address for item in storage.addresses] == ["10.77.0.6"]
    assert adapter(machine) == before


def test_a_reboot_before_the_network_leaves_another_guard(fleet: Fleet) -> None:
    machine = fleet.machine("REBOOT")
    before = adapter(machine)
    started = guard(machine, **LONG)
    machine.power.reset()
    finished = guard(machine, state="absent", guard=started["guard"], **LONG)
    (message,) = finished["warnings"]
    assert NOTE in message
    assert "a new guard was started" in message
    assert finished["guard"]["key"] != started["guard"]["key"]
    hns.store(machine).create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    restored = guard(machine, state="absent", guard=finished["guard"], timeout=60)
    assert restored["changed"], restored
    assert adapter(machine) == before
    # After the network exists, only a user at the console can find out.
    gone = guard(machine, state="absent", guard=started["guard"], timeout=1)
    assert NOTE in gone["warnings"][0]
    assert not gone["guard"]


def test_an_unplugged_adapter_fails_no_host(fleet: Fleet) -> None:
    machine = fleet.machine("UNPLUGGED")
    add_storage(machine, plugged=False)
    started = guard(machine, **LONG)
    assert [one["alias"] for one in started["guard"]["uplinks"]] == ["Ethernet"]
    hns.store(machine).create_network("cbr0", "L2Bridge", "10.244.1.0/24")
    finished = guard(machine, state="absent", guard=started["guard"], timeout=60)
    assert not finished.get("failed"), finished
    assert finished["changed"]


def test_an_adapter_with_dhcp_needs_no_guard(fleet: Fleet) -> None:
    machine = fleet.machine("DHCP")
    result = guard(machine)
    assert not result["guard"]
    assert result["remote_commands"] == 1
    assert not machine.files.exists(NOTE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"settle": -1}, "settle"),
        ({"state": "absent", "guard": {"key": "k"}}, "expected the guard that a task with state: present returned"),
    ],
)
def test_bad_options_are_refused_before_the_node_is_asked(fleet: Fleet, options: dict[str, Any], message: str) -> None:
    result = guard(fleet.machine("DHCP"), **options)
    assert result["failed"]
    assert message in result["msg"]
