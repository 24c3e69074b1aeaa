# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Values of expressions, and assignments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simulator.machine.objects import CUSTOM_OBJECT, CmdletError, NotModelled, PSObject, ScriptBlock
from simulator.machine.powershell import members, statics, values
from simulator.machine.powershell.operators import operate
from simulator.machine.powershell.syntax import (
    ArrayLiteral,
    Assignment,
    Binary,
    Block,
    Cast,
    Expandable,
    HashLiteral,
    Index,
    Literal,
    Member,
    Node,
    Paren,
    Pipeline,
    PostStep,
    SubExpression,
    TypeLiteral,
    Unary,
    Variable,
)
from simulator.machine.text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.interpreter import Interpreter


class Evaluator:
    """Computes expressions for an interpreter."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def value(self, node: Node) -> object:
        """Return an expression's value."""
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, Variable):
            return self._interpreter.variables.get(node.name)
        if isinstance(node, Expandable):
            return "".join(to_text(self.value(part)) for part in node.parts)
        if isinstance(node, Binary):
            return self._binary(node)
        if isinstance(node, Member):
            return self._member(node)
        if isinstance(node, Index):
            return members.index(self.value(node.target), self.value(node.index))
        if isinstance(node, ArrayLiteral):
            return [self.value(item) for item in node.items]
        if isinstance(node, HashLiteral):
            return {self.value(key): self.value(item) for key, item in node.entries}
        if isinstance(node, Block):
            return ScriptBlock(node, node.text)
        if isinstance(node, TypeLiteral):
            return members.type_object(node.name)
        if isinstance(node, Cast):
            return self._cast(node)
        if isinstance(node, Unary):
            return self._unary(node)
        if isinstance(node, PostStep):
            return self._step(node.operand, node.operator, before=False)
        return self._statements(node)

    def _statements(self, node: Node) -> object:
        run = self._interpreter
        if isinstance(node, SubExpression):
            output = run.capture(node.body)
            return output if node.array else values.single(output)
        if isinstance(node, Paren):
            return self._paren(node)
        if isinstance(node, Pipeline) and len(node.elements) == 1 and not node.redirections:
            first = node.elements[0]
            if type(first).__name__ != "Command":
                return self.value(first)
        if isinstance(node, Assignment):
            return self.assign(node)
        return values.single(run.capture((node,)))

    def _paren(self, node: Paren) -> object:
        return self.assign(node.body) if isinstance(node.body, Assignment) else self._statements(node.body)

    def _binary(self, node: Binary) -> object:
        left = self.value(node.left)
        if node.operator in ("and", "or"):
            truth = values.truth(left)
            if truth == (node.operator == "or"):
                return truth
            return values.truth(self.value(node.right))
        right = self.value(node.right)
        if node.operator == "xor":
            return values.truth(left) != values.truth(right)
        result = operate(node.operator, left, right)
        if node.operator in ("match", "cmatch") and result is True:
            self._note_matches(left, right, sensitive=node.operator == "cmatch")
        return result

    def _note_matches(self, left: object, right: object, *, sensitive: bool) -> None:
        found = re.search(values.regex(right), to_text(left), 0 if sensitive else re.IGNORECASE)
        if found:
            groups: dict[object, object] = {0: found[0]}
            groups.update({number: text for number, text in enumerate(found.groups(), 1) if text is not None})
            groups.update(found.groupdict())
            self._interpreter.variables.set("matches", groups)

    def _unary(self, node: Unary) -> object:
        if node.operator in ("++", "--"):
            return self._step(node.operand, node.operator, before=True)
        value = self.value(node.operand)
        if node.operator in ("not", "!"):
            return not values.truth(value)
        if node.operator == "-":
            return -values.number(value)
        if node.operator == "+":
            return values.number(value)
        if node.operator == "join":
            return "".join(to_text(item) for item in values.items(value))
        if node.operator == "split":
            return to_text(value).split()
        if node.operator == "bnot":
            return ~int(values.number(value))
        raise NotModelled(f"the operator {node.operator}")

    def _step(self, target: Node, operator: str, *, before: bool) -> object:
        old = self.value(target)
        new = values.number(old) + (1 if operator == "++" else -1)
        self._store(target, new)
        return new if before else None

    def _cast(self, node: Cast) -> object:
        value = self.value(node.operand)
        if values.type_name(node.name) == "scriptblock":
            return value
        return values.cast(node.name, value)

    def _member(self, node: Member) -> object:
        name = to_text(self.value(node.name))
        session = self._interpreter.session
        if node.static:
            kind = self.value(node.target)
            type_name = to_text(kind.get("FullName")) if isinstance(kind, PSObject) else to_text(kind)
            if node.arguments is None:
                return statics.read(session, type_name, name)
            return statics.call(session, type_name, name, [self.value(item) for item in node.arguments])
        target = self.value(node.target)
        if node.arguments is None:
            return members.read(target, name)
        arguments = [self.value(item) for item in node.arguments]
        if isinstance(target, PSObject) and target.type_name.endswith("InternalHost"):
            if name.casefold() == "setshouldexit":
                self._interpreter.written.exit_code = int(values.number(arguments[0]))
                return None
            raise NotModelled(f"$Host.{name}()")
        return members.call(target, name, arguments)

    def assign(self, node: Assignment) -> object:
        """Run an assignment and return what was assigned."""
        value: object = self._statements(node.value)
        if node.operator != "=":
            target = node.target.operand if isinstance(node.target, Cast) else node.target
            value = operate(node.operator[0], self.value(target), value)
        self._store(node.target, value)
        return value

    def _store(self, target: Node, value: object) -> None:
        if isinstance(target, Variable):
            self._interpreter.variables.set(target.name, value)
        elif isinstance(target, Cast):
            self._store(target.operand, values.cast(target.name, value))
        elif isinstance(target, ArrayLiteral):
            parts = values.items(value)
            for position, item in enumerate(target.items):
                rest = position == len(target.items) - 1 and len(parts) > len(target.items)
                self._store(item, parts[position:] if rest else (parts[position] if position < len(parts) else None))
        elif isinstance(target, Index):
            self._store_item(self.value(target.target), self.value(target.index), value)
        elif isinstance(target, Member):
            self._store_member(target, value)
        else:
            raise values.failure("The assignment expression is not valid.", "InvalidLeftHandSide", "ParserError")

    def _store_item(self, container: object, at: object, value: object) -> None:
        if isinstance(container, dict):
            container[next((key for key in container if values.same(key, at)), at)] = value
        elif isinstance(container, list):
            container[int(values.number(at))] = value
        else:
            raise values.failure("Unable to index into an object of this type.", "CannotIndex")

    def _store_member(self, target: Member, value: object) -> None:
        name = to_text(self.value(target.name))
        if target.static:
            kind = self.value(target.target)
            type_name = to_text(kind.get("FullName")) if isinstance(kind, PSObject) else ""
            if f"{values.type_name(type_name)}.{name.casefold()}" not in statics.ASSIGNABLE:
                raise NotModelled(f"assigning to [{type_name}]::{name}")
            return
        container = self.value(target.target)
        if (isinstance(container, PSObject) and container.type_name == CUSTOM_OBJECT) or container is not None:
            members.write(container, name, value)
            return
        message = (
            f"The property '{name}' cannot be found on this object. Verify that the property exists and can be set."
        )
        raise CmdletError("InvalidOperation", "PropertyNotFound", message)
