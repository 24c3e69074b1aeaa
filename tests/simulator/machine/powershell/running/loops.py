# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The execution of loops and `switch` statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.machine.objects import NotModelled
from simulator.machine.powershell.parsing.syntax import Block, ForEach, Loop, Switch, SyntaxNode
from simulator.machine.powershell.running.flow import BreakFlow, ContinueFlow, LoopFlow
from simulator.machine.powershell.running.streams import Emit
from simulator.machine.powershell.types import patterns
from simulator.machine.powershell.types.compare import same
from simulator.machine.powershell.types.convert import items, single, truth
from simulator.machine.powershell.types.kinds import EMPTY
from simulator.machine.powershell.types.plain_text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter


class Loops:
    """The part of an interpreter that runs loops and `switch` statements."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._run = interpreter

    def for_each(self, node: ForEach, emit: Emit) -> None:
        """Run a `foreach` statement."""
        source = self._run.evaluator.value(node.source)
        for item in items(source):
            self._run.session.process.check()
            self._run.variables.set(node.name, item)
            if not self._once(node, node.body, emit):
                return

    def loop(self, node: Loop, emit: Emit) -> None:
        """Run a `while`, `do` or `for` statement."""
        value = self._run.evaluator.value
        if node.before is not None:
            value(node.before)
        first = node.first
        while True:
            self._run.session.process.check()
            if not first and node.condition is not None and truth(value(node.condition)) == node.until:
                return
            first = False
            if not self._once(node, node.body, emit):
                return
            if node.step is not None:
                value(node.step)

    def _once(self, node: ForEach | Loop, body: Sequence[SyntaxNode], emit: Emit) -> bool:
        """Run a loop's body once, and return whether the loop continues."""
        try:
            self._run.run(body, emit)
        except LoopFlow as flow:
            if flow.label and flow.label != node.label:
                raise
            return isinstance(flow, ContinueFlow)
        return True

    def switch(self, node: Switch, emit: Emit) -> None:
        """Run a `switch` statement."""
        for item in self._values(node):
            try:
                with self._run.item(item):
                    self._cases(node, item, emit)
            except LoopFlow as flow:
                if flow.label and flow.label != node.label:
                    raise
                if isinstance(flow, BreakFlow):
                    return

    def _values(self, node: Switch) -> list[object]:
        value = self._run.evaluator.raw(node.value)
        if node.file:
            path = self._run.session.absolute(to_text(value))
            if not self._run.session.machine.files.is_file(path):
                raise NotModelled("`switch -File` with a file that does not exist")
            return list(self._run.session.machine.files.read_text(path).splitlines())
        if value is EMPTY:
            return []
        return [None] if value is None else items(value)

    def _cases(self, node: Switch, item: object, emit: Emit) -> None:
        matched = False
        for case, body in node.cases:
            if case is not None and self._meets(node, case, item):
                matched = True
                self._run.run(body, emit)
        if not matched:
            for case, body in node.cases:
                if case is None:
                    self._run.run(body, emit)

    def _meets(self, node: Switch, case: SyntaxNode, item: object) -> bool:
        if isinstance(case, Block):
            return truth(single(self._run.call_block(case, item=item, has_item=True)))
        requested = self._run.evaluator.value(case)
        if node.mode == "wildcard":
            return patterns.like(item, requested, sensitive=node.sensitive)
        if node.mode == "regex":
            found = patterns.compiled(requested, sensitive=node.sensitive).search(to_text(item))
            if found:
                self._run.variables.set("matches", patterns.groups(found))
            return found is not None
        if isinstance(item, str) != isinstance(requested, str) and item is not None and requested is not None:
            return same(to_text(item), to_text(requested), sensitive=node.sensitive)
        return same(item, requested, sensitive=node.sensitive)
