# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Batches of calls, as docs/wire.md describes them."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from typing import Any

import pytest
from simulator_tests.batches import answer, observe

from simulator.machine.machine import Machine
from simulator.machine.objects import ProcessEndedError
from simulator.machine.processes import Process
from simulator.machine.session import Session
from wire_provider import detached
from wire_provider.batch import BatchError, parse

pytestmark = pytest.mark.waits


def test_envelope(session: Session) -> None:
    observation = observe(
        session, {"id": "a", "command": "Get-Service", "parameters": {"Name": "WinRM"}, "select": ["Status"]}
    )
    assert observation["state"] == "finished"
    assert observation["stopped"] is None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", observation["boot"])
    assert observation["version"].startswith("5.1.20348")
    result = observation["calls"]["a"]
    assert result["output"] == [{"Status": "Running"}], "an enumeration travels as its name"
    assert (result["ok"], result["attempts"]) == (True, 1)
    assert isinstance(result["seconds"], float)


def test_selection(session: Session) -> None:
    calls = [
        {"id": "whole", "command": "Get-Service", "parameters": {"Name": "WinRM"}},
        {"id": "none", "command": "Get-Service", "parameters": {"Name": "WinRM"}, "select": []},
        {"id": "missing", "command": "Get-Service", "parameters": {"Name": "WinRM"}, "select": ["Nope", "Name.Length"]},
        {"id": "scalar", "command": "Test-Path", "parameters": {"LiteralPath": "C:\\Windows"}},
        {
            "id": "date",
            "command": "Get-Item",
            "parameters": {"LiteralPath": "C:\\Windows"},
            "select": ["LastWriteTimeUtc"],
        },
    ]
    results = observe(session, *calls)["calls"]
    assert results["whole"]["output"] == ["System.ServiceProcess.ServiceController"]
    assert results["none"]["output"] == []
    assert results["missing"]["output"] == [{"Nope": None, "Name.Length": 5}]
    assert results["scalar"]["output"] == [True]
    assert results["date"]["output"][0]["LastWriteTimeUtc"].endswith("Z")


def test_an_error_stops_the_batch_but_not_the_cleaning(session: Session) -> None:
    observation = observe(
        session,
        {"id": "bad", "command": "Get-Item", "parameters": {"LiteralPath": "C:\\nope"}},
        {"id": "after", "command": "Get-Date"},
        {"id": "clean", "command": "Test-Path", "parameters": {"LiteralPath": "C:\\nope"}, "always": True},
    )
    assert observation["stopped"] == {"id": "bad", "reason": "error"}
    assert list(observation["calls"]) == ["bad", "clean"]
    error = observation["calls"]["bad"]["error"]
    assert error["category"] == "ObjectNotFound"
    assert error["id"] == "PathNotFound,Microsoft.PowerShell.Commands.GetItemCommand"
    assert error["type"] == "System.Management.Automation.ItemNotFoundException"


def test_continue_and_needs(session: Session) -> None:
    observation = observe(
        session,
        {"id": "bad", "command": "Nope-Command", "on_error": "continue"},
        {"id": "needing", "command": "Get-Date", "needs": ["bad"]},
        {"id": "next", "command": "Get-Date", "needs": ["needing"]},
        {"id": "free", "command": "Test-Path", "parameters": {"LiteralPath": "C:\\"}},
    )
    calls = observation["calls"]
    assert calls["bad"]["error"]["id"] == "CommandNotFoundException"
    assert [calls[name]["ok"] for name in ("needing", "next", "free")] == [False, False, True]
    assert "bad" in calls["needing"]["skipped"]
    assert observation["stopped"] is None


def test_aliases_and_scripts_are_refused_as_commands(session: Session) -> None:
    for command in ("dir", "Invoke-Expression; x", "$(Get-Date)"):
        result = observe(session, {"id": "a", "command": command, "parameters": {}})["calls"]["a"]
        assert result["error"]["id"] == "CommandNotFoundException"


