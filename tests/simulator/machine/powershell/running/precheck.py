# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The check that rejects a script with unmodelled syntax or commands before the script has any effect.

The check covers only what is certain to run: the script's own statements up to the first `exit`, `return`, `throw`,
`break` or `continue`, excluding `if`, `switch`, loops, `try`, `trap`, functions, script blocks and the operands of
binary operators. Unmodelled syntax and commands elsewhere are rejected only when the script reaches them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simulator.machine import commands
from simulator.machine.objects import CmdletError, NotModelled
from simulator.machine.powershell.parsing.syntax import (
    Assignment,
    Block,
    Cast,
    CommandInvocation,
    Flow,
    Function,
    Literal,
    Pipeline,
    SyntaxNode,
)
from simulator.machine.powershell.types import names

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


# Cmdlets that the interpreter itself implements.
_STREAMED = ("foreach-object", "where-object", "write-output", "out-null", "out-host", "out-default")


def check(machine: Machine, statements: Sequence[SyntaxNode], known: set[str]) -> None:
    """Reject a script that uses syntax or commands that are not modelled.

    Args:
        known: the existing functions and aliases, in lower case.

    Raises:
        NotModelled: the simulator does not model a part of the script.
    """
    defined = set(known)
    for statement in statements:
        if isinstance(statement, Function):
            defined.add(statement.name.rpartition(":")[2].casefold())
        elif isinstance(statement, Flow):
            return
        elif isinstance(statement, (Pipeline, Assignment)):
            for node in _parts(statement):
                _check(machine, node, defined)


def _parts(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield a syntax node and the nodes in it that are certain to run.

    Nodes that might not run, such as those in script blocks and `if` statements, are left out.
    """
    yield node
    if not isinstance(node, Block):
        for value in vars(node).values():
            yield from _inner(value)


def _inner(value: object) -> Iterator[SyntaxNode]:
    if isinstance(value, SyntaxNode):
        if not _is_conditional(value):
            yield from _parts(value)
    elif isinstance(value, tuple):
        for item in value:
            yield from _inner(item)


def _is_conditional(node: SyntaxNode) -> bool:
    return type(node).__name__ in ("If", "ForEach", "Loop", "Switch", "Try", "Function", "Trap", "Binary")


def _check(machine: Machine, node: SyntaxNode, defined: set[str]) -> None:
    if isinstance(node, Cast):
        try:
            names.resolve(node.name)
        except NotModelled:
            raise
        except CmdletError:
            return
    if isinstance(node, CommandInvocation) and isinstance(node.name, Literal):
        name = str(node.name.value)
        if name.casefold() in defined:
            return
        found = commands.describe(machine, commands.ALIASES.get(name.casefold(), name))
        if found is not None and found.command.casefold() not in (*machine.families.cmdlets, *_STREAMED):
            raise NotModelled(f"the cmdlet {found.command}")
