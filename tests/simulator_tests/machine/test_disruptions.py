# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Faults that a test can switch on: an antivirus, slow imports of modules, another language."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from simulator_tests.batches import observe
from simulator_tests.machine.conftest import MachineFactory

from simulator.machine import executables
from simulator.machine.faults import set_fault
from simulator.machine.machine import Machine
from simulator.machine.session import Session
from simulator.windows.system import event_log_store

pytestmark = pytest.mark.waits

OLD, NEW = executables.make("kubelet", "1.36.0"), executables.make("kubelet", "1.37.1")
DETECTIONS = "Microsoft-Windows-Windows Defender/Operational"
VIRUS = "because the file contains a virus or potentially unwanted software."


def administrator(machine: Machine) -> Session:
    return Session(machine, machine.processes.begin("powershell.exe", "Administrator"), "Administrator")


def download(machine: Machine) -> None:
    """Write a new executable next to the old one, as a download does."""
    machine.files.make_directory(r"C:\k")
    machine.files.write_bytes(r"C:\k\kubelet.exe.part", NEW)


def commit(session: Session) -> dict[str, Any]:
    parameters = {"path": r"C:\k\kubelet.exe.part", "destination": r"C:\k\kubelet.exe"}
    parameters |= {"expected": hashlib.sha256(NEW).hexdigest(), "algorithm": "sha256"}
    found: dict[str, Any] = observe(session, {"id": "a", "command": "@commit-file", "parameters": parameters})
    return found["calls"]["a"]


@pytest.fixture
def slow(make_machine: MachineFactory) -> Machine:
    """Return a machine with an old kubelet, on which a second of Windows' time takes a tenth of a real one."""
    machine = make_machine(time_scale=0.1)
    machine.files.make_directory(r"C:\k")
    machine.files.write_bytes(r"C:\k\kubelet.exe", OLD)
    return machine


@pytest.mark.parametrize(("seconds", "replaced"), [(5, True), (30, False)])
def test_a_scanner_keeps_new_executables_open(slow: Machine, seconds: int, replaced: bool) -> None:
    set_fault(slow, {"kind": "antivirus", "seconds": seconds})
    download(slow)
    assert slow.files.open.blocks(r"C:\k\kubelet.exe.part", "d")
    assert not slow.files.open.blocks(r"C:\k\kubelet.exe.part", "r", "rwd")

    result = commit(administrator(slow))

    assert result["ok"] is replaced, result
    if not replaced:
        assert result["error"]["id"] == "FileInUse"
    assert slow.files.read_bytes(r"C:\k\kubelet.exe") == (NEW if replaced else OLD)


@pytest.mark.parametrize("excluded", [{"ExclusionPath": [r"C:\K"]}, {"ExclusionExtension": ["part"]}])
def test_excluded_files_are_not_scanned(slow: Machine, excluded: dict[str, list[str]]) -> None:
    set_fault(slow, {"kind": "antivirus", "seconds": 30})
    observe(administrator(slow), {"id": "a", "command": "Add-MpPreference", "parameters": excluded})

    download(slow)

    assert commit(administrator(slow))["ok"]


def test_texts_are_not_scanned_and_neither_is_anything_without_defender(slow: Machine) -> None:
    set_fault(slow, {"kind": "antivirus", "seconds": 30})
    slow.files.write_text(r"C:\k\config.yaml", "kind: KubeletConfiguration\n")
    assert not slow.files.open.blocks(r"C:\k\config.yaml", "d")
    slow.services.stop("WinDefend", force=True)
    download(slow)
    assert not slow.files.open.blocks(r"C:\k\kubelet.exe.part", "d")


