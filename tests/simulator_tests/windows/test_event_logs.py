# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Event logs: listed with their sizes, exported by query, cleared."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from simulator.windows.system import event_log_store as store


def exported(shell: Any, path: str = r"C:\x.evtx") -> str:
    content = shell.machine.files.read_bytes(path)
    assert content.startswith(b"ElfFile\0")
    return str(content[8:].decode("utf-16-le"))


@pytest.fixture
def filled(shell: Any) -> Any:
    for number in range(1, 6):
        age = timedelta(days=5 - number)
        store.write(shell.machine, "Application", f"event {number}", age=age)
    return shell


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("*", [1, 2, 3, 4, 5]),
        ("*[System[EventRecordID > 3]]", [4, 5]),
        ("*[System[TimeCreated[timediff(@SystemTime) <= 95000000]]]", [4, 5]),
        ("*[System[TimeCreated[timediff(@SystemTime) <= 95000000] and EventRecordID > 4]]", [5]),
    ],
)
def test_selected_events_are_exported(filled: Any, query: str, kept: list[int]) -> None:
    ended = filled.program("wevtutil.exe", "epl", "application", r"C:\x.evtx", f"/q:{query}", "/ow:true")
    assert ended.exit_code == 0, ended.stderr
    assert [number for number in range(1, 6) if f"event {number}" in exported(filled)] == kept


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["None", r"C:\x.evtx"], 15007),
        (["System", r"C:\x.evtx", "/q:*[System[EventID"], 15001),
        (["System", r"C:\none\x.evtx"], 3),
        (["System", r"C:\there.evtx"], 80),
    ],
)
def test_invalid_queries_are_refused(shell: Any, arguments: list[str], code: int) -> None:
    shell.machine.files.write_bytes(r"C:\there.evtx", b"")
    assert shell.program("wevtutil.exe", "epl", *arguments).exit_code == code


def test_logs_are_listed_with_size_and_records(filled: Any) -> None:
    store.write(filled.machine, "Application", "x" * 100_000)
    (log,) = filled.all("Get-WinEvent", ListLog=["Applic*"])
    assert (log["LogName"], log["RecordCount"], log["OldestRecordNumber"]) == ("Application", 6, 1)
    assert log["FileSize"] > 200_000
    filled.program("wevtutil.exe", "cl", "Application")
    store.write(filled.machine, "Application", "next")
    (log,) = filled.all("Get-WinEvent", ListLog=["Application"])
    assert (log["RecordCount"], log["OldestRecordNumber"], log["FileSize"]) == (1, 7, 69632)


def test_a_log_that_does_not_exist_is_an_error_only_by_name(shell: Any) -> None:
    assert shell.all("Get-WinEvent", ListLog=["None*"]) == []
    assert shell.error("Get-WinEvent", ListLog=["None"], ErrorAction="Stop").error_id.startswith("NoMatchingLogsFound,")


def test_the_feature_adds_the_logs_of_containers(make_machine: Any) -> None:
    machine = make_machine()
    assert "Microsoft-Windows-Host-Network-Service-Admin" not in store.names(machine)
    machine.services.create("hns", r"C:\Windows\System32\svchost.exe -k NetSvcs", DisplayName="HNS", Start=3)
    assert "Microsoft-Windows-Host-Network-Service-Admin" in store.names(machine)
