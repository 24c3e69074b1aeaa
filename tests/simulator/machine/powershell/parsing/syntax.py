# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The syntax tree of a script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.machine.objects import NotModelled


class Node:
    """The base class of all nodes."""


@dataclass(frozen=True)
class Literal(Node):
    """A constant. `text` is the original text of a number, for arguments of programs."""

    value: object
    text: str | None = None


@dataclass(frozen=True)
class Expandable(Node):
    """An expandable string: text and expressions, in order."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Variable(Node):
    """`$name` or `$scope:name`; with `splat` it is `@name`."""

    name: str
    splat: bool = False


@dataclass(frozen=True)
class Unary(Node):
    """An operator before its operand: `-not`, `!`, `-`, `+`, `,`, `-join`, `-split`, `++`, `--`."""

    operator: str
    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    """An operator between two operands, in lower case and without its dash."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class ArrayLiteral(Node):
    """`a, b`."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Paren(Node):
    """`(pipeline)`."""

    body: Node


@dataclass(frozen=True)
class SubExpression(Node):
    """`$(statements)`; with `array` it is `@(statements)`."""

    body: tuple[Node, ...]
    array: bool = False


@dataclass(frozen=True)
class HashLiteral(Node):
    """`@{key = value}`."""

    entries: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True)
class Attribute(Node):
    """`[Name(arguments, name = value)]`. Names are in lower case."""

    name: str
    arguments: tuple[Node, ...] = ()
    named: Mapping[str, Node] = field(default_factory=dict)

    def constants(self) -> list[object]:
        """Return the values of the arguments.

        Raises:
            NotModelled: an argument is not a constant.
        """
        return [item for node in self.arguments for item in _constants(node)]

    def flag(self, name: str) -> bool:
        """Return whether a named argument is true. It is also true without a value."""
        return name in self.named and bool(_constants(self.named[name])[0])

    def number(self, name: str) -> int:
        """Return a named argument as a number."""
        found = _constants(self.named[name])[0]
        return found if isinstance(found, int) else 0

    def text(self, name: str) -> str:
        """Return a named argument as text."""
        return str(_constants(self.named[name])[0])


def _constants(node: Node) -> list[object]:
    if isinstance(node, Literal):
        return [node.value]
    if isinstance(node, Variable) and node.name.casefold() in ("true", "false", "null"):
        return [{"true": True, "false": False}.get(node.name.casefold())]
    if isinstance(node, ArrayLiteral):
        return [item for inner in node.items for item in _constants(inner)]
    raise NotModelled("an argument of an attribute that is not a constant")


@dataclass(frozen=True)
class Parameter(Node):
    """A parameter of a function: name with its own capitalization, type, default and attributes."""

    name: str
    type: str = ""
    default: Node | None = None
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Block(Node):
    """A script block: its parameters, and its statements by named block."""

    body: tuple[Node, ...]
    parameters: tuple[Parameter, ...] = ()
    begin: tuple[Node, ...] = ()
    process: tuple[Node, ...] | None = None
    end: tuple[Node, ...] = ()
    text: str = ""
    attributes: tuple[Attribute, ...] = ()

    @property
    def advanced(self) -> bool:
        """Whether it is an advanced function, which has [CmdletBinding()] or a [Parameter()]."""
        own = any(item.name == "cmdletbinding" for item in self.attributes)
        return own or any(item.name == "parameter" for each in self.parameters for item in each.attributes)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a flag of [CmdletBinding()]."""
        for item in self.attributes:
            if item.name == "cmdletbinding" and name in item.named:
                return item.flag(name)
        return default

    def text_of(self, name: str) -> str:
        """Return a text argument of [CmdletBinding()]."""
        found = [item.text(name) for item in self.attributes if item.name == "cmdletbinding" and name in item.named]
        return found[0] if found else ""


@dataclass(frozen=True)
class TypeLiteral(Node):
    """`[Name]`."""

    name: str


@dataclass(frozen=True)
class Cast(Node):
    """`[Name]operand`."""

    name: str
    operand: Node


@dataclass(frozen=True)
class Member(Node):
    """`target.name` or `target::name`. It is a call if `arguments` is not None."""

    target: Node
    name: Node
    static: bool = False
    arguments: tuple[Node, ...] | None = None


@dataclass(frozen=True)
class Index(Node):
    """`target[index]`."""

    target: Node
    index: Node


@dataclass(frozen=True)
class PostStep(Node):
    """`$x++` or `$x--`."""

    operator: str
    operand: Node


@dataclass(frozen=True)
class Argument(Node):
    """An argument of a command: `-Name`, `-Name:value` or a value."""

    name: str | None = None
    value: Node | None = None


@dataclass(frozen=True)
class Redirection(Node):
    """`2>&1`, `> file`: the stream (`*` for all), whether to append, and the target (a stream's number or a file)."""

    stream: str
    append: bool
    target: Node | str


@dataclass(frozen=True)
class Command(Node):
    """A command. `operator` is `&`, `.` or empty."""

    operator: str
    name: Node
    arguments: tuple[Argument, ...] = ()
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True)
class Pipeline(Node):
    """Commands joined by pipes. The first one may be an expression."""

    elements: tuple[Node, ...]
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True)
class Assignment(Node):
    """`target = value`. `type` is the type in `[type]$x = …`."""

    target: Node
    operator: str
    value: Node


@dataclass(frozen=True)
class If(Node):
    """Conditions with their blocks, and the block of `else`."""

    clauses: tuple[tuple[Node, tuple[Node, ...]], ...]
    otherwise: tuple[Node, ...] | None = None


@dataclass(frozen=True)
class ForEach(Node):
    """`foreach ($name in source) {…}`."""

    name: str
    source: Node
    body: tuple[Node, ...]
    label: str = ""


@dataclass(frozen=True)
class Loop(Node):
    """`while`, `do … while`, `do … until` and `for`."""

    condition: Node | None
    body: tuple[Node, ...]
    before: Node | None = None
    step: Node | None = None
    first: bool = False
    until: bool = False
    label: str = ""


@dataclass(frozen=True)
class Switch(Node):
    """`switch (value) { case {…} }`. A case of None is `default`. `mode` is exact, wildcard or regex."""

    value: Node
    cases: tuple[tuple[Node | None, tuple[Node, ...]], ...]
    mode: str = "exact"
    sensitive: bool = False
    file: bool = False
    label: str = ""


@dataclass(frozen=True)
class Try(Node):
    """`try … catch [types] … finally`."""

    body: tuple[Node, ...]
    catches: tuple[tuple[tuple[str, ...], tuple[Node, ...]], ...]
    last: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Flow(Node):
    """`return`, `exit`, `throw`, `break`, `continue`."""

    kind: str
    value: Node | None = None
    label: str = ""


@dataclass(frozen=True)
class Trap(Node):
    """`trap [type] {…}`. The type may be empty."""

    kind: str
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Function(Node):
    """`function name {…}`, or `filter name {…}`."""

    name: str
    block: Block
    is_filter: bool = False


@dataclass(frozen=True)
class Nothing(Node):
    """An empty statement."""

    note: str = field(default="", compare=False)
