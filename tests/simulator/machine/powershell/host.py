# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The execution of PowerShell scripts, in a process (powershell.exe) or in a runspace (PSRP)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from simulator.machine.objects import CmdletError, NotModelled, ProgramResult
from simulator.machine.powershell.formatting import console
from simulator.machine.powershell.parsing.parser import Parser
from simulator.machine.powershell.parsing.syntax import (
    Argument,
    Block,
    CommandInvocation,
    Literal,
    Pipeline,
    SyntaxNode,
)
from simulator.machine.powershell.remoting import to_wire
from simulator.machine.powershell.running import precheck
from simulator.machine.powershell.running.binding import PRESENT, CommandArguments
from simulator.machine.powershell.running.flow import ExitFlow, FlowControl, ReturnFlow
from simulator.machine.powershell.running.functions import FunctionCall
from simulator.machine.powershell.running.interpreter import Interpreter
from simulator.machine.powershell.running.scope import Runspace
from simulator.machine.powershell.running.streams import Emit, HostText
from simulator.machine.session import Session

__all__ = ["RemoteCommand", "Runspace", "ScriptOutcome", "run_command_line", "run_script", "run_text"]


@dataclass
class ScriptOutcome:
    """The result of a script: its output objects, its errors, its exit code, and the error that ended it.

    `console` contains the output and the text that was written directly to the console, in their original order.
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
        """Return the output as objects that psrpcore serializes with their types and properties.

        Raises:
            NotModelled: a type is not modelled.
        """
        return [to_wire(item) for item in self.output]


@dataclass(frozen=True)
class RemoteCommand:
    """A command of a PSRP client. It has the same fields as `simulator.transport.host.PipelineCommand`."""

    text: str
    is_script: bool
    arguments: Sequence[tuple[str | None, object]] = ()
    ends_statement: bool = False

    def bound(self) -> CommandArguments:
        """Return the command's arguments, separated into named and positional ones."""
        named = [(name, value) for name, value in self.arguments if name]
        return CommandArguments(named, [value for name, value in self.arguments if not name])


def run_script(
    session: Session,
    text: str,
    given: Sequence[object],
    *,
    runspace: Runspace | None = None,
    variables: Mapping[str, object] | None = None,
    arguments: CommandArguments | None = None,
    commands: Sequence[RemoteCommand] = (),
) -> ScriptOutcome:
    """Run a script.

    Args:
        given: the pipeline input (`$input`).
        runspace: the runspace, which keeps variables and functions between scripts.
        variables: the values of the script's parameters by name.
        arguments: the script's arguments; if they are given, `variables` is ignored.
        commands: the commands of a PSRP client; by default only the script.
    """
    interpreter = Interpreter(session, runspace or Runspace())
    outcome = ScriptOutcome()

    def emit(item: object) -> None:
        outcome.output.append(item)
        interpreter.written.console.append(item)

    try:
        if commands and not (len(commands) == 1 and commands[0].is_script and not commands[0].arguments):
            _run_statements(interpreter, commands, list(given), outcome, emit)
        else:
            _run_text(
                interpreter, text, list(given), arguments or CommandArguments(list((variables or {}).items()), []), emit
            )
    except ExitFlow as flow:
        outcome.exit_code = flow.code
    except FlowControl:
        pass
    except NotModelled as error:
        # The script's changes have been made, but its output is not known, so the outcome contains none.
        outcome.output.clear()
        interpreter.written = type(interpreter.written)()
        outcome.failure = error
        outcome.success = False
    except CmdletError as error:
        outcome.failure = error
        outcome.success = False
    _complete(outcome, interpreter)
    return outcome


def _complete(outcome: ScriptOutcome, interpreter: Interpreter) -> None:
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
    interpreter: Interpreter, text: str, given: list[object], arguments: CommandArguments, emit: Emit
) -> None:
    """Run a script in the runspace's own scope. Output that precedes an error or an exit is kept."""
    block = Parser().script(text)
    known = {*interpreter.runspace.scope.functions, *interpreter.runspace.aliases}
    precheck.check(interpreter.session.machine, (*block.begin, *block.body, *(block.process or ()), *block.end), known)
    if block.parameters or block.process or arguments.named or arguments.positional:
        _call(interpreter, block, given, arguments, emit)
        return
    interpreter.variables.set("input", given)
    with suppress(ReturnFlow):
        interpreter.run((*block.begin, *block.body, *block.end), emit)


def _call(interpreter: Interpreter, block: Block, given: list[object], arguments: CommandArguments, emit: Emit) -> None:
    """Run, in the runspace's own scope, a script that has parameters, arguments or a process block.

    The script's variables remain, except for the automatic variables of the call, such as `$args`.
    """
    scope = interpreter.runspace.scope
    piped = bool(given) or block.process is not None
    try:
        call = FunctionCall(interpreter, block, "", arguments, emit, piped=piped, scope=scope)
        call.begin()
        for item in given:
            call.process(item)
        call.end()
    finally:
        for name in ("args", "input", "myinvocation", "psboundparameters", "pscmdlet"):
            scope.variables.pop(name, None)


