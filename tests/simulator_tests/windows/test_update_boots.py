# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Updates: the boot after an installation, one installation at a time, and failures."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from simulator_tests.waiting import wait_for
from simulator_tests.windows.updates import (
    DECEMBER,
    NOVEMBER,
    QUICK,
    ask_and_vanish,
    fixes,
    put,
    rollups,
    set_fault,
    settled,
    status,
    wusa,
)

from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.windows.updates.component_store import store_of
from simulator.windows.updates.update_catalogue import Update

pytestmark = pytest.mark.waits


class TestTheBoot:
    def test_the_update_stack_keeps_working_afterwards(self, server: Any) -> None:
        machine = server(update_settle_seconds=100000)
        put(machine, DECEMBER)
        wusa(machine)
        machine.power.reset()
        names = {process.name for process in machine.processes.all()}
        assert {"TiWorker.exe", "TrustedInstaller.exe"} <= names
        service = machine.services.get("TrustedInstaller")
        assert service is not None
        assert (service.state, service.start) == ("Running", 2)

    def test_the_update_stack_becomes_idle(self, server: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        wusa(machine)
        machine.power.reset()
        settled(machine)
        service = machine.services.get("TrustedInstaller")
        assert service is not None
        assert (service.state, service.start) == ("Stopped", 3)
        assert not [event for event in machine.services.events if "TrustedInstaller" in event]

    def test_two_reboots(self, server: Any, shell: Any) -> None:
        machine = server()
        put(machine, Update("KB5999001", reboots=2))
        assert wusa(machine) == 3010
        machine.power.reset()
        assert "KB5999001" not in fixes(machine, shell)
        wait_for(lambda: machine.power.pending_reasons() == ["features", "updates", "file renames"])
        settled(machine)
        machine.power.reset()
        assert "KB5999001" in fixes(machine, shell)
        settled(machine)
        assert not machine.power.pending_reboot

    def test_a_fresh_boot_has_no_worker(self, server: Any) -> None:
        machine = server()
        machine.power.reset()
        assert not [process for process in machine.processes.all() if process.name == "TiWorker.exe"]

    def test_a_machine_from_an_image_keeps_its_updates(self, server: Any, make_machine: Any, tmp_path: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        wusa(machine)
        machine.power.reset()
        settled(machine)
        machine.power.power_off()
        settings = MachineSettings.read({"name": "clone", "address": "127.0.0.99", **QUICK})
        clone = Machine(settings, tmp_path / "clone", source=machine)
        clone.power_on()
        try:
            assert clone.windows.full == "10.0.20348.2966"
            assert status(clone)["installed"] == status(machine)["installed"]
            assert store_of(clone) is not store_of(machine)
        finally:
            clone.power.power_off()


class TestFaults:
    def test_an_installation_that_fails(self, server: Any) -> None:
        machine = server(update_faults=[{"kind": "update_fails", "kb": DECEMBER, "hresult": "0x80073712"}])
        put(machine, DECEMBER)
        assert wusa(machine) == 14098, "the Win32 code of the HRESULT"
        assert (status(machine)["pending"], machine.power.pending_reboot) == ([], False)
        assert wusa(machine) == 3010, "it failed once"

    def test_an_update_that_always_fails(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_fails", kb="*", times=None)
        put(machine, DECEMBER)
        assert {wusa(machine) for _ in range(3)} == {0x800F0922 - (1 << 32)}
        set_fault(machine, kind="update_faults_clear")
        assert wusa(machine) == 3010

    def test_an_update_that_fails_at_the_boot_is_rolled_back(self, server: Any, shell: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_fails", kb=DECEMBER, at="boot")
        put(machine, DECEMBER)
        assert wusa(machine) == 3010
        machine.power.reset()
        assert (machine.windows.ubr, machine.power.pending_reboot) == (2849, False)
        assert {NOVEMBER} <= fixes(machine, shell)
        assert rollups(machine, shell) == {"20348.2849": "Installed"}
        settled(machine)
        assert wusa(machine) == 3010

    @pytest.mark.parametrize("action", ["power_reset", "power_off"])
    def test_a_power_failure_during_the_installation(self, server: Any, action: str) -> None:
        machine = server()
        set_fault(machine, kind="update_cut", kb=DECEMBER, action=action)
        put(machine, DECEMBER)
        boots = machine.power.boots
        started = threading.Thread(target=lambda: ask_and_vanish(machine))
        started.start()
        if action == "power_off":
            wait_for(lambda: machine.power.state == "off")
            machine.power_on()
        wait_for(lambda: machine.power.boots == boots + 1 and machine.power.state == "on")
        started.join()
        found = status(machine)
        assert (found["pending"], found["working"], machine.windows.ubr) == ([], "", 2849)
        assert any("rolled back" in event for event in machine.services.events)
        settled(machine)
        assert wusa(machine) == 3010

    def test_a_power_failure_during_the_boot(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_cut", kb=DECEMBER, at="boot")
        put(machine, DECEMBER)
        wusa(machine)
        boots = machine.power.boots
        machine.power.reset()
        wait_for(lambda: machine.power.boots == boots + 2 and machine.power.state == "on")
        assert (machine.windows.ubr, status(machine)["pending"]) == (2849, [])

    def test_a_lost_link_does_not_stop_the_installation(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_cut", action="link", seconds=0.01)
        put(machine, DECEMBER)
        assert (wusa(machine), machine.network.drops) == (3010, 1)

    def test_a_reboot_loop_that_ends(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_reboot_loop", kb=DECEMBER, boots=2)
        put(machine, DECEMBER)
        wusa(machine)
        boots = machine.power.boots
        machine.power.reset()
        wait_for(lambda: machine.power.boots == boots + 3 and machine.power.state == "on")
        assert machine.windows.ubr == 2966
        settled(machine)
        assert machine.power.boots == boots + 3

    def test_a_reboot_loop_that_does_not_end(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_reboot_loop", kb=DECEMBER, boots=None)
        put(machine, DECEMBER)
        wusa(machine)
        boots = machine.power.boots
        machine.power.reset()
        wait_for(lambda: machine.power.boots >= boots + 4)
        assert machine.windows.ubr == 2849
        machine.power.retire()

    @pytest.mark.parametrize(
        "fault",
        [
            {"kind": "update_fails", "hresult": "bad"},
            {"kind": "update_fails", "at": "noon"},
            {"kind": "update_cut", "action": "nothing"},
            {"kind": "update_slow", "times": 3},
        ],
    )
    def test_invalid_update_faults(self, server: Any, fault: dict[str, object]) -> None:
        machine = server()
        with pytest.raises(ValueError, match=r"HRESULT|key `at`|key `action`|only the keys"):
            set_fault(machine, **fault)


class TestOneAtATime:
    def test_another_installation_runs(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_slow", kb=DECEMBER, seconds=1000000)
        put(machine, DECEMBER)
        put(machine, Update("KB5999001"), r"C:\patches\other.msu")
        started = threading.Thread(target=lambda: ask_and_vanish(machine))
        started.start()
        wait_for(lambda: status(machine)["working"] == DECEMBER)
        assert {"TiWorker.exe", "TrustedInstaller.exe"} <= {process.name for process in machine.processes.all()}
        assert wusa(machine, r"C:\patches\other.msu") == 1618
        machine.power.power_off()
        started.join()

    def test_an_installation_continues_after_its_client_ends(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_slow", kb=DECEMBER, seconds=1000000)
        put(machine, DECEMBER)
        started = threading.Thread(target=lambda: ask_and_vanish(machine))
        started.start()
        wait_for(lambda: status(machine)["working"] == DECEMBER)
        (asked,) = [process for process in machine.processes.all() if process.name == "wusa.exe"]
        machine.processes.kill(asked)
        started.join()
        names = {process.name for process in machine.processes.all()}
        assert ("wusa.exe" in names, "TiWorker.exe" in names) == (False, True)
        assert (status(machine)["working"], wusa(machine)) == (DECEMBER, 1618)
        machine.power.power_off()

    def test_a_worker_that_is_ended_leaves_nothing(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_slow", kb=DECEMBER, seconds=1000000)
        put(machine, DECEMBER)
        results: list[int] = []
        started = threading.Thread(target=lambda: results.append(wusa(machine)))
        started.start()
        wait_for(lambda: status(machine)["working"] == DECEMBER)
        machine.processes.kill(next(item for item in machine.processes.all() if item.name == "TiWorker.exe"))
        started.join()
        assert results == [1726]
        wait_for(lambda: status(machine)["working"] == "")
        assert status(machine)["pending"] == []
        set_fault(machine, kind="update_faults_clear")
        assert wusa(machine) == 3010
