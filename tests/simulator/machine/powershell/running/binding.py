# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Binding of function arguments: names, positions, types, defaults, validation, parameter sets and pipeline input.

https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_functions_advanced_parameters
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.contract import COMMON
from simulator.machine.objects import CmdletError, NotModelled, PSObject
from simulator.machine.powershell.parsing.syntax import Block, FunctionParameter
from simulator.machine.powershell.running.errors import AUTOMATION
from simulator.machine.powershell.running.validation import validate
from simulator.machine.powershell.types import names
from simulator.machine.powershell.types.convert import cast
from simulator.machine.powershell.types.kinds import INTEGERS, Hashtable, SwitchValue
from simulator.machine.powershell.types.plain_text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter

BINDING = f"{AUTOMATION}ParameterBindingException"
TRANSFORMATION = f"{AUTOMATION}ParameterBindingArgumentTransformationException"
ALL_SETS = "__AllParameterSets"
_COMMON_SWITCHES = ("verbose", "vb", "debug", "db", "whatif", "wi", "confirm", "cf")
_SWITCH = f"{AUTOMATION}SwitchParameter"
_KNOWN = frozenset(
    [
        "parameter",
        "alias",
        "validateset",
        "validatenotnull",
        "validatenotnullorempty",
        "validaterange",
        "validatepattern",
        "validatescript",
        "validatelength",
        "validatecount",
        "allownull",
        "allowemptystring",
        "allowemptycollection",
    ]
)


class Present:
    """The placeholder for the value of a parameter that is given without a value, such as a switch."""


PRESENT = Present()


def missing_argument(name: str, parameter: str) -> CmdletError:
    """Return the error for a parameter whose value is missing."""
    message = f"Missing an argument for parameter '{parameter}'. Specify a parameter and try again."
    error = _error(name, "MissingArgument", message)
    error.approximate = True
    return error


@dataclass
class CommandArguments:
    """The arguments of a command.

    Args:
        named: the arguments with names, in their original order.
        positional: the values of the arguments without names.
        loose: the parameters in the form `-Name value` that might be switches. Each entry is the name and the position
            of the value in `positional`.
    """

    named: list[tuple[str, object]]
    positional: list[object]
    loose: list[tuple[str, int]] = field(default_factory=list)


@dataclass
class Binding:
    """The parameters of a call, including those bound from the pipeline."""

    block: Block
    name: str
    bound: Hashtable = field(default_factory=Hashtable)
    rest: list[object] = field(default_factory=list)
    parameter_set: str = ALL_SETS

    def take(self, run: Interpreter, item: object) -> None:
        """Bind a pipeline object to the parameters that accept pipeline input."""
        for parameter in self.block.parameters:
            if parameter.name in self.explicit:
                continue
            if _flag(parameter, "valuefrompipeline"):
                self._set(run, parameter, item)
            elif _flag(parameter, "valuefrompipelinebypropertyname") and isinstance(item, PSObject):
                known = next(
                    (item.find(name) for name in (parameter.name, *_aliases(parameter)) if item.find(name)), None
                )
                if known is not None:
                    self._set(run, parameter, item.get(known))

    def _set(self, run: Interpreter, parameter: FunctionParameter, value: object) -> None:
        value = converted(self.name, parameter, value)
        validate(run, self.name, parameter, value)
        run.variables.scope.variables[parameter.name.casefold()] = value
        self.bound[parameter.name] = value

    explicit: set[str] = field(default_factory=set)


def _flag(parameter: FunctionParameter, name: str) -> bool:
    """Return a parameter's flag from the first [Parameter()] that contains the flag, or False if none contains it."""
    for attribute in parameter.attributes:
        if attribute.name == "parameter" and name in attribute.named:
            return attribute.flag(name)
    return False


def _aliases(parameter: FunctionParameter) -> list[str]:
    return [to_text(text) for item in parameter.attributes if item.name == "alias" for text in item.constants()]


def _position(parameter: FunctionParameter) -> int | None:
    for attribute in parameter.attributes:
        if attribute.name == "parameter" and "position" in attribute.named:
            return attribute.number("position")
    return None


def _sets(parameter: FunctionParameter) -> list[str]:
    return [
        attribute.text("parametersetname")
        for attribute in parameter.attributes
        if attribute.name == "parameter" and "parametersetname" in attribute.named
    ]


def full_type(parameter: FunctionParameter) -> str:
    """Return the full name of a parameter's type, or an empty string if the parameter has no type."""
    return names.resolve(parameter.type) if parameter.type else ""


def _is_switch(parameter: FunctionParameter) -> bool:
    return parameter.type.casefold() in ("switch", "switchparameter", _SWITCH.casefold())


