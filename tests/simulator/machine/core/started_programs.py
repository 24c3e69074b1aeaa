# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Start-Process, Wait-Process, tasklist.exe and taskkill.exe.

See https://learn.microsoft.com/windows-server/administration/windows-commands/taskkill.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine import command_line
from simulator.machine.core import paths
from simulator.machine.objects import Bound, Cmdlet, CmdletError, Invocation, Program, ProgramResult, PSObject, items
from simulator.machine.processes import Process
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.services import ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

NOT_FOUND = 128


def start_process(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Start-Process, which starts a program. With -Wait, wait until the program has ended."""
    session = paths.session_of(bound)
    environment = dict(paths.environment(machine, bound))
    directory = bound.text("WorkingDirectory") or paths.directory(bound)
    user = session.user if session else "SYSTEM"
    # Start-Process joins its arguments with spaces, without quotes.
    arguments, path = " ".join(bound.texts("ArgumentList")), bound.text("FilePath")
    try:
        found = machine.programs.find(path, environment, directory)
    except (ProgramNotFoundError, NotExecutableError, AccessDeniedError) as error:
        reason = "The system cannot find the file specified."
        if isinstance(error, AccessDeniedError):
            reason = "Access is denied."
        if isinstance(error, NotExecutableError):
            reason = "%1 is not a valid Win32 application."
        message = f"This command cannot be run due to the error: {reason}"
        kind = "System.InvalidOperationException"
        raise CmdletError("InvalidOperation", "InvalidOperationException", message, kind) from None
    stdin = b""
    if "RedirectStandardInput" in bound:
        stdin = machine.files.read_bytes(paths.parse(machine, bound, bound.text("RedirectStandardInput")).path)
    # Evaluated now, because the session's current folder may be different when the program ends.
    targets = {
        stream: paths.parse(machine, bound, bound.text(parameter)).path
        for stream, parameter in (("stdout", "RedirectStandardOutput"), ("stderr", "RedirectStandardError"))
        if parameter in bound
    }
    shown = PSObject("System.Diagnostics.Process", {"HasExited": False, "ExitCode": None})

    def work(process: Process) -> None:
        result = machine.programs.run(
            found.path,
            arguments,
            stdin=stdin,
            environment=environment,
            directory=directory,
            stop=process.stop,
            user=user,
        )
        for stream, target in targets.items():
            machine.files.write_bytes(target, getattr(result, stream).encode())
        shown.properties |= {"HasExited": True, "ExitCode": result.exit_code}

    name = found.path.rsplit("\\", 1)[-1]
    process = machine.processes.detach(name, user, work)
    stem = name.removesuffix(".exe")
    shown.properties |= {"Id": process.id, "ProcessName": stem, "Name": stem, "StartTime": process.started}
    shown.properties["WaitForExit"] = lambda milliseconds=None: _ended(process, bound, milliseconds)
    if bound.flag("Wait"):
        _ended(process, bound, None)
    if bound.flag("PassThru"):
        yield shown


def _ended(process: Process, bound: Bound, milliseconds: object) -> bool:
    """Wait until a process has ended or the time is up, and return whether it has ended."""
    end = time.monotonic() + (milliseconds / 1000 if isinstance(milliseconds, (int, float)) else float("inf"))
    while process.alive and time.monotonic() < end and not bound.stop.is_set():
        process.ended.wait(0.05)
    return not process.alive


def wait_process(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Wait-Process, which waits until processes have ended or the time is up."""
    limit = time.monotonic() + (bound.number("Timeout") if "Timeout" in bound else float("inf"))
    ids = {number for number in items(bound.get("Id")) if isinstance(number, int)}
    ids |= {
        number for item in bound.pipeline if isinstance(item, PSObject) and isinstance(number := item.get("Id"), int)
    }
    names = {name.casefold() for name in bound.texts("Name")}
    chosen = [each for each in machine.processes.all() if each.id in ids or _stem(each).casefold() in names]
    present = {_stem(each).casefold() for each in chosen}
    for name in bound.texts("Name"):
        if name.casefold() not in present:
            message = (
                f'Cannot find a process with the name "{name}". Verify the process name and call the cmdlet again.'
            )
            kind = "Microsoft.PowerShell.Commands.ProcessCommandException"
            bound.write_error(CmdletError("ObjectNotFound", "NoProcessFoundForGivenName", message, kind))
    for process in chosen:
        while process.alive and not bound.stop.is_set():
            if time.monotonic() >= limit:
                label = f"{_stem(process)} ({process.id})"
                message = f'This command stopped operation because process "{label}" is not stopped in the specified '
                message += "time-out."
                kind = "System.TimeoutException"
                bound.write_error(CmdletError("CloseError", "ProcessNotTerminated", message, kind))
                break
            process.ended.wait(0.05)
    return []


def _stem(process: Process) -> str:
    return process.name.removesuffix(".exe")


def _end(machine: Machine, process: Process) -> None:
    """End a process. If the process belongs to a service, the service control manager treats its end as a crash."""
    for name in machine.services.names():
        service = machine.services.get(name)
        if service and service.process_id == process.id:
            try:
                machine.services.crash(name)
            except ServiceError:
                break
            return
    machine.processes.kill(process)


def taskkill(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate taskkill.exe with /pid ID or /im NAME. The options /f and /t are accepted but have no effect."""
    words = [word.replace("-", "/", 1) for word in run.argv]
    ids: list[str] = []
    names: list[str] = []
    while words:
        word = words.pop(0).casefold()
        if word in ("/f", "/t"):
            continue
        if word not in ("/pid", "/im") or not words:
            return ProgramResult(
                1, "", f"ERROR: Invalid argument/option - '{word}'.\r\nType \"TASKKILL /?\" for usage.\r\n"
            )
        (ids if word == "/pid" else names).append(words.pop(0))
    if not ids and not names:
        return ProgramResult(1, "", "ERROR: Invalid syntax. Neither /FI nor /PID nor /IM were specified.\r\n")
    running = machine.processes.all()
    out, errors, code = "", "", 0
    for requested in [*ids, *names]:
        key = requested.casefold()
        found = [each for each in running if key == (each.name.casefold() if requested in names else str(each.id))]
        if not found:
            code, errors = NOT_FOUND, errors + f'ERROR: The process "{requested}" not found.\r\n'
        for process in found:
            _end(machine, process)
            out += f'SUCCESS: The process "{process.name}" with PID {process.id} has been terminated.\r\n'
    return ProgramResult(code, out, errors)


def tasklist(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate tasklist.exe with the options `/fo csv`, `/fo table` and `/nh`."""
    words = [word.casefold() for word in command_line.split(run.command_line)] or [word.casefold() for word in run.argv]
    if set(words) - {"/fo", "csv", "table", "/nh"}:
        return ProgramResult(1, "", f"the simulator does not model tasklist {run.command_line}\r\n")
    rows = [(each.name, str(each.id), "Services", "0", "10,000 K") for each in machine.processes.all()]
    heads = ("Image Name", "PID", "Session Name", "Session#", "Mem Usage")
    shown = rows if "/nh" in words else [heads, *rows]
    if "csv" in words:
        return ProgramResult(0, "".join(",".join(f'"{cell}"' for cell in row) + "\r\n" for row in shown))
    widths = (25, 8, 16, 11, 12)
    lines = [" ".join(cell.ljust(width)[:width] for cell, width in zip(row, widths, strict=True)) for row in shown]
    if "/nh" not in words:
        lines.insert(1, " ".join("=" * width for width in widths))
    return ProgramResult(0, "\r\n" + "".join(f"{line}\r\n" for line in lines))


CMDLETS: Mapping[str, Cmdlet] = {"Start-Process": start_process, "Wait-Process": wait_process}
PROGRAMS: Mapping[str, Program] = {"taskkill.exe": taskkill, "tasklist.exe": tasklist}
