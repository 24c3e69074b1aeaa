# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Updates: what is installed, packages by wusa.exe, DISM and installers, the boot after them, what goes wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from simulator_tests.batches import observe

from simulator.machine import commands, faults
from simulator.machine.machine import Machine
from simulator.machine.objects import ProcessEndedError, ProgramResult
from simulator.machine.session import Session
from simulator.machine.settings import Settings
from simulator.windows import update_catalogue, update_package
from simulator.windows.component_store import store_of
from simulator.windows.update_catalogue import Update

NOVEMBER, DECEMBER, JANUARY = "KB5046616", "KB5048654", "KB5049983"
QUICK = {"update_seconds": 1, "update_settle_seconds": 1, "time_scale": 0.001}
FILE = r"C:\patches\update.msu"


@pytest.fixture
def server(make_machine: Any) -> Callable[..., Machine]:
    """Make a machine whose updates take no time to speak of."""

    def make(windows: str = "2022", **entry: object) -> Machine:
        machine: Machine = make_machine(windows, **{**QUICK, **entry})
        return machine

    return make


def put(machine: Machine, update: Update | str, path: str = FILE, **options: Any) -> Update:
    """Lay an update's file on the machine."""
    found = update_catalogue.find(update, machine.windows.build) if isinstance(update, str) else update
    assert found is not None
    container: Any = path.rpartition(".")[2]
    machine.files.make_directory(path.rpartition("\\")[0])
    machine.files.write_bytes(path, update_package.make(found, container, **options))
    return found


def wusa(machine: Machine, path: str = FILE, user: str = "NT AUTHORITY\\SYSTEM") -> int:
    return machine.programs.run("wusa.exe", [path, "/quiet", "/norestart"], user=user).exit_code


def dism(machine: Machine, path: str) -> ProgramResult:
    arguments = ["/online", "/add-package", f"/packagepath:{path}", "/quiet", "/norestart"]
    return machine.programs.run("dism.exe", arguments, user="Administrator")


def fixes(machine: Machine, shell: Any) -> set[str]:
    shell.machine = machine
    return {str(item["HotFixID"]) for item in shell.all("Get-HotFix")}


def package_states(machine: Machine, shell: Any) -> dict[str, str]:
    shell.machine = machine
    found = shell.all("Get-WindowsPackage", Online=True)
    return {str(item["PackageName"]): str(item["PackageState"]) for item in found}


def rollups(machine: Machine, shell: Any) -> dict[str, str]:
    """Return the states of cumulative updates by build and UBR."""
    states = package_states(machine, shell)
    rollup = {name: state for name, state in states.items() if name.startswith("Package_for_RollupFix~")}
    return {name.rpartition("~")[2].removesuffix(".1.0"): state for name, state in rollup.items()}


def status(machine: Machine) -> dict[str, Any]:
    found = machine.families.status["updates"](machine)
    assert isinstance(found, dict)
    return found


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def settled(machine: Machine) -> None:
    wait_for(lambda: not [process for process in machine.processes.all() if process.name == "TiWorker.exe"])


def set_fault(machine: Machine, **fault: object) -> None:
    faults.set_fault(machine, fault)


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
    def test_what_is_not_to_be_installed(self, server: Any, update: Update | str, code: int) -> None:
        machine = server()
        put(machine, update)
        before = status(machine)
        assert (wusa(machine), status(machine)) == (code, before)

    def test_a_pending_update_counts_as_installed(self, server: Any) -> None:
        machine = server()
        put(machine, DECEMBER)
        assert [wusa(machine), wusa(machine)] == [3010, 2359302]

    def test_files_that_are_no_packages(self, server: Any) -> None:
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

    def test_it_needs_the_update_service(self, server: Any) -> None:
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

    def test_what_is_superseded_is_not_applicable(self, server: Any) -> None:
        machine = server()
        put(machine, "KB5044281", r"C:\patches\lcu.cab")
        result = dism(machine, r"C:\patches\lcu.cab")
        assert (result.exit_code, "0x800f081e" in result.stdout) == (0x800F081E - (1 << 32), True)

    def test_checkpoints_lie_beside_the_target(self, server: Any) -> None:
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

    def test_one_that_only_replaces_files(self, server: Any) -> None:
        machine = server()
        put(machine, Update("KB5999001", package="", hot_fix=""), self.PATH)
        assert self.run(machine, "/q", "/norestart") == 3010
        assert machine.power.pending_reasons() == ["file renames"]

    def test_a_broken_one(self, server: Any) -> None:
        machine = server()
        put(machine, Update("KB5999001"), self.PATH)
        machine.files.write_bytes(self.PATH, machine.files.read_bytes(self.PATH)[:-1])
        assert self.run(machine, "/q", "/norestart") == 1392


