# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The evaluation of a script's expressions and assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.conversion import net_type
from simulator.machine.objects import CUSTOM_OBJECT, CmdletError, NotModelled, PSObject, ScriptBlock
from simulator.machine.powershell import members, statics
from simulator.machine.powershell.members.objects import ScriptMember
from simulator.machine.powershell.parsing.syntax import (
    ArrayLiteral,
    Assignment,
    Binary,
    Block,
    Cast,
    CommandInvocation,
    Expandable,
    HashLiteral,
    Index,
    Literal,
    Member,
    Paren,
    Pipeline,
    PostStep,
    SubExpression,
    SyntaxNode,
    TypeLiteral,
    Unary,
    VariableExpression,
)
from simulator.machine.powershell.running.errors import failure
from simulator.machine.powershell.running.streams import Emit
from simulator.machine.powershell.types import arithmetic, names, patterns
from simulator.machine.powershell.types.convert import cast, items, truth
from simulator.machine.powershell.types.kinds import (
    EMPTY,
    Closure,
    Hashtable,
    OrderedDictionary,
    TypeValue,
    byte_array,
)
from simulator.machine.powershell.types.operators import operate, split_words
from simulator.machine.powershell.types.plain_text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter

REFERENCE = "System.Management.Automation.PSReference"


