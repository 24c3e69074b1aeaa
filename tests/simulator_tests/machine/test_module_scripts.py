# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""win_powershell, win_shell, win_command: `$Ansible`, streams, depth, parameters, and what is rejected."""

from __future__ import annotations

from typing import Any

import pytest
from simulator_tests.machine.module_runs import run_module

from simulator.machine.session import Session


def powershell(session: Session, script: str, **options: object) -> dict[str, Any]:
    """Run a script with win_powershell, and return the module's result."""
    return run_module(session, "win_powershell", script=script, **options)


def test_ansible_reports_changes_and_results(session: Session) -> None:
    assert powershell(session, "1")["changed"] is True
    found = powershell(session, "$Ansible.Changed = $false; $Ansible.Result = @{ a = 1; b = @(1, 'x') }")
    assert (found["changed"], found["failed"]) == (False, False)
    assert found["result"] == {"a": 1, "b": [1, "x"]}
    assert powershell(session, "$Ansible.Failed = $true")["failed"]
    found = powershell(session, "$Ansible.CheckMode; $Ansible.Verbosity; Test-Path -LiteralPath $Ansible.Tmpdir")
    assert found["output"] == [False, 0, True]


def test_every_stream_has_its_list(session: Session) -> None:
    script = """
        Write-Output out; Write-Verbose loud -Verbose; Write-Verbose quiet; Write-Warning careful
        Write-Host shown; Write-Information known; Write-Error wrong; $DebugPreference = 'Continue'; Write-Debug why
    """
    found = powershell(session, script)
    assert (found["output"], found["verbose"], found["warning"], found["debug"]) == (
        ["out"],
        ["loud"],
        ["careful"],
        ["why"],
    )
    assert [error["exception"]["message"] for error in found["error"]] == ["wrong"]
    host, known = found["information"]
    assert (host["message_data"]["Message"], host["tags"], host["source"]) == ("shown", ["PSHOST"], "Write-Host")
    assert (known["message_data"], known["tags"]) == ("known", [])
    assert found["host_out"] == "VERBOSE: loud\r\nWARNING: careful\r\nshown\r\nDEBUG: why\r\n"
    assert not found["failed"]


def test_objects_are_converted_to_a_depth(session: Session) -> None:
    nested = "[pscustomobject]@{ a = @{ b = @{ c = 1 } } }"
    assert powershell(session, nested)["output"] == [{"a": {"b": "System.Collections.Hashtable"}}]
    assert powershell(session, nested, depth=4)["output"] == [{"a": {"b": {"c": 1}}}]
    day = {"Type": "System.DayOfWeek", "String": "Monday", "Value": 1}
    assert powershell(session, "[DayOfWeek]::Monday; [char]'x'; 1.5; $null")["output"] == [day, "x", 1.5, None]
    (date,) = powershell(session, "[datetime]'2026-01-02 03:04:05'")["output"]
    assert date.startswith("2026-01-02T03:04:05.0000000")


def test_error_action_decides_what_ends_a_script(session: Session) -> None:
    script = "Get-Item C:\\nobody; 'after'"
    found = powershell(session, script)
    assert (found["failed"], found["output"], len(found["error"])) == (False, ["after"], 1)
    found = powershell(session, script, error_action="stop")
    assert (found["failed"], found["output"], len(found["error"])) == (True, [], 1)
    assert not powershell(session, script, error_action="silently_continue")["error"]
    found = powershell(session, "'before'; throw 'bad'")
    assert (found["failed"], found["output"]) == (True, ["before"])
    assert found["error"][0]["exception"]["message"] == "bad"


