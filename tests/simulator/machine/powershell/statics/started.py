# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Start programs with the System.Diagnostics.Process class of .NET, without waiting for their end.

Sources: https://learn.microsoft.com/dotnet/api/system.diagnostics.process,
https://learn.microsoft.com/dotnet/api/system.diagnostics.processstartinfo

The program's output is always discarded. On Windows, this happens only if the output is redirected and no handler reads
it; otherwise the program writes to the streams of the process that started it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from simulator.machine.objects import CmdletError, NotModelled, ProcessEndedError, PSObject
from simulator.machine.powershell.running.errors import method_failure
from simulator.machine.powershell.types.kinds import Hashtable
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.processes import Process
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.rights.guard import AccessDeniedError

if TYPE_CHECKING:
    from simulator.machine.session import Session

START_INFO = "System.Diagnostics.ProcessStartInfo"
_ERRORS = {
    ProgramNotFoundError: "The system cannot find the file specified",
    NotExecutableError: "%1 is not a valid Win32 application",
    AccessDeniedError: "Access is denied",
}


def start_info(session: Session) -> PSObject:
    """Return a new ProcessStartInfo with the environment of the current process."""
    return PSObject(
        START_INFO,
        {
            "FileName": "",
            "Arguments": "",
            "WorkingDirectory": "",
            "UseShellExecute": True,
            "RedirectStandardOutput": False,
            "RedirectStandardError": False,
            "EnvironmentVariables": Hashtable(session.environment),
        },
    )


def start(session: Session, given: list[object]) -> object:
    """Start a program, and return its process.

    Raises:
        CmdletError: the program does not start.
        NotModelled: the start information is not modelled.
    """
    info = given[0]
    if not isinstance(info, PSObject) or info.type_name != START_INFO or info.get("UseShellExecute") is not False:
        raise NotModelled("[System.Diagnostics.Process]::Start() with UseShellExecute, or without a ProcessStartInfo")
    variables = info.get("EnvironmentVariables")
    environment = {to_text(name): to_text(value) for name, value in dict(variables).items()}  # type: ignore[call-overload]
    directory = to_text(info.get("WorkingDirectory")) or session.directory
    machine, name = session.machine, to_text(info.get("FileName"))
    try:
        found = machine.programs.find(name, environment, directory)
    except (ProgramNotFoundError, NotExecutableError, AccessDeniedError) as error:
        raise _failure(_ERRORS[type(error)]) from None
    shown = PSObject("System.Diagnostics.Process", {"HasExited": False, "ExitCode": None})

    def work(process: Process) -> None:
        result = machine.programs.run(
            found.path,
            to_text(info.get("Arguments")),
            environment=environment,
            directory=directory,
            stop=process.stop,
            user=session.user,
        )
        shown.properties["ExitCode"] = result.exit_code

    process = machine.processes.detach(found.path.rpartition("\\")[2], session.user, work, session.process.stop)
    shown.properties |= {"Id": process.id, "WaitForExit": lambda limit=None: _wait(session, process, shown, limit)}
    for stream in ("Output", "Error"):
        if info.get(f"RedirectStandard{stream}") is True:
            shown.properties[f"Begin{stream}ReadLine"] = lambda: None
    return shown


def _wait(session: Session, process: Process, shown: PSObject, limit: object) -> bool:
    """Wait until a process ends or a time limit (ms) is reached. Return whether the process has ended."""
    scale = session.machine.settings.pause_scale / 1000
    end = time.monotonic() + (limit * scale if isinstance(limit, (int, float)) else float("inf"))
    while not process.ended.is_set() and process.alive and time.monotonic() < end:
        if session.process.stop.is_set():
            raise ProcessEndedError
        process.ended.wait(0.05)
    if process.alive:
        return False
    if shown.properties["ExitCode"] is None:
        shown.properties["ExitCode"] = 1  # ended from outside
    shown.properties["HasExited"] = True
    return True


def _failure(reason: str) -> CmdletError:
    return method_failure("Start", 1, "System.ComponentModel.Win32Exception", reason)
