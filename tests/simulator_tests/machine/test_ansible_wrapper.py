# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The scripts that Ansible's wrapper sends: which ones are parsed, rejected or run."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible.executor.powershell.module_manifest import _bootstrap_powershell_script, _create_powershell_wrapper
from simulator_tests.waiting import wait_for

import simulator
from simulator.machine import ansible_actions, ansible_wrapper, families
from simulator.machine.ansible_wrapper import ManifestError, read
from simulator.machine.machine import Machine
from simulator.machine.modules.facts import GROUPS, choose
from simulator.machine.objects import ProgramResult
from simulator.machine.session import Session
from wire_provider import ansible_module

pytestmark = pytest.mark.waits

EXEC_WRAPPER = '{"name": "exec_wrapper", "script": "param()"}'
INVOKE_CALLS = b"#!powershell\n# a stand-in: the machine never reads more than the first line\n"


def wrapped(name: str, text: bytes, arguments: Mapping[str, Any], **options: Any) -> list[str]:
    """Return the lines that Ansible's own code sends for a module."""
    settings: dict[str, Any] = {
        "environment": {},
        "async_timeout": 0,
        "become_plugin": None,
        "substyle": "powershell",
        "task_vars": {},
        "profile": "legacy",
        **options,
    }
    data = _create_powershell_wrapper(
        name=name, module_data=text, module_path=f"/x/{name}.ps1", module_args=dict(arguments), **settings
    )
    return data.decode().split("\n")


