# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""sysprep: what it rejects, its states, and the changes of the next boot."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.machine.machine import SETUP_STATE, Machine
from simulator.machine.objects import ProcessEndedError, ProgramResult
from simulator.machine.power import CBS_PENDING
from simulator.machine.settings import MachineSettings

pytestmark = pytest.mark.waits

SYSPREP = r"C:\Windows\System32\Sysprep\sysprep.exe"
ARGUMENTS = ["/oobe", "/generalize", "/mode:vm", "/quiet", "/quit"]
PANTHER = r"C:\Windows\System32\Sysprep\Panther"


def seal(machine: Machine, *more: str, **options: Any) -> ProgramResult:
    return machine.programs.run(SYSPREP, [*ARGUMENTS, *more], **options)


def state(machine: Machine) -> object:
    return machine.registry.data(SETUP_STATE, "ImageState")


def test_sysprep_blocks_until_the_disk_is_generalized(make_machine: Any) -> None:
    machine = make_machine(sysprep_seconds=0.5)
    assert state(machine) == "IMAGE_STATE_COMPLETE"
    thread = threading.Thread(target=seal, args=[machine])
    thread.start()
    time.sleep(0.2)
    assert state(machine) == "IMAGE_STATE_UNDEPLOYABLE"
    thread.join()
    assert state(machine) == "IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE"
    assert machine.power.state == "on"
    assert machine.files.is_file(r"C:\Windows\System32\Sysprep\Sysprep_succeeded.tag")


def test_the_next_boot_is_a_new_machine(make_machine: Any, tmp_path: Any) -> None:
    machine = make_machine(sysprep_seconds=0.0)
    assert seal(machine).exit_code == 0
    machine.services.configure("WinRM", DelayedAutostart=1)
    machine.power.power_off()
    settings = MachineSettings.read({"name": "image", "address": "127.0.0.99", "reboot_seconds": 0.01})
    deployed = Machine(settings, tmp_path / "deployed", source=machine)
    deployed.power_on()
    assert deployed.name.startswith("WIN-")
    assert deployed.sid != machine.sid
    assert state(deployed) == "IMAGE_STATE_COMPLETE"
    winrm = deployed.services.get("WinRM")
    assert winrm is not None
    assert not winrm.delayed
    deployed.power.power_off()


def test_an_answer_file_names_the_machine(make_machine: Any) -> None:
    machine = make_machine(sysprep_seconds=0.0)
    answers = "<unattend><ComputerName>golden-1</ComputerName><TimeZone>Pacific Standard Time</TimeZone></unattend>"
    machine.files.write_text(r"C:\answers.xml", answers)
    assert seal(machine, r"/unattend:C:\answers.xml").exit_code == 0
    machine.power.reset()
    assert (machine.name, machine.host_name) == ("GOLDEN-1", "golden-1")


def test_an_app_of_one_user_is_refused(make_machine: Any) -> None:
    machine = make_machine(user_apps=["Contoso.App", "Contoso.Other"], provisioned_apps=["Contoso.Other"])
    assert seal(machine).exit_code != 0
    assert state(machine) == "IMAGE_STATE_COMPLETE"
    log = machine.files.read_text(f"{PANTHER}\\setuperr.log")
    assert "Package Contoso.App was installed for a user, but not provisioned for all users." in log
    assert "Contoso.Other" not in log


def test_updates_that_wait_for_a_restart_are_refused(make_machine: Any) -> None:
    machine = make_machine(sysprep_seconds=0.0)
    machine.registry.create_key(CBS_PENDING, volatile=True)
    assert seal(machine).exit_code != 0
    assert "updates that require a reboot" in machine.files.read_text(f"{PANTHER}\\setuperr.log")
    machine.power.reset()
    assert seal(machine).exit_code == 0


def test_a_failure_on_the_way_leaves_the_disk_undeployable(make_machine: Any) -> None:
    machine = make_machine(sysprep_seconds=0.0, sysprep_fault="generalize")
    assert seal(machine).exit_code != 0
    assert state(machine) == "IMAGE_STATE_UNDEPLOYABLE"


def test_the_wait_ends_with_syspreps_process(make_machine: Any) -> None:
    machine = make_machine(sysprep_seconds=30.0)
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(ProcessEndedError):
        seal(machine, stop=stop)
    assert state(machine) == "IMAGE_STATE_UNDEPLOYABLE"


def test_sysprep_shuts_down_unless_quit_is_requested(make_machine: Any) -> None:
    machine = make_machine(sysprep_seconds=0.0)
    machine.programs.run(SYSPREP, ["/oobe", "/generalize", "/quiet"])
    wait_for(lambda: machine.power.state == "off", "the machine is off")


@pytest.mark.parametrize("arguments", [["/frobnicate"], [], ["/oobe", "/audit"], ["/mode:hyperv"]])
def test_invalid_options_of_sysprep_are_refused(machine: Machine, arguments: list[str]) -> None:
    assert machine.programs.run(SYSPREP, arguments).exit_code == 87
    assert state(machine) == "IMAGE_STATE_COMPLETE"
