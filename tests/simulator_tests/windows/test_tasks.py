# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scheduled tasks: registered from objects, run as SYSTEM, ended, and kept at reboots."""

from __future__ import annotations

from typing import Any

import pytest
from simulator_tests.waiting import wait_for

pytestmark = pytest.mark.waits


def register(shell: Any, execute: str = "wevtutil.exe", argument: str = "el", **more: object) -> Any:
    action = shell.one("New-ScheduledTaskAction", Execute=execute, Argument=argument)
    trigger = shell.one("New-ScheduledTaskTrigger", AtStartup=True)
    principal = shell.one("New-ScheduledTaskPrincipal", UserId="SYSTEM", LogonType="ServiceAccount", RunLevel="Highest")
    settings = shell.one("New-ScheduledTaskSettingsSet", StartWhenAvailable=True)
    parts = {"Action": action, "Trigger": trigger, "Principal": principal, "Settings": settings}
    return shell.one("Register-ScheduledTask", TaskName="job", TaskPath="\\winkube\\", **{**parts, **more})


def info(shell: Any) -> Any:
    return shell.one("Get-ScheduledTaskInfo", TaskName="job")


def test_a_task_is_registered_from_its_parts(shell: Any) -> None:
    register(shell, Description="what it is for")
    task = shell.one("Get-ScheduledTask", TaskName="job", TaskPath="\\winkube\\")
    assert (str(task["State"]), task["Description"]) == ("Ready", "what it is for")
    (action,) = task["Actions"]
    assert (action["Execute"], action["Arguments"]) == ("wevtutil.exe", "el")
    assert (task["Principal"]["UserId"], str(task["Principal"]["RunLevel"])) == ("SYSTEM", "Highest")
    assert task["Triggers"][0].type_name.endswith("MSFT_TaskBootTrigger")


def test_a_name_is_taken_unless_forced(shell: Any) -> None:
    register(shell)
    action = shell.one("New-ScheduledTaskAction", Execute="x.exe")
    error = shell.error("Register-ScheduledTask", TaskName="\\winkube\\job", Action=action)
    assert (error.category, error.error_id) == ("ResourceExists", "HRESULT 0x800700b7,Register-ScheduledTask")
    register(shell, argument="other", Force=True)
    assert shell.one("Get-ScheduledTask", TaskName="job")["Actions"][0]["Arguments"] == "other"


@pytest.mark.parametrize(
    ("execute", "argument", "code"),
    [
        ("wevtutil.exe", "epl System C:\\out.txt", 0),
        ("certutil.exe", "-hashfile C:\\none", 0x80070002),
        ("none.exe", "", 0x80070002),
    ],
)
def test_a_task_runs_and_keeps_its_result(shell: Any, execute: str, argument: str, code: int) -> None:
    register(shell, execute, argument)
    assert info(shell)["LastTaskResult"] == 267011
    shell.all("Start-ScheduledTask", TaskName="job", TaskPath="\\winkube\\")
    wait_for(lambda: info(shell)["LastTaskResult"] == code)
    assert shell.machine.files.exists(r"C:\out.txt") is (code == 0)
    assert str(shell.one("Get-ScheduledTask", TaskName="job")["State"]) == "Ready"


def test_a_boot_trigger_runs_the_task_at_the_boot(shell: Any) -> None:
    register(shell, argument="epl System C:\\out.txt")
    assert not shell.machine.files.exists(r"C:\out.txt")
    shell.machine.power.reset()
    wait_for(lambda: bool(shell.machine.files.exists(r"C:\out.txt")))


def test_unregistering_needs_confirmation(shell: Any) -> None:
    register(shell)
    assert shell.error("Unregister-ScheduledTask", TaskName="job").category == "InvalidOperation"
    shell.all("Unregister-ScheduledTask", TaskName="job", Confirm=False)
    error = shell.error("Get-ScheduledTask", TaskName="job")
    assert error.error_id == "CmdletizationQuery_NotFound_TaskName,Get-ScheduledTask"
    assert shell.all("Get-ScheduledTask", TaskPath="\\winkube\\") == []


def test_a_disabled_task_does_not_start(shell: Any) -> None:
    register(shell)
    shell.one("Disable-ScheduledTask", TaskName="job")
    assert shell.error("Start-ScheduledTask", TaskName="job").error_id == "HRESULT 0x80041326,Start-ScheduledTask"


def test_xml(shell: Any) -> None:
    xml = (
        '<Task xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task"><Principals><Principal id="Author">'
        "<UserId>S-1-5-18</UserId><RunLevel>HighestAvailable</RunLevel></Principal></Principals><Triggers><BootTrigger/>"
        "</Triggers><Actions><Exec><Command>cmd.exe</Command><Arguments>/c ver</Arguments></Exec></Actions></Task>"
    )
    task = shell.one("Register-ScheduledTask", TaskName="x", Xml=xml)
    assert (task["Actions"][0]["Execute"], task["Principal"]["UserId"]) == ("cmd.exe", "SYSTEM")
    assert shell.error("Register-ScheduledTask", TaskName="y", Xml="<Task").category == "InvalidOperation"
