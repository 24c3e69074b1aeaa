# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Get-Process and Stop-Process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from simulator.machine.machine import Machine
from simulator.machine.objects import Bound, Cmdlet, CmdletError, PSObject
from simulator.machine.powershell.types.patterns import like
from simulator.machine.processes import Process

_EXCEPTION = "Microsoft.PowerShell.Commands.ProcessCommandException"


def _object(process: Process) -> PSObject:
    stem = process.name.removesuffix(".exe")
    return PSObject(
        "System.Diagnostics.Process",
        {
            "Id": process.id,
            "ProcessName": stem,
            "Name": stem,
            "Handles": 100,
            "StartTime": process.started,
            "HasExited": not process.alive,
            "Responding": True,
        },
        f"System.Diagnostics.Process ({stem})",
    )


def _chosen(machine: Machine, bound: Bound) -> Iterable[Process]:
    running = machine.processes.all()
    if "Id" in bound:
        ids = bound.get("Id")
        for number in ids if isinstance(ids, list) else [ids]:
            found = [process for process in running if process.id == number]
            if not found:
                message = f"Cannot find a process with the process identifier {number}."
                bound.write_error(CmdletError("ObjectNotFound", "NoProcessFoundForGivenId", message, _EXCEPTION))
            yield from found
        return
    piped = [item.get("Id") for item in bound.pipeline if isinstance(item, PSObject)]
    if piped:
        yield from (process for process in running if process.id in piped)
        return
    for name in bound.texts("Name") or ["*"]:
        found = [process for process in running if like(process.name.removesuffix(".exe"), name)]
        if not found and not any(char in name for char in "*?["):
            message = (
                f'Cannot find a process with the name "{name}". Verify the process name and call the cmdlet again.'
            )
            bound.write_error(CmdletError("ObjectNotFound", "NoProcessFoundForGivenName", message, _EXCEPTION))
        yield from found


def get_process(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Process."""
    return map(_object, _chosen(machine, bound))


def stop_process(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Stop-Process.

    If a process belongs to a service, the service control manager treats its end as a crash.
    """
    for process in list(_chosen(machine, bound)):
        services = (machine.services.get(name) for name in machine.services.names())
        service = next((item for item in services if item and item.process_id == process.id), None)
        if service:
            machine.services.crash(service.name)
        else:
            machine.processes.kill(process)
    return []


CMDLETS: Mapping[str, Cmdlet] = {"Get-Process": get_process, "Stop-Process": stop_process}