def _run_statements(
    interpreter: Interpreter, commands: Sequence[RemoteCommand], given: list[object], outcome: ScriptOutcome, emit: Emit
) -> None:
    """Run the statements of a PSRP client one after another. Each statement is a pipeline."""
    statement: list[RemoteCommand] = []
    for position, command in enumerate(commands):
        statement.append(command)
        if not command.ends_statement and position < len(commands) - 1:
            continue
        try:
            _run_commands(interpreter, statement, given, outcome, emit)
        except NotModelled:
            raise
        except CmdletError as error:
            if position == len(commands) - 1:
                raise
            # As in a script, the next statement runs unless the error ends the whole script.
            interpreter.report(error)
        statement, given = [], []


def _run_commands(
    interpreter: Interpreter, commands: Sequence[RemoteCommand], given: list[object], outcome: ScriptOutcome, emit: Emit
) -> None:
    """Run the commands of one pipeline. Each command gets the output of the previous command."""
    objects: list[object] = given
    for position, remote in enumerate(commands):
        produced: list[object] = []
        if remote.is_script and position == 0:
            try:
                _run_text(interpreter, remote.text, objects, remote.bound(), produced.append)
            except ExitFlow as flow:
                # The output before the exit still goes down the pipeline.
                outcome.exit_code = flow.code
        else:
            target: SyntaxNode = Parser().script(remote.text) if remote.is_script else Literal(remote.text)
            listed = tuple(Argument(key, Literal(value)) for key, value in remote.arguments)
            command = CommandInvocation("&" if remote.is_script else "", target, listed)
            source = () if position == 0 and not given else (Literal(list(objects)),)
            interpreter.statement(Pipeline((*source, command)), produced.append)
        objects = produced
    for item in objects:
        emit(item)


def run_text(
    session: Session,
    text: str,
    given: Sequence[object],
    *,
    clixml: bool = False,
    arguments: CommandArguments | None = None,
    path: str = "",
) -> ProgramResult:
    """Run a script as powershell.exe does, and return its output and exit code.

    Args:
        clixml: whether to write errors as CLIXML. PowerShell does this for -EncodedCommand if standard error is
            redirected.
        arguments: the arguments of the script.
        path: the path of the script file.
    """
    runspace = Runspace()
    if path:
        runspace.variables.update(psscriptroot=path.rpartition("\\")[0], pscommandpath=path)
    outcome = run_script(session, text, given, runspace=runspace, arguments=arguments)
    try:
        output = printed(outcome.console)
    except NotModelled as error:
        outcome, output = ScriptOutcome(failure=error, success=False), ""
    records = [*outcome.errors, *([outcome.failure] if outcome.failure else [])]
    errors = [_error_text(error) for error in records]
    standard_error = outcome.standard_error + (_clixml(errors) if clixml and errors else "".join(errors))
    code = int(not outcome.success) if outcome.exit_code is None else outcome.exit_code
    return ProgramResult(code, output, standard_error)


def printed(written: Sequence[object]) -> str:
    """Return the text on the console: the output, and text that was written directly to the console."""
    objects: list[object] = []
    open_line = ""
    for item in written:
        if not isinstance(item, HostText):
            if open_line:
                raise NotModelled("output after Write-Host -NoNewline")
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
    """Run the script that powershell.exe gets from -Command, -EncodedCommand, -File or standard input."""
    text = stdin.decode("utf-8-sig", errors="replace")
    if file is not None:
        path = session.absolute(file)
        if not session.machine.files.is_file(path):
            message = (
                f"The argument '{file}' to the -File parameter does not exist. "
                "Provide the path to an existing '.ps1' file as an argument to the -File parameter.\r\n"
            )
            return ProgramResult(0xFFFD0000, "", message)
        script_text = session.machine.files.read_text(path)
        return run_text(session, script_text, text.splitlines(), arguments=_file_arguments(arguments), path=path)
    if script is None:
        return run_text(session, text, [])
    return run_text(session, script, text.splitlines(), clixml=True)


def _file_arguments(words: Sequence[str]) -> CommandArguments:
    """Return the arguments after `-File script.ps1`: strings, and parameter names (words that begin with `-`).

    https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_powershell_exe
    """
    found = CommandArguments([], [])
    pending = ""
    for word in words:
        name = re.match(r"-([A-Za-z_]\w*)(?::(.*))?$", word, re.DOTALL)
        if pending and not name:
            found.loose.append((pending, len(found.positional)))
            found.positional.append(word)
            pending = ""
            continue
        if pending:
            found.named.append((pending, PRESENT))
        pending = name[1] if name and name[2] is None else ""
        if name and name[2] is not None:
            found.named.append((name[1], _file_value(name[2])))
        elif not name:
            found.positional.append(word)
    if pending:
        found.named.append((pending, PRESENT))
    return found


def _file_value(text: str) -> object:
    """Return the value in `-Name:value`. `$true` and `$false` become booleans; any other value is text."""
    return {"$true": True, "$false": False}.get(text.casefold(), text)


def _error_text(error: CmdletError) -> str:
    name = error.exception_type.rsplit(".", 1)[-1]
    return (
        f"{error.message}\r\n    + CategoryInfo          : {error.category}: (:) [], {name}\r\n"
        f"    + FullyQualifiedErrorId : {error.error_id}\r\n \r\n"
    )


def _clixml(errors: list[str]) -> str:
    """Return errors as CLIXML, with each line as a string of the error stream."""
    strings = ""
    for line in "".join(errors).split("\r\n")[:-1]:
        strings += f'<S S="Error">{escape(line)}_x000D__x000A_</S>'
    return (
        f'#< CLIXML\r\n<Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04">{strings}</Objs>'
    )
