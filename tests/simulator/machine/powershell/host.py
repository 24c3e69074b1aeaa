# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Running a script as a process (powershell.exe) or in a runspace (PSRP)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from simulator.machine.objects import CmdletError, NotModelled, ProgramResult
from simulator.machine.powershell.formatting import console
from simulator.machine.powershell.parsing.parser import Parser
from simulator.machine.powershell.parsing.syntax import Argument, Command, Literal, Node, Pipeline
from simulator.machine.powershell.remoting import to_wire
from simulator.machine.powershell.running import precheck
from simulator.machine.powershell.running.binding import Arguments
from simulator.machine.powershell.running.flow import ExitFlow, FlowControl, ReturnFlow
from simulator.machine.powershell.running.functions import Call
from simulator.machine.powershell.running.interpreter import Interpreter
from simulator.machine.powershell.running.scope import Runspace
from simulator.machine.powershell.running.streams import Emit, HostText
from simulator.machine.session import Session

__all__ = ["Outcome", "Runspace", "run_command_line", "run_script", "run_text"]


@dataclass
class Outcome:
    """What a script left behind: objects, errors, what it `exit`ed with, the error that ended it.

    `console` is the output, and what was written past it, in the order in which it came.
    """

    output: list[object] = field(default_factory=list)
    errors: list[CmdletError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    verbose: list[str] = field(default_factory=list)
    debug: list[str] = field(default_factory=list)
    information: list[HostText] = field(default_factory=list)
    failure: CmdletError | None = None
    exit_code: int | None = None
    success: bool = True
    standard_error: str = ""
    console: list[object] = field(default_factory=list)

    def serializable(self) -> list[object]:
        """Return the output as psrpcore serializes it: objects with their types and properties. Raises NotModelled."""
        return [to_wire(item) for item in self.output]


def run_script(
    session: Session,
    text: str,
    given: Sequence[object],
    *,
    runspace: Runspace | None = None,
    variables: Mapping[str, object] | None = None,
    commands: Sequence[tuple[str, bool, Sequence[tuple[str | None, object]]]] = (),
) -> Outcome:
    """Run a script.

    Parameters:
        given: objects piped in (`$input`).
        runspace: keeps variables and functions between scripts.
        variables: values of the script's parameters by name.
        commands: the commands of a PSRP pipeline as (text, is it a script, arguments); by default the script alone.
    """
    interpreter = Interpreter(session, runspace or Runspace())
    outcome = Outcome()

    def emit(item: object) -> None:
        outcome.output.append(item)
        interpreter.written.console.append(item)

    try:
        if commands and not (len(commands) == 1 and commands[0][1] and not commands[0][2]):
            _run_commands(interpreter, commands, list(given), outcome, emit)
        else:
            _run_text(interpreter, text, list(given), dict(variables or {}), emit)
    except ExitFlow as flow:
        outcome.exit_code = flow.code
    except FlowControl:
        pass
    except NotModelled as error:
        # What it did is done; what it would have answered is not known, so it answers nothing.
        outcome.output.clear()
        interpreter.written = type(interpreter.written)()
        outcome.failure = error
        outcome.success = False
    except CmdletError as error:
        outcome.failure = error
        outcome.success = False
    _complete(outcome, interpreter)
    return outcome


def _complete(outcome: Outcome, interpreter: Interpreter) -> None:
    written = interpreter.written
    outcome.errors = written.errors
    outcome.warnings = written.warnings
    outcome.verbose, outcome.debug, outcome.information = written.verbose, written.debug, written.information
    outcome.console = written.console
    outcome.success = outcome.success and interpreter.variables.success
    outcome.standard_error = "".join(written.standard_error)
    if outcome.exit_code is None:
        outcome.exit_code = written.exit_code


def _run_text(
    interpreter: Interpreter, text: str, given: list[object], variables: dict[str, object], emit: Emit
) -> None:
    """Run a script in the runspace's own scope; what it outputs before it fails or exits is kept."""
    block = Parser().script(text)
    if block.parameters or block.process or (variables and block.advanced):
        arguments = Arguments(list(variables.items()), [])
        call = Call(interpreter, block, "", arguments, emit, piped=bool(given) or block.process is not None)
        call.begin()
        for item in given:
            call.process(item)
        call.end()
        return
    known = {*interpreter.runspace.scope.functions, *interpreter.runspace.aliases}
    precheck.check(interpreter.session.machine, block.body, known)
    interpreter.variables.set("input", given)
    for name, value in variables.items():
        interpreter.variables.set(name, value)
    with suppress(ReturnFlow):
        interpreter.run((*block.begin, *block.body, *block.end), emit)


def _run_commands(
    interpreter: Interpreter,
    commands: Sequence[tuple[str, bool, Sequence[tuple[str | None, object]]]],
    given: list[object],
    outcome: Outcome,
    emit: Emit,
) -> None:
    """Run the commands of a PSRP pipeline, each on what the one before it output."""
    objects: list[object] = given
    for position, (text, is_script, arguments) in enumerate(commands):
        produced: list[object] = []
        if is_script and not arguments and position == 0:
            try:
                _run_text(interpreter, text, objects, {}, produced.append)
            except ExitFlow as flow:
                # What it output before still goes down the pipeline.
                outcome.exit_code = flow.code
        else:
            target: Node = Parser().script(text) if is_script else Literal(text)
            listed = tuple(Argument(key, Literal(value)) for key, value in arguments)
            command = Command("&" if is_script else "", target, listed)
            source = () if position == 0 and not given else (Literal(list(objects)),)
            interpreter.statement(Pipeline((*source, command)), produced.append)
        objects = produced
    for item in objects:
        emit(item)


def run_text(session: Session, text: str, given: Sequence[object], *, clixml: bool = False) -> ProgramResult:
    """Run a script as powershell.exe does and return what it prints and its exit code.

    Parameters:
        clixml: whether errors are written as CLIXML, as with -EncodedCommand and a redirected standard error.
    """
    outcome = run_script(session, text, given)
    try:
        output = printed(outcome.console)
    except NotModelled as error:
        outcome, output = Outcome(failure=error, success=False), ""
    records = [*outcome.errors, *([outcome.failure] if outcome.failure else [])]
    errors = [_error_text(error) for error in records]
    standard_error = outcome.standard_error + (_clixml(errors) if clixml and errors else "".join(errors))
    code = int(not outcome.success) if outcome.exit_code is None else outcome.exit_code
    return ProgramResult(code, output, standard_error)


def printed(written: Sequence[object]) -> str:
    """Return what the console shows of the output and of what was written past it."""
    objects: list[object] = []
    open_line = ""
    for item in written:
        if not isinstance(item, HostText):
            if open_line:
                raise NotModelled("output behind Write-Host -NoNewline")
            objects.append(item)
        elif item.newline:
            objects.append(open_line + item.text)
            open_line = ""
        else:
            open_line += item.text
    return console.text(objects) + open_line


def run_command_line(
    session: Session, script: str | None, file: str | None, arguments: list[str], stdin: bytes
) -> ProgramResult:
    """Run what powershell.exe was asked for: -Command, -EncodedCommand, -File, or a script on standard input."""
    text = stdin.decode("utf-8-sig", errors="replace")
    if file is not None:
        path = session.absolute(file)
        if not session.machine.files.is_file(path):
            message = (
                f"The argument '{file}' to the -File parameter does not exist. "
                "Provide the path to an existing '.ps1' file as an argument to the -File parameter.\r\n"
            )
            return ProgramResult(0xFFFD0000, "", message)
        return run_text(session, session.machine.files.read_text(path), text.splitlines())
    if script is None:
        return run_text(session, text, [])
    return run_text(session, script, text.splitlines(), clixml=True)


def _error_text(error: CmdletError) -> str:
    name = error.exception_type.rsplit(".", 1)[-1]
    return (
        f"{error.message}\r\n    + CategoryInfo          : {error.category}: (:) [], {name}\r\n"
        f"    + FullyQualifiedErrorId : {error.error_id}\r\n \r\n"
    )


def _clixml(errors: list[str]) -> str:
    """Return errors as CLIXML: each line a string of the error stream."""
    strings = ""
    for line in "".join(errors).split("\r\n")[:-1]:
        strings += f'<S S="Error">{escape(line)}_x000D__x000A_</S>'
    return (
        f'#< CLIXML\r\n<Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04">{strings}</Objs>'
    )
