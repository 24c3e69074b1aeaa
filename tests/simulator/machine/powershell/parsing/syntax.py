# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The nodes of a PowerShell script's syntax tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.machine.objects import NotModelled


class SyntaxNode:
    """The base class of all nodes."""


@dataclass(frozen=True)
class Literal(SyntaxNode):
    """A constant. For a number, `text` is its spelling in the script, which programs receive as an argument."""

    value: object
    text: str | None = None


@dataclass(frozen=True)
class Expandable(SyntaxNode):
    """An expandable string: text and expressions, in order."""

    parts: tuple[SyntaxNode, ...]


@dataclass(frozen=True)
class VariableExpression(SyntaxNode):
    """A variable: `$name` or `$scope:name`. If `splat` is true, it is `@name`."""

    name: str
    splat: bool = False


@dataclass(frozen=True)
class Unary(SyntaxNode):
    """An operator before its operand: `-not`, `!`, `-bnot`, `-`, `+`, `-join`, `-split`, `++`, `--`."""

    operator: str
    operand: SyntaxNode


@dataclass(frozen=True)
class Binary(SyntaxNode):
    """An operator between two operands. `operator` is in lower case and without its dash."""

    operator: str
    left: SyntaxNode
    right: SyntaxNode


@dataclass(frozen=True)
class ArrayLiteral(SyntaxNode):
    """An array literal: `a, b`."""

    items: tuple[SyntaxNode, ...]


@dataclass(frozen=True)
class Paren(SyntaxNode):
    """A pipeline in parentheses: `(pipeline)`."""

    body: SyntaxNode


@dataclass(frozen=True)
class SubExpression(SyntaxNode):
    """A subexpression: `$(statements)`. If `array` is true, it is `@(statements)`."""

    body: tuple[SyntaxNode, ...]
    array: bool = False


@dataclass(frozen=True)
class HashLiteral(SyntaxNode):
    """A hash table: `@{key = value}`."""

    entries: tuple[tuple[SyntaxNode, SyntaxNode], ...]


@dataclass(frozen=True)
class Attribute(SyntaxNode):
    """An attribute: `[Name(arguments, name = value)]`. The names are in lower case."""

    name: str
    arguments: tuple[SyntaxNode, ...] = ()
    named: Mapping[str, SyntaxNode] = field(default_factory=dict)

    def constants(self) -> list[object]:
        """Return the values of the arguments.

        Raises:
            NotModelled: an argument is not a constant.
        """
        return [item for node in self.arguments for item in _constants(node)]

    def flag(self, name: str) -> bool:
        """Return whether a named argument is true, which is also the case for an argument without a value."""
        return name in self.named and bool(_constants(self.named[name])[0])

    def number(self, name: str) -> int:
        """Return the value of a named argument as a number."""
        found = _constants(self.named[name])[0]
        return found if isinstance(found, int) else 0

    def text(self, name: str) -> str:
        """Return the value of a named argument as a string."""
        return str(_constants(self.named[name])[0])


def _constants(node: SyntaxNode) -> list[object]:
    if isinstance(node, Literal):
        return [node.value]
    if isinstance(node, VariableExpression) and node.name.casefold() in ("true", "false", "null"):
        return [{"true": True, "false": False}.get(node.name.casefold())]
    if isinstance(node, ArrayLiteral):
        return [item for inner in node.items for item in _constants(inner)]
    raise NotModelled("an attribute's argument that is not a constant")