def test_input_by_pipeline_and_parameter(session: Session) -> None:
    session.machine.files.make_directory(r"C:\d")
    for name in ("a.txt", "b.txt", "c.log"):
        session.machine.files.write_text(rf"C:\d\{name}", name)
    listing = {"id": "list", "command": "Get-ChildItem", "parameters": {"LiteralPath": "C:\\d"}, "select": ["Name"]}
    observation = observe(
        session,
        listing,
        {
            "id": "piped",
            "command": "Get-FileHash",
            "input": {"from": "list", "where": {"Extension": ".LOG"}},
            "select": ["Hash"],
        },
        {"id": "none", "command": "Remove-Item", "input": {"from": "list", "where": {"Extension": ".exe"}}},
        {
            "id": "bound",
            "command": "Remove-Item",
            "input": {
                "from": ["list"],
                "where": {"Name": ["a.txt", "b.txt"], "PSIsContainer": False},
                "parameter": "LiteralPath",
                "property": "FullName",
            },
        },
    )
    calls = observation["calls"]
    assert calls["piped"]["output"] == [{"Hash": hashlib.sha256(b"c.log").hexdigest().upper()}]
    assert (calls["none"]["ok"], calls["none"]["skipped"]) == (True, "no input")
    assert calls["bound"]["ok"], calls["bound"]
    assert [entry.name for entry in session.machine.files.listing(r"C:\d")] == ["c.log"]


def test_barrier(session: Session) -> None:
    get = {"id": "get", "command": "Get-Service", "parameters": {"Name": ["WinRM", "W32Time"]}, "select": []}
    observation = observe(
        session,
        get,
        {"id": "open", "command": "@stop-if", "input": {"from": "get", "where": {"Status": "Paused"}}},
        {"id": "shut", "command": "@stop-if", "input": {"from": "get", "where": {"Status": "running"}}},
        {"id": "after", "command": "Get-Date"},
    )
    assert observation["stopped"] == {"id": "shut", "reason": "barrier"}
    assert [observation["calls"][name]["output"] for name in ("open", "shut")] == [[0], [1]]
    assert "after" not in observation["calls"]


def test_programs(session: Session) -> None:
    observation = observe(
        session,
        {
            "id": "echo",
            "command": "cmd.exe",
            "arguments": ["/c", "echo %GREETING%&& exit 3"],
            "environment": {"GREETING": "hi"},
            "success_codes": [3],
            "output_limit": 3,
        },
        {"id": "input", "command": "findstr.exe", "arguments": ["b"], "stdin": "abc\nxyz\n"},
        {"id": "code", "command": "sc.exe", "arguments": ["query", "nope"], "on_error": "continue"},
        {"id": "missing", "command": "nope.exe", "on_error": "continue"},
    )
    calls = observation["calls"]
    assert (calls["echo"]["exit_code"], calls["echo"]["stdout"]) == (3, "i\r\n")
    assert calls["input"]["stdout"] == "abc\r\n"
    assert calls["code"]["exit_code"] == 1060
    assert (calls["code"]["error"]["category"], calls["code"]["error"]["id"]) == ("FromStdErr", "NativeCommandError")
    assert "1060" in calls["code"]["stdout"]
    assert calls["missing"]["error"]["category"] == "ObjectNotFound"
    assert calls["missing"]["error"]["id"] == "CommandNotFoundException"


def test_a_program_that_takes_too_long_is_killed(session: Session) -> None:
    started = time.monotonic()
    script = ["-NoProfile", "-Command", "Start-Sleep 30"]
    result = observe(session, {"id": "a", "command": "powershell.exe", "arguments": script, "timeout": 0.3})["calls"][
        "a"
    ]
    assert time.monotonic() - started < 5
    assert result["error"]["id"] == "ProgramTimeout"


def test_attempts(session: Session) -> None:
    machine = session.machine
    call = {
        "id": "a",
        "command": "Get-Service",
        "parameters": {"Name": "W32Time"},
        "select": ["Name"],
        "retries": 500,
        "delay": 0.02,
    }
    threading.Timer(1, machine.services.start, ["W32Time"]).start()
    result = observe(session, {**call, "until": {"Status": "Running"}})["calls"]["a"]
    assert result["ok"]
    assert 1 < result["attempts"] <= 501
    machine.services.stop("W32Time")
    result = observe(session, {**call, "retries": 2, "until": {"Status": "Running"}})["calls"]["a"]
    assert (result["error"]["id"], result["attempts"]) == ("UntilNotMet", 3)