class Evaluator:
    """The evaluator of expressions in an interpreter. `caught` is the error of the catch block that is running."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._run = interpreter
        self.caught: CmdletError | None = None

    def value(self, node: SyntaxNode) -> object:
        """Return the value of an expression."""
        found = self.raw(node)
        return None if found is EMPTY else found

    def emit(self, node: SyntaxNode, emit: Emit) -> None:
        """Pass the value of an expression to `emit`. The items of a list are passed one by one."""
        self.pass_on(self.raw(node), emit)

    @staticmethod
    def pass_on(value: object, emit: Emit) -> None:
        """Pass a value to `emit`. The items of a list are passed one by one."""
        if value is EMPTY:
            return
        if isinstance(value, (list, tuple, bytes, bytearray)):
            for item in list(value):
                emit(item)
        else:
            emit(value)

    def raw(self, node: SyntaxNode) -> object:
        """Return the value of an expression, or EMPTY for a command or a method call that returned nothing."""
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, VariableExpression):
            return self._variable(node)
        if isinstance(node, Expandable):
            return "".join(self.text(self.value(part)) for part in node.parts)
        if isinstance(node, Binary):
            return self._binary(node)
        if isinstance(node, Member):
            return self._member(node)
        if isinstance(node, Index):
            return self._index(node)
        if isinstance(node, ArrayLiteral):
            return [self.value(item) for item in node.items]
        if isinstance(node, HashLiteral):
            return self._table(node, Hashtable())
        if isinstance(node, Block):
            return ScriptBlock(node, node.text)
        if isinstance(node, TypeLiteral):
            return TypeValue(self._full_name(node.name))
        if isinstance(node, Cast):
            return self._cast(node)
        if isinstance(node, Unary):
            return self._unary(node)
        if isinstance(node, PostStep):
            return self._step(node.operand, node.operator, before=False)
        return self._statements(node)

    @staticmethod
    def _full_name(name: str) -> str:
        try:
            return names.resolve(name)
        except NotModelled:
            # The static members of an unknown type may still be modelled.
            return name

    def text(self, value: object) -> str:
        """Return a value as it appears within a string. Lists are joined with $OFS."""
        if isinstance(value, (list, tuple)):
            if any(isinstance(item, (list, tuple)) for item in value):
                raise NotModelled("a string with a list within a list")
            given = self._run.variables.get("ofs")
            return (" " if given is None else to_text(given)).join(to_text(item) for item in value)
        inside = value.properties.values() if isinstance(value, PSObject) and value.type_name == CUSTOM_OBJECT else ()
        if any(isinstance(item, (list, dict, PSObject)) for item in inside):
            raise NotModelled("a string with an object whose properties contain lists or objects")
        return to_text(value)

    def _variable(self, node: VariableExpression) -> object:
        variables = self._run.variables
        if variables.strict and not variables.exists(node.name) and not node.name.casefold().startswith("env:"):
            message = f"The variable '${node.name}' cannot be retrieved because it has not been set."
            raise failure(message, "VariableIsUndefined")
        return variables.raw(node.name)

    def _statements(self, node: SyntaxNode) -> object:
        run = self._run
        if isinstance(node, SubExpression):
            output = run.capture(node.body)
            return output if node.array else _single(output)
        if isinstance(node, Paren):
            return self.assign(node.body) if isinstance(node.body, Assignment) else self._statement(node.body)
        return self._statement(node)

    def _statement(self, node: SyntaxNode) -> object:
        """Return the output of one statement. For an expression, the output is its value, which may be a list."""
        if isinstance(node, Pipeline) and len(node.elements) == 1 and not node.redirections:
            first = node.elements[0]
            if not isinstance(first, CommandInvocation):
                found = self.raw(first)
                self._run.variables.success = True
                return found
        if isinstance(node, Assignment):
            return self.assign(node)
        output: list[object] = []
        self._run.statement(node, output.append)
        return _single(output)

    def _index(self, node: Index) -> object:
        target, at = self.value(node.target), self.value(node.index)
        found = members.index(target, at)
        if found is None and self._run.variables.strict >= 3 and isinstance(target, list):
            raise NotModelled("an index outside the bounds of an array in strict mode")
        return found

    def _table(self, node: HashLiteral, made: Hashtable) -> Hashtable:
        for key, item in node.entries:
            name = self.value(key)
            if members.find_key(made, name) is not None:
                raise NotModelled("a hash literal with the same key twice")
            made[name] = self._entry(item)
        return made

    def _entry(self, node: SyntaxNode) -> object:
        found = self._statement(node)
        return None if found is EMPTY else found

    def _binary(self, node: Binary) -> object:
        left = self.value(node.left)
        if node.operator in ("and", "or"):
            known = truth(left)
            if known == (node.operator == "or"):
                return known
            return truth(self.value(node.right))
        right = self.value(node.right)
        if node.operator == "xor":
            return truth(left) != truth(right)
        if node.operator == "join" and isinstance(left, list):
            return self.text(right).join(self.text(item) for item in left)
        result = operate(node.operator, left, right)
        if node.operator in ("match", "cmatch", "notmatch", "cnotmatch") and not isinstance(left, list):
            found = patterns.compiled(right, sensitive=node.operator.startswith("c")).search(to_text(left))
            if found:
                self._run.variables.set("matches", Hashtable(patterns.groups(found)))
        return result

    def _unary(self, node: Unary) -> object:
        if node.operator in ("++", "--"):
            return self._step(node.operand, node.operator, before=True)
        value = self.value(node.operand)
        if node.operator in ("not", "!"):
            return not truth(value)
        if node.operator == "-":
            return arithmetic.negate(value)
        if node.operator == "+":
            return arithmetic.number(value)
        if node.operator == "join":
            return "".join(to_text(item) for item in items(value))
        if node.operator == "split":
            return split_words(value)
        if node.operator == "bnot":
            return arithmetic.invert(value)
        raise NotModelled(f"the operator {node.operator}")

    def _step(self, target: SyntaxNode, operator: str, *, before: bool) -> object:
        old = self.value(target)
        if isinstance(old, (str, list, dict)):
            message = f"The '{operator}' operator works only on numbers. The operand is a '{net_type(old)}'."
            raise failure(message, "OperatorRequiresNumber")
        new = arithmetic.add(arithmetic.number(old), 1 if operator == "++" else -1)
        self.store(target, new)
        return new if before else (0 if old is None else old)

    def _cast(self, node: Cast) -> object:
        kind = names.resolve(node.name)
        if kind.endswith("OrderedDictionary") and isinstance(node.operand, HashLiteral):
            return self._table(node.operand, OrderedDictionary())
        if kind == REFERENCE:
            return self._reference(node.operand)
        if isinstance(node.operand, HashLiteral) and kind == CUSTOM_OBJECT:
            return cast(CUSTOM_OBJECT, self._table(node.operand, OrderedDictionary()))
        value = self.value(node.operand)
        if kind == "System.Void":
            return EMPTY
        if kind == "System.String":
            return self.text(value)
        return cast(node.name, value)

    def _reference(self, target: SyntaxNode) -> PSObject:
        if isinstance(target, VariableExpression):
            return PSReference(self._run, target.name)
        raise NotModelled("[ref] of anything but a variable")

    def _member(self, node: Member) -> object:
        name = to_text(self.value(node.name))
        session = self._run.session
        if node.static:
            kind = self.value(node.target)
            type_name = kind.full_name if isinstance(kind, TypeValue) else to_text(kind)
            if node.arguments is None:
                return statics.read(session, type_name, name)
            found = statics.call(session, type_name, name, [self.value(item) for item in node.arguments])
            return EMPTY if found is None else found
        target = self.value(node.target)
        if node.arguments is None:
            return self.read(target, name)
        arguments = [self.value(item) for item in node.arguments]
        found = self._own_call(target, name, arguments)
        if found is NotImplemented:
            found = members.call(target, name, arguments)
        if isinstance(found, (bytes, bytearray)):
            found = byte_array(bytes(found))
        return EMPTY if found is None else found

    def read(self, target: object, name: str) -> object:
        """Return the value of a property, which may be a script property."""
        found = members.read(target, name, strict=self._run.variables.strict >= 2)
        if isinstance(found, ScriptMember) and not found.method:
            output = self._run.calls.with_this(found.block, target, [])
            found = None if _single(output) is EMPTY else _single(output)
        return byte_array(bytes(found)) if isinstance(found, (bytes, bytearray)) else found

    def _own_call(self, target: object, name: str, arguments: list[object]) -> object:
        """Call a method that needs the interpreter, and return its result, or NotImplemented for other methods."""
        lower = name.casefold()
        if isinstance(target, PSObject):
            if target.type_name.endswith("InternalHost"):
                return self._host(lower, name, arguments)
            method = target.get(name)
            if isinstance(method, ScriptMember) and method.method:
                return _none(_single(self._run.calls.with_this(method.block, target, arguments)))
        if isinstance(target, ScriptBlock):
            if lower in ("invoke", "invokereturnasis"):
                output = self._run.call_block(target, arguments)
                return output if lower == "invoke" else _none(_single(output))
            if lower == "getnewclosure" and not arguments:
                return Closure.of(target, dict(self._run.variables.scope.variables))
            if lower == "tostring":
                return target.text
        if lower in ("foreach", "where") and arguments and not isinstance(target, dict):
            return self._each(target, lower, arguments)
        return NotImplemented

    def _host(self, lower: str, name: str, arguments: list[object]) -> object:
        if lower == "setshouldexit":
            self._run.written.exit_code = arithmetic.integer(arguments[0])
            return None
        if lower == "gettype":
            return NotImplemented
        raise NotModelled(f"$Host.{name}()")

    def _each(self, target: object, name: str, arguments: list[object]) -> object:
        block = arguments[0]
        if not isinstance(block, ScriptBlock) or len(arguments) > 1:
            raise NotModelled(f".{name}() with these arguments")
        found: list[object] = []
        for item in items(target):
            output = self._run.call_block(block, item=item, has_item=True)
            if name == "foreach":
                found += output
            elif truth(_none(_single(output))):
                found.append(item)
        return found

    def assign(self, node: Assignment) -> object:
        """Run an assignment, and return the assigned value."""
        value = self._statement(node.value)
        if node.operator != "=":
            target = node.target.operand if isinstance(node.target, Cast) else node.target
            value = operate(node.operator[0], self.value(target), _none(value))
        self.store(node.target, value)
        return value

    def store(self, target: SyntaxNode, value: object, kind: str | None = None) -> None:
        """Store a value in a variable, an item or a property."""
        if isinstance(target, VariableExpression):
            if kind == "ordered":
                raise NotModelled("a variable of the type [ordered]")
            self._run.variables.set(target.name, value, kind=kind)
        elif isinstance(target, Cast):
            names.resolve(target.name)
            self.store(target.operand, value, target.name)
        elif isinstance(target, ArrayLiteral):
            parts = items(_none(value))
            for position, item in enumerate(target.items):
                rest = position == len(target.items) - 1 and len(parts) > len(target.items)
                self.store(item, parts[position:] if rest else (parts[position] if position < len(parts) else None))
        elif isinstance(target, Index):
            members.store(self.value(target.target), self.value(target.index), _none(value))
        elif isinstance(target, Member):
            self._store_member(target, _none(value))
        elif isinstance(target, Paren):
            raise NotModelled("an assignment to an expression in parentheses")
        else:
            message = (
                "The assignment expression is not valid. The input to an assignment operator must be an object that "
            )
            message += "is able to accept assignments, such as a variable or a property."
            raise failure(message, "InvalidLeftHandSide", "ParserError")

    def _store_member(self, target: Member, value: object) -> None:
        name = to_text(self.value(target.name))
        if target.static:
            kind = self.value(target.target)
            type_name = kind.full_name if isinstance(kind, TypeValue) else ""
            if f"{type_name}.{name.casefold()}" not in statics.system.ASSIGNABLE:
                raise NotModelled(f"assigning to [{type_name}]::{name}")
            return
        container = self.value(target.target)
        if isinstance(container, PSObject) and isinstance(container.get(name), ScriptMember):
            raise NotModelled("setting a script property")
        members.write(container, name, value)


class PSReference(PSObject):
    """A reference to a variable: `[ref]$name`."""

    def __init__(self, interpreter: Interpreter, name: str) -> None:
        properties = _Referred(interpreter, name)
        super().__init__(REFERENCE, properties)


class _Referred(dict[str, object]):
    """The properties of a `[ref]` object. Setting `Value` also sets the referenced variable."""

    def __init__(self, interpreter: Interpreter, name: str) -> None:
        super().__init__(Value=interpreter.variables.get(name))
        self._variables = interpreter.variables
        self._name = name

    def __setitem__(self, key: str, value: object) -> None:
        super().__setitem__(key, value)
        if key == "Value":
            self._variables.set(self._name, value)


def _single(output: list[object]) -> object:
    """Combine output objects into one value: EMPTY, one object or a list."""
    if not output:
        return EMPTY
    return output[0] if len(output) == 1 else output


def _none(value: object) -> object:
    return None if value is EMPTY else value
