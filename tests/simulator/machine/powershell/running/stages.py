# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run cmdlets as parts of a PowerShell pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine import commands
from simulator.machine.binding import bind
from simulator.machine.files import DiskFullError
from simulator.machine.objects import Bound, CmdletError, NotModelled, ScriptBlock, error_record
from simulator.machine.powershell.cmdlets import drives, what_if
from simulator.machine.powershell.cmdlets.supported import check
from simulator.machine.powershell.running.flow import StopUpstream
from simulator.machine.powershell.running.steps import PipelineStep
from simulator.machine.powershell.running.streams import Emit, drop
from simulator.machine.powershell.types.convert import items, single, truth
from simulator.machine.powershell.types.kinds import EMPTY
from simulator.machine.powershell.types.plain_text import to_text

if TYPE_CHECKING:
    from simulator.machine.contract import Contract
    from simulator.machine.powershell.running.interpreter import Interpreter

QUIET = ("SilentlyContinue", "Ignore")
# Error ids that do not end with the name of the command.
_BARE_IDS = ("CommandNotFoundException",)
# The parameter that receives all unnamed arguments.
_REMAINING = {"Write-Host": "Object", "Write-Output": "InputObject", "Get-Command": "Name"}


class TerminatingError(CmdletError):
    """A statement-terminating error of a cmdlet."""


class ScriptBound(Bound):
    """The parameters of a cmdlet that a script runs. The cmdlet's errors and warnings are written immediately."""

    stage: CmdletStage

    def write_error(self, error: CmdletError) -> None:
        """Write a non-terminating error."""
        self.stage.non_terminating(error)

    def warn(self, text: str) -> None:
        """Write to the warning stream."""
        action = self.stage.action("WarningAction", "WarningPreference")
        if action not in QUIET:
            self.stage.run.sinks.warning(text)


class CmdletStage:
    """A cmdlet that reads all of its input before it runs."""

    def __init__(self, run: Interpreter, name: str, step: PipelineStep, emit: Emit, *, piped: bool) -> None:
        self.run = run
        self._name = name
        self._step = step
        self._emit = emit
        self._piped = piped
        self.given: list[object] = []
        self._output: list[object] = []
        self._records: list[object] = []
        found = commands.describe(run.session.machine, name)
        assert found is not None
        self.description: Contract = found
        self.values: dict[str, object] = {}

    def begin(self) -> None:
        """Bind the cmdlet's parameters, and check that the simulator models the cmdlet."""
        self.bind()
        known = self.description.command
        if known.casefold() not in self.run.session.machine.families.cmdlets:
            raise NotModelled(f"the cmdlet {known}")

    def bind(self) -> None:
        """Bind the arguments of the command to the cmdlet's parameters.

        Raises:
            CmdletError: the arguments do not match the parameters.
            NotModelled: a parameter is not modelled.
        """
        named, positional = self._step.for_cmdlet(self.run, self._name)
        named, positional = self._arranged(named, positional)
        self.values = bind(self.description, named, positional, has_pipeline=self._piped)
        check(self.description.command, self.values)

    def _arranged(self, named: dict[str, object], positional: list[object]) -> tuple[dict[str, object], list[object]]:
        """Return the named and unnamed arguments. For some cmdlets, unnamed arguments become named ones."""
        command = self.description.command
        rest = _REMAINING.get(command)
        if rest is not None and positional:
            return {**named, rest: positional[0] if len(positional) == 1 else list(positional)}, []
        # Several unnamed script blocks form one list.
        if len(positional) > 1 and all(isinstance(item, ScriptBlock) for item in positional):
            return named, [list(positional)]
        if command == "Add-Member" and len(positional) == 2 and not named:
            return {"NotePropertyName": positional[0], "NotePropertyValue": positional[1]}, []
        if command == "Set-StrictMode":
            # Set-StrictMode accepts an integer as a version.
            named = {key: f"{value}.0" if to_text(value).isdigit() else value for key, value in named.items()}
        return named, positional

    def process(self, item: object) -> None:
        """Store an input object until the cmdlet runs."""
        self.given.append(item)

    def action(self, parameter: str, preference: str) -> str:
        """Return the action (such as `Stop`) for a stream. The common parameter overrides the preference variable."""
        own = self.values.get(parameter)
        return str(own) if own is not None else self.run.preference(preference)

    def non_terminating(self, error: CmdletError) -> None:
        """Write a non-terminating error."""
        self._complete(error)
        self._records.append(error_record(error))
        self.run.pipelines.non_terminating(error, self.action("ErrorAction", "ErrorActionPreference"))

    def _complete(self, error: CmdletError) -> None:
        own = self.description.command == "Write-Error" or error.error_id in _BARE_IDS
        if "," not in error.error_id and not own and not error.ends_script and not error.record:
            error.error_id = f"{error.error_id},{self.description.suffix}"
        error.activity = error.activity or self.description.command

    def write(self, item: object) -> None:
        """Pass an output object to the next command of the pipeline."""
        self._output.append(item)
        self._emit(item)

    def end(self) -> None:
        """Run the cmdlet."""
        bound = ScriptBound(
            self.description.command,
            self.values,
            self.given if self._piped else None,
            self.run.session.process.stop,
            self.run,
        )
        bound.stage = self
        try:
            if what_if.only_prints(self.run, bound, self.description):
                what_if.show(self.run, bound)
            else:
                self._work(bound)
        finally:
            self._keep("OutVariable", self._output)
            self._keep("ErrorVariable", self._records)

    def _work(self, bound: ScriptBound) -> None:
        machine = self.run.session.machine
        handler = machine.families.cmdlets[self.description.command.casefold()][1]
        own = drives.answer(self.run, bound)
        try:
            for item in handler(machine, bound) if own is None else own:
                self.write(item)
        except (NotModelled, TerminatingError) as error:
            if isinstance(error, TerminatingError):
                self._complete(error)
            raise
        except CmdletError as error:
            if error.ends_script or error.record is not None:
                raise
            self.non_terminating(error)
        except DiskFullError as error:
            kind = commands.IO_EXCEPTION
            self.non_terminating(CmdletError("WriteError", kind, str(error.strerror), kind))

    def _keep(self, parameter: str, found: list[object]) -> None:
        name = self.values.get(parameter)
        if not isinstance(name, str):
            return
        before = items(self.run.variables.get(name[1:])) if name.startswith("+") else []
        self.run.variables.set(name.lstrip("+"), [*before, *found])


