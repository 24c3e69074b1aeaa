# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Ansible modules win_command and win_shell."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from simulator.machine import command_line
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import ProgramResult
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.session import Session


def command(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Run a program (win_command)."""
    arguments.modelled("_raw_params", "cmd", "argv", "chdir", "creates", "removes", "stdin")
    line = arguments.text("cmd", "_raw_params", default="").strip()
    words = arguments.raw("argv")
    if not line and not words:
        raise ArgumentError("one of the following is required: _raw_params, argv, cmd")
    line = line or command_line.join([str(word) for word in words])
    skipped = _skipped(session, arguments, line)
    if skipped:
        return skipped
    _change_directory(session, arguments)
    is_file = session.machine.files.is_file
    program, rest = command_line.program_and_rest(line, lambda path: ":" in path and is_file(path))
    stdin = arguments.text("stdin", default="").encode()
    try:
        return _timed(line, lambda: session.run_program(program, rest, stdin))
    except ProgramNotFoundError:
        return _not_run(line, 2, "The system cannot find the file specified")
    except NotExecutableError:
        return _not_run(line, 193, "%1 is not a valid Win32 application")


def _not_run(line: str, code: int, why: str) -> dict[str, Any]:
    call = 'Exception calling "CreateProcess" with "7" argument(s)'
    failure = f'{call}: "CreateProcessW() failed ({why}, Win32ErrorCode {code} - 0x{code:08X})"'
    return {"changed": False, "failed": True, "rc": code, "cmd": line, "msg": f"Failed to run: '{line}': {failure}"}


def shell(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Run a command with PowerShell, cmd.exe or another program (win_shell)."""
    from simulator.machine.powershell.host import run_text

    arguments.modelled("_raw_params", "chdir", "executable", "creates", "removes", "stdin", "no_profile")
    if arguments.check_mode:
        return {"changed": False, "skipped": True, "msg": "remote module does not support check mode"}
    if arguments.raw("_raw_params") is None:
        raise ArgumentError("Get-AnsibleParam: Missing required argument: _raw_params")
    line = arguments.text("_raw_params").strip()
    skipped = _skipped(session, arguments, line)
    if skipped:
        return skipped
    _change_directory(session, arguments)
    executable = arguments.text("executable", default="powershell")
    stdin = arguments.text("stdin", default="")
    if executable in ("powershell", "powershell.exe"):
        return _timed(line, lambda: run_text(session, line, stdin.splitlines()))
    name = executable if executable.endswith(".exe") else f"{executable}.exe"
    try:
        return _timed(line, lambda: session.run_program(name, f"/c {line}", stdin.encode()))
    except (ProgramNotFoundError, NotExecutableError) as error:
        return {"changed": False, "failed": True, "rc": 2, "cmd": line, "msg": not_started(name, error)}


def not_started(name: str, error: ProgramNotFoundError | NotExecutableError) -> str:
    """Return the error message of Run-Command (Ansible.ModuleUtils.CommandUtil) for a program that cannot start."""
    if isinstance(error, ProgramNotFoundError):
        return f'Exception calling "SearchPath" with "1" argument(s): "Could not find file \'{name}\'."'
    failure = "CreateProcessW() failed (%1 is not a valid Win32 application, Win32ErrorCode 193)"
    return f'Exception calling "CreateProcess" with "6" argument(s): "{failure}"'


def _skipped(session: Session, arguments: ModuleArguments, line: str) -> dict[str, Any] | None:
    files = session.machine.files
    creates, removes = arguments.raw("creates"), arguments.raw("removes")
    reason = ""
    if creates and files.exists(session.absolute(session.expand(str(creates)))):
        reason = f"skipped, since {creates} exists"
    elif removes and not files.exists(session.absolute(session.expand(str(removes)))):
        reason = f"skipped, since {removes} does not exist"
    return {"changed": False, "skipped": True, "rc": 0, "cmd": line, "msg": reason} if reason else None


def _change_directory(session: Session, arguments: ModuleArguments) -> None:
    if arguments.raw("chdir"):
        folder = session.absolute(arguments.path(session, "chdir")).rstrip("\\")
        if not session.machine.files.is_directory(folder + "\\"):
            raise ArgumentError(f"the simulator does not model a chdir to {folder}, which is not a folder")
        session.directory = folder


def _timed(line: str, work: Callable[[], ProgramResult]) -> dict[str, Any]:
    started = datetime.now(UTC)
    result = work()
    ended = datetime.now(UTC)
    form = "%Y-%m-%d %H:%M:%S.%f"
    answer: dict[str, Any] = {
        "changed": True,
        "cmd": line,
        "rc": result.exit_code,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "start": started.strftime(form),
        "end": ended.strftime(form),
        "delta": str(ended - started),
    }
    return answer | {"failed": True, "msg": "non-zero return code"} if result.exit_code else answer