def answer(result: ProgramResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_ansibles_own_bootstrap_is_known() -> None:
    script, lines = _bootstrap_powershell_script("powershell_mkdtemp.ps1", {"Directory": "C:\\", "Name": "x"})
    assert ansible_wrapper.is_bootstrap(script)
    assert not ansible_wrapper.is_bootstrap("Get-Item C:\\")
    manifest = read(lines.decode().split("\n"))
    assert [action.name for action in manifest.actions] == ["powershell_mkdtemp.ps1"]


def test_the_layer_of_the_wire_is_found(session: Session) -> None:
    assert session.machine.families.modules["invoke_calls"] is ansible_module.run


def test_a_batch_reaches_invoke_calls(session: Session) -> None:
    batch = {"calls": [{"id": "a", "command": "hostname.exe"}]}
    lines = wrapped("winkube.node.invoke_calls", INVOKE_CALLS, {"batch": json.dumps(batch)})
    found = answer(ansible_actions.run(session, lines))
    assert found["changed"] is False
    assert found["observation"]["calls"]["a"]["stdout"] == "win-a\r\n"


def test_the_smaller_module_only_fetches_results(session: Session) -> None:
    def sent(batch: Mapping[str, Any]) -> dict[str, Any]:
        lines = wrapped("winkube.node.collect_batch", INVOKE_CALLS, {"batch": json.dumps(batch)})
        return answer(ansible_actions.run(session, lines))

    assert sent({"mode": "collect", "key": "0123abcd", "wait": 0})["observation"]["state"] == "unknown"
    calls = {"calls": [{"id": "a", "command": "hostname.exe"}]}
    assert sent(calls)["msg"] == "collect_batch runs no calls: the mode has to be collect"
    assert sent({"mode": "collect"})["msg"] == "collect needs a key"


def test_the_script_itself_is_uploaded(session: Session) -> None:
    for text in (b"# nothing", b""):
        lines = wrapped("winkube.node.invoke_calls", text, {"batch": "{}"})
        assert answer(ansible_actions.run(session, lines))["failed"]


def test_a_batch_of_more_than_a_megabyte_is_refused(session: Session) -> None:
    write = {"id": "a", "command": "@write-file", "parameters": {"path": "C:\\x", "content": "x" * 1_000_000}}
    batch = json.dumps({"calls": [write]})
    found = answer(ansible_actions.run(session, wrapped("winkube.node.invoke_calls", INVOKE_CALLS, {"batch": batch})))
    assert found["failed"]
    assert "below 1 MB" in found["msg"]


def test_environment_of_a_task(session: Session) -> None:
    batch = {"calls": [{"id": "a", "command": "cmd.exe", "arguments": ["/c", "echo %DEMO%"]}]}
    lines = wrapped(
        "winkube.node.invoke_calls", INVOKE_CALLS, {"batch": json.dumps(batch)}, environment={"DEMO": "set"}
    )
    assert answer(ansible_actions.run(session, lines))["observation"]["calls"]["a"]["stdout"] == "set\r\n"


def start_async(session: Session, batch: Mapping[str, Any]) -> dict[str, Any]:
    folder = "%USERPROFILE%\\.ansible_async"
    lines = wrapped(
        "winkube.node.invoke_calls",
        INVOKE_CALLS,
        {"batch": json.dumps(batch)},
        environment={"ANSIBLE_ASYNC_DIR": folder},
        async_timeout=60,
    )
    started = answer(ansible_actions.run(session, lines))
    assert (started["started"], started["finished"]) == (True, False)
    return started


def file_of(machine: Machine, started: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(machine.files.read_text(started["results_file"]))
    return found


def test_async_outlives_its_shell(session: Session) -> None:
    sleep = {"id": "s", "command": "Start-Sleep", "parameters": {"Milliseconds": 300}}
    started = start_async(session, {"key": "async-key-1", "calls": [sleep]})
    # The process of the shell that started it has ended.
    session.machine.processes.kill(session.process)
    wait_for(lambda: file_of(session.machine, started)["finished"], "the job has ended")
    found = file_of(session.machine, started)
    assert found["observation"]["calls"]["s"]["ok"]
    assert found["ansible_job_id"] == started["ansible_job_id"]


def test_async_ends_quietly_if_its_folder_was_removed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    started = start_async(
        session,
        {"key": "async-key-3", "calls": [{"id": "s", "command": "Start-Sleep", "parameters": {"Milliseconds": 300}}]},
    )
    thread = next(
        found
        for found in threading.enumerate()
        if found.name == f"powershell.exe-{started['ansible_async_watchdog_pid']}"
    )
    session.machine.files.delete(started["results_file"].rpartition("\\")[0])
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert errors == []
    assert not session.machine.files.exists(started["results_file"])


def test_async_dies_with_the_machine(session: Session) -> None:
    sleep = {"id": "s", "command": "Start-Sleep", "parameters": {"Seconds": 60}}
    started = start_async(session, {"key": "async-key-2", "calls": [sleep]})
    session.machine.power.reset()
    time.sleep(0.2)
    assert file_of(session.machine, started)["finished"] is False


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["{}"], "four NULs"),
        (["nope", "\0\0\0\0", "{}"], "not valid JSON"),
        (['{"name": "other", "script": "param()"}', "\0\0\0\0", "{}"], "to be exec_wrapper"),
        ([EXEC_WRAPPER, "\0\0\0\0", '{"actions": []}'], "no action"),
        ([EXEC_WRAPPER, "\0\0\0\0", '{"actions": [{"name": "x.ps1"}]}'], "Could not find"),
    ],
)
def test_an_invalid_manifest_is_refused(session: Session, lines: list[str], message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        read(lines)
    assert answer(ansible_actions.run(session, lines))["failed"]


def test_a_module_that_needs_a_newer_windows(session: Session) -> None:
    text = b"#!powershell\n#AnsibleRequires -OSVersion 10.1\n#Requires -Module Ansible.ModuleUtils.Legacy\n"
    found = answer(ansible_actions.run(session, wrapped("ansible.windows.win_ping", text, {})))
    assert found["msg"].endswith(f"a minimum version of 10.1, actual was {session.machine.windows.full}")


def test_put_files_are_written(session: Session) -> None:
    _, lines = _bootstrap_powershell_script("winrm_put_file.ps1", {"Path": "C:\\put"}, has_input=True)
    content = [base64.b64encode(part).decode() for part in (b"hello ", b"there")]
    result = ansible_actions.run(session, [*lines.decode().split("\n"), *content])
    assert result.exit_code == 0
    assert session.machine.files.read_bytes(r"C:\put") == b"hello there"
    assert json.loads(result.stdout)["sha1"] == "6e71b3cac15d32fe2d36c270887df9479c25c640"


def test_become_with_an_unknown_user_fails(session: Session) -> None:
    for user, message in (("nobody", "could not be translated"), ("Guest", "become with the user Guest")):
        _, lines = _bootstrap_powershell_script("become_wrapper.ps1", {"BecomeUser": user})
        found = answer(ansible_actions.run(session, lines.decode().split("\n")))
        assert message in found["msg"]


def test_fact_subsets() -> None:
    everything = {name for names in GROUPS.values() for name in names}
    assert choose(["all"]) == (everything, [])
    assert choose(["!all"])[0] == set(GROUPS["min"])
    assert choose(["!all", "!min", "uptime"])[0] == {"uptime"}
    assert choose(["!hardware", "memory"])[0] == everything - set(GROUPS["hardware"]) | {"memory"}
    assert choose(["nope"])[1] == ["invalid value nope specified in gather_subset"]


def test_the_readme_names_every_module() -> None:
    text = (Path(simulator.__file__).parent / "README.md").read_text(encoding="utf-8")
    listed = text.partition("a test compares this list with it):")[2].strip().partition("\n\n")[0]
    own = [name for name, module in families.load().modules.items() if module.__module__.startswith("simulator.")]
    assert re.findall(r"`(\w+)`", listed) == sorted(own)