def test_a_file_detected_as_malicious_is_blocked_and_deleted(slow: Machine) -> None:
    set_fault(slow, {"kind": "antivirus", "seconds": 3, "blocks": [r"c:\k\kubelet.exe*"]})
    download(slow)

    result = commit(administrator(slow))

    assert result["error"]["type"] == "System.IO.IOException"
    assert VIRUS in result["error"]["message"]
    assert event_log_store.known(slow, DETECTIONS)
    assert [event.id for event in event_log_store.events(slow, DETECTIONS)] == [1116]
    session = administrator(slow)
    for _ in range(100):
        read = {"id": "r", "command": "@read-file", "parameters": {"paths": [r"C:\k\kubelet.exe.part"]}}
        if not observe(session, read)["calls"]["r"]["output"][0]["exists"]:
            break
        observe(session, {"id": "w", "command": "Start-Sleep", "parameters": {"Milliseconds": 20}})
    assert not slow.files.exists(r"C:\k\kubelet.exe.part"), "it is in quarantine"


def limited(name: str, timeout: float | None = None) -> dict[str, Any]:
    call: dict[str, Any] = {"id": name, "command": "Get-NetAdapter", "select": ["Name"], "on_error": "continue"}
    return call | ({"timeout": timeout} if timeout else {})


def test_the_import_of_a_module_counts_against_a_time_limit(make_machine: MachineFactory) -> None:
    machine = make_machine(time_scale=0.01)
    set_fault(machine, {"kind": "slow_imports", "seconds": 8, "modules": ["NetAdapter"]})

    results = observe(administrator(machine), limited("late", 5), limited("late-again", 5), limited("good", 12))[
        "calls"
    ]

    assert results["late"]["error"]["id"] == "CommandTimeout"
    assert results["late-again"]["error"]["id"] == "CommandTimeout", "an abandoned runspace leaves nothing imported"
    assert results["good"]["ok"]


def test_a_module_is_imported_once_for_all_limited_cmdlets_of_a_batch(make_machine: MachineFactory) -> None:
    machine = make_machine(time_scale=0.01)
    set_fault(machine, {"kind": "slow_imports", "seconds": 8})

    results = observe(administrator(machine), limited("first", 12), limited("second", 5), limited("unlimited"))["calls"]

    assert [result["ok"] for result in results.values()] == [True, True, True]
    others = observe(administrator(machine), limited("first", 5))["calls"]
    assert others["first"]["error"]["id"] == "CommandTimeout", "the next batch is another process"


def test_a_german_windows_prints_in_its_oem_code_page(make_machine: MachineFactory) -> None:
    german, english = make_machine(language="de-DE"), make_machine()
    start = {"id": "a", "command": "sc.exe", "arguments": ["start", "WinRM"], "on_error": "continue"}
    show = {"id": "b", "command": "reg.exe", "on_error": "continue"}
    show["arguments"] = ["query", r"HKLM\SYSTEM\CurrentControlSet\Control\Nls\CodePage", "/v", "OEMCP"]

    results = observe(administrator(german), start, show)["calls"]

    assert "Es wird bereits eine Instanz des Dienstes ausgeführt." in results["a"]["stdout"]
    assert results["a"]["exit_code"] == 1056
    assert "850" in results["b"]["stdout"]
    results = observe(administrator(english), start, show)["calls"]
    assert "An instance of the service is already running." in results["a"]["stdout"]
    assert "437" in results["b"]["stdout"]


def test_characters_outside_the_code_page_are_lost(make_machine: MachineFactory) -> None:
    machine = make_machine()
    machine.registry.set(r"HKLM:\SOFTWARE\Example", "Name", "Größe 日本")
    query = {"id": "a", "command": "reg.exe", "arguments": ["query", r"HKLM\SOFTWARE\Example", "/v", "Name"]}

    assert "Größe ??" in observe(administrator(machine), query)["calls"]["a"]["stdout"]


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "antivirus", "seconds": "5"},
        {"kind": "antivirus", "blocks": "*"},
        {"kind": "slow_imports", "seconds": 5, "modules": "NetTCPIP"},
        {"kind": "language", "value": "tlh"},
        {"kind": "clock", "offset": "soon"},
    ],
)
def test_faults_that_make_no_sense_are_refused(machine: Machine, fault: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"expected|unknown"):
        set_fault(machine, fault)
