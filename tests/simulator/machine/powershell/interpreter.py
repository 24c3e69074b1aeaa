# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Running a script's statements."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.machine.objects import CmdletError, ErrorRecord, ScriptBlock, error_record
from simulator.machine.powershell import values
from simulator.machine.powershell.evaluator import Evaluator
from simulator.machine.powershell.pipelines import Pipelines, Written
from simulator.machine.powershell.scope import Runspace, Variables
from simulator.machine.powershell.syntax import (
    Assignment,
    Block,
    Flow,
    ForEach,
    Function,
    If,
    Loop,
    Node,
    Nothing,
    Pipeline,
    Switch,
    Try,
    Variable,
)
from simulator.machine.session import Session
from simulator.machine.text import to_text


class FlowControl(Exception):
    """Leaving a loop, a function or the script."""


class BreakFlow(FlowControl):
    """`break`."""


class ContinueFlow(FlowControl):
    """`continue`."""


class ReturnFlow(FlowControl):
    """`return`; what it returned is in the output already."""


class ExitFlow(FlowControl):
    """`exit CODE`."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class Interpreter:
    """One script that runs in a session.

    `written` holds what went to the streams: errors, warnings, what programs wrote to their standard error.
    """

    def __init__(self, session: Session, runspace: Runspace) -> None:
        self.session = session
        self.runspace = runspace
        self.variables = Variables(session, runspace)
        self.written = Written()
        self.evaluator = Evaluator(self)
        self.pipelines = Pipelines(self)

    def run(self, statements: Sequence[Node], output: list[object]) -> None:
        """Run statements; what they output goes into `output`. Raises CmdletError, FlowControl, ProcessEndedError."""
        for statement in statements:
            self.session.process.check()
            self.statement(statement, output)

    def statement(self, node: Node, output: list[object]) -> None:
        """Run one statement."""
        if isinstance(node, Pipeline):
            self._pipeline(node, output)
        elif isinstance(node, Assignment):
            self.evaluator.assign(node)
            self.variables.success = True
        elif isinstance(node, If):
            self._if(node, output)
        elif isinstance(node, (ForEach, Loop)):
            self._loop(node, output)
        elif isinstance(node, Switch):
            self._switch(node, output)
        elif isinstance(node, Try):
            self._try(node, output)
        elif isinstance(node, Flow):
            self._flow(node, output)
        elif isinstance(node, Function):
            self.runspace.functions[node.name.casefold()] = node.block
        elif not isinstance(node, Nothing):
            output += values.items(self.evaluator.value(node))

    def capture(self, statements: Sequence[Node]) -> list[object]:
        """Run statements and return what they output."""
        output: list[object] = []
        self.run(statements, output)
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
        """Run a script block or function and return what it outputs.

        Parameters:
            arguments, named: for its parameters.
            item: `$_`, if `has_item`.
            pipeline: the objects piped in.
            new_scope: whether its variables are its own (`&`, a function) or its caller's (`.`, ForEach-Object).
        """
        tree = block.block if isinstance(block, ScriptBlock) else block
        assert isinstance(tree, Block)
        scope: dict[str, object] = {} if new_scope or not self.variables.scopes else self.variables.scopes[-1]
        if new_scope:
            self.variables.scopes.append(scope)
        kept = self.variables.get("_")
        try:
            self._bind(tree, scope, arguments, named or {})
            if pipeline is not None:
                self.variables.set("input", list(pipeline))
            if has_item:
                self.variables.set("_", item)
                self.variables.set("psitem", item)
            output: list[object] = []
            try:
                self.run(tree.begin, output)
                if tree.process is not None:
                    for each in pipeline if pipeline is not None else [None]:
                        self.variables.set("_", each)
                        self.run(tree.process, output)
                self.run((*tree.body, *tree.end), output)
            except ReturnFlow:
                pass
            return output
        finally:
            if new_scope:
                self.variables.scopes.pop()
            elif has_item:
                self.variables.set("_", kept)

    def _bind(
        self, block: Block, scope: dict[str, object], arguments: Sequence[object], named: dict[str, object]
    ) -> None:
        rest = list(arguments)
        given = {name.casefold(): value for name, value in named.items()}
        for parameter in block.parameters:
            name = parameter.name.casefold()
            # A prefix will do, as for cmdlets.
            key = next((key for key in given if name == key or name.startswith(key)), None)
            if key is not None:
                value = given.pop(key)
            elif rest and parameter.type.casefold() != "switch":
                value = rest.pop(0)
            elif parameter.default is not None:
                value = self.evaluator.value(parameter.default)
            else:
                value = False if parameter.type.casefold() == "switch" else None
            typed = parameter.type and not (value is None and parameter.type.casefold() != "string")
            scope[name] = values.cast(parameter.type, value) if typed else value
        if given and block.parameters:
            name = next(iter(given))
            message = f"A parameter cannot be found that matches parameter name '{name}'."
            kind = "System.Management.Automation.ParameterBindingException"
            raise CmdletError("InvalidArgument", "NamedParameterNotFound", message, kind)
        scope["args"] = rest

    def _pipeline(self, node: Pipeline, output: list[object]) -> None:
        """Run a pipeline; what it output before an error is kept."""
        if len(node.elements) == 1 and isinstance(node.elements[0], Variable) and not node.redirections:
            output += values.items(self.variables.get(node.elements[0].name))
            self.variables.success = True
            return
        try:
            output += self.pipelines.run(node)
        except CmdletError as error:
            self.variables.success = False
            self.variables.errors.append(error_record(error))
            raise

    def _if(self, node: If, output: list[object]) -> None:
        for condition, body in node.clauses:
            if values.truth(self.evaluator.value(condition)):
                self.run(body, output)
                return
        if node.otherwise is not None:
            self.run(node.otherwise, output)

    def _loop(self, node: ForEach | Loop, output: list[object]) -> None:
        if isinstance(node, ForEach):
            for item in values.items(self.evaluator.value(node.source)):
                self.session.process.check()
                self.variables.set(node.name, item)
                if not self._once(node.body, output):
                    return
            return
        if node.before is not None:
            self.evaluator.value(node.before)
        first = node.first
        while True:
            self.session.process.check()
            if (
                not first
                and node.condition is not None
                and values.truth(self.evaluator.value(node.condition)) == node.until
            ):
                return
            first = False
            if not self._once(node.body, output):
                return
            if node.step is not None:
                self.evaluator.value(node.step)

    def _once(self, body: Sequence[Node], output: list[object]) -> bool:
        """Run a loop's body once; returns whether the loop goes on."""
        try:
            self.run(body, output)
        except BreakFlow:
            return False
        except ContinueFlow:
            return True
        return True

    def _switch(self, node: Switch, output: list[object]) -> None:
        for item in values.items(self.evaluator.value(node.value)):
            self.variables.set("_", item)
            matched = False
            try:
                for case, body in node.cases:
                    if case is not None and self._case(node, case, item):
                        matched = True
                        self.run(body, output)
                if not matched:
                    for case, body in node.cases:
                        if case is None:
                            self.run(body, output)
            except BreakFlow:
                return
            except ContinueFlow:
                continue

    def _case(self, node: Switch, case: Node, item: object) -> bool:
        if isinstance(case, Block):
            return values.truth(values.single(self.call_block(case, item=item, has_item=True)))
        wanted = self.evaluator.value(case)
        if node.mode == "wildcard":
            return values.like(item, wanted)
        if node.mode == "regex":
            import re

            return re.search(values.regex(wanted), to_text(item), re.IGNORECASE) is not None
        return values.same(item, wanted)

    def _try(self, node: Try, output: list[object]) -> None:
        try:
            self.run(node.body, output)
        except CmdletError as error:
            record = error_record(error)
            catch = next((body for types, body in node.catches if _catches(types, error)), None)
            if catch is None:
                raise
            kept = self.variables.get("_")
            self.variables.set("_", record)
            try:
                self.run(catch, output)
            finally:
                self.variables.set("_", kept)
        finally:
            self.run(node.last, output)

    def _flow(self, node: Flow, output: list[object]) -> None:
        if node.kind == "break":
            raise BreakFlow
        if node.kind == "continue":
            raise ContinueFlow
        value = self.evaluator.value(node.value) if node.value is not None else None
        if node.kind == "return":
            output += values.items(value)
            raise ReturnFlow
        if node.kind == "exit":
            raise ExitFlow(int(values.number(value)) if value is not None else 0)
        raise _thrown(value)


def _catches(types: tuple[str, ...], error: CmdletError) -> bool:
    actual = values.type_name(error.exception_type)
    base = ("exception", "runtimeexception", "management.automation.runtimeexception")
    names = [values.type_name(name) for name in types]
    return not names or any(actual == name or actual.rsplit(".", 1)[-1] == name or name in base for name in names)


def _thrown(value: object) -> CmdletError:
    if isinstance(value, ErrorRecord):
        return value.error
    message = to_text(value.get("Message")) if hasattr(value, "get") else to_text(value)
    kind = "System.Management.Automation.RuntimeException"
    return CmdletError("OperationStopped", message or "ScriptHalted", message or "ScriptHalted", kind)
