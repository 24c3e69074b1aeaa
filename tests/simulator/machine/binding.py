# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bind the arguments of a cmdlet to its parameters as PowerShell does, by names, aliases, types and parameter sets.

Error ids, categories and types come from contracts/powershell-behaviour.json. The messages for a wrong value
differ between compiled cmdlets and functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from simulator.machine.contract import Contract, Parameter, ParameterPlace
from simulator.machine.conversion import ConversionError, convert
from simulator.machine.objects import CmdletError, ScriptBlock
from simulator.machine.text import to_text

BINDING = "System.Management.Automation.ParameterBindingException"
VALIDATION = "System.Management.Automation.ParameterBindingValidationException"
TRANSFORMATION = "System.Management.Automation.ParameterBindingArgumentTransformationException"


def bind(
    contract: Contract, named: Mapping[str, object], positional: Sequence[object] = (), *, has_pipeline: bool = False
) -> dict[str, object]:
    """Return the converted values of a cmdlet's parameters, by their full names.

    Args:
        named: maps each name that the caller used, which may be an alias or an unambiguous prefix, to its value.
        positional: the arguments without a name.
        has_pipeline: whether there is pipeline input, which can provide a mandatory parameter.

    Raises:
        CmdletError: PowerShell would reject the arguments. The exception contains PowerShell's error.
    """
    given: dict[str, object] = {}
    for name, value in named.items():
        parameter = _find(contract, name)
        if parameter.name in given:
            twice = f"Cannot bind parameter because parameter '{parameter.name}' is specified more than once."
            raise _error(contract, "ParameterAlreadyBound", twice)
        given[parameter.name] = value
    _place(contract, given, positional)
    bound = {name: _value(contract, contract.parameters[name.casefold()], value) for name, value in given.items()}
    _resolve_set(contract, bound, has_pipeline)
    for name, value in bound.items():
        _check(contract, contract.parameters[name.casefold()], value)
    return bound


def _find(contract: Contract, name: str) -> Parameter:
    requested = name.casefold()
    if requested in contract.parameters:
        return contract.parameters[requested]
    parameters = list(contract.parameters.values())
    for parameter in parameters:
        if requested in (alias.casefold() for alias in parameter.aliases):
            return parameter
    matches = [
        parameter
        for parameter in parameters
        if requested
        and any(spelling.casefold().startswith(requested) for spelling in (parameter.name, *parameter.aliases))
    ]
    # A parameter of the command takes precedence over a common parameter with the same prefix.
    own = [parameter for parameter in matches if not parameter.common] or matches
    if not own:
        message = f"A parameter cannot be found that matches parameter name '{name}'."
        raise _error(contract, "NamedParameterNotFound", message)
    if len(own) > 1:
        matching = " ".join(f"-{parameter.name}" for parameter in own)
        raise _error(
            contract,
            "AmbiguousParameter",
            f"Parameter cannot be processed because the parameter name '{name}' is ambiguous. "
            f"Possible matches include: {matching}.",
        )
    return own[0]


def _place(contract: Contract, given: dict[str, object], positional: Sequence[object]) -> None:
    """Assign the unnamed arguments to the positional parameters of the first parameter set that accepts them all."""
    if not positional:
        return
    named = {name.casefold() for name in given}
    most = 0
    for places in _candidates(contract, named):
        order = sorted(
            (place.position, name) for name, place in places.items() if place.position is not None and name not in named
        )
        pairs = [(contract.parameters[name], value) for (_, name), value in zip(order, positional, strict=False)]
        fitting = len(list(takewhile(lambda pair: _takes(*pair), pairs)))
        if fitting == len(positional):
            given |= {parameter.name: value for parameter, value in pairs}
            return
        most = max(most, fitting)
    # PowerShell names the first argument that remains (VerifyArgumentsProcessed in CmdletParameterBinderController.cs).
    message = f"A positional parameter cannot be found that accepts argument '{to_text(positional[most])}'."
    raise _error(contract, "PositionalParameterNotFound", message)


