# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scheduled tasks: registration, runs and their results.

Sources: https://learn.microsoft.com/powershell/module/scheduledtasks/register-scheduledtask and, for the result codes,
https://learn.microsoft.com/windows/win32/taskschd/task-scheduler-error-and-success-constants
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulator.machine import command_line
from simulator.machine.objects import Bound, Cmdlet, CmdletError, NotModelled, PSObject
from simulator.machine.processes import Process
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.wildcards import any_match, has_wildcard
from simulator.windows.common import cim, objects
from simulator.windows.system.task_parts import (
    NAMESPACE,
    RegisteredTask,
    Tasks,
    cim_list,
    failure,
    from_object,
    from_parameters,
    from_xml,
    new_action,
    new_principal,
    new_settings,
    new_trigger,
    task_object,
)

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_RUNNING = 267009
_TERMINATED = 267014


def new_task(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-ScheduledTask. It returns a task that is not registered."""
    return [task_object(from_parameters(machine, bound, "", "\\"))]


def _folder(path: str) -> str:
    inner = path.strip("\\")
    return f"\\{inner}\\" if inner else "\\"


def register(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Register-ScheduledTask."""
    name, folder = bound.text("TaskName"), _folder(bound.text("TaskPath"))
    if "\\" in name:
        head, _, name = name.rpartition("\\")
        folder = _folder(head)
    given = objects(bound, "InputObject")
    if bound.get("Xml"):
        task = from_xml(name, folder, bound.text("Xml"))
    elif given:
        task = from_object(name, folder, given[0])
    else:
        task = from_parameters(machine, bound, name, folder)
    if not task.actions:
        raise failure("HRESULT 0x80070057", "The parameter is incorrect.", "InvalidArgument")
    key = (folder + name).casefold()
    tasks = machine.part(Tasks).tasks
    if key in tasks and not bound.flag("Force"):
        message = "Cannot create a file when that file already exists."
        raise failure("HRESULT 0x800700b7", message, "ResourceExists")
    if task.settings.get("Enabled") is False:
        task.state = "Disabled"
    tasks[key] = task
    return [task_object(task)]


def _select(machine: Machine, bound: Bound) -> list[RegisteredTask]:
    """Return the tasks that the parameters of a cmdlet select by input objects, names or patterns."""
    tasks = machine.part(Tasks).tasks
    given = objects(bound, "InputObject")
    if given:
        keys = [f"{item.get('TaskPath')}{item.get('TaskName')}".casefold() for item in given]
        return [tasks[key] for key in keys if key in tasks]
    names, paths = bound.texts("TaskName"), bound.texts("TaskPath")
    # Only a pattern may omit the last backslash of a path. A name may also be a pattern.
    found = [
        task
        for task in tasks.values()
        if (not names or any_match(names, task.name))
        and (not paths or any_match([_pattern(path) for path in paths], task.path))
    ]
    for name in names:
        if not has_wildcard(name) and not any(task.name.casefold() == name.casefold() for task in found):
            message = (
                f"No MSFT_ScheduledTask objects found with property 'TaskName' equal to '{name}'.  "
                "Verify the value of the property and retry."
            )
            raise CmdletError(
                "ObjectNotFound",
                f"CmdletizationQuery_NotFound_TaskName,{bound.command}",
                message,
                "Microsoft.PowerShell.Cmdletization.Cim.CimJobException",
            )
    return found


def _pattern(path: str) -> str:
    return path if has_wildcard(path) else _folder(path)


def get_task(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-ScheduledTask."""
    return [task_object(task) for task in _select(machine, bound)]


def unregister(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Unregister-ScheduledTask. Without -Confirm:$false, it fails, because no one can confirm."""
    found = _select(machine, bound)
    if "Confirm" not in bound or bound.flag("Confirm"):
        raise CmdletError(
            "InvalidOperation",
            "InvalidOperation,Unregister-ScheduledTask",
            "Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.",
            "System.Management.Automation.PSInvalidOperationException",
        )
    for task in found:
        end(machine, task)
        machine.part(Tasks).tasks.pop((task.path + task.name).casefold(), None)
    return []


def start(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Start-ScheduledTask. It returns immediately, and the task's actions run in a separate process."""
    for task in _select(machine, bound):
        if task.state == "Disabled":
            message = "The task is disabled."
            raise failure("HRESULT 0x80041326", message, "InvalidOperation", "Start-ScheduledTask")
        run(machine, task)
    return []


def run(machine: Machine, task: RegisteredTask) -> None:
    """Start a scheduled task unless it is running."""
    if task.state == "Running":
        return
    user = str(task.principal.get("UserId") or "SYSTEM")
    account = "NT AUTHORITY\\SYSTEM" if user == "SYSTEM" else user
    task.state, task.last_run, task.last_result = "Running", datetime.now(UTC), _RUNNING

    def work(process: Process) -> None:
        code = _TERMINATED
        while machine.power.state != "on":
            process.sleep(0.05)
        try:
            for action in task.actions:
                code = _execute(machine, action, process, account)
        finally:
            task.last_result = code
            if task.state == "Running":
                task.state = "Ready"

    task.process_id = machine.processes.detach("taskhostw.exe", account, work).id


def _execute(machine: Machine, action: PSObject, process: Process, user: str) -> int:
    arguments = str(action.get("Arguments") or "")
    directory = str(action.get("WorkingDirectory") or "C:\\Windows\\system32")
    program = machine.expand(str(action.get("Execute") or "")).strip('"')
    environment = machine.user_environment(user)
    try:
        expanded = command_line.expand(arguments, environment)
        result = machine.programs.run(
            program,
            expanded,
            environment=environment,
            directory=directory,
            stop=process.stop,
            user=user,
            logon="batch",
        )
    except ProgramNotFoundError:
        return 0x80070002
    except NotExecutableError:
        return 0x800700C1
    except AccessDeniedError:
        return 0x80070005
    except NotModelled:
        return 0x80004001
    return result.exit_code & 0xFFFFFFFF


def end(machine: Machine, task: RegisteredTask) -> None:
    """End the process of a scheduled task."""
    process = machine.processes.get(task.process_id)
    if process:
        process.stop.set()
    if task.state == "Running":
        task.state, task.last_result = "Ready", _TERMINATED


def stop(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Stop-ScheduledTask."""
    for task in _select(machine, bound):
        end(machine, task)
    return []


def _enable(enabled: bool) -> Cmdlet:
    def handler(machine: Machine, bound: Bound) -> Iterable[object]:
        found = _select(machine, bound)
        for task in found:
            task.settings.properties["Enabled"] = enabled
            task.state = "Ready" if enabled else "Disabled"
        return [task_object(task) for task in found]

    return handler


def set_task(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-ScheduledTask."""
    for task in _select(machine, bound):
        task.actions = cim_list(bound, "Action") or task.actions
        task.triggers = cim_list(bound, "Trigger") or task.triggers
        task.principal = (cim_list(bound, "Principal") or [task.principal])[0]
        task.settings = (cim_list(bound, "Settings") or [task.settings])[0]
        yield task_object(task)


def get_info(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-ScheduledTaskInfo."""
    for task in _select(machine, bound):
        properties: dict[str, object] = {
            "LastRunTime": task.last_run or datetime(1999, 11, 30, tzinfo=UTC),
            "LastTaskResult": task.last_result,
            "NextRunTime": None,
            "NumberOfMissedRuns": 0,
            "TaskName": task.name,
            "TaskPath": task.path,
        }
        yield cim("MSFT_TaskDynamicInfo", properties, NAMESPACE)


def on_boot(machine: Machine) -> None:
    """At boot, start the scheduled tasks that have a startup trigger. By then, the services have already started."""
    for task in machine.part(Tasks).tasks.values():
        if task.state == "Running":
            task.state, task.last_result = "Ready", _TERMINATED
        boots = any(trigger.type_name.endswith("MSFT_TaskBootTrigger") for trigger in task.triggers)
        if boots and task.state == "Ready":
            run(machine, task)


def _status(machine: Machine) -> object:
    return {
        task.path + task.name: {"state": task.state, "last_result": task.last_result}
        for task in machine.part(Tasks).tasks.values()
    }


CMDLETS: Mapping[str, Cmdlet] = {
    "New-ScheduledTaskAction": new_action,
    "New-ScheduledTaskTrigger": new_trigger,
    "New-ScheduledTaskPrincipal": new_principal,
    "New-ScheduledTaskSettingsSet": new_settings,
    "New-ScheduledTask": new_task,
    "Register-ScheduledTask": register,
    "Unregister-ScheduledTask": unregister,
    "Get-ScheduledTask": get_task,
    "Set-ScheduledTask": set_task,
    "Start-ScheduledTask": start,
    "Stop-ScheduledTask": stop,
    "Enable-ScheduledTask": _enable(True),
    "Disable-ScheduledTask": _enable(False),
    "Get-ScheduledTaskInfo": get_info,
}
STATUS = {"scheduled_tasks": _status}
ON_BOOT = on_boot
