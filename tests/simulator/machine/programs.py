# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find and run programs: find the file for a name, identify the program in this file, and run its simulation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.machine import command_line, executables
from simulator.machine.objects import Invocation, NotModelled, ProcessEndedError, Program, ProgramResult
from simulator.machine.processes import StopSignal
from simulator.machine.rights import check
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.services import Resolved
from simulator.machine.typed_input import typed
from simulator.machine.unmodelled_programs import is_unmodelled
from simulator.machine.windows_paths import normalise
from simulator.transport.host import ConsoleInput

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

ACCESS_DENIED = 5
SYSTEM = "NT AUTHORITY\\SYSTEM"
BATCH_FILE = "batch file"
"""The value of `FoundProgram.identity` for a .cmd or .bat file, which CreateProcess runs with cmd.exe."""
BATCH_ENDINGS = (".cmd", ".bat")


class ProgramNotFoundError(Exception):
    """Raised if a program does not exist (Win32 error 2)."""


class NotExecutableError(Exception):
    """Raised if Windows or the simulator cannot run a file as a program (Win32 error 193)."""


class ProgramTimeoutError(Exception):
    """Raised if a program was killed at its time limit. `result` is the program's result up to that time."""

    def __init__(self, result: ProgramResult) -> None:
        super().__init__("timeout")
        self.result = result


@dataclass(frozen=True)
class FoundProgram:
    """A program file on the node. If `program` is None, the file can run only as a service, or not at all."""

    path: str
    identity: str
    version: str
    program: Program | None


@contextmanager
def _time_limit(seconds: float | None, signal: StopSignal) -> Iterator[threading.Event]:
    """Stop a program if it runs for more than `seconds`. Yield an event that is set if this happens."""
    late = threading.Event()

    def kill() -> None:
        late.set()
        signal.set()

    killer = threading.Timer(seconds, kill) if seconds else None
    if killer:
        killer.daemon = True
        killer.start()
    try:
        yield late
    finally:
        if killer:
            killer.cancel()


