# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The execution of a script's statements.

A non-terminating error of a cmdlet is only written. Any other error ends its statement. Outside `try`, the error is
written, and the next statement of the same block runs. The script ends at `throw`, and at an error that is terminating
because of -ErrorAction Stop or $ErrorActionPreference.
https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_error_handling
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from simulator.machine.objects import CmdletError, ErrorRecord, NotModelled, PSObject, ScriptBlock, error_record
from simulator.machine.powershell.parsing.syntax import (
    Assignment,
    Block,
    Flow,
    ForEach,
    Function,
    If,
    Loop,
    Nothing,
    Pipeline,
    Switch,
    SyntaxNode,
    Trap,
    Try,
)
from simulator.machine.powershell.running import errors
from simulator.machine.powershell.running.evaluator import Evaluator
from simulator.machine.powershell.running.flow import BreakFlow, ContinueFlow, ExitFlow, LoopFlow, ReturnFlow
from simulator.machine.powershell.running.functions import Calls
from simulator.machine.powershell.running.loops import Loops
from simulator.machine.powershell.running.pipelines import PipelineRunner
from simulator.machine.powershell.running.scope import Runspace, VariableScope, VisibleVariables
from simulator.machine.powershell.running.streams import Emit, Sinks, Written, to_console
from simulator.machine.powershell.types.arithmetic import integer
from simulator.machine.powershell.types.convert import truth
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.session import Session

QUIET = ("SilentlyContinue", "Ignore")