class TestTheBoot:
    def test_the_update_stack_works_on_after_it(self, server: Any) -> None:
        machine = server(update_settle_seconds=100000)
        put(machine, DECEMBER)
        wusa(machine)
        machine.power.reset()
        names = {process.name for process in machine.processes.all()}
        assert {"TiWorker.exe", "TrustedInstaller.exe"} <= names
        service = machine.services.get("TrustedInstaller")
        assert service is not None
        assert (service.state, service.start) == ("Running", 2)

    def test_then_it_rests(self, server: Any) -> None:
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
        settings = Settings.read({"name": "clone", "address": "127.0.0.99", **QUICK})
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

    def test_one_that_fails_for_good(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_fails", kb="*", times=None)
        put(machine, DECEMBER)
        assert {wusa(machine) for _ in range(3)} == {0x800F0922 - (1 << 32)}
        set_fault(machine, kind="update_faults_clear")
        assert wusa(machine) == 3010

    def test_one_that_fails_at_the_boot_is_undone(self, server: Any, shell: Any) -> None:
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
    def test_power_that_goes_in_the_middle(self, server: Any, action: str) -> None:
        machine = server()
        set_fault(machine, kind="update_cut", kb=DECEMBER, action=action)
        put(machine, DECEMBER)
        boots = machine.power.boots
        started = threading.Thread(target=lambda: _ignore_the_end(machine))
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

    def test_power_that_goes_at_the_boot(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_cut", kb=DECEMBER, at="boot")
        put(machine, DECEMBER)
        wusa(machine)
        boots = machine.power.boots
        machine.power.reset()
        wait_for(lambda: machine.power.boots == boots + 2 and machine.power.state == "on")
        assert (machine.windows.ubr, status(machine)["pending"]) == (2849, [])

    def test_a_link_that_goes_does_not_stop_it(self, server: Any) -> None:
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
    def test_what_is_no_fault(self, server: Any, fault: dict[str, object]) -> None:
        machine = server()
        with pytest.raises(ValueError, match=r"hresult|at is|action is|has no"):
            set_fault(machine, **fault)


def _ignore_the_end(machine: Machine) -> None:
    stop = threading.Event()
    process = machine.processes.begin("test.exe", "SYSTEM", stop)
    try:
        machine.programs.run("wusa.exe", [FILE, "/quiet", "/norestart"], stop=process.stop)
    except ProcessEndedError:
        return


class TestOneAtATime:
    def test_another_installation_runs(self, server: Any) -> None:
        machine = server()
        set_fault(machine, kind="update_slow", kb=DECEMBER, seconds=1000000)
        put(machine, DECEMBER)
        put(machine, Update("KB5999001"), r"C:\patches\other.msu")
        started = threading.Thread(target=lambda: _ignore_the_end(machine))
        started.start()
        wait_for(lambda: status(machine)["working"] == DECEMBER)
        assert {"TiWorker.exe", "TrustedInstaller.exe"} <= {process.name for process in machine.processes.all()}
        assert wusa(machine, r"C:\patches\other.msu") == 1618
        machine.power.power_off()
        started.join()

    def test_it_goes_on_when_who_asked_has_gone(self, server: Any) -> None:
        machine = server(update_seconds=300)
        put(machine, DECEMBER)
        started = threading.Thread(target=lambda: _ignore_the_end(machine))
        started.start()
        wait_for(lambda: status(machine)["working"] == DECEMBER)
        (asked,) = [process for process in machine.processes.all() if process.name == "wusa.exe"]
        machine.processes.kill(asked)
        wait_for(lambda: status(machine)["pending"] == [DECEMBER])
        started.join()

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


class TestTestSigning:
    def fix(self) -> Update:
        return Update("KB5999001", test_signed=True)

    def test_a_private_fix_loads_only_when_it_is_on(self, server: Any) -> None:
        machine = server(secure_boot=False)
        put(machine, self.fix())
        assert wusa(machine) == 3010
        machine.power.reset()
        assert status(machine)["not_loaded"] == ["KB5999001"]
        assert machine.programs.run("bcdedit.exe", ["/set", "testsigning", "on"]).exit_code == 0
        assert status(machine)["test_signing"] == {"set": True, "active": False}
        assert status(machine)["not_loaded"] == ["KB5999001"], "it needs a reboot to take effect"
        machine.power.reset()
        assert status(machine)["not_loaded"] == []
        control = r"HKLM:\SYSTEM\CurrentControlSet\Control"
        assert "TESTSIGNING" in str(machine.registry.data(control, "SystemStartOptions"))
        listing = machine.programs.run("bcdedit.exe", ["/enum"]).stdout.splitlines()
        assert "testsigning             Yes" in listing

    def test_it_can_be_turned_off(self, server: Any) -> None:
        machine = server(secure_boot=False)
        for arguments in (["-set", "TESTSIGNING", "ON"], ["/set", "{current}", "testsigning", "off"]):
            assert machine.programs.run("bcdedit.exe", arguments).exit_code == 0
        machine.power.reset()
        assert status(machine)["test_signing"] == {"set": False, "active": False}

    def test_secure_boot_forbids_it(self, server: Any, shell: Any) -> None:
        machine = shell.machine = server()
        result = machine.programs.run("bcdedit.exe", ["/set", "testsigning", "on"])
        assert (result.exit_code, "protected by Secure Boot policy" in result.stderr) == (1, True)
        state = r"HKLM:\SYSTEM\CurrentControlSet\Control\SecureBoot\State"
        assert machine.registry.data(state, "UEFISecureBootEnabled") == 1
        assert not server(secure_boot="none").registry.key_exists(state)


class TestSignatures:
    @pytest.mark.parametrize(
        ("update", "signer", "expected"),
        [
            (Update("KB5999001"), "microsoft", "Valid"),
            (Update("KB5999001", test_signed=True), "microsoft", "UnknownError"),
            (Update("KB5999001"), "private", "UnknownError"),
            (Update("KB5999001"), None, "NotSigned"),
        ],
    )
    def test_states(self, server: Any, shell: Any, update: Update, signer: str | None, expected: str) -> None:
        machine = shell.machine = server()
        put(machine, update, signer=signer)
        found = shell.one("Get-AuthenticodeSignature", LiteralPath=FILE)
        assert str(found["Status"]) == expected
        certificate = found["SignerCertificate"]
        assert (certificate is None) == (signer is None)
        if certificate is not None:
            assert certificate["Thumbprint"] in {item.thumbprint for item in update_package.SIGNERS.values()}
            assert str(certificate["Subject"]).startswith("CN=")

    def test_a_byte_that_changed(self, server: Any, shell: Any) -> None:
        machine = shell.machine = server()
        put(machine, Update("KB5999001"))
        machine.files.write_bytes(FILE, machine.files.read_bytes(FILE)[:-1] + b"!")
        found = shell.one("Get-AuthenticodeSignature", FilePath=FILE)
        assert str(found["Status"]) == "HashMismatch"

    def test_windows_own_files_and_no_files(self, server: Any, shell: Any) -> None:
        shell.machine = server()
        own = shell.one("Get-AuthenticodeSignature", FilePath=r"C:\Windows\System32\wusa.exe")
        assert (str(own["Status"]), own["IsOSBinary"]) == ("Valid", True)
        error = shell.error("Get-AuthenticodeSignature", FilePath=r"C:\none.msu")
        assert error.error_id.startswith("SignatureCommandsBaseFileNotFound")


def test_a_package_is_the_same_bytes_each_time() -> None:
    update = update_catalogue.find(DECEMBER)
    assert update is not None
    assert update_package.make(update) == update_package.make(update)
    assert len(update_package.make(update, size=100_000)) in range(99_000, 101_000)


def test_the_catalogue_knows_what_replaces_what() -> None:
    for build in (17763, 20348, 26100):
        updates = update_catalogue.for_build(build)
        cumulative = [update for update in updates if update.chain == update_catalogue.CUMULATIVE]
        assert [update.ubr for update in cumulative] == sorted(update.ubr for update in cumulative)
        newest = [update for update in update_catalogue.newest(updates) if update.ubr]
        assert newest == [cumulative[-1]]
    with pytest.raises(ValueError, match="has no colour"):
        update_catalogue.read({"kb": "KB1", "colour": "red"})
