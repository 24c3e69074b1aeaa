# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Prepare the commands of a PowerShell pipeline: names, arguments and splatting."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from simulator.machine import commands
from simulator.machine.objects import CmdletError, NotModelled, ScriptBlock
from simulator.machine.powershell.parsing.syntax import (
    ArrayLiteral,
    Block,
    CommandInvocation,
    Literal,
    Redirection,
    SyntaxNode,
    VariableExpression,
)
from simulator.machine.powershell.running.binding import PRESENT, CommandArguments, missing_argument
from simulator.machine.powershell.types.convert import items
from simulator.machine.powershell.types.kinds import SwitchValue
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.rights.cmdlet_errors import denied
from simulator.machine.rights.guard import AccessDeniedError

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter

# Built-in functions of PowerShell, with the cmdlets and parameters that replace them.
_FUNCTIONS = {"mkdir": ("New-Item", {"ItemType": "Directory"})}
_NOT_MODELLED = ("help", "more", "clear-host", "cls", "pause", "oss", "tabexpansion2", "prompt", "cd..", "cd\\", "man")


@dataclass
class PipelineStep:
    """One command of a pipeline: its name and arguments.

    Args:
        named: pairs of a parameter's name and its value. The value is PRESENT if the caller gave only the name.
        loose: the parameters in the form `-Name value` that might be switches. Each entry is the name and the position
            of the value in `positional`.
        program_arguments: the arguments that a program gets if the command is a program.
    """

    name: object
    named: list[tuple[str, object]] = field(default_factory=list)
    positional: list[object] = field(default_factory=list)
    loose: list[tuple[str, int]] = field(default_factory=list)
    program_arguments: list[str] = field(default_factory=list)
    redirections: tuple[Redirection, ...] = ()
    dotted: bool = False

    def arguments(self) -> CommandArguments:
        """Return the arguments for a call of a PowerShell function."""
        return CommandArguments(list(self.named), list(self.positional), list(self.loose))

    def for_cmdlet(self, run: Interpreter, name: str) -> tuple[dict[str, object], list[object]]:
        """Return the named and the unnamed arguments for a cmdlet.

        A switch does not take the value after its name. The cmdlet's description defines which parameters are switches.

        Raises:
            CmdletError: a parameter that is not a switch does not have a value.
        """
        named: dict[str, object] = {}
        for key, value in self.named:
            if value is PRESENT and not is_switch(run, name, key):
                missing = _without_value(run, name, key)
                if missing is not None:
                    raise missing
            named[key] = True if value is PRESENT else _plain(value)
        taken = set()
        for key, at in self.loose:
            if is_switch(run, name, key):
                named[key] = True
            else:
                named[key] = _plain(self.positional[at])
                taken.add(at)
        return named, [_plain(value) for at, value in enumerate(self.positional) if at not in taken]


def _plain(value: object) -> object:
    return value.on if isinstance(value, SwitchValue) else value


def _without_value(run: Interpreter, name: str, key: str) -> CmdletError | None:
    """Return the error for a parameter without a value, or None if the parameter does not exist."""
    description = commands.describe(run.session.machine, commands.ALIASES.get(name.casefold(), name))
    known = [] if description is None else list(description.parameters.values())
    own = [
        item for item in known if any(text.casefold().startswith(key.casefold()) for text in (item.name, *item.aliases))
    ]
    if description is None or not own:
        return None
    return missing_argument(description.suffix, own[0].name)


def tree(block: ScriptBlock) -> Block:
    """Return a script block's syntax tree."""
    found = block.block
    assert isinstance(found, Block)
    return found


def is_switch(run: Interpreter, name: str, parameter: str) -> bool:
    """Return whether a parameter is a switch according to the description of the cmdlet."""
    requested = parameter.casefold()
    description = commands.describe(run.session.machine, commands.ALIASES.get(name.casefold(), name))
    if description is None:
        return False
    exact = description.parameters.get(requested)
    found = (
        [exact]
        if exact
        else [
            item
            for item in description.parameters.values()
            if any(spelling.casefold() == requested for spelling in item.aliases)
        ]
    ) or [
        item
        for item in description.parameters.values()
        if any(spelling.casefold().startswith(requested) for spelling in (item.name, *item.aliases))
    ]
    own = [item for item in found if not item.common] or found
    return bool(own) and all(item.type == "SwitchParameter" for item in own)


