# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Functions that several of PowerShell's own cmdlets share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from simulator.machine.objects import Bound, CmdletError, NotModelled, PSObject, ScriptBlock
from simulator.machine.powershell import members
from simulator.machine.powershell.types.convert import items, single
from simulator.machine.powershell.types.plain_text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter


def in_script(bound: Bound) -> bool:
    """Return whether the cmdlet's caller is a script, and not a module or program of the simulator."""
    return hasattr(bound.session, "call_block")


def host(bound: Bound) -> Interpreter:
    """Return the interpreter of the script that calls a cmdlet.

    Raises:
        NotModelled: the cmdlet is called outside a script.
    """
    if not in_script(bound):
        raise NotModelled(f"a call of {bound.command} outside a script")
    return cast("Interpreter", bound.session)


def given(bound: Bound) -> list[object]:
    """Return the objects from the pipeline or from InputObject."""
    return items(bound.get("InputObject")) if "InputObject" in bound else bound.pipeline


def read(bound: Bound, item: object, name: str) -> object:
    """Return the value of an object's property."""
    if in_script(bound):
        return host(bound).evaluator.read(item, name)
    return members.read(item, name)


def run_on(bound: Bound, block: ScriptBlock, item: object) -> object:
    """Run a script block in which `$_` is the given object, and return its result."""
    return single(host(bound).call_block(block, item=item, has_item=True, new_scope=False))


def named(bound: Bound, entry: object) -> tuple[str, Callable[[object], object]]:
    """Return the name of a property or calculated property, and a function that returns its value for an object.

    Raises:
        NotModelled: the definition of the calculated property has an unknown key.
    """
    if isinstance(entry, dict):
        keys = {to_text(key).casefold(): value for key, value in entry.items()}
        known = {"name", "n", "label", "l", "expression", "e", "descending", "ascending"}
        if set(keys) - known:
            raise NotModelled(f"the key {min(set(keys) - known)} of a calculated property")
        label = keys.get("name", keys.get("n", keys.get("label", keys.get("l"))))
        expression = keys.get("expression", keys.get("e"))
        if isinstance(expression, ScriptBlock):
            return to_text(label or expression.text), lambda item: run_on(bound, expression, item)
        return to_text(label or expression), lambda item: read(bound, item, to_text(expression))
    if isinstance(entry, ScriptBlock):
        return entry.text, lambda item: run_on(bound, entry, item)
    name = to_text(entry)
    return name, lambda item: read(bound, item, name)


def has(item: object, name: str) -> bool:
    """Return whether an object has a property with this name."""
    return isinstance(item, PSObject) and item.find(name) is not None


def terminating(error: CmdletError) -> CmdletError:
    """Return a copy of an error as a TerminatingError, which ends the statement that causes it."""
    from simulator.machine.powershell.running.stages import TerminatingError

    made = TerminatingError(error.category, error.error_id, error.message, error.exception_type)
    made.inner, made.thrown, made.target = error.inner, error.thrown, error.target
    return made
