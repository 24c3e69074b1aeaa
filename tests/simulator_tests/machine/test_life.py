# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine's life: boots, pending reboots, images."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from simulator_tests.waiting import wait_for

from simulator.machine import faults, status
from simulator.machine.machine import COMPUTER_NAME, GENERALIZED, SETUP_STATE, Machine
from simulator.machine.power import CBS_PENDING, SESSION_MANAGER
from simulator.machine.processes import Process
from simulator.machine.settings import MachineSettings
from simulator.machine.versions import VERSIONS

pytestmark = pytest.mark.waits

MachineFactory = Callable[..., Machine]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_boots(make_machine: MachineFactory, version: str) -> None:
    machine = make_machine(windows=version)
    build = machine.registry.data(r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion", "CurrentBuild")
    assert build == str(VERSIONS[version].build)
    winrm = machine.services.get("WinRM")
    assert winrm is not None
    assert winrm.state == "Running"
    assert machine.files.is_file(r"C:\Windows\System32\sc.exe")


def test_unknown_version_is_refused(make_machine: MachineFactory) -> None:
    with pytest.raises(ValueError, match=r"Windows 2019.*2016"):
        make_machine(windows="2016")


def test_a_reboot_ends_processes_and_drops_the_volatile(machine: Machine) -> None:
    ended = threading.Event()

    def work(process: Process) -> None:
        try:
            process.sleep(60)
        finally:
            ended.set()

    process = machine.processes.detach("job.exe", "SYSTEM", work)
    machine.registry.create_key(r"HKLM:\SOFTWARE\Volatile", volatile=True)
    before = machine.power.boot_time
    machine.power.reset()
    assert ended.wait(60)
    assert not process.alive
    assert machine.processes.get(process.id) is None
    assert not machine.registry.key_exists(r"HKLM:\SOFTWARE\Volatile")
    assert machine.power.boot_time > before


def test_a_new_name_is_active_after_a_reboot(machine: Machine) -> None:
    machine.registry.set(f"{COMPUTER_NAME}\\ComputerName", "ComputerName", "NEW-NAME")
    assert (machine.name, machine.power.pending_reasons()) == ("WIN-A", ["computer name"])
    machine.power.reset()
    assert (machine.name, machine.power.pending_reboot) == ("NEW-NAME", False)


def test_pending_reboots_are_done_with_at_boot(machine: Machine) -> None:
    machine.registry.create_key(CBS_PENDING)
    machine.files.write_text(r"C:\new", "new")
    machine.files.write_text(r"C:\old", "old")
    renames = ["\\??\\C:\\new", "!\\??\\C:\\old"]
    machine.registry.set(SESSION_MANAGER, "PendingFileRenameOperations", renames, "MultiString")
    assert machine.power.pending_reasons() == ["features", "file renames"]
    machine.power.reset()
    assert machine.files.read_text(r"C:\old") == "new"
    assert not machine.power.pending_reboot


def test_shutdowns_are_scheduled_once(machine: Machine) -> None:
    machine.power.reboot(3600)
    with pytest.raises(RuntimeError, match="1190"):
        machine.power.shutdown(0)
    assert machine.power.abort()
    assert not machine.power.abort()
    machine.power.shutdown(0)
    wait_for(lambda: machine.power.state == "off", "the machine is off")
    assert not machine.network.is_up


def test_a_generalized_image_becomes_a_new_machine(machine: Machine, tmp_path: Path) -> None:
    machine.files.write_text(r"C:\kept.txt", "kept")
    machine.registry.set(SETUP_STATE, "ImageState", GENERALIZED)
    machine.power.power_off()
    settings = MachineSettings.read({"name": "win-new", "address": "127.0.0.2"})
    other = Machine(settings, tmp_path / "other", machine.families, machine)
    other.power_on()
    assert other.sid != machine.sid
    assert other.name.startswith("WIN-")
    assert len(other.name) == 15
    assert other.name != machine.name
    assert other.files.read_text(r"C:\kept.txt") == "kept"
    assert not other.generalized
    other.files.write_text(r"C:\own.txt", "own")
    assert not machine.files.exists(r"C:\own.txt"), "the image's own disk stays as it is"
    other.power.power_off()


def test_a_plain_copy_keeps_name_and_sid(machine: Machine, tmp_path: Path) -> None:
    machine.power.power_off()
    other = Machine(
        MachineSettings.read({"name": "x", "address": "127.0.0.2"}), tmp_path / "x", machine.families, machine
    )
    other.power_on()
    assert (other.name, other.sid) == (machine.name, machine.sid)
    other.power.power_off()


def test_faults(machine: Machine) -> None:
    faults.set_fault(machine, {"kind": "disk_full", "free": 1000})
    assert machine.files.free_space() == 1000
    faults.set_fault(machine, {"kind": "disk_full", "free": None})
    assert machine.files.free_space() > 1 << 30
    with pytest.raises(ValueError, match="unknown fault kind: nope"):
        faults.set_fault(machine, {"kind": "nope"})
    with pytest.raises(ValueError, match=r"the service nope cannot crash: .*\(1062\)"):
        faults.set_fault(machine, {"kind": "service_crash", "name": "nope"})
    faults.set_fault(machine, {"kind": "service_hangs", "name": "W32Time"})
    with pytest.raises(Exception, match="1053"):
        machine.services.start("w32time")


def test_status_shows_what_differs_from_a_fresh_machine(machine: Machine) -> None:
    assert status.describe(machine)["registry"] == {}
    machine.registry.set(r"HKLM:\SOFTWARE\Demo", "a", b"\1\2", "Binary")
    machine.files.make_directory(r"C:\k")
    machine.files.write_text(r"C:\k\kubelet.conf", "x")
    found = status.describe(machine)
    assert found["registry"] == {r"HKLM\SOFTWARE\Demo": {"a": {"kind": "Binary", "value": [1, 2]}}}
    files = found["files"]
    assert isinstance(files, dict)
    assert files[r"C:\k\kubelet.conf"]["size"] == 1
    assert found["hostname"] == "win-a"
