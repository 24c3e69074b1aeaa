# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Helpers for the tests of updates: files on a machine, programs that install them, and the states afterwards."""

from __future__ import annotations

import threading
from typing import Any

from simulator_tests.waiting import wait_for

from simulator.machine import faults
from simulator.machine.machine import Machine
from simulator.machine.objects import ProcessEndedError, ProgramResult
from simulator.windows.updates import update_catalogue, update_package
from simulator.windows.updates.update_catalogue import Update

NOVEMBER, DECEMBER = "KB5046616", "KB5048654"
# Updates are installed within milliseconds.
QUICK: dict[str, Any] = {"update_seconds": 1, "update_settle_seconds": 1, "time_scale": 0.001}
FILE = r"C:\patches\update.msu"


def put(machine: Machine, update: Update | str, path: str = FILE, **options: Any) -> Update:
    """Write an update's file to the machine, and return the update."""
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


def settled(machine: Machine) -> None:
    wait_for(lambda: not [process for process in machine.processes.all() if process.name == "TiWorker.exe"])


def set_fault(machine: Machine, **fault: object) -> None:
    faults.set_fault(machine, fault)


def ask_and_vanish(machine: Machine) -> None:
    """Run wusa.exe in a process that may end before wusa.exe."""
    stop = threading.Event()
    process = machine.processes.begin("test.exe", "SYSTEM", stop)
    try:
        machine.programs.run("wusa.exe", [FILE, "/quiet", "/norestart"], stop=process.stop)
    except ProcessEndedError:
        return