class MachinePrograms:
    """The programs of one machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def locate(self, name: str, environment: Mapping[str, str] | None = None, directory: str = "C:\\") -> str | None:
        """Return the path of the file that Windows finds for a program name, or None if it finds no file."""
        files = self._machine.files
        text = name.strip('"')
        if "\\" in text or "/" in text or ":" in text:
            whole = text if ":" in text or text.startswith("\\") else f"{directory}\\{text}"
            return next((path for path in (whole, f"{whole}.exe") if files.is_file(path)), None)
        variables = environment if environment is not None else self._machine.environment()
        path = next((value for key, value in variables.items() if key.casefold() == "path"), "")
        # PATH comes from the caller's environment, but CreateProcess always searches System32.
        folders = ["C:\\Windows\\System32", *(folder for folder in path.split(";") if folder)]
        names = (text,) if text.casefold().endswith(".exe") else (f"{text}.exe", text)
        for folder in folders:
            for file_name in names:
                if files.is_file(f"{folder}\\{file_name}"):
                    return f"{folder.rstrip(chr(92))}\\{file_name}"
        return None

    def find(self, name: str, environment: Mapping[str, str] | None = None, directory: str = "C:\\") -> FoundProgram:
        """Return the program for a name or path.

        Raises:
            ProgramNotFoundError: the program does not exist.
            NotExecutableError: the file is not a program.
            AccessDeniedError: the acting user may not execute the file.
            NotModelled: the simulator does not model the program, or an antivirus is about to remove it.
        """
        path = self.locate(name, environment, directory)
        if path is None and is_unmodelled(name):
            raise NotModelled(f"the program {name}")
        if path is None:
            raise ProgramNotFoundError(name)
        self._machine.files.require(path, check.EXECUTE)
        if self._machine.files.open.is_infected(path):
            raise NotModelled("the error for a program that an antivirus is about to remove")
        if path.casefold().endswith(BATCH_ENDINGS):
            return FoundProgram(path, BATCH_FILE, "", self._machine.families.program(BATCH_FILE))
        with self._machine.files.real(path).open("rb") as file:
            identity = executables.identify(file.read(executables.HEAD_SIZE))
        if identity is None:
            raise NotExecutableError(path)
        program = self._machine.families.program(identity[0])
        return FoundProgram(path, identity[0], identity[1], program)

    def run(
        self,
        name: str,
        arguments: Sequence[str] | str = (),
        *,
        stdin: bytes | ConsoleInput = b"",
        environment: Mapping[str, str] | None = None,
        directory: str = "C:\\",
        stop: threading.Event | None = None,
        user: str | None = None,
        timeout: float | None = None,
        logon: str = "",
        emit: Callable[[str], None] | None = None,
    ) -> ProgramResult:
        """Run a program, and return its result.

        Args:
            name: a name on PATH, or a path.
            arguments: a list, or the part of a command line after the program.
            environment: the complete environment; by default, the environment of the machine.
            stop: the `stop` event of the caller's process. Setting it ends the program.
            stdin: the standard input, or the console. Only programs that read from the console consume its input.
            user: the account that runs the program. By default, SYSTEM runs it, but with the caller's access token.
            timeout: the number of seconds after which the program is killed.
            logon: `batch` for a scheduled task or become, or an empty string for a logon over WinRM.
            emit: a function that receives output while the program runs.

        Raises:
            ProgramNotFoundError: the program does not exist.
            NotExecutableError: the file is not a program.
            AccessDeniedError: the acting user may not execute the file, or the program was denied access.
            NotModelled: the simulator does not model the program.
            ProgramTimeoutError: the program exceeded the time limit.
            ProcessEndedError: `stop` was set when the program ended.
        """
        variables = dict(environment) if environment is not None else self._machine.environment()
        found = self.find(name, variables, directory)
        if found.program is None:
            raise NotExecutableError(found.path)
        line = arguments if isinstance(arguments, str) else command_line.join(list(arguments))
        argv = command_line.split(arguments) if isinstance(arguments, str) else list(arguments)
        caller = stop or threading.Event()
        signal = StopSignal(caller)
        file_name, account = found.path.rpartition("\\")[2], user or SYSTEM
        process = self._machine.processes.begin(file_name, account, signal, normalise(found.path))
        try:
            data = stdin if isinstance(stdin, bytes) else typed(stdin, file_name, argv)
            if isinstance(data, ProgramResult):
                return data
            about = (found.path, found.version, account, line, logon)
            invocation = Invocation(argv, data, variables, directory, signal, *about, emit=emit)
            with _time_limit(timeout, signal) as late, self._machine.acting.as_account(user) if user else nullcontext():
                return self._finish(found.program, invocation, caller, late)
        finally:
            self._machine.processes.end(process)

    def _finish(
        self, program: Program, invocation: Invocation, caller: threading.Event, late: threading.Event
    ) -> ProgramResult:
        """Run a program until it ends by itself, the time limit is reached, or the caller's process ends."""
        try:
            if caller.is_set():
                raise ProcessEndedError
            result = program(self._machine, invocation)
        except AccessDeniedError as error:
            result = ProgramResult(ACCESS_DENIED, "", f"{error.path}: Access is denied.\r\n")
        except ProcessEndedError:
            if caller.is_set():
                raise
            # Only this program was ended (Stop-Process, taskkill). Windows reports the exit code that it was killed
            # with.
            result = ProgramResult(1)
        if late.is_set():
            raise ProgramTimeoutError(result)
        if caller.is_set():
            raise ProcessEndedError
        return result

    def resolve_service(self, service: str, line: str) -> Resolved:
        """Return the program that a service's command line starts, or the Win32 error that prevents the start."""
        files = self._machine.files
        program, rest = command_line.program_and_rest(line, files.is_file)
        argv = [program, *command_line.split(rest)]
        path = next((place for place in (program, f"{program}.exe") if files.is_file(place)), None)
        if path is None:
            return Resolved(argv, program, None, 2)
        with files.real(path).open("rb") as file:
            identity = executables.identify(file.read(executables.HEAD_SIZE))
        if identity is None:
            return Resolved(argv, path, None, 193)
        return Resolved(argv, path, self._machine.families.service(identity[0], service))