@dataclass(frozen=True)
class FunctionParameter(SyntaxNode):
    """A parameter of a function: name with its original capitalization, type, default and attributes."""

    name: str
    type: str = ""
    default: SyntaxNode | None = None
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Block(SyntaxNode):
    """A script block: its parameters, and the statements of its body and of its `begin`, `process` and `end` blocks."""

    body: tuple[SyntaxNode, ...]
    parameters: tuple[FunctionParameter, ...] = ()
    begin: tuple[SyntaxNode, ...] = ()
    process: tuple[SyntaxNode, ...] | None = None
    end: tuple[SyntaxNode, ...] = ()
    text: str = ""
    attributes: tuple[Attribute, ...] = ()

    @property
    def advanced(self) -> bool:
        """Whether the block is an advanced function, which has a [CmdletBinding()] or [Parameter()] attribute."""
        own = any(item.name == "cmdletbinding" for item in self.attributes)
        return own or any(item.name == "parameter" for each in self.parameters for item in each.attributes)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a flag of [CmdletBinding()], or `default` if the flag is not set there."""
        for item in self.attributes:
            if item.name == "cmdletbinding" and name in item.named:
                return item.flag(name)
        return default

    def text_of(self, name: str) -> str:
        """Return a string argument of [CmdletBinding()], or an empty string if it is missing."""
        found = [item.text(name) for item in self.attributes if item.name == "cmdletbinding" and name in item.named]
        return found[0] if found else ""


@dataclass(frozen=True)
class TypeLiteral(SyntaxNode):
    """A type literal: `[Name]`."""

    name: str


@dataclass(frozen=True)
class Cast(SyntaxNode):
    """A cast: `[Name]operand`."""

    name: str
    operand: SyntaxNode


@dataclass(frozen=True)
class Member(SyntaxNode):
    """A member: `target.name` or `target::name`. It is a method call if `arguments` is not None."""

    target: SyntaxNode
    name: SyntaxNode
    static: bool = False
    arguments: tuple[SyntaxNode, ...] | None = None


@dataclass(frozen=True)
class Index(SyntaxNode):
    """An index expression: `target[index]`."""

    target: SyntaxNode
    index: SyntaxNode


@dataclass(frozen=True)
class PostStep(SyntaxNode):
    """An operator after its operand: `$x++` or `$x--`."""

    operator: str
    operand: SyntaxNode


@dataclass(frozen=True)
class Argument(SyntaxNode):
    """An argument of a command: `-Name`, `-Name:value` or a value."""

    name: str | None = None
    value: SyntaxNode | None = None


@dataclass(frozen=True)
class Redirection(SyntaxNode):
    """A redirection such as `2>&1` or `> file`. The stream is `*` for all streams. The target is a stream or a file."""

    stream: str
    append: bool
    target: SyntaxNode | str


@dataclass(frozen=True)
class CommandInvocation(SyntaxNode):
    """A command. `operator` is the call operator (`&` or `.`), or an empty string."""

    operator: str
    name: SyntaxNode
    arguments: tuple[Argument, ...] = ()
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True)
class Pipeline(SyntaxNode):
    """Commands joined by pipes. The first element may be an expression."""

    elements: tuple[SyntaxNode, ...]
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True)
class Assignment(SyntaxNode):
    """An assignment with `=` or an operator such as `+=`. The target of `[type]$x = …` is a Cast."""

    target: SyntaxNode
    operator: str
    value: SyntaxNode


@dataclass(frozen=True)
class If(SyntaxNode):
    """An `if` statement: the conditions with their blocks, and the block of `else`."""

    clauses: tuple[tuple[SyntaxNode, tuple[SyntaxNode, ...]], ...]
    otherwise: tuple[SyntaxNode, ...] | None = None


@dataclass(frozen=True)
class ForEach(SyntaxNode):
    """A `foreach` loop: `foreach ($name in source) {…}`."""

    name: str
    source: SyntaxNode
    body: tuple[SyntaxNode, ...]
    label: str = ""


@dataclass(frozen=True)
class Loop(SyntaxNode):
    """A `while`, `do` or `for` loop. If `first` is true, the body runs before the first check of the condition."""

    condition: SyntaxNode | None
    body: tuple[SyntaxNode, ...]
    before: SyntaxNode | None = None
    step: SyntaxNode | None = None
    first: bool = False
    until: bool = False
    label: str = ""


@dataclass(frozen=True)
class Switch(SyntaxNode):
    """A `switch` statement. In `cases`, None stands for `default`. `mode` is `exact`, `wildcard` or `regex`."""

    value: SyntaxNode
    cases: tuple[tuple[SyntaxNode | None, tuple[SyntaxNode, ...]], ...]
    mode: str = "exact"
    sensitive: bool = False
    file: bool = False
    label: str = ""


@dataclass(frozen=True)
class Try(SyntaxNode):
    """A statement `try … catch [types] … finally`."""

    body: tuple[SyntaxNode, ...]
    catches: tuple[tuple[tuple[str, ...], tuple[SyntaxNode, ...]], ...]
    last: tuple[SyntaxNode, ...] = ()


@dataclass(frozen=True)
class Flow(SyntaxNode):
    """A `return`, `exit`, `throw`, `break` or `continue` statement."""

    kind: str
    value: SyntaxNode | None = None
    label: str = ""


@dataclass(frozen=True)
class Trap(SyntaxNode):
    """A `trap [type] {…}` statement. The type may be empty."""

    kind: str
    body: tuple[SyntaxNode, ...]


@dataclass(frozen=True)
class Function(SyntaxNode):
    """The definition of a function (`function name {…}`) or filter (`filter name {…}`)."""

    name: str
    block: Block
    is_filter: bool = False


@dataclass(frozen=True)
class Nothing(SyntaxNode):
    """An empty statement."""