def _error(
    name: str, error_id: str, message: str, kind: str = BINDING, category: str = "InvalidArgument"
) -> CmdletError:
    return CmdletError(category, f"{error_id},{name}" if name else error_id, message, kind)


def converted(name: str, parameter: FunctionParameter, value: object) -> object:
    """Convert an argument to its parameter's type.

    Raises:
        CmdletError: the argument cannot be converted.
    """
    if not parameter.type:
        return value
    kind = full_type(parameter)
    if isinstance(value, SwitchValue) and kind == "System.Boolean":
        return value.on
    if kind == "System.Boolean" and not isinstance(value, (bool, int, float)):
        message = f"Cannot process argument transformation on parameter '{parameter.name}'."
        error = _error(name, "ParameterArgumentTransformationError", message, TRANSFORMATION, "InvalidData")
        error.approximate = True
        raise error
    if kind == "System.String" and isinstance(value, list):
        raise NotModelled("a list for a parameter of the type String")
    try:
        return cast(parameter.type, value)
    except NotModelled:
        raise
    except CmdletError as error:
        message = f"Cannot process argument transformation on parameter '{parameter.name}'. {error.message}"
        bound_id = "ParameterArgumentTransformationError"
        raise _error(name, bound_id, message, TRANSFORMATION, "InvalidData") from None


def _default(run: Interpreter, name: str, parameter: FunctionParameter) -> object:
    if parameter.default is not None:
        value = run.evaluator.value(parameter.default)
        return converted(name, parameter, value)
    if _is_switch(parameter):
        return SwitchValue(False)
    kind = full_type(parameter)
    if kind == "System.String":
        return ""
    if kind in INTEGERS or kind in ("System.Boolean", "System.Double"):
        return cast(kind, None)
    if kind in ("System.DateTime", "System.TimeSpan", "System.Char", "System.Guid") or kind in names.ENUMERATIONS:
        raise NotModelled(f"a parameter of the type {kind} without a value")
    return None


def bind(run: Interpreter, block: Block, name: str, given: CommandArguments, *, piped: bool) -> Binding:
    """Bind a call's arguments in the current scope, which belongs to the call.

    Raises:
        CmdletError: the arguments do not match the parameters.
    """
    binding = Binding(block, name)
    for parameter in block.parameters:
        unknown = [item.name for item in parameter.attributes if item.name not in _KNOWN]
        if unknown:
            raise NotModelled(f"the attribute [{unknown[0]}()]")
    values: dict[str, object] = {}
    positional = list(given.positional)
    taken: set[int] = set()
    for key, value in given.named:
        _named(run, binding, values, key, value)
    for key, at in given.loose:
        found = _find(binding, key)
        if found is None and not block.advanced:
            binding.rest += [f"-{key}", positional[at]]
            taken.add(at)
        elif found is not None and _is_switch(found):
            _store(binding, values, found, True)
        elif found is None and key.casefold() in _COMMON_SWITCHES:
            _named(run, binding, values, key, True)
        else:
            _named(run, binding, values, key, positional[at])
            taken.add(at)
    left = [value for at, value in enumerate(positional) if at not in taken]
    unknown_names = len(binding.rest)
    _by_position(binding, values, left)
    if unknown_names and len(binding.rest) > unknown_names:
        raise NotModelled("$args with both named and positional arguments")
    binding.explicit = set(values)
    _complete(run, binding, values, piped=piped)
    return binding


def _find(binding: Binding, key: str) -> FunctionParameter | None:
    requested = key.casefold()
    parameters = binding.block.parameters
    for parameter in parameters:
        if requested == parameter.name.casefold() or requested in (alias.casefold() for alias in _aliases(parameter)):
            return parameter
    found = [item for item in parameters if item.name.casefold().startswith(requested)]
    if len(found) > 1:
        matching = " ".join(f"-{item.name}" for item in found)
        message = (
            f"Parameter cannot be processed because the parameter name '{key}' is ambiguous. "
            f"Possible matches include: {matching}."
        )
        raise _error(binding.name, "AmbiguousParameter", message)
    return found[0] if found else None


def _store(binding: Binding, values: dict[str, object], parameter: FunctionParameter, value: object) -> None:
    if parameter.name in values:
        message = (
            f"Cannot bind parameter because parameter '{parameter.name}' is specified more than once. "
            "To provide multiple values to parameters that can accept multiple values, use the array syntax. "
            'For example, "-parameter value1,value2,value3".'
        )
        raise _error(binding.name, "ParameterAlreadyBound", message)
    values[parameter.name] = value


def _named(run: Interpreter, binding: Binding, values: dict[str, object], key: str, value: object) -> None:
    parameter = _find(binding, key)
    if parameter is not None:
        if value is PRESENT and not _is_switch(parameter):
            raise missing_argument(binding.name, parameter.name)
        _store(binding, values, parameter, True if value is PRESENT else value)
        return
    value = True if value is PRESENT else value
    if not binding.block.advanced:
        binding.rest += [f"-{key}"] if value is True else [f"-{key}:", value]
        return
    _common(run, binding, key, value)


