# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The disk: every program uses its space, deleting files frees space, and all programs see the same free space."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable

import pytest
from simulator_tests.batches import observe

from simulator.artifacts import ArtifactServer
from simulator.machine.files import GIGABYTE, DiskFullError
from simulator.machine.machine import Machine
from simulator.machine.session import Session

from .conftest import Shell

MakeMachine = Callable[..., Machine]


def test_an_image_of_30_gb_is_one_until_it_is_resized(make_machine: MakeMachine) -> None:
    machine = make_machine(disk_gb=30, unallocated_gb=34)
    shell = Shell(machine)
    volume = shell.one("Get-Volume", DriveLetter="C")
    assert volume["Size"] == 30 * GIGABYTE
    free = machine.files.free_space()
    assert volume["SizeRemaining"] == free < 30 * GIGABYTE
    most = shell.one("Get-PartitionSupportedSize", DriveLetter="C")["SizeMax"]
    shell.all("Resize-Partition", DriveLetter="C", Size=most)
    assert shell.one("Get-Volume", DriveLetter="C")["SizeRemaining"] == free + 34 * GIGABYTE
    assert machine.files.free_space() == free + 34 * GIGABYTE


def test_each_drive_is_on_its_own_disk(make_machine: MakeMachine) -> None:
    shell = Shell(make_machine(drives=["C", "E"]))
    numbers = [disk["Number"] for disk in shell.all("Get-Disk")]
    assert numbers == [partition["DiskNumber"] for partition in shell.all("Get-Partition")] == [0, 1]


def test_parallel_downloads_never_exceed_the_free_space(machine: Machine) -> None:
    size = 300_000
    with ArtifactServer() as server:
        server.put("/example.com/x", bytes(size))
        machine.files.reserved += machine.files.free_space() - size * 2

        def load(number: int) -> int:
            words = ["-sS", "-o", f"C:\\{number}", server.url + "/example.com/x"]
            return machine.programs.run("curl.exe", words).exit_code

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            codes = list(pool.map(load, range(4)))
    assert set(codes) <= {0, 23}
    assert 23 in codes
    there = sum(entry.size for entry in machine.files.listing("C:\\") if entry.name in "0123")
    assert there <= size * 2


def test_deleting_a_file_frees_its_space(machine: Machine) -> None:
    machine.files.reserved += machine.files.free_space() - 100_000
    machine.files.write_bytes(r"C:\a", bytes(90_000))
    with pytest.raises(DiskFullError):
        machine.files.write_bytes(r"C:\b", bytes(90_000))
    machine.files.delete(r"C:\a")
    machine.files.write_bytes(r"C:\b", bytes(90_000))
    assert machine.files.free_space() == 10_000


def test_batches_see_the_same_disk(make_machine: MakeMachine) -> None:
    machine = make_machine(disk_gb=30)
    machine.files.write_bytes(r"C:\file", bytes(1_000_000))
    session = Session(machine, machine.processes.begin("powershell.exe", "Administrator"), "Administrator")
    call = {"id": "space", "command": "@free-space", "parameters": {"path": "C:\\"}, "select": ["free", "total"]}
    (space,) = observe(session, call)["calls"]["space"]["output"]
    assert (space["free"], space["total"]) == (machine.files.free_space(), 30 * GIGABYTE)
