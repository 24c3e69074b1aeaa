# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What identifies a machine and its users: certificates, the id of the update client, accounts, profiles, apps."""

from __future__ import annotations

from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.machine import accounts, certificate_store
from simulator.machine.endpoint import MachineHost
from simulator.machine.machine import Machine
from simulator.windows.system import machine_identity
from simulator.windows.system.sysprep_faults import FAULTS

pytestmark = pytest.mark.waits

SYSPREP = r"C:\Windows\System32\Sysprep\sysprep.exe"
WINDOWS_UPDATE = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate"


def remote_desktop(machine: Machine) -> list[str]:
    found = certificate_store.certificates(machine, machine_identity.STORE)
    return [certificate_store.thumbprint(each) for each in found]


def test_a_boot_creates_a_certificate_for_remote_desktop_only_if_there_is_none(machine: Machine) -> None:
    (first,) = remote_desktop(machine)
    machine.power.reset()
    assert remote_desktop(machine) == [first]
    certificate_store.remove(machine, machine_identity.STORE, first)
    machine.power.reset()
    (second,) = remote_desktop(machine)
    assert second != first


def test_the_update_service_keeps_its_id_until_it_is_removed(machine: Machine) -> None:
    assert machine.registry.data(WINDOWS_UPDATE, "SusClientId") is None
    machine.services.start("wuauserv")
    first = machine.registry.data(WINDOWS_UPDATE, "SusClientId")
    machine.services.stop("wuauserv")
    machine.services.start("wuauserv")
    assert machine.registry.data(WINDOWS_UPDATE, "SusClientId") == first
    machine.services.stop("wuauserv")
    machine.registry.delete(WINDOWS_UPDATE, "SusClientId")
    machine.services.start("wuauserv")
    assert machine.registry.data(WINDOWS_UPDATE, "SusClientId") not in (None, first)


def test_a_disabled_or_removed_account_cannot_log_on(make_machine: Any, shell: Any) -> None:
    machine = shell.machine
    accounts.add(machine, "builder", "User")
    shell.all("Disable-LocalUser", Name="builder")
    assert shell.one("Get-LocalUser", Name="builder")["Enabled"] is False
    shell.all("Remove-LocalUser", Name="builder")
    assert accounts.find(machine, "builder") is None
    assert "built-in accounts" in shell.error("Remove-LocalUser", Name="Administrator").message
    own = make_machine(user="packer")
    host = MachineHost(own)
    assert not host.accounts()["packer"].disabled
    account = accounts.find(own, "packer")
    assert account is not None
    account.enabled = False
    assert host.accounts()["packer"].disabled
    accounts.remove(own, account)
    assert host.accounts() == {}


def test_a_profile_outlives_its_account(shell: Any) -> None:
    machine = shell.machine
    machine.files.make_directory(r"C:\Users\builder")
    profiles = shell.all("Get-CimInstance", ClassName="Win32_UserProfile")
    (profile,) = [item for item in profiles if item["LocalPath"] == r"C:\Users\builder"]
    shell.all("Remove-CimInstance", InputObject=profile)
    assert not machine.files.exists(r"C:\Users\builder")


def test_an_app_of_one_user_is_removed_for_all_users(make_machine: Any) -> None:
    machine = make_machine(user_apps=["Contoso.App"], provisioned_apps=["Contoso.Other"], sysprep_seconds=0.0)
    lines = ["Get-AppxPackage -AllUsers | ForEach-Object { $_.PackageFullName }"]
    listed = machine.programs.run("powershell.exe", ["-Command", lines[0]]).stdout.split()
    assert listed == ["Contoso.App_1.0.0.0_x64__8wekyb3d8bbwe", "Contoso.Other_1.0.0.0_x64__8wekyb3d8bbwe"]
    removal = f"Remove-AppxPackage -Package {listed[0]} -AllUsers"
    assert machine.programs.run("powershell.exe", ["-Command", removal]).exit_code == 0
    assert machine.programs.run("powershell.exe", ["-Command", removal]).exit_code == 1
    assert machine.programs.run(SYSPREP, ["/oobe", "/generalize", "/quiet", "/quit"]).exit_code == 0


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_of_sysprep_leaves_its_text_and_its_state(make_machine: Any, name: str) -> None:
    machine = make_machine(sysprep_fault=name, sysprep_seconds=0.0)
    assert machine.programs.run(SYSPREP, ["/oobe", "/generalize", "/quiet", "/quit"]).exit_code != 0
    log = machine.files.read_text(r"C:\Windows\System32\Sysprep\Panther\setuperr.log")
    assert all(line in log for line in FAULTS[name].lines)
    state = machine.families.status["image_state"](machine)
    expected = {"validate": "IMAGE_STATE_COMPLETE", "generalize": "IMAGE_STATE_UNDEPLOYABLE"}
    assert state == expected[FAULTS[name].phase]


def test_schtasks_runs_a_task_and_reports_a_missing_one(shell: Any) -> None:
    machine = shell.machine
    action = shell.one("New-ScheduledTaskAction", Execute="cmd.exe", Argument=r"/d /c echo go> C:\go.txt")
    shell.one("Register-ScheduledTask", TaskName="seal", Action=action, User="SYSTEM")
    missing = machine.programs.run("schtasks.exe", ["/Run", "/TN", "other"])
    assert (missing.exit_code, missing.stderr.strip()) == (1, "ERROR: The system cannot find the file specified.")
    assert machine.programs.run("schtasks.exe", ["/Run", "/TN", "seal"]).exit_code == 0

    def output() -> str:
        # cmd.exe creates the file before it writes to it.
        return machine.files.read_text(r"C:\go.txt") if machine.files.is_file(r"C:\go.txt") else ""

    assert wait_for(output, "the task has written its output", 30) == "go\r\n"
    assert machine.programs.run("schtasks.exe", ["/Create", "/TN", "x"]).exit_code == 1