def test_parameters_chdir_path_creates_and_check_mode(session: Session) -> None:
    session.machine.files.make_directory(r"C:\s")
    session.machine.files.write_text(r"C:\s\x.ps1", 'param($Name) "$Name in $((Get-Location).Path)"')
    found = run_module(session, "win_powershell", path=r"C:\s\x.ps1", parameters={"Name": "me"}, chdir="C:\\s")
    assert found["output"] == ["me in C:\\s"]
    missing = run_module(session, "win_powershell", path=r"C:\s\no.ps1")
    assert missing["msg"] == r"Could not find or access 'C:\s\no.ps1' on Windows host"
    found = powershell(session, "1", creates=r"C:\s\x.ps1")
    assert (found["changed"], found["msg"]) == (False, r"skipped, since C:\s\x.ps1 exists")
    found = powershell(session, "New-Item C:\\made -ItemType Directory", check_mode=True)
    assert (found["changed"], found["msg"]) == (True, "skipped, running in check mode")
    assert not session.machine.files.exists(r"C:\made")
    supported = "[CmdletBinding(SupportsShouldProcess)]\nparam()\n$Ansible.Changed = $false; $Ansible.CheckMode"
    found = powershell(session, supported, check_mode=True)
    assert (found["changed"], found.get("output", found.get("msg"))) == (False, [True])


@pytest.mark.parametrize(
    ("module", "options", "what"),
    [
        ("win_powershell", {"script": "1", "executable": "pwsh.exe"}, "win_powershell's option executable"),
        (
            "win_powershell",
            {"script": "1", "sensitive_parameters": [{"name": "x", "value": "s3cret"}]},
            "win_powershell's option sensitive_parameters",
        ),
        ("win_command", {"cmd": "hostname", "output_encoding_override": "x"}, "win_command's option output_encoding"),
        ("win_shell", {"_raw_params": "1", "output_encoding_override": "x"}, "win_shell's option output_encoding"),
        ("win_regedit", {"path": "HKLM:\\A", "hive": "C:\\h"}, "win_regedit's option hive"),
    ],
)
def test_unmodelled_features_are_refused_by_name(
    session: Session, module: str, options: dict[str, Any], what: str
) -> None:
    found = run_module(session, module, **options)
    assert found["failed"]
    assert found["msg"].startswith(f"the simulator does not model {what}")
    assert "s3cret" not in str(found)


def test_programs_that_do_not_exist(session: Session) -> None:
    found = run_module(session, "win_command", _raw_params="nosuch -x")
    assert (found["failed"], found["rc"]) == (True, 2)
    assert found["msg"].startswith("Failed to run: 'nosuch -x': Exception calling")
    found = run_module(session, "win_shell", _raw_params="x", executable="nosuch")
    assert (found["failed"], found["rc"]) == (True, 2)
    assert "Could not find file 'nosuch.exe'." in found["msg"]


def test_win_shell(session: Session) -> None:
    found = run_module(session, "win_shell", _raw_params="echo %OS%", executable="cmd", chdir="C:\\Windows")
    assert (found["rc"], found["stdout"]) == (0, "Windows_NT\r\n")
    assert run_module(session, "win_shell", _raw_params="Set-StrictMode -Version 2; 'on'")["stdout"] == "on\r\n"
    undefined = run_module(session, "win_shell", _raw_params="Set-StrictMode -Version Latest; $undefined; 'on'")
    assert "The variable '$undefined' cannot be retrieved because it has not been set." in undefined["stderr"]
    assert run_module(session, "win_shell", _raw_params="$input", stdin="a\nb")["stdout"] == "a\r\nb\r\n"
    assert run_module(session, "win_shell", _raw_params="1", creates="C:\\Windows")["skipped"]
    assert run_module(session, "win_shell", _raw_params="1", removes="C:\\nobody")["skipped"]
    assert run_module(session, "win_shell", _raw_params="1", check_mode=True)["skipped"]
    assert run_module(session, "win_shell")["msg"] == "Get-AnsibleParam: Missing required argument: _raw_params"


def test_win_command(session: Session) -> None:
    argv = run_module(session, "win_command", argv=["cmd.exe", "/c", "echo a b"])
    assert argv["rc"] == 0
    found = run_module(session, "win_command", cmd="findstr.exe x", stdin="axa\r\nb\r\n")
    assert found["stdout"] == "axa\r\n"
    assert run_module(session, "win_command", _raw_params="nobody.exe")["rc"] == 2
