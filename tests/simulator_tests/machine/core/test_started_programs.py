# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Start-Process, taskkill.exe, tasklist.exe and the small cmdlets."""

from __future__ import annotations

import pytest

from simulator.machine import commands


def test_a_program_that_is_waited_for_has_its_exit_code_and_its_output_in_a_file(shell):
    started = shell.one(
        "Start-Process",
        FilePath="hostname.exe",
        Wait=True,
        PassThru=True,
        RedirectStandardOutput=r"C:\out.txt",
    )
    assert (started["ExitCode"], started["HasExited"]) == (0, True)
    assert shell.machine.files.read_text(r"C:\out.txt").strip() == shell.machine.host_name
    failed = shell.one("Start-Process", FilePath="sc.exe", ArgumentList=["query", "nope"], Wait=True, PassThru=True)
    assert failed["ExitCode"] == 1060


def test_a_program_that_does_not_exist_cannot_be_started(shell):
    error = shell.error("Start-Process", FilePath=r"C:\nope.exe")
    assert error.error_id == "InvalidOperationException,Microsoft.PowerShell.Commands.StartProcessCommand"


def test_a_killed_service_process_is_a_crash(shell):
    shell("Start-Service", Name=["W32Time"])
    process = shell.machine.services.get("W32Time").process_id
    # An image name is not a process id.
    assert shell.program("taskkill.exe", "/F", "/IM", str(process)).exit_code == 128
    assert shell.program("taskkill.exe", "/F", "/PID", str(process)).exit_code == 0
    assert shell.machine.services.get("W32Time").exit_code == 1067
    assert shell.program("taskkill.exe", "/F", "/PID", str(process)).exit_code == 128
    assert shell.program("taskkill.exe", "/F").exit_code == 1


def test_processes_are_listed(shell):
    process = shell.machine.services.get("RpcSs").process_id
    assert f'"svchost.exe","{process}"' in shell.program("tasklist.exe", "/fo", "csv", "/nh").stdout
    assert shell.program("tasklist.exe").stdout.splitlines()[1].startswith("Image Name")


def test_random_numbers_stay_in_their_bounds(shell):
    assert {shell("Get-Random", Minimum=3, Maximum=5)[0] for _ in range(50)} == {3, 4}
    assert set(shell("Get-Random", InputObject=["a", "b"], Count=5)) == {"a", "b"}
    assert shell.error("Get-Random", Minimum=5, Maximum=5).error_id.startswith("MinGreaterThanOrEqualMax,")


def test_drives_have_their_space(shell):
    drive = shell.one("Get-PSDrive", Name=["c"])
    assert drive["Free"] + drive["Used"] == shell.machine.files.capacity
    assert [str(item) for item in shell("Get-PSDrive", PSProvider=["Registry"])] == ["HKLM", "HKCU"]
    assert shell.error("Get-PSDrive", Name=["Q"]).category == "ObjectNotFound"


def test_locations_are_pushed_and_popped(machine, session):
    def run(command, **parameters):
        commands.run(machine, command, parameters, session=session)

    before = session.directory
    run("Push-Location", Path=r"C:\Windows")
    run("Push-Location", Path="System32")
    assert session.directory.casefold() == r"c:\windows\system32"
    run("Pop-Location")
    run("Pop-Location")
    run("Pop-Location")
    assert session.directory == before
    with pytest.raises(commands.CmdletError):
        run("Push-Location", Path=r"C:\nope")


def test_a_process_of_net_has_its_environment_and_its_exit_code(shell):
    script = (
        "$start = New-Object System.Diagnostics.ProcessStartInfo; $start.FileName = 'cmd.exe'; "
        "$start.Arguments = '/c exit /b %CODE%'; $start.UseShellExecute = $false; "
        "$start.EnvironmentVariables['CODE'] = '7'; $started = [System.Diagnostics.Process]::Start($start); "
        "if (-not $started.WaitForExit(10000)) { exit 1 }; exit $started.ExitCode"
    )
    assert shell.program("powershell.exe", "-Command", script).exit_code == 7


def test_a_process_of_net_that_is_missing_is_an_error(shell):
    script = (
        "$start = New-Object System.Diagnostics.ProcessStartInfo; $start.FileName = 'C:\\nope.exe'; "
        "$start.UseShellExecute = $false; try { [System.Diagnostics.Process]::Start($start) } catch { exit 3 }"
    )
    assert shell.program("powershell.exe", "-Command", script).exit_code == 3