class ForEachStage(CmdletStage):
    """ForEach-Object, which runs script blocks in the scope of its caller."""

    def begin(self) -> None:
        """Bind the parameters, and run the begin block.

        The begin block is the value of -Begin. Without -Begin, the first of several blocks is the begin block.
        """
        self.bind()
        self._blocks = items(self.values.get("Process"))
        self._first, self._last = self.values.get("Begin"), self.values.get("End")
        if len(self._blocks) > 1 and self._first is None:
            self._first, *self._blocks = self._blocks
            if len(self._blocks) > 1 and self._last is None:
                *self._blocks, self._last = self._blocks
        self._block(self._first, None)

    def _block(self, block: object, item: object) -> None:
        if block is not None:
            assert isinstance(block, ScriptBlock)
            with self.run.item(item):
                self.run.calls.run_block(block, self.write, new_scope=False)

    def process(self, item: object) -> None:
        """Run the process blocks for an object, or pass on the requested member of the object."""
        if "MemberName" in self.values:
            self._member(item)
            return
        for block in self._blocks:
            self._block(block, item)

    def _member(self, item: object) -> None:
        from simulator.machine.powershell import members

        name = str(self.values["MemberName"])
        arguments = items(self.values.get("ArgumentList"))
        found = self.run.evaluator.read(item, name)
        if callable(found) or (found is None and ("ArgumentList" in self.values or members.has_method(item, name))):
            found = members.call(item, name, arguments)
            found = EMPTY if found is None else found
        elif found is None and not members.has_property(item, name):
            return
        self.run.evaluator.pass_on(found, self.write)

    def end(self) -> None:
        """Process the InputObject parameter if no command precedes this one in the pipeline, and run the end block."""
        if not self._piped:
            self.process(self.values.get("InputObject"))
        self._block(self._last, None)
        self._keep("OutVariable", self._output)


