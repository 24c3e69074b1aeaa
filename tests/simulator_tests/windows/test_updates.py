# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Updates: what is installed, packages by wusa.exe, DISM and installers."""

from __future__ import annotations

from typing import Any

import pytest
from simulator_tests.batches import observe
from simulator_tests.waiting import wait_for
from simulator_tests.windows.updates import (
    DECEMBER,
    FILE,
    NOVEMBER,
    dism,
    fixes,
    package_states,
    put,
    rollups,
    set_fault,
    status,
    wusa,
)

from simulator.machine import commands
from simulator.machine.machine import Machine
from simulator.machine.session import Session
from simulator.windows.updates.update_catalogue import Update

pytestmark = pytest.mark.waits


class TestFreshMachines:
    @pytest.mark.parametrize(
        ("windows", "build", "hot_fixes"),
        [
            ("2019", "17763.6532", {"KB5044016", "KB5004424", "KB5046615", "KB5043126"}),
            ("2022", "20348.2849", {"KB5044025", "KB5046616", "KB5044414"}),
            ("2025", "26100.2314", {"KB5046617"}),
        ],
    )
    def test_have_the_updates_of_november_2024(
        self, server: Any, shell: Any, windows: str, build: str, hot_fixes: set[str]
    ) -> None:
        machine = server(windows)
        assert fixes(machine, shell) == hot_fixes
        assert rollups(machine, shell) == {build: "Installed"}
        assert not any("KB5046" in name for name in package_states(machine, shell)), "no article in a rollup's name"
        assert machine.registry.data(r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion", "UBR") == int(
            build.partition(".")[2]
        )
        assert status(machine)["build"] == build

    def test_an_update_of_the_fleet_file_sets_the_build(self, server: Any, shell: Any) -> None:
        machine = server(updates=[NOVEMBER, DECEMBER])
        assert machine.windows.full == "10.0.20348.2966"
        assert fixes(machine, shell) == {DECEMBER}, "what it replaces is listed no more"
        assert rollups(machine, shell) == {"20348.2849": "Superseded", "20348.2966": "Installed"}

    def test_the_build_may_be_given(self, server: Any, shell: Any) -> None:
        machine = server("2025", updates=[], ubr=1)
        assert (machine.windows.ubr, fixes(machine, shell)) == (1, set())