def prepare(run: Interpreter, node: CommandInvocation) -> PipelineStep:
    """Evaluate a command's name and arguments."""
    step = PipelineStep(run.evaluator.value(node.name), redirections=node.redirections, dotted=node.operator == ".")
    pending = ""
    for argument in node.arguments:
        if argument.name is not None:
            if pending:
                step.named.append((pending, PRESENT))
            pending = ""
            step.program_arguments.append(argument.name if argument.name == "--" else f"-{argument.name}")
            if argument.value is not None:
                value = run.evaluator.value(argument.value)
                step.named.append((argument.name, value))
                step.program_arguments[-1] += f":{to_text(value)}"
            elif argument.name != "--":
                pending = argument.name
            continue
        assert argument.value is not None
        _take(run, step, argument.value, pending)
        pending = ""
    if pending:
        step.named.append((pending, PRESENT))
    return step


def _take(run: Interpreter, step: PipelineStep, node: SyntaxNode, pending: str) -> None:
    """Add a value to the arguments of a step. The value might belong to the parameter that `pending` names."""
    if isinstance(node, VariableExpression) and node.splat:
        if pending:
            step.named.append((pending, PRESENT))
        splatted = run.evaluator.value(VariableExpression(node.name))
        if isinstance(splatted, dict):
            step.named += [(to_text(key), item) for key, item in splatted.items()]
        else:
            step.positional += items(splatted)
            step.program_arguments += [to_text(item) for item in items(splatted)]
        return
    value = run.evaluator.value(node)
    step.program_arguments += _program_arguments(node, value)
    if pending:
        step.loose.append((pending, len(step.positional)))
    step.positional.append(value)


def _program_arguments(node: SyntaxNode, value: object) -> list[str]:
    """Return a value as arguments of a program.

    A number keeps its original text. A list of constants (`a,b`) becomes one argument with commas; any other list
    becomes several arguments.
    """
    if isinstance(node, Literal) and node.text is not None:
        return [node.text]
    if isinstance(node, ArrayLiteral) and all(isinstance(item, Literal) for item in node.items):
        return [",".join(to_text(item) for item in items(value))]
    return [to_text(item) for item in value] if isinstance(value, list) else [to_text(value)]


def is_function(name: str) -> bool:
    """Return whether a name is a built-in function of PowerShell that the simulator replaces with a cmdlet.

    Raises:
        NotModelled: the name is a built-in function or alias that the simulator does not model.
    """
    if name.casefold() in _NOT_MODELLED:
        raise NotModelled(f"the function {name}")
    return name.casefold() in _FUNCTIONS


def rewritten(step: PipelineStep, name: str) -> tuple[PipelineStep, str]:
    """Rewrite a call of a built-in function as a call of a cmdlet. Return the new call and the cmdlet's name."""
    cmdlet, parameters = _FUNCTIONS[name.casefold()]
    return replace(step, named=[*step.named, *parameters.items()]), cmdlet


def write_file(run: Interpreter, path: str, objects: list[object], *, append: bool) -> None:
    """Write objects to a file as `>` does: as text, in UTF-16.

    Raises:
        CmdletError: access to the file is denied.
    """
    from simulator.machine.powershell.formatting.console import lines

    full = run.session.absolute(path)
    text = "".join(f"{line}\r\n" for line in lines(objects))
    files = run.session.machine.files
    try:
        before = files.read_text(full) if append and files.is_file(full) else ""
        files.write_bytes(full, b"\xff\xfe" + (before + text).encode("utf-16-le"))
    except AccessDeniedError as error:
        raise denied("Out-File", error, folder=False) from None
