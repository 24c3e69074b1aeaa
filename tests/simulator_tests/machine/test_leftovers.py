# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Partial files of killed processes are removed by the next write in the same folder, or by a sweep."""

from __future__ import annotations

import pytest
from simulator_tests.batches import observe
from simulator_tests.machine.conftest import MachineFactory
from simulator_tests.waiting import wait_for

from simulator.machine.machine import Machine
from simulator.machine.processes import Process
from simulator.machine.session import Session
from wire_provider import detached

pytestmark = pytest.mark.waits

LEFT = (r"C:\k\token.yaml~0a1b2c3d.part", "C:\\k\\other." + "0a" * 16 + ".part")
KEPT = (r"C:\k\containerd.zip.part", r"C:\k\x.0a1b2c3d.part", r"C:\elsewhere\token.yaml~0a1b2c3d.part")


def test_the_next_write_into_the_folder_deletes_them(session: Session) -> None:
    files = session.machine.files
    for path in (*LEFT, *KEPT):
        files.make_directory(path.rpartition("\\")[0])
        files.write_text(path, "x")
    observe(session, {"id": "w", "command": "@write-file", "parameters": {"path": r"C:\k\new", "content": "x"}})
    assert [files.exists(path) for path in (*LEFT, *KEPT)] == [False, False, True, True, True]
    assert sorted(entry.name for entry in files.listing(r"C:\k")) == ["containerd.zip.part", "new", "x.0a1b2c3d.part"]


def test_a_claim_deletes_recorded_leftovers(session: Session) -> None:
    files = session.machine.files
    noted, foreign = KEPT[2], r"C:\elsewhere\important"
    for folder in (r"C:\elsewhere", detached.FOLDER):
        files.make_directory(folder)
    for path in (noted, foreign):
        files.write_text(path, "x")
    files.write_text(detached.FOLDER + r"\0a1b2c3d.note", noted)
    files.write_text(detached.FOLDER + r"\11111111.note", foreign)
    observe(session, {"id": "a", "command": "Get-Date"}, key="sweeping-key")
    assert not files.exists(noted)
    assert files.exists(foreign), "only what is named as parts are"
    assert not files.exists(detached.FOLDER + r"\0a1b2c3d.note")


def _session(machine: Machine, process: Process | None = None) -> Session:
    return Session(machine, process or machine.processes.begin("powershell.exe", "Administrator"), "Administrator")


def test_a_process_that_is_killed_leaves_its_part(make_machine: MachineFactory) -> None:
    machine = make_machine(time_scale=1)
    files = machine.files
    files.make_directory(r"C:\k")
    files.write_text(r"C:\k\held", "before")
    observe(_session(machine), {"id": "a", "command": "Get-Date"}, key="first-key")

    def write(process: Process) -> None:
        session = _session(machine, process)
        call = {"id": "w", "command": "@write-file", "parameters": {"path": r"C:\k\held", "content": "after"}}
        observe(session, call, key="second-key")

    def parts() -> list[str]:
        return [entry.path for entry in files.listing(r"C:\k") if entry.name.endswith(".part")]

    def notes() -> list[str]:
        return [entry.path for entry in files.listing(detached.FOLDER) if entry.name.endswith(".note")]

    with files.open.hold(r"C:\k\held", "r", "r"):
        writer = machine.processes.detach("powershell.exe", "Administrator", write)
        wait_for(lambda: parts() and files.read_text(parts()[0]) == "after", "the partial file is written")
        # The writer still runs: neither a write in the same folder nor a sweep removes its partial file.
        near = {"id": "w", "command": "@write-file", "parameters": {"path": r"C:\k\near", "content": "x"}}
        observe(_session(machine), near, key="third-key")
        assert (len(parts()), len(notes())) == (1, 1)
        machine.processes.kill(writer)
        assert writer.ended.wait(60)
    assert (len(parts()), len(notes())) == (1, 1), "nobody tidies up after a process that was killed"
    assert files.read_text(notes()[0]) == parts()[0]
    assert files.read_text(r"C:\k\held") == "before"
    observe(_session(machine), {"id": "a", "command": "Get-Date"}, key="fourth-key")
    assert (parts(), notes()) == ([], [])


def test_a_write_that_fails_leaves_nothing(make_machine: MachineFactory) -> None:
    machine = make_machine()
    machine.files.make_directory(r"C:\k")
    machine.files.write_text(r"C:\k\held", "before")
    call = {"id": "w", "command": "@write-file", "parameters": {"path": r"C:\k\held", "content": "after"}}
    with machine.files.open.hold(r"C:\k\held", "r", "r"):
        found = observe(_session(machine), {**call, "on_error": "continue"}, key="first-key")["calls"]["w"]
    assert found["error"]["id"] == "FileInUse"
    assert [entry.name for entry in machine.files.listing(r"C:\k")] == ["held"]
    assert not [entry for entry in machine.files.listing(detached.FOLDER) if entry.name.endswith(".note")]


def test_the_result_of_a_key_waits_until_a_scanner_lets_go(make_machine: MachineFactory) -> None:
    machine = make_machine(time_scale=1)
    path = detached.FOLDER + r"\held-key-1.json"
    scanned = machine.files.open.hold(path + ".part", "r", "rw")
    scanned.__enter__()

    def work(process: Process) -> None:
        observe(_session(machine, process), {"id": "a", "command": "Get-Date"}, key="held-key-1")

    process = machine.processes.detach("powershell.exe", "Administrator", work)
    wait_for(lambda: machine.files.exists(path + ".part"), "the partial file exists")
    assert not machine.files.exists(path)
    scanned.__exit__(None, None, None)
    assert process.ended.wait(60)
    assert machine.files.exists(path)
    observe(_session(machine), forget=["held-key-1"])
    assert [entry.name for entry in machine.files.listing(detached.FOLDER)] == []