class TestStandaloneInstaller:
    def test_a_cumulative_update_needs_a_reboot_to_be_installed(self, server: Any, shell: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        assert wusa(machine) == 3010
        assert machine.power.pending_reasons() == ["features", "updates", "file renames"]
        assert fixes(machine, shell) >= {NOVEMBER}
        assert DECEMBER not in fixes(machine, shell)
        assert rollups(machine, shell) == {"20348.2849": "Installed", "20348.2966": "InstallPending"}
        assert (machine.windows.ubr, status(machine)["pending"]) == (2849, [DECEMBER])
        machine.power.reset()
        assert (machine.windows.full, machine.power.pending_reasons()) == ("10.0.20348.2966", [])
        assert DECEMBER in fixes(machine, shell)
        assert NOVEMBER not in fixes(machine, shell)
        assert rollups(machine, shell) == {"20348.2849": "Superseded", "20348.2966": "Installed"}

    def test_an_update_without_a_reboot_is_installed_at_once(self, server: Any, shell: Any) -> None:
        machine = server()
        put(machine, Update("KB5999001", reboots=0))
        assert (wusa(machine), machine.power.pending_reboot) == (0, False)
        assert "KB5999001" in fixes(machine, shell)

    @pytest.mark.parametrize(
        ("update", "code"),
        [
            (NOVEMBER, 2359302),
            ("KB5044281", -2145124329),
            (Update("KB5999001", builds=(17763,)), -2145124329),
            (Update("KB5999001", needs_ubr=9999), -2145124329),
        ],
        ids=["installed", "superseded", "of another Windows", "of a later build"],
    )
    def test_updates_that_cannot_be_installed(self, server: Any, update: Update | str, code: int) -> None:
        machine = server()
        put(machine, update)
        before = status(machine)
        assert (wusa(machine), status(machine)) == (code, before)

    def test_a_pending_update_counts_as_installed(self, server: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        assert [wusa(machine), wusa(machine)] == [3010, 2359302]

    def test_files_that_are_not_packages(self, server: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        data = machine.files.read_bytes(FILE)
        for content, code in (
            (b"<html>404</html>", 13),
            (b"", 13),
            (data[: len(data) - 1], 1392),
            (data[:-5] + b"X" + data[-4:], 1392),
            (data[:200], 1392),
        ):
            machine.files.write_bytes(FILE, content)
            assert (wusa(machine), status(machine)["pending"]) == (code, [])
        assert wusa(machine, r"C:\none.msu") == 2

    def test_signatures_decide(self, server: Any) -> None:
        machine = server()
        put(machine, Update("KB5999001"), signer=None)
        assert wusa(machine) == 0x800B0100 - (1 << 32)
        put(machine, Update("KB5999001"), signer="private")
        assert wusa(machine) == 0x800B0109 - (1 << 32)

    def test_a_network_logon_is_refused(self, server: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        assert (wusa(machine, user="Administrator"), status(machine)["working"]) == (5, "")
        task = {"Execute": "wusa.exe", "Argument": f"{FILE} /quiet /norestart"}
        (action,) = commands.run(machine, "New-ScheduledTaskAction", task).objects
        register = {"TaskName": "patch", "Action": [action], "User": "Administrator", "Password": "x"}
        commands.run(machine, "Register-ScheduledTask", register)
        commands.run(machine, "Start-ScheduledTask", {"TaskName": "patch"})
        wait_for(lambda: status(machine)["pending"] == [DECEMBER])

    def test_a_process_made_by_wmi_is_of_the_same_logon(self, server: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        process = machine.processes.begin("powershell.exe", "Administrator")
        create = {
            "ClassName": "Win32_Process",
            "MethodName": "Create",
            "Arguments": {"CommandLine": f"wusa.exe {FILE} /quiet /norestart"},
        }
        call = {"id": "a", "command": "Invoke-CimMethod", "parameters": create}
        assert observe(Session(machine, process, "Administrator"), call)["calls"]["a"]["ok"]
        wait_for(lambda: not [item for item in machine.processes.all() if item.name == "wusa.exe"])
        assert status(machine)["pending"] == []

    def test_the_installation_needs_the_update_service(self, server: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        machine.services.configure("wuauserv", Start=4)
        assert wusa(machine) == 1058
        machine.services.configure("wuauserv", Start=3)
        assert wusa(machine) == 3010

    def test_without_norestart_the_machine_reboots(self, server: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        boots = machine.power.boots
        assert machine.programs.run("wusa.exe", [FILE, "/quiet"]).exit_code == 1641
        wait_for(lambda: machine.power.boots == boots + 1 and machine.power.state == "on")
        assert machine.windows.ubr == 2966

    def test_a_full_disk(self, server: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        set_fault(machine, kind="disk_full", free=1 << 20)
        assert (wusa(machine), status(machine)["pending"], status(machine)["working"]) == (112, [], "")
        set_fault(machine, kind="disk_full", free=None)
        assert wusa(machine) == 3010

    def test_an_update_that_is_not_installed_cannot_be_removed(self, server: Any) -> None:
        assert server().programs.run("wusa.exe", ["/uninstall", "/kb:5999001", "/quiet"]).exit_code == 2359303


class TestDism:
    def test_a_cabinet_in_a_network_logon(self, server: Any) -> None:
        machine = server()
        put(machine, DECEMBER, r"C:\patches\lcu.cab")
        result = dism(machine, r"C:\patches\lcu.cab")
        assert (result.exit_code, "completed successfully" in result.stdout) == (3010, True)
        assert machine.power.pending_reasons() == ["features", "file renames"], "it is not Windows Update's"
        machine.power.reset()
        assert machine.windows.ubr == 2966
        assert dism(machine, r"C:\patches\lcu.cab").exit_code == 0, "it is there already"

    def test_a_superseded_update_is_not_applicable(self, server: Any) -> None:
        machine = server()
        put(machine, "KB5044281", r"C:\patches\lcu.cab")
        result = dism(machine, r"C:\patches\lcu.cab")
        assert (result.exit_code, "0x800f081e" in result.stdout) == (0x800F081E - (1 << 32), True)

    def test_checkpoints_are_in_the_folder_of_the_target(self, server: Any) -> None:
        machine = server("2025", updates=[], ubr=1)
        put(machine, "KB5048667", r"C:\patches\windows11.0-kb5048667-x64.msu")
        assert wusa(machine, r"C:\patches\windows11.0-kb5048667-x64.msu") != 3010
        assert dism(machine, r"C:\patches\windows11.0-kb5048667-x64.msu").exit_code == 0x800F081F - (1 << 32)
        put(machine, "KB5043080", r"C:\patches\windows11.0-kb5043080-x64.msu")
        assert dism(machine, r"C:\patches\windows11.0-kb5048667-x64.msu").exit_code == 3010
        machine.power.reset()
        assert machine.windows.ubr == 2605

    def test_a_machine_past_the_checkpoint_needs_no_other_file(self, server: Any) -> None:
        machine = server("2025")
        put(machine, "KB5048667")
        assert dism(machine, FILE).exit_code == 3010

    def test_older_windows_takes_no_msu_into_the_running_system(self, server: Any) -> None:
        machine = server("2022")
        put(machine, DECEMBER)
        assert dism(machine, FILE).exit_code == 50
        assert wusa(machine) == 3010

    def test_the_cmdlet(self, server: Any, shell: Any) -> None:
        machine = shell.machine = server()
        put(machine, DECEMBER, r"C:\patches\lcu.cab")
        found = shell.one("Add-WindowsPackage", Online=True, PackagePath=r"C:\patches\lcu.cab", NoRestart=True)
        assert found["RestartNeeded"] is True
        put(machine, "KB5044281", r"C:\patches\old.cab")
        error = shell.error("Add-WindowsPackage", Online=True, PackagePath=r"C:\patches\old.cab", NoRestart=True)
        assert error.message == "Add-WindowsPackage failed. Error code = 0x800f081e"
        assert shell.error("Add-WindowsPackage", Online=True, PackagePath=r"C:\none.cab").message.startswith(
            "The system cannot find"
        )

    def test_packages_are_listed_and_cleaned_up(self, server: Any) -> None:
        machine = server(updates=[NOVEMBER, DECEMBER])
        listing = machine.programs.run("dism.exe", ["/Online", "/Get-Packages"]).stdout
        assert "~~20348.2849.1.0\r\nState : Superseded" in listing
        machine.programs.run("dism.exe", ["/Online", "/Cleanup-Image", "/StartComponentCleanup"])
        assert "20348.2849" not in machine.programs.run("dism.exe", ["/Online", "/Get-Packages"]).stdout


class TestInstallers:
    PATH = r"C:\patches\fix.exe"

    def run(self, machine: Machine, *arguments: str) -> int:
        return machine.programs.run(self.PATH, list(arguments), user="Administrator").exit_code

    def test_exit_codes(self, server: Any, shell: Any) -> None:
        machine = server()
        put(machine, Update("KB5999001", reboots=1), self.PATH)
        assert self.run(machine, "/q", "/norestart") == 3010
        machine.power.reset()
        assert "KB5999001" in fixes(machine, shell)
        assert self.run(machine, "/quiet", "/norestart") == 0
        put(machine, Update("KB5999002", exit_code=1603), self.PATH)
        assert self.run(machine, "/q", "/norestart") == 1603
        put(machine, Update("KB5999003", builds=(17763,)), self.PATH)
        assert self.run(machine, "/q", "/norestart") == -2145124329

    def test_an_update_that_only_replaces_files(self, server: Any) -> None:
        machine = server()
        put(machine, Update("KB5999001", package="", hot_fix=""), self.PATH)
        assert self.run(machine, "/q", "/norestart") == 3010
        assert machine.power.pending_reasons() == ["file renames"]

    def test_a_broken_one(self, server: Any) -> None:
        machine = server()
        put(machine, Update("KB5999001"), self.PATH)
        machine.files.write_bytes(self.PATH, machine.files.read_bytes(self.PATH)[:-1])
        assert self.run(machine, "/q", "/norestart") == 1392
