# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calls of functions and script blocks: their named blocks, their scopes and their automatic variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.machine.objects import CmdletError, Enumeration, NotModelled, PSObject, ScriptBlock
from simulator.machine.powershell.parsing.syntax import Block
from simulator.machine.powershell.running.binding import Binding, CommandArguments, bind
from simulator.machine.powershell.running.flow import ReturnFlow
from simulator.machine.powershell.running.scope import VariableScope
from simulator.machine.powershell.running.streams import Emit, HostText
from simulator.machine.powershell.types.convert import truth
from simulator.machine.powershell.types.kinds import Closure
from simulator.machine.powershell.types.plain_text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter

DEEPEST = 60


class FunctionCall:
    """A call of a function, script block or script, which may be a part of a pipeline."""

    def __init__(
        self, interpreter: Interpreter, block: Block, name: str, given: CommandArguments, emit: Emit, *, piped: bool,
        scope: VariableScope | None = None, is_filter: bool = False,
    ) -> None:  # fmt: skip
        self._run = interpreter
        self._emit = emit
        self._piped = piped
        self._given: list[object] = []
        self._block = block
        self._process = block.body if is_filter and block.process is None else block.process
        self._body = () if is_filter and block.process is None else block.body
        self.scope = scope or VariableScope(interpreter.variables.scope)
        self.binding: Binding = self._bound(name, given)

    def _bound(self, name: str, given: CommandArguments) -> Binding:
        run = self._run
        with run.within(self.scope):
            binding = bind(run, self._block, name, given, piped=self._piped)
        variables = self.scope.variables
        variables["args"] = binding.rest
        variables["psboundparameters"] = binding.bound
        variables["myinvocation"] = self._invocation(name, binding)
        if self._block.advanced:
            variables["pscmdlet"] = self._cmdlet(name, binding)
        return binding

    @staticmethod
    def _invocation(name: str, binding: Binding) -> PSObject:
        kind = Enumeration("Function" if name else "Script", 2, "System.Management.Automation.CommandTypes")
        command = PSObject("System.Management.Automation.FunctionInfo", {"Name": name, "CommandType": kind}, name)
        properties: dict[str, object] = {"MyCommand": command, "InvocationName": name or "&"}
        properties |= {"BoundParameters": binding.bound, "UnboundArguments": binding.rest}
        return PSObject("System.Management.Automation.InvocationInfo", properties)

    def _cmdlet(self, name: str, binding: Binding) -> PSObject:
        def write_error(record: object) -> None:
            error = getattr(record, "error", None)
            if not isinstance(error, CmdletError):
                raise NotModelled("$PSCmdlet.WriteError() with these arguments")
            self._run.pipelines.non_terminating(error)

        def throw(record: object) -> None:
            error = getattr(record, "error", None)
            raise error if isinstance(error, CmdletError) else NotModelled("$PSCmdlet.ThrowTerminatingError()")

        def should(*given: object) -> bool:
            target, action = to_text(given[0]), to_text(given[1]) if len(given) > 1 else name
            if len(given) > 2:
                raise NotModelled("$PSCmdlet.ShouldProcess() with three arguments")
            if not truth(self._run.variables.get("whatifpreference")):
                return True
            text = f'What if: Performing the operation "{action}" on target "{target}".'
            self._run.written.console.append(HostText(text))
            return False

        return PSObject(
            "System.Management.Automation.PSScriptCmdlet",
            {
                "ParameterSetName": binding.parameter_set,
                "MyInvocation": self.scope.variables["myinvocation"],
                "ShouldProcess": should,
                "WriteError": write_error,
                "ThrowTerminatingError": throw,
            },
        )

    def begin(self) -> None:
        """Run the begin block."""
        self._statements(self._block.begin)

    def process(self, item: object) -> None:
        """Process an object from the pipeline."""
        if self._process is None:
            self._given.append(item)
            return
        with self._run.within(self.scope):
            self.binding.take(self._run, item)
        self.scope.variables["input"] = [item]
        self._each(item)

    def _each(self, item: object) -> None:
        with self._run.within(self.scope), self._run.item(item):
            self._statements(self._process or ())

    def end(self) -> None:
        """Finish the call: run the statements outside named blocks, and the end block.

        If the call is not part of a pipeline, first run the process block once.
        """
        if self._process is not None and not self._piped:
            self._each(None)
        if self._process is None:
            self.scope.variables["input"] = list(self._given)
            if self._given:
                with self._run.within(self.scope):
                    self.binding.take(self._run, self._given[-1])
        self._statements((*self._body, *self._block.end))

    def _statements(self, statements: Sequence[object]) -> None:
        if not statements:
            return
        run = self._run
        run.depth += 1
        try:
            if run.depth > DEEPEST:
                raise NotModelled(f"more than {DEEPEST} nested calls")
            with run.within(self.scope):
                run.run(statements, self._emit)  # type: ignore[arg-type]
        except ReturnFlow:
            pass
        finally:
            run.depth -= 1


class Calls:
    """The part of an interpreter that calls script blocks."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._run = interpreter

    def scope_of(self, block: object, *, new_scope: bool = True) -> VariableScope:
        """Return the scope in which a block runs."""
        current = self._run.variables.scope
        if isinstance(block, Closure):
            return VariableScope(VariableScope(self._run.runspace.scope, dict(block.captured)))
        return VariableScope(current) if new_scope else current

    def run_block(
        self,
        block: object,
        emit: Emit,
        arguments: Sequence[object] = (),
        named: dict[str, object] | None = None,
        pipeline: list[object] | None = None,
        *,
        new_scope: bool = True,
    ) -> None:
        """Run a script block."""
        tree = block.block if isinstance(block, ScriptBlock) else block
        assert isinstance(tree, Block)
        if not new_scope and not tree.parameters and tree.process is None and not arguments:
            self._plain(tree, emit)
            return
        given = CommandArguments([*((name, value) for name, value in (named or {}).items())], list(arguments))
        scope = self.scope_of(block, new_scope=new_scope)
        call = FunctionCall(self._run, tree, "", given, emit, piped=pipeline is not None, scope=scope)
        call.begin()
        for item in pipeline or ():
            call.process(item)
        call.end()

    def _plain(self, tree: Block, emit: Emit) -> None:
        """Run a block without parameters in the current scope."""
        run = self._run
        run.depth += 1
        try:
            if run.depth > DEEPEST:
                raise NotModelled(f"more than {DEEPEST} nested calls")
            run.run((*tree.begin, *tree.body, *tree.end), emit)
        except ReturnFlow:
            pass
        finally:
            run.depth -= 1

    def with_this(self, block: ScriptBlock, this: object, arguments: Sequence[object]) -> list[object]:
        """Run a script block as a method or property of an object."""
        output: list[object] = []
        scope = VariableScope(self._run.variables.scope, {"this": this})
        with self._run.within(scope):
            self.run_block(block, output.append, arguments)
        return output