def test_the_last_delay_is_a_full_one(session: Session) -> None:
    """`first_delay` (0.1 by default) shortens only earlier ones: kubeadm may need the clock's next second."""
    call = {"id": "a", "command": "Get-Service", "parameters": {"Name": "W32Time"}, "until": {"Status": "Running"}}
    result = observe(session, {**call, "retries": 1, "delay": 0.5})["calls"]["a"]
    assert (result["error"]["id"], result["attempts"]) == ("UntilNotMet", 2)
    assert result["seconds"] >= 0.5


def test_secret_calls_return_no_output(session: Session) -> None:
    secret = "hunter2"
    observation = observe(
        session,
        {
            "id": "program",
            "command": "cmd.exe",
            "arguments": ["/c", f"echo {secret}& exit 1"],
            "secret": True,
            "on_error": "continue",
        },
        {
            "id": "cmdlet",
            "command": "Get-Item",
            "parameters": {"LiteralPath": f"C:\\{secret}"},
            "secret": True,
            "on_error": "continue",
        },
        {"id": "file", "command": "@write-file", "parameters": {"path": "C:\\s", "content": secret}, "secret": True},
        key="secret-batch",
    )
    assert secret not in json.dumps(observation)
    assert secret not in session.machine.files.read_text(detached.FOLDER + r"\secret-batch.json")
    assert observation["calls"]["program"]["exit_code"] == 1
    assert observation["calls"]["cmdlet"]["error"].keys() == {"category", "id"}
    assert session.machine.files.read_text(r"C:\s") == secret


def test_a_key_is_claimed_once(session: Session) -> None:
    write = {"id": "a", "command": "Add-Content", "parameters": {"LiteralPath": "C:\\log", "Value": "x"}}
    assert observe(session, write, key="batch-0001")["state"] == "finished"
    again = observe(session, write, key="batch-0001")
    assert (again["state"], again["calls"]) == ("known", {})
    assert session.machine.files.read_text(r"C:\log") == "x\r\n"
    collected = observe(session, mode="collect", key="batch-0001")
    assert collected["state"] == "finished"
    assert collected["calls"]["a"]["ok"]
    assert observe(session, mode="collect", key="batch-0002")["state"] == "unknown"
    assert session.machine.files.sddl(detached.FOLDER) == "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    observe(session, forget=["batch-0001"])
    assert session.machine.files.listing(detached.FOLDER) == []
    assert observe(session, write, key="batch-0001")["state"] == "finished"


def start(machine: Machine, batch: dict[str, Any]) -> Process:
    def work(process: Process) -> None:
        session = Session(machine, process, "Administrator")
        answer(session, batch)

    return machine.processes.detach("powershell.exe", "Administrator", work)


SLOW = [
    {"id": "first", "command": "Get-Date"},
    {"id": "sleep", "command": "Start-Sleep", "parameters": {"Seconds": 30}},
]


def wait_until_running(session: Session, key: str) -> dict[str, Any]:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = observe(session, mode="collect", key=key)
        if found.get("progress", {}).get("id") == "sleep":
            return found
        time.sleep(0.02)
    raise AssertionError(found)


def test_a_detached_batch_is_watched_and_lost_at_a_reboot(session: Session) -> None:
    start(session.machine, {"key": "detached-1", "calls": SLOW})
    running = wait_until_running(session, "detached-1")
    progress = {"id": "sleep", "done": 1, "total": 2, "running": [{"id": "sleep", "size": None}]}
    assert (running["state"], running["progress"]) == ("running", progress)
    session.machine.power.reset()
    process = session.machine.processes.begin("powershell.exe", "Administrator")
    after = Session(session.machine, process, "Administrator")
    lost = observe(after, mode="collect", key="detached-1")
    assert (lost["state"], lost["progress"]["id"]) == ("lost", "sleep")
    assert observe(after, *SLOW, key="detached-1")["state"] == "known", "it never runs twice"


def test_collect_waits_for_the_result(session: Session) -> None:
    calls = [{"id": "sleep", "command": "Start-Sleep", "parameters": {"Milliseconds": 300}}]
    start(session.machine, {"key": "detached-2", "calls": calls})
    started = time.monotonic()
    found = observe(session, mode="collect", key="detached-2", wait=5)
    assert found["state"] == "finished"
    assert time.monotonic() - started < 3