def _common(run: Interpreter, binding: Binding, key: str, value: object) -> None:
    """Apply a common parameter of an advanced function: set the corresponding preference in the function's scope."""
    lower = key.casefold()
    aliases = {alias: name for name, (_, others) in COMMON.items() for alias in (name.casefold(), *others)}
    known = aliases.get(lower) or next((name for name in COMMON if name.casefold().startswith(lower)), None)
    variables = run.variables.scope.variables
    supports = binding.block.flag("supportsshouldprocess")
    if lower in ("whatif", "wi") and supports:
        variables["whatifpreference"] = value is True or bool(value)
    elif lower in ("confirm", "cf") and supports:
        raise NotModelled("-Confirm for a function")
    elif known == "Verbose":
        variables["verbosepreference"] = "Continue" if value else "SilentlyContinue"
    elif known in ("ErrorAction", "WarningAction", "InformationAction"):
        action = to_text(value)
        if action.isdigit():
            action = ("SilentlyContinue", "Stop", "Continue", "Inquire", "Ignore")[int(action)]
        variables[
            f"{known.removesuffix('Action').casefold()}{'action' if known == 'ErrorAction' else ''}preference"
        ] = action
    elif known:
        raise NotModelled(f"-{known} for a function")
    else:
        message = f"A parameter cannot be found that matches parameter name '{key}'."
        raise _error(binding.name, "NamedParameterNotFound", message)


def _by_position(binding: Binding, values: dict[str, object], left: list[object]) -> None:
    block = binding.block
    free = [item for item in block.parameters if item.name not in values and not _is_switch(item)]
    placed = [(position, item) for item in free if (position := _position(item)) is not None]
    explicit = any(_position(item) is not None for item in block.parameters)
    order = [item for _, item in sorted(placed, key=lambda pair: pair[0])] if explicit else free
    if block.flag("positionalbinding", default=True) is False:
        order = [item for _, item in sorted(placed, key=lambda pair: pair[0])]
    if any(_sets(item) for item in order) and left:
        raise NotModelled("positional arguments for parameters of a parameter set")
    remaining = next((item for item in block.parameters if _flag(item, "valuefromremainingarguments")), None)
    for parameter in order:
        if left and parameter is not remaining:
            values[parameter.name] = left.pop(0)
    if remaining is not None and remaining.name not in values and left:
        values[remaining.name] = list(left)
        left.clear()
    if left and block.advanced:
        message = f"A positional parameter cannot be found that accepts argument '{to_text(left[0])}'."
        raise _error(binding.name, "PositionalParameterNotFound", message)
    binding.rest += left


def _complete(run: Interpreter, binding: Binding, values: dict[str, object], *, piped: bool) -> None:
    """Choose the parameter set, check the mandatory parameters, and set the variables."""
    binding.parameter_set = _parameter_set(binding, values)
    scope = run.variables.scope
    missing = []
    for parameter in binding.block.parameters:
        key = parameter.name.casefold()
        if parameter.name in values:
            value = converted(binding.name, parameter, values[parameter.name])
            validate(run, binding.name, parameter, value)
            binding.bound[parameter.name] = value
        else:
            sets = _sets(parameter)
            piped_in = piped and (
                _flag(parameter, "valuefrompipeline") or _flag(parameter, "valuefrompipelinebypropertyname")
            )
            if _flag(parameter, "mandatory") and not piped_in and (not sets or binding.parameter_set in sets):
                missing.append(parameter.name)
            value = _default(run, binding.name, parameter) if not missing else None
        scope.variables[key] = value
        if parameter.type:
            scope.types[key] = parameter.type
    if missing:
        message = f"Cannot process command because of one or more missing mandatory parameters: {' '.join(missing)}."
        raise _error(binding.name, "MissingMandatoryParameter", message)


def _parameter_set(binding: Binding, values: dict[str, object]) -> str:
    block = binding.block
    every = list(dict.fromkeys(name for parameter in block.parameters for name in _sets(parameter)))
    if not every:
        return ALL_SETS
    possible = every
    for parameter in block.parameters:
        sets = _sets(parameter)
        if parameter.name in values and sets:
            possible = [name for name in possible if name in sets]
    if len(possible) == 1:
        return possible[0]
    default = block.text_of("defaultparametersetname")
    if default and (default in possible or not [item for item in values if item]):
        return default
    if possible:
        raise NotModelled("a call that matches several parameter sets")
    message = "Parameter set cannot be resolved using the specified named parameters."
    raise _error(binding.name, "AmbiguousParameterSet", message)
