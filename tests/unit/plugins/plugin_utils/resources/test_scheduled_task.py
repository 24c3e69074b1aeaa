# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tasks of the Windows Task Scheduler."""

from __future__ import annotations

import typing as t

import pytest
from unit.resource_answers import answer, call, commands, failure, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

NO_TASK = failure("ObjectNotFound", "CmdletizationQuery_NotFound_TaskName,Get-ScheduledTask")


def task(**more: t.Any) -> t.Any:
    return one(
        **{
            "type": "ScheduledTask",
            "name": "\\winkube\\clean-up",
            "execute": "C:\\k\\clean.exe",
            "triggers": [{"on": "startup"}, {"on": "daily", "at": "03:30"}],
            **more,
        }
    )


def seen(**more: t.Any) -> t.Any:
    return answer(
        {
            "State": "Ready",
            "Description": None,
            "Actions.Execute": ["C:\\k\\clean.exe"],
            "Actions.Arguments": None,
            "Actions.WorkingDirectory": [None],
            "Principal.UserId": "SYSTEM",
            "Principal.RunLevel": "Highest",
            "Settings.Enabled": True,
            "Settings.ExecutionTimeLimit": "P3D",
            "Settings.MultipleInstances": "IgnoreNew",
            "Triggers.CimClass.CimClassName": ["MSFT_TaskBootTrigger", "MSFT_TaskDailyTrigger"],
            "Triggers.StartBoundary": [None, "2026-11-21T03:30:00+01:00"],
            "Triggers.DaysOfWeek": None,
            **more,
        }
    )


@pytest.mark.parametrize(
    ("requested", "found"),
    [
        ({}, {}),
        ({}, {"Settings.ExecutionTimeLimit": "3.00:00:00", "Principal.UserId": "S-1-5-18"}),
        ({"user": "NT AUTHORITY\\LOCAL SERVICE"}, {"Principal.UserId": "LOCAL SERVICE"}),
        ({"execution_time_limit_minutes": 0}, {"Settings.ExecutionTimeLimit": "PT0S"}),
        ({"execution_time_limit_minutes": 90}, {"Settings.ExecutionTimeLimit": "PT1H30M"}),
        ({"enabled": False}, {"State": "Disabled", "Settings.Enabled": False}),
        (
            {"triggers": [{"on": "weekly", "at": "04:00", "days": ["Friday", "Monday"]}]},
            {
                "Triggers.CimClass.CimClassName": "MSFT_TaskWeeklyTrigger",
                "Triggers.StartBoundary": "2026-11-21T04:00:00",
                "Triggers.DaysOfWeek": 0b100010,
            },
        ),
        (
            {"triggers": [{"on": "once", "at": "2026-12-31T03:30"}]},
            {
                "Triggers.CimClass.CimClassName": ["MSFT_TaskTimeTrigger"],
                "Triggers.StartBoundary": ["2026-12-31T03:30:00"],
            },
        ),
        ({"triggers": []}, {"Triggers.CimClass.CimClassName": None, "Triggers.StartBoundary": None}),
    ],
)
def test_a_task_without_a_difference_needs_no_change(requested: dict[str, t.Any], found: dict[str, t.Any]) -> None:
    assert planned(task(**requested), task=seen(**found)) is None


def test_a_new_task() -> None:
    change = must(task(arguments="/all", enabled=False), task=NO_TASK)
    assert commands(change) == [
        "New-ScheduledTaskAction",
        "New-ScheduledTaskTrigger",
        "New-ScheduledTaskTrigger",
        "New-ScheduledTaskSettingsSet",
        "Register-ScheduledTask",
        "Set-ScheduledTask",
        "Set-ScheduledTask",
    ]
    assert call(change, "action").parameters == {"Execute": "C:\\k\\clean.exe", "Argument": "/all"}
    assert call(change, "trigger-0").parameters == {"AtStartup": True}
    assert call(change, "trigger-1").parameters == {"Daily": True, "At": "03:30"}
    assert call(change, "settings").parameters["ExecutionTimeLimit"] == "3.00:00:00"
    assert call(change, "settings").parameters["Disable"] is True
    register = call(change, "register")
    assert register.parameters == {
        "TaskName": "clean-up",
        "TaskPath": "\\winkube\\",
        "User": "SYSTEM",
        "RunLevel": "Highest",
        "Force": True,
    }
    assert register.to_wire()["input"] == {"from": ["action"], "parameter": "Action"}
    assert call(change, "triggers").to_wire()["input"] == {"from": ["trigger-0", "trigger-1"], "parameter": "Trigger"}


@pytest.mark.parametrize(
    ("requested", "found", "why"),
    [
        ({"execute": "C:\\x.exe"}, {}, "execute is C:\\k\\clean.exe, expected C:\\x.exe"),
        ({"user": "LOCAL SERVICE"}, {}, "user is SYSTEM, expected LOCAL SERVICE"),
        (
            {},
            {"Triggers.StartBoundary": [None, "2026-11-21T04:30:00"]},
            "triggers is daily 04:30, startup, expected daily 03:30, startup",
        ),
        ({}, {"Settings.Enabled": False}, "enabled is false, expected true"),
        ({}, {"Settings.ExecutionTimeLimit": "PT1H"}, "execution time limit is PT1H, expected 3.00:00:00"),
    ],
)
def test_a_task_that_differs(requested: dict[str, t.Any], found: dict[str, t.Any], why: str) -> None:
    assert must(task(**requested), task=seen(**found)).why == why


def test_absence() -> None:
    assert planned(task(state="absent"), task=NO_TASK) is None
    assert commands(must(task(state="absent"), task=seen())) == ["Unregister-ScheduledTask"]


def test_a_task_without_a_folder_is_in_the_root_folder() -> None:
    assert (task(name="x").task_path, task(name="x").task_name) == ("\\", "x")


@pytest.mark.parametrize(
    "properties",
    [
        {"name": "winkube\\"},
        {"name": "a/b"},
        {"execute": None},
        {"triggers": [{"on": "daily"}]},
        {"triggers": [{"on": "daily", "at": 330}]},
        {"triggers": [{"on": "daily", "at": "25:00"}]},
        {"triggers": [{"on": "startup", "at": "03:30"}]},
        {"triggers": [{"on": "weekly", "at": "03:30"}]},
        {"triggers": [{"on": "hourly"}]},
        {"execution_time_limit_minutes": -1},
    ],
)
def test_invalid_tasks_are_refused(properties: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        task(**properties)