def _takes(parameter: Parameter, value: object) -> bool:
    """Return whether a parameter accepts the type of an unnamed argument.

    A parameter for script blocks accepts only script blocks. Of all other parameters, only those of the types Object
    and PSObject accept script blocks.
    """
    wants_block = parameter.type.removesuffix("[]") == "ScriptBlock"
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, ScriptBlock):
        return wants_block or parameter.type.removesuffix("[]") in ("Object", "PSObject")
    return not wants_block


def _candidates(contract: Contract, names: set[str]) -> list[Mapping[str, ParameterPlace]]:
    own = {name for name in names if not contract.parameters[name].common}
    return [places for places in contract.sets if own <= places.keys()]


def _value(contract: Contract, parameter: Parameter, value: object) -> object:
    if value is None and parameter.type == "String":
        value = ""
    try:
        return convert(value, parameter.type, parameter.values if parameter.enumeration else ())
    except ConversionError as error:
        if contract.function:
            raise CmdletError(
                "InvalidData",
                f"ParameterArgumentTransformationError,{contract.suffix}",
                f"Cannot process argument transformation on parameter '{parameter.name}'. {error}",
                TRANSFORMATION,
            ) from None
        raise CmdletError(
            "InvalidArgument",
            f"CannotConvertArgumentNoMessage,{contract.suffix}",
            f"Cannot bind parameter '{parameter.name}'. {error}",
            BINDING,
        ) from None


def _resolve_set(contract: Contract, bound: Mapping[str, object], has_pipeline: bool) -> None:
    names = {name.casefold() for name in bound}
    candidates = _candidates(contract, names)
    if not candidates:
        error = _error(
            contract,
            "AmbiguousParameterSet",
            "Parameter set cannot be resolved using the specified named parameters. One or more parameters issued "
            "cannot be used together or an insufficient number of parameters were provided.",
        )
        # Windows PowerShell 5.1 prints only the first sentence.
        error.approximate = True
        raise error
    missing = [_missing(contract, places, names, has_pipeline) for places in candidates]
    if all(missing):
        fewest = min(missing, key=len)
        raise _error(
            contract,
            "MissingMandatoryParameter",
            f"Cannot process command because of one or more missing mandatory parameters: {' '.join(fewest)}.",
        )


def _missing(
    contract: Contract, places: Mapping[str, ParameterPlace], names: set[str], has_pipeline: bool
) -> list[str]:
    found = []
    for name, place in places.items():
        parameter = contract.parameters[name]
        if place.mandatory and name not in names and not (has_pipeline and parameter.pipeline):
            found.append(parameter.name)
    return found


def _check(contract: Contract, parameter: Parameter, value: object) -> None:
    """Raise an error if a converted value is not allowed, or if the value of a mandatory string parameter is empty."""
    if parameter.values and not parameter.enumeration:
        for item in value if isinstance(value, list) else [value]:
            if to_text(item).casefold() not in (allowed.casefold() for allowed in parameter.values):
                raise _invalid(
                    contract,
                    "ParameterArgumentValidationError",
                    f"Cannot validate argument on parameter '{parameter.name}'. The argument \"{to_text(item)}\" does "
                    f'not belong to the set "{",".join(parameter.values)}" specified by the ValidateSet attribute. '
                    "Supply an argument that is in the set and then try the command again.",
                )
    key = parameter.name.casefold()
    mandatory = any(places[key].mandatory for places in contract.sets if key in places)
    if not mandatory or parameter.allow_empty or not parameter.type.startswith("String"):
        return
    if value == "" or (isinstance(value, list) and "" in value):
        kind, what = "EmptyStringNotAllowed", "it is an empty string"
    elif value is None:
        kind, what = "NullNotAllowed", "it is null"
    elif value == []:
        kind, what = "EmptyArrayNotAllowed", "it is an empty array"
    else:
        return
    raise _invalid(
        contract,
        f"ParameterArgumentValidationError{kind}",
        f"Cannot bind argument to parameter '{parameter.name}' because {what}.",
    )


def _error(contract: Contract, error_id: str, message: str) -> CmdletError:
    return CmdletError("InvalidArgument", f"{error_id},{contract.suffix}", message, BINDING)


def _invalid(contract: Contract, error_id: str, message: str) -> CmdletError:
    return CmdletError("InvalidData", f"{error_id},{contract.suffix}", message, VALIDATION)
