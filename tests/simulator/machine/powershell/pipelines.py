# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Running pipelines: cmdlets, functions, script blocks, programs, redirections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine import commands
from simulator.machine.objects import CmdletError, ErrorRecord, ScriptBlock, error_record
from simulator.machine.powershell import values
from simulator.machine.powershell.formatting import lines
from simulator.machine.powershell.syntax import (
    ArrayLiteral,
    Command,
    Literal,
    Node,
    Nothing,
    Pipeline,
    Redirection,
    Variable,
)
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.interpreter import Interpreter


@dataclass
class Written:
    """What went to the streams other than the output."""

    errors: list[CmdletError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # What Write-Host and programs wrote to the console, in the order it came.
    host: list[str] = field(default_factory=list)
    standard_error: list[str] = field(default_factory=list)
    exit_code: int | None = None


@dataclass
class Step:
    """One element of a pipeline ready to run: its name and arguments, and where its errors go."""

    name: object
    named: dict[str, object]
    positional: list[object]
    words: list[str]
    redirections: tuple[Redirection, ...]
    dotted: bool = False


class Pipelines:
    """Runs pipelines for an interpreter."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def run(self, node: Pipeline) -> list[object]:
        """Return what a pipeline outputs. Raises CmdletError."""
        variables = self._interpreter.variables
        variables.success = True
        objects: list[object] | None = None
        for position, element in enumerate(node.elements):
            last = position == len(node.elements) - 1
            if isinstance(element, Command):
                objects = self._command(self._step(element), objects, last=last)
            elif not isinstance(element, Nothing):
                objects = values.items(self._interpreter.evaluator.value(element))
        result = objects or []
        for redirection in node.redirections:
            result = self._redirect(redirection, result, [])
        return result

    def _step(self, node: Command) -> Step:
        """Compute a command's name and arguments."""
        evaluator = self._interpreter.evaluator
        name = evaluator.value(node.name)
        step = Step(name, {}, [], [], node.redirections, dotted=node.operator == ".")
        pending = ""
        for argument in node.arguments:
            if argument.name is not None:
                if pending:
                    step.named[pending] = True
                pending = ""
                step.words.append(argument.name if argument.name == "--" else f"-{argument.name}")
                if argument.value is not None:
                    value = evaluator.value(argument.value)
                    step.named[argument.name] = value
                    step.words[-1] += f":{to_text(value)}"
                elif argument.name != "--":
                    pending = argument.name
                continue
            assert argument.value is not None
            self._take(step, argument.value, pending)
            pending = ""
        if pending:
            step.named[pending] = True
        return step

    def _take(self, step: Step, node: Node, pending: str) -> None:
        """Add a value to a step: to the parameter that waits for one (a switch waits for none), or as positional."""
        evaluator = self._interpreter.evaluator
        if isinstance(node, Variable) and node.splat:
            splatted = evaluator.value(node)
            if pending:
                step.named[pending] = True
            if isinstance(splatted, dict):
                step.named.update({to_text(key): item for key, item in splatted.items()})
            else:
                step.positional += values.items(splatted)
                step.words += [to_text(item) for item in values.items(splatted)]
            return
        value = evaluator.value(node)
        step.words += self._words(node, value)
        if pending and self._is_switch(step.name, pending):
            step.named[pending] = True
            step.positional.append(value)
        elif pending:
            step.named[pending] = value
        else:
            step.positional.append(value)

    @staticmethod
    def _words(node: Node, value: object) -> list[str]:
        """Return a value as a program's arguments: numbers as they were written, a list as several."""
        if isinstance(node, Literal) and node.text is not None:
            return [node.text]
        if isinstance(node, ArrayLiteral) and all(isinstance(item, Literal) for item in node.items):
            return [",".join(to_text(item) for item in values.items(value))]
        return [to_text(item) for item in value] if isinstance(value, list) else [to_text(value)]

    def _is_switch(self, name: object, parameter: str) -> bool:

        run = self._interpreter
        if isinstance(name, ScriptBlock):
            return False
        text = commands.ALIASES.get(to_text(name).casefold(), to_text(name))
        function = run.runspace.functions.get(text.casefold())
        wanted = parameter.casefold()
        if function:
            return any(
                item.name.casefold().startswith(wanted) and item.type.casefold() == "switch"
                for item in function.parameters
            )
        description = commands.describe(run.session.machine, text)
        if description is None:
            return False
        exact = description.parameters.get(wanted)
        found = (
            [exact]
            if exact
            else [
                item
                for item in description.parameters.values()
                if any(spelling.casefold().startswith(wanted) for spelling in (item.name, *item.aliases))
            ]
        )
        own = [item for item in found if not item.common] or found
        return bool(own) and all(item.type == "SwitchParameter" for item in own)

    def _command(self, step: Step, given: list[object] | None, *, last: bool) -> list[object]:
        run = self._interpreter
        errors: list[CmdletError] = []
        standard_error: list[str] = []
        kept = run.written.standard_error
        run.written.standard_error = standard_error
        already = len(run.written.errors)
        try:
            objects = self._dispatch(step, given, errors)
        except ProgramNotFoundError:
            raise commands.not_found(to_text(step.name)) from None
        except NotExecutableError as error:
            why = "The specified executable is not a valid application for this OS platform."
            message = f"Program '{error}' failed to run: {why}"
            kind = "System.Management.Automation.ApplicationFailedException"
            raise CmdletError("ResourceUnavailable", "NativeCommandFailed", message, kind) from None
        finally:
            run.written.standard_error = kept
        # Errors of what ran inside (a block, a function) can be redirected here as well.
        inner = run.written.errors[already:]
        del run.written.errors[already:]
        records: list[object] = [*map(error_record, [*inner, *errors]), *_native_records(standard_error)]
        silenced = False
        for redirection in step.redirections:
            silenced = silenced or redirection.stream in ("2", "*")
            objects = self._redirect(redirection, objects, records)
        if not silenced:
            run.written.errors += [*inner, *errors]
            run.written.standard_error += standard_error
        if errors:
            run.variables.success = False
            run.variables.errors += [error_record(error) for error in errors]
        return objects

    def _dispatch(self, step: Step, given: list[object] | None, errors: list[CmdletError]) -> list[object]:
        run = self._interpreter
        if isinstance(step.name, ScriptBlock):
            return run.call_block(step.name, step.positional, step.named, pipeline=given, new_scope=not step.dotted)
        name = to_text(step.name)
        lower = commands.ALIASES.get(name.casefold(), name).casefold()
        function = run.runspace.functions.get(lower)
        if function:
            return run.call_block(function, step.positional, step.named, pipeline=given)
        if commands.exists(run.session.machine, lower):
            preference = to_text(run.variables.get("ErrorActionPreference"))
            output = commands.run(
                run.session.machine,
                lower,
                step.named,
                positional=step.positional,
                pipeline=given,
                stop=run.session.process.stop,
                session=run,
                error_action=preference,
            )
            run.written.warnings += output.warnings
            errors += output.errors
            return output.objects
        return self._program(name, step.words, given)

    def _program(self, name: str, words: Sequence[str], given: list[object] | None) -> list[object]:
        run = self._interpreter
        if name.casefold().endswith(".ps1"):
            return self._script(name, words)
        stdin = "".join(f"{line}\r\n" for line in lines(given)).encode() if given else b""
        result = run.session.run_program(name, [word for word in words if word != "--%"], stdin)
        run.runspace.variables["lastexitcode"] = result.exit_code
        if result.stderr:
            run.written.standard_error.append(result.stderr)
        # After the command: what it wrote is kept whatever its exit code.
        output: list[object] = list(result.stdout.splitlines())
        run.variables.success = result.exit_code == 0
        return output

    def _script(self, name: str, words: Sequence[str]) -> list[object]:
        from simulator.machine.powershell.parser import Parser

        run = self._interpreter
        path = run.session.absolute(name)
        if not run.session.machine.files.is_file(path):
            raise commands.not_found(name)
        return run.call_block(Parser().script(run.session.machine.files.read_text(path)), list(words))

    def _redirect(self, redirection: Redirection, objects: list[object], records: list[object]) -> list[object]:
        run = self._interpreter
        if isinstance(redirection.target, str):  # 2>&1
            return [*objects, *records] if redirection.stream in ("2", "*") else objects
        target = run.evaluator.value(redirection.target)
        moved = {"1": objects, "": objects, "2": records, "*": [*objects, *records]}.get(redirection.stream, [])
        if target is not None and to_text(target).casefold() != "nul":
            path = run.session.absolute(to_text(target))
            text = "".join(f"{line}\r\n" for line in lines(moved))
            files = run.session.machine.files
            before = files.read_text(path) if redirection.append and files.is_file(path) else ""
            files.write_bytes(path, b"\xff\xfe" + (before + text).encode("utf-16-le"))
        return objects if redirection.stream not in ("1", "", "*") else []


def _native_records(texts: list[str]) -> list[object]:
    """Return what programs wrote to their standard error as records, line by line."""
    records: list[object] = []
    kind = "System.Management.Automation.RemoteException"
    for text in texts:
        for line in text.splitlines():
            record = error_record(CmdletError("NotSpecified", "NativeCommandError", line, kind))
            assert isinstance(record, ErrorRecord)
            records.append(record)
    return records