class WhereStage(CmdletStage):
    """Where-Object."""

    def begin(self) -> None:
        """Bind the arguments of the command to the cmdlet's parameters."""
        from simulator.machine.powershell.types.operators import OPERATORS

        self.bind()
        known = {f"{prefix}{name}": name for name in OPERATORS for prefix in ("", "c")}
        self._operator = next((key.casefold() for key in self.values if key.casefold() in {*known, "not"}), "")

    def process(self, item: object) -> None:
        """Pass on an object that meets the condition."""
        if self._meets(item):
            self.write(item)

    def _meets(self, item: object) -> bool:
        from simulator.machine.powershell.types.operators import operate

        block = self.values.get("FilterScript")
        if isinstance(block, ScriptBlock):
            with self.run.item(item):
                output: list[object] = []
                self.run.calls.run_block(block, output.append, new_scope=False)
            return truth(single(output))
        found = self.run.evaluator.read(item, str(self.values.get("Property")))
        if self._operator == "not":
            return not truth(found)
        return truth(operate(self._operator, found, self.values.get("Value")) if self._operator else found)

    def end(self) -> None:
        """Filter the objects of the InputObject parameter if no command precedes this one in the pipeline."""
        if not self._piped:
            for item in items(self.values.get("InputObject")):
                self.process(item)
        self._keep("OutVariable", self._output)


class SelectStage(CmdletStage):
    """Select-Object. With -First, it stops the preceding commands as soon as it has enough objects.

    With parameters such as -Last or -Unique, it reads all of its input first.
    """

    _STREAMED = frozenset(("First", "Skip", "Property", "ExpandProperty", "ExcludeProperty"))

    def begin(self) -> None:
        """Bind the arguments of the command to the cmdlet's parameters."""
        super().begin()
        own = {name for name in self.values if not self.description.parameters[name.casefold()].common}
        self._streams = self._piped and own <= self._STREAMED
        self._taken = self._seen = 0
        first = self.values.get("First")
        self._first = first if isinstance(first, int) else -1
        skip = self.values.get("Skip")
        self._skip = skip if isinstance(skip, int) else 0

    def process(self, item: object) -> None:
        """Pass on a selected object, or store the object if all input is needed before the selection."""
        if not self._streams:
            super().process(item)
            return
        self._seen += 1
        if self._seen <= self._skip:
            return
        if self._first == 0:
            raise StopUpstream(self)
        self._taken += 1
        self.given = [item]
        kept = dict(self.values)
        self.values = {key: value for key, value in kept.items() if key not in ("First", "Skip")}
        try:
            super().end()
        finally:
            self.values = kept
            self.given = []
        if self._taken == self._first:
            raise StopUpstream(self)

    def end(self) -> None:
        """Select from the stored objects, unless the objects were passed on one by one."""
        if not self._streams:
            super().end()


class PassingStage(CmdletStage):
    """Write-Output, Out-Null, Out-Host and Out-Default, which pass on or discard each object immediately."""

    def begin(self) -> None:
        """Bind the arguments of the command to the cmdlet's parameters."""
        self.bind()
        self._target: Emit = self.write
        command = self.description.command
        if command == "Out-Null":
            self._target = drop
        elif command in ("Out-Host", "Out-Default"):
            self._target = self.run.to_console

    def process(self, item: object) -> None:
        """Pass on or discard an object."""
        self._target(item)

    def end(self) -> None:
        """Pass on or discard the objects of the InputObject parameter."""
        if "InputObject" in self.values:
            value = self.values["InputObject"]
            if self.values.get("NoEnumerate"):
                self._target(value)
            else:
                self.run.evaluator.pass_on(value, self._target)
        self._keep("OutVariable", self._output)


_STREAMING: dict[str, type[CmdletStage]] = {
    "foreach-object": ForEachStage,
    "where-object": WhereStage,
    "select-object": SelectStage,
    "write-output": PassingStage,
    "out-null": PassingStage,
    "out-host": PassingStage,
    "out-default": PassingStage,
}


def streaming(run: Interpreter, name: str, step: PipelineStep, emit: Emit, *, piped: bool) -> CmdletStage | None:
    """Return the stage for a cmdlet that processes its input object by object, or None for other cmdlets."""
    kind = _STREAMING.get(name.casefold())
    return kind(run, name, step, emit, piped=piped) if kind else None
