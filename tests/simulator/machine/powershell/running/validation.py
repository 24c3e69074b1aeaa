# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check arguments against the validation attributes of PowerShell parameters, such as `[ValidateSet()]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.objects import CmdletError, NotModelled, ScriptBlock
from simulator.machine.powershell.parsing.syntax import Attribute, Block, FunctionParameter
from simulator.machine.powershell.running.errors import AUTOMATION
from simulator.machine.powershell.types import patterns
from simulator.machine.powershell.types.compare import compare
from simulator.machine.powershell.types.convert import single, truth
from simulator.machine.powershell.types.plain_text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter

VALIDATION = f"{AUTOMATION}ParameterBindingValidationException"


def _invalid(name: str, kind: str, message: str) -> CmdletError:
    error_id = f"ParameterArgumentValidationError{kind}"
    error = CmdletError("InvalidData", f"{error_id},{name}" if name else error_id, message, VALIDATION)
    # Error messages for a mandatory parameter are exactly PowerShell's; all other messages are not.
    error.approximate = not kind
    return error


def validate(run: Interpreter, name: str, parameter: FunctionParameter, value: object) -> None:
    """Check an argument against the validation attributes of its parameter.

    Raises:
        CmdletError: the argument is invalid.
    """
    attributes = {attribute.name: attribute for attribute in parameter.attributes}
    mandatory = "parameter" in attributes and attributes["parameter"].flag("mandatory")
    if mandatory:
        _mandatory(name, parameter, attributes, value)
    for attribute in parameter.attributes:
        if attribute.name.startswith("validate"):
            why = _complaint(run, attribute, value)
            if why:
                text = f"Cannot validate argument on parameter '{parameter.name}'. {why}"
                raise _invalid(name, "", text)


def _mandatory(name: str, parameter: FunctionParameter, attributes: dict[str, Attribute], value: object) -> None:
    kind = what = ""
    if value is None and "allownull" not in attributes:
        kind, what = "NullNotAllowed", "it is null"
    elif isinstance(value, str) and value == "" and "allowemptystring" not in attributes:
        kind, what = "EmptyStringNotAllowed", "it is an empty string"
    elif isinstance(value, list) and not value and "allowemptycollection" not in attributes:
        kind, what = "EmptyArrayNotAllowed", "it is an empty array"
    elif isinstance(value, list) and "" in value and "allowemptystring" not in attributes:
        kind, what = "EmptyStringNotAllowed", "it is an empty string"
    if kind:
        raise _invalid(name, kind, f"Cannot bind argument to parameter '{parameter.name}' because {what}.")


def _complaint(run: Interpreter, attribute: Attribute, value: object) -> str:
    """Return why an attribute rejects a value, or an empty string if it accepts the value."""
    each = value if isinstance(value, list) else [value]
    if attribute.name in ("validatenotnull", "validatenotnullorempty"):
        empty = attribute.name.endswith("empty") and (value == "" or value == [] or "" in each)
        return "The argument is null or empty." if value is None or empty or None in each else ""
    if attribute.name == "validatecount":
        low, high = (int(to_text(item)) for item in attribute.constants())
        return "" if low <= len(each) <= high else f"The parameter requires {low} to {high} values."
    return next((text for item in each if (text := _about(run, attribute, item))), "")


def _about(run: Interpreter, attribute: Attribute, item: object) -> str:
    text = to_text(item)
    if attribute.name == "validatescript":
        block = attribute.arguments[0] if attribute.arguments else None
        if not isinstance(block, Block):
            raise NotModelled("[ValidateScript()] without a script block")
        good = truth(single(run.call_block(ScriptBlock(block, block.text), item=item, has_item=True)))
        return "" if good else f'The "{block.text}" validation script for the argument with value "{text}" is false.'
    given = attribute.constants()
    if attribute.name == "validateset":
        sensitive = "ignorecase" in attribute.named and not attribute.flag("ignorecase")
        allowed = [to_text(known) for known in given]
        same = text in allowed if sensitive else text.casefold() in (known.casefold() for known in allowed)
        return "" if same else f'The argument "{text}" does not belong to the set "{",".join(allowed)}".'
    if attribute.name == "validaterange":
        if len(given) != 2:
            raise NotModelled("[ValidateRange()] without exactly two limits")
        inside = compare(item, given[0]) >= 0 and compare(item, given[1]) <= 0
        return "" if inside else f"The {text} argument is out of the range."
    if attribute.name == "validatelength":
        low, high = (int(to_text(known)) for known in given)
        return "" if low <= len(text) <= high else f'The character length of "{text}" is not allowed.'
    if attribute.name == "validatepattern":
        return "" if patterns.compiled(given[0]).search(text) else f'The argument "{text}" does not match the pattern.'
    raise NotModelled(f"the attribute [{attribute.name}()]")