def test_a_killed_process_changes_nothing_more(session: Session) -> None:
    session.machine.processes.kill(session.process)
    with pytest.raises(ProcessEndedError):
        observe(session, {"id": "a", "command": "@write-file", "parameters": {"path": "C:\\x", "content": ""}})
    assert not session.machine.files.exists(r"C:\x")


def test_a_call_is_left_out_if_another_succeeded(session: Session) -> None:
    calls = observe(
        session,
        {"id": "good", "command": "Get-Date"},
        {"id": "bad", "command": "Get-Item", "parameters": {"LiteralPath": "C:\\x"}, "on_error": "continue"},
        {"id": "left-out", "command": "Get-Item", "parameters": {"LiteralPath": "C:\\x"}, "unless": ["bad", "good"]},
        {"id": "done", "command": "Test-Path", "parameters": {"LiteralPath": "C:\\"}, "unless": ["bad"]},
        {"id": "after", "command": "Get-Date", "needs": ["left-out"]},
    )["calls"]
    assert calls["left-out"] == {"ok": True, "seconds": 0.0, "attempts": 0, "skipped": "unless good", "output": []}
    assert calls["done"]["output"] == [True]
    assert calls["after"]["ok"]
    with pytest.raises(BatchError, match="not an earlier call"):
        parse(json.dumps({"calls": [{"id": "a", "command": "Get-Date", "unless": ["later"]}]}))


def test_lists_are_compared_as_text(session: Session) -> None:
    """PowerShell converts an array to a string of its items, separated by blanks."""
    servers = {"InterfaceAlias": "Ethernet", "ServerAddresses": ["10.0.0.1", "10.0.0.2"]}
    call = {"command": "Get-DnsClientServerAddress", "parameters": {"InterfaceAlias": "Ethernet"}}
    calls = observe(
        session,
        {"id": "set", "command": "Set-DnsClientServerAddress", "parameters": servers},
        {"id": "met", **call, "until": {"ServerAddresses": ["x", "10.0.0.1 10.0.0.2"]}},
        {"id": "unmet", **call, "until": {"ServerAddresses": ["10.0.0.1", "10.0.0.2"]}, "on_error": "continue"},
    )["calls"]
    assert calls["met"]["ok"], calls["met"]
    assert calls["unmet"]["error"]["id"] == "UntilNotMet"


def test_port_pools_are_ranges_of_64_that_netsh_lists_without_asterisk(session: Session) -> None:
    from simulator.windows.networking.port_ranges import PortRanges, Reservation

    session.machine.part(PortRanges).reserved["hns"] = Reservation(49216, 49279)
    calls = observe(session, {"id": "a", "command": "@port-pools"})["calls"]
    assert calls["a"]["output"] == [{"reserved": 1, "ranges": ["49216-49279"]}]


def test_a_cmdlet_with_a_time_limit_is_abandoned_and_the_batch_goes_on(session: Session) -> None:
    slow = {"command": "Start-Sleep", "parameters": {"Seconds": 30}, "timeout": 0.2}
    calls = observe(
        session,
        {"id": "late", "on_error": "continue", **slow},
        {"id": "needing", "command": "Get-Date", "needs": ["late"]},
        {"id": "quick", "command": "Test-Path", "parameters": {"LiteralPath": "C:\\"}, "timeout": 30},
        {
            "id": "wrong",
            "command": "Get-Item",
            "parameters": {"LiteralPath": "C:\\x"},
            "timeout": 30,
            "on_error": "continue",
        },
    )["calls"]
    error = calls["late"]["error"]
    assert (error["category"], error["id"], error["type"]) == (
        "OperationTimeout",
        "CommandTimeout",
        "System.TimeoutException",
    )
    assert error["message"] == "Start-Sleep did not end within 0.2 s"
    assert "late" in calls["needing"]["skipped"]
    assert calls["quick"]["output"] == [True]
    assert calls["wrong"]["error"]["id"].startswith("PathNotFound,")
    stopped = observe(session, {"id": "late", **slow}, {"id": "after", "command": "Get-Date"})
    assert stopped["stopped"] == {"id": "late", "reason": "error"}
    assert list(stopped["calls"]) == ["late"]