class Interpreter:
    """One script that runs in a session.

    `written` contains the output of the streams, and `sinks` their current targets.
    """

    def __init__(self, session: Session, runspace: Runspace) -> None:
        self.session = session
        self.runspace = runspace
        self.variables = VisibleVariables(session, runspace)
        self.written = Written()
        self.sinks = to_console(self.written)
        session.standard_error = self.written.standard_error.append
        self.try_depth = 0
        self.depth = 0
        self.evaluator = Evaluator(self)
        self.pipelines = PipelineRunner(self)
        self.calls = Calls(self)
        self._loops = Loops(self)

    def preference(self, name: str) -> str:
        """Return the value of a preference variable as a string."""
        return to_text(self.variables.get(name))

    @contextmanager
    def within(self, scope: VariableScope | None = None, sinks: Sinks | None = None) -> Iterator[None]:
        """Run the `with` block in another scope, with other streams, or both."""
        kept = self.variables.scope, self.sinks
        self.variables.scope = scope or kept[0]
        self.sinks = sinks or kept[1]
        try:
            yield
        finally:
            self.variables.scope, self.sinks = kept

    def run(self, statements: Sequence[SyntaxNode], emit: Emit) -> None:
        """Run statements, and pass their output to `emit`.

        Raises:
            CmdletError: a terminating error occurred.
            FlowControl: a statement such as `return` or `break` leaves the block.
            ProcessEndedError: the process that runs the script must end.
        """
        traps = [node for node in statements if isinstance(node, Trap)]
        for node in statements:
            if isinstance(node, Function):
                self.variables.define(node.name, node.block, is_filter=node.is_filter)
                continue
            if isinstance(node, Trap):
                continue
            self.session.process.check()
            try:
                if traps:
                    self.try_depth += 1
                try:
                    self.statement(node, emit)
                finally:
                    self.try_depth -= bool(traps)
            except NotModelled:
                raise
            except CmdletError as error:
                if self._trapped(traps, error, emit):
                    continue
                self.report(error)

    def report(self, error: CmdletError) -> None:
        """Write the error that ended a statement. If the error ends more than the statement, raise it again instead."""
        self.note(error)
        self.variables.success = False
        action = self.preference("ErrorActionPreference")
        if error.ends_script and action in QUIET and not self.try_depth and error.category == "OperationStopped":
            raise NotModelled("throw while $ErrorActionPreference is SilentlyContinue or Ignore")
        if error.ends_script or self.try_depth:
            raise error
        if action == "Stop":
            error.ends_script = True
            raise error
        if action not in QUIET:
            self.sinks.error(error)

    def note(self, error: CmdletError) -> None:
        """Add an error to $Error, unless $Error already contains it."""
        record = error_record(error)
        if not any(known is record for known in self.runspace.errors):
            self.runspace.errors.insert(0, record)

    def _trapped(self, traps: Sequence[Trap], error: CmdletError, emit: Emit) -> bool:
        """Run the trap that catches an error, and return whether the script continues with the next statement."""
        found = next((trap for trap in traps if not trap.kind or errors.catches(trap.kind, error)), None)
        if found is None:
            return False
        self.note(error)
        self.variables.success = False
        try:
            with self.item(error_record(error)):
                self.run(found.body, emit)
        except ContinueFlow:
            return True
        except BreakFlow:
            error.ends_script = True
            return False
        raise NotModelled("a trap without continue or break")

    @contextmanager
    def item(self, value: object) -> Iterator[None]:
        """Set `$_` in the current scope within the `with` block."""
        variables = self.variables.scope.variables
        kept: dict[str, object] = {name: variables[name] for name in ("_", "psitem") if name in variables}
        variables["_"] = variables["psitem"] = value
        try:
            yield
        finally:
            for name in ("_", "psitem"):
                variables.pop(name, None)
            variables.update(kept)

    def statement(self, node: SyntaxNode, emit: Emit) -> None:
        """Run one statement."""
        if isinstance(node, Pipeline):
            self.pipelines.run(node, emit)
        elif isinstance(node, Assignment):
            self.evaluator.assign(node)
        elif isinstance(node, If):
            self._if(node, emit)
        elif isinstance(node, ForEach):
            self._loops.for_each(node, emit)
        elif isinstance(node, Loop):
            self._loops.loop(node, emit)
        elif isinstance(node, Switch):
            self._loops.switch(node, emit)
        elif isinstance(node, Try):
            self._try(node, emit)
        elif isinstance(node, Flow):
            self._flow(node, emit)
        elif not isinstance(node, Nothing):
            raise NotModelled(f"the statement {type(node).__name__}")

    def to_console(self, item: object) -> None:
        """Write an object to the console, even if the script's output is assigned to a variable."""
        self.written.console.append(item)

    def capture(self, statements: Sequence[SyntaxNode]) -> list[object]:
        """Run statements, and return their output."""
        output: list[object] = []
        self.run(statements, output.append)
        return output

    def call_block(
        self,
        block: Block | ScriptBlock,
        arguments: Sequence[object] = (),
        named: dict[str, object] | None = None,
        *,
        item: object = None,
        has_item: bool = False,
        pipeline: list[object] | None = None,
        new_scope: bool = True,
    ) -> list[object]:
        """Run a script block, and return its output.

        Args:
            arguments, named: the arguments of the call.
            item: the value of `$_`, if `has_item` is true.
            pipeline: the pipeline input, if `has_item` is false.
            new_scope: whether the block gets its own scope (`&`, a function) instead of the caller's (`.`,
                ForEach-Object).
        """
        output: list[object] = []
        if has_item:
            with self.item(item):
                self.calls.run_block(block, output.append, arguments, named, None, new_scope=new_scope)
        else:
            self.calls.run_block(block, output.append, arguments, named, pipeline, new_scope=new_scope)
        return output

    def _if(self, node: If, emit: Emit) -> None:
        for condition, body in node.clauses:
            if truth(self.evaluator.value(condition)):
                self.run(body, emit)
                return
        if node.otherwise is not None:
            self.run(node.otherwise, emit)

    def _try(self, node: Try, emit: Emit) -> None:
        depth = self.try_depth
        self.try_depth += bool(node.catches)
        try:
            self.run(node.body, emit)
        except NotModelled:
            raise
        except CmdletError as error:
            self.try_depth = depth
            self.note(error)
            found = self._catch(node, error)
            if found is None:
                raise
            with self.item(error_record(error)):
                self._caught(found, error, emit)
        finally:
            self.try_depth = depth
            if node.last:
                self.run(node.last, emit)

    def _catch(self, node: Try, error: CmdletError) -> Sequence[SyntaxNode] | None:
        for types, body in node.catches:
            if not types or any(errors.catches(name, error) for name in types):
                return body
        return None

    def _caught(self, body: Sequence[SyntaxNode], error: CmdletError, emit: Emit) -> None:
        kept = self.evaluator.caught
        self.evaluator.caught = error
        try:
            self.run(body, emit)
        finally:
            self.evaluator.caught = kept

    def _flow(self, node: Flow, emit: Emit) -> None:
        if node.kind in ("break", "continue"):
            kind: type[LoopFlow] = BreakFlow if node.kind == "break" else ContinueFlow
            raise kind(node.label)
        if node.kind == "return":
            if node.value is not None:
                self.statement(_as_statement(node.value), emit)
            raise ReturnFlow
        value = self.evaluator.value(node.value) if node.value is not None else None
        if node.kind == "exit":
            if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
                raise NotModelled("exit with a string that is not a number")
            raise ExitFlow(integer(value) if value is not None else 0)
        if node.value is None and self.evaluator.caught is not None:
            raise self.evaluator.caught
        error = thrown(value)
        error.ends_script = True
        raise error


def _as_statement(node: SyntaxNode) -> SyntaxNode:
    return node if isinstance(node, (Pipeline, Assignment)) else Pipeline((node,))


def thrown(value: object) -> CmdletError:
    """Return the error that `throw value` raises."""
    if isinstance(value, ErrorRecord):
        return value.error
    category = "OperationStopped"
    if isinstance(value, PSObject) and value.type_name.endswith("Exception"):
        message = to_text(value.get("Message"))
        error = CmdletError(category, message, message, value.type_name)
        error.thrown = value
        inner = value.get("InnerException")
        error.inner = inner if isinstance(inner, PSObject) else None
    else:
        message = "ScriptHalted" if value is None else to_text(value)
        error = CmdletError(category, message, message, errors.RUNTIME)
    error.target = value
    return error
