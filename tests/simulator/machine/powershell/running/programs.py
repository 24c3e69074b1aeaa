# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The execution of programs and script files in a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine import commands
from simulator.machine.modelled_scripts import ModelledFile, ScriptCall
from simulator.machine.objects import CmdletError, NotModelled
from simulator.machine.powershell.parsing.parser import Parser
from simulator.machine.powershell.running.flow import ExitFlow
from simulator.machine.powershell.running.functions import FunctionCall
from simulator.machine.powershell.running.scope import VariableScope
from simulator.machine.powershell.running.steps import PipelineStep
from simulator.machine.powershell.running.streams import Emit
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.unmodelled_programs import is_unmodelled

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter


class ProgramStage:
    """A program in a pipeline. Pipeline input becomes its standard input, and each output line becomes an object."""

    def __init__(self, run: Interpreter, name: str, step: PipelineStep, emit: Emit) -> None:
        self._run = run
        self._name = name
        self._step = step
        self._emit = emit
        self._given: list[object] = []

    def begin(self) -> None:
        """Raise an error if the program was given by name only and does not exist."""
        session = self._run.session
        if session.machine.programs.locate(self._name, session.environment) is None and "\\" not in self._name:
            if is_unmodelled(self._name):
                raise NotModelled(f"the program {self._name}")
            raise commands.not_found(self._name)

    def process(self, item: object) -> None:
        """Store an object for the standard input."""
        self._given.append(item)

    def end(self) -> None:
        """Run the program."""
        from simulator.machine.powershell.formatting.console import lines

        run = self._run
        stdin = "".join(f"{line}\r\n" for line in lines(self._given)).encode() if self._given else b""
        words = [word for word in self._step.program_arguments if word != "--%"]
        try:
            result = run.session.run_program(self._name, words, stdin)
        except ProgramNotFoundError:
            raise commands.not_found(self._name) from None
        except NotExecutableError as error:
            why = "The specified executable is not a valid application for this OS platform."
            message = f"Program '{error}' failed to run: {why}"
            kind = "System.Management.Automation.ApplicationFailedException"
            raise CmdletError("ResourceUnavailable", "NativeCommandFailed", message, kind) from None
        run.runspace.last_exit_code = result.exit_code
        for line in result.stdout.splitlines():
            self._emit(line)
        if result.stderr:
            run.sinks.standard_error(result.stderr)
        if result.exit_code:
            run.pipelines.mark_failed()


class ModelledScript:
    """A script file whose effects a Python function models, because the interpreter does not support all its code."""

    def __init__(self, run: Interpreter, name: str, modelled: ModelledFile, emit: Emit) -> None:
        self._path = run.session.absolute(name)
        if not run.session.machine.files.is_file(self._path):
            raise commands.not_found(name)
        self._run, self._modelled, self._emit = run, modelled, emit

    def begin(self) -> None:
        """Do nothing. The script runs after the last object of the pipeline."""

    def process(self, item: object) -> None:
        """Discard an object, because the script does not read pipeline input."""

    def end(self) -> None:
        """Run the script."""
        run = self._run
        call = ScriptCall(run.session, self._path, frozenset(run.runspace.modules), run.variables.get)
        for item in self._modelled(call):
            self._emit(item)


class ScriptFile:
    """A script file in a pipeline. An `exit` statement outside begin and process blocks ends only this script."""

    def __init__(self, run: Interpreter, name: str, step: PipelineStep, emit: Emit, *, piped: bool) -> None:
        path = run.session.absolute(name)
        if not run.session.machine.files.is_file(path):
            raise commands.not_found(name)
        block = Parser().script(run.session.machine.files.read_text(path))
        scope = run.variables.scope
        if not step.dotted:
            scope = VariableScope(run.variables.scope)
            scope.top = scope
        folder = path.rpartition("\\")[0]
        scope.variables |= {"psscriptroot": folder, "pscommandpath": path}
        self._run = run
        self._call = FunctionCall(
            run, block, path.rpartition("\\")[2], step.arguments(), emit, piped=piped, scope=scope
        )

    def begin(self) -> None:
        """Start the script."""
        self._call.begin()

    def process(self, item: object) -> None:
        """Pass an object to the script."""
        self._call.process(item)

    def end(self) -> None:
        """End the script."""
        try:
            self._call.end()
        except ExitFlow as flow:
            self._run.runspace.last_exit_code = flow.code
            if flow.code:
                self._run.pipelines.mark_failed()
