# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The component store matches the state of the machine after any sequence of updates, failures and resets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulator_tests.waiting import wait_for
from simulator_tests.windows.updates import ask_and_vanish, put, set_fault, settled, status, wusa

from simulator.machine.machine import Machine
from simulator.windows.updates import update_catalogue, update_package
from simulator.windows.updates.component_store import store_of
from simulator.windows.updates.update_catalogue import Update
from simulator.windows.updates.update_package import CorruptPackageError, NotAPackageError

pytestmark = pytest.mark.waits

# Two cumulative updates, an update that is not cumulative, and one that needs two reboots.
UPDATES: tuple[Update | str, ...] = (
    "KB5048654",
    "KB5049983",
    Update("KB5999001", reboots=1),
    Update("KB5999002", reboots=2),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(range(len(UPDATES))), st.sampled_from(["install", "fail", "cut", "undo", "reset"])),
    max_size=7,
)


def step(machine: Machine, which: int, what: str) -> None:
    """Install an update (`which` is its index), perhaps with a fault, or reset the machine, depending on `what`."""
    if what == "reset":
        machine.power.reset()
        settled(machine)
        return
    put(machine, UPDATES[which])
    faults = {
        "fail": {"kind": "update_fails"},
        "cut": {"kind": "update_cut", "action": "power_off"},
        "undo": {"kind": "update_fails", "at": "boot"},
    }
    if what in faults:
        set_fault(machine, kb="*", **faults[what])
    ask_and_vanish(machine)
    if what == "cut" and status(machine)["working"]:
        wait_for(lambda: machine.power.state == "off")
    if machine.power.state == "off":
        machine.power_on()
        settled(machine)
    if what != "undo":
        set_fault(machine, kind="update_faults_clear")


def check(machine: Machine) -> None:
    """Check the conditions that must be true at any time."""
    store, found = store_of(machine), status(machine)
    assert found["working"] == ""
    installed = [entry.update for entry in store.entries.values() if entry.state == "Installed"]
    cumulative = [update.ubr for update in installed if update.ubr]
    assert cumulative == [machine.windows.ubr], "the newest one is the build, and the only one that is not superseded"
    assert not any(one.replaces(other) for one in installed for other in installed)
    if found["pending"]:
        assert machine.power.pending_reboot


class TestSequences:
    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(steps=STEPS)
    def test_no_update_is_half_installed(self, server: Any, steps: list[tuple[int, str]]) -> None:
        machine = server()
        for which, what in steps:
            step(machine, which, what)
            check(machine)
        set_fault(machine, kind="update_faults_clear")
        for _ in range(3):
            machine.power.reset()
            settled(machine)
        for update in UPDATES:
            put(machine, update)
            assert wusa(machine) in (0, 3010, 2359302, -2145124329)
        for _ in range(2):
            machine.power.reset()
            settled(machine)
        check(machine)
        assert (machine.windows.ubr, machine.power.pending_reboot) == (3091, False)
        assert {"KB5049983", "KB5999001", "KB5999002"} <= status(machine)["installed"].keys()
        machine.power.retire()


WHOLE = update_package.make(update_catalogue.find("KB5048654") or Update("KB1"), size=4000)


@given(position=st.integers(0, len(WHOLE) - 1), value=st.integers(1, 255))
def test_every_changed_byte_is_detected(position: int, value: int) -> None:
    changed = bytearray(WHOLE)
    changed[position] ^= value
    # Changes in the padding of the header have no effect.
    if 8 <= position < WHOLE.index(b"SIMULATED-UPDATE"):
        return
    with pytest.raises((CorruptPackageError, NotAPackageError)):
        update_package.parse(bytes(changed))


@given(length=st.integers(0, len(WHOLE) - 1))
def test_every_truncation_is_detected(length: int) -> None:
    with pytest.raises((CorruptPackageError, NotAPackageError)):
        update_package.parse(WHOLE[:length])


@given(data=st.binary(max_size=300))
def test_an_invalid_package_installs_nothing(data: bytes) -> None:
    with pytest.raises((CorruptPackageError, NotAPackageError)):
        update_package.parse(data)
