# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""win_command, win_shell, win_powershell."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from simulator.machine import command_line
from simulator.machine.calls.properties import outward
from simulator.machine.modules.arguments import ArgumentError, Arguments
from simulator.machine.objects import ProgramResult
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.session import Session


def command(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Run a program."""
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
        why = "The system cannot find the file specified"
        return {"changed": False, "failed": True, "rc": 2, "cmd": line, "msg": f"Failed to run: '{line}': {why}"}
    except NotExecutableError:
        why = "%1 is not a valid Win32 application"
        return {"changed": False, "failed": True, "rc": 193, "cmd": line, "msg": f"Failed to run: '{line}': {why}"}


def shell(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Run a piece of PowerShell, or of cmd.exe."""
    from simulator.machine.powershell.host import run_text

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
    return _timed(line, lambda: session.run_program(name, f"/c {line}", stdin.encode()))


def powershell(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Run a script and return its objects."""
    from simulator.machine.powershell.host import run_script

    text = arguments.text("script")
    skipped = _skipped(session, arguments, text)
    if skipped:
        return skipped
    outcome = run_script(session, text, [], variables=arguments.raw("parameters", {}))
    errors = [
        {
            "exception": {"message": error.message, "type": error.exception_type},
            "category_info": {"category": error.category},
            "fully_qualified_error_id": error.error_id,
        }
        for error in [*outcome.errors, *([outcome.failure] if outcome.failure else [])]
    ]
    answer = {
        "changed": True,
        "output": [outward(item) for item in outcome.output],
        "error": errors,
        "warning": outcome.warnings,
        "verbose": [],
        "debug": [],
        "information": [],
        "host_out": "",
        "host_err": "",
        "result": {},
    }
    if outcome.failure:
        answer |= {"failed": True, "msg": f"Unhandled exception while executing module: {outcome.failure.message}"}
    return answer


def _skipped(session: Session, arguments: Arguments, line: str) -> dict[str, Any] | None:
    files = session.machine.files
    creates, removes = arguments.raw("creates"), arguments.raw("removes")
    reason = ""
    if creates and files.exists(session.absolute(session.expand(str(creates)))):
        reason = f"skipped, since {creates} exists"
    elif removes and not files.exists(session.absolute(session.expand(str(removes)))):
        reason = f"skipped, since {removes} does not exist"
    return {"changed": False, "skipped": True, "rc": 0, "cmd": line, "msg": reason} if reason else None


def _change_directory(session: Session, arguments: Arguments) -> None:
    if arguments.raw("chdir"):
        session.directory = arguments.path(session, "chdir").rstrip("\\")


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
