# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read from contract files (JSON) which parameters each PowerShell command accepts on a given version of Windows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "contracts"

# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_commonparameters
COMMON = {
    "Verbose": ("SwitchParameter", ("vb",)),
    "Debug": ("SwitchParameter", ("db",)),
    "ErrorAction": ("ActionPreference", ("ea",)),
    "WarningAction": ("ActionPreference", ("wa",)),
    "InformationAction": ("ActionPreference", ("infa",)),
    "ErrorVariable": ("String", ("ev",)),
    "WarningVariable": ("String", ("wv",)),
    "InformationVariable": ("String", ("iv",)),
    "OutVariable": ("String", ("ov",)),
    "OutBuffer": ("Int32", ("ob",)),
    "PipelineVariable": ("String", ("pv",)),
}
ACTION_PREFERENCES = ("SilentlyContinue", "Stop", "Continue", "Inquire", "Ignore", "Suspend")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a PowerShell command. `ParameterPlace` describes its role in a parameter set.

    Args:
        type: the short name of the .NET type, with `[]` for an array.
        values: the allowed values, or an empty tuple if all values are allowed.
        enumeration: whether `values` are the names of an enumeration, which also accepts numbers and prefixes. If not,
            `values` come from a ValidateSet attribute.
        pipeline: whether the pipeline input can provide the parameter.
        common: whether the parameter is one of PowerShell's common parameters, such as ErrorAction.
        allow_empty: whether the parameter accepts empty strings and lists even if it is mandatory.
    """

    name: str
    type: str
    aliases: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    enumeration: bool = False
    pipeline: bool = False
    common: bool = False
    allow_empty: bool = False


@dataclass(frozen=True)
class ParameterPlace:
    """Whether a parameter is mandatory in one parameter set, and its position there."""

    mandatory: bool = False
    position: int | None = None


@dataclass(frozen=True)
class Contract:
    """The parameters and parameter sets that a PowerShell command accepts, read from a contract file.

    Args:
        command: the name with its usual capitalization.
        suffix: the second half of the command's error ids, which is the function's name or the cmdlet's .NET class.
        function: whether the command is a function or a CDXML cmdlet. Compiled cmdlets have different messages for
            errors in parameter binding.
        parameters: maps the lower-case name of each parameter to the parameter.
        sets: the parameter sets. Each maps the lower-case names of its parameters to their places.
    """

    command: str
    suffix: str
    function: bool
    parameters: Mapping[str, Parameter]
    sets: tuple[Mapping[str, ParameterPlace], ...]


@cache
def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return found


@cache
def _names() -> dict[str, str]:
    commands = [*_read("cmdlets.json"), *_read("powershell-5.1-commands.json")["commands"]]
    return {name.casefold(): name for name in commands}


@cache
def module_of(command: str) -> str:
    """Return the module to which a command belongs, or an empty string if no contract file describes the command."""
    name = _names().get(command.casefold(), command)
    found = _read("cmdlets.json").get(name) or _read("powershell-5.1-commands.json")["commands"].get(name) or {}
    return str(found.get("module") or "")


@cache
def find(command: str, windows: str, *, is_core: bool = False) -> Contract | None:
    """Return a command's parameters, or None if no contract file describes the command for this version of Windows.

    Args:
        command: the name of the command.
        windows: the version of Windows: `2019`, `2022` or `2025`.
        is_core: whether PowerShell 7 is the caller. The result is the same as for Windows PowerShell, except for
            `allow_empty_core` in corrections.json.
    """
    name = _names().get(command.casefold())
    if name is None:
        return None
    reference = _read("cmdlets.json").get(name)
    recorded = _read("powershell-5.1-commands.json")["commands"].get(name)
    corrections = _read("corrections.json")
    if reference is not None:
        versions = corrections["also_on"].get(reference["module"], reference["on"])
        if windows not in versions and "5.1" not in versions:
            return None
    module = (reference or recorded)["module"]
    function = recorded["command_type"] == "Function" if recorded else _module_has_functions(module)
    empty = [*corrections["allow_empty"].get(name, [])]
    empty += corrections["allow_empty_core"].get(name, []) if is_core else []
    parameters = _parameters(name, reference, recorded, windows, empty)
    return Contract(
        command=name,
        suffix=name if function else _class_name(name, module),
        function=function,
        parameters={**parameters, **common_parameters()},
        sets=_sets(name, reference, recorded, parameters),
    )


def _parameters(
    name: str,
    reference: Mapping[str, Any] | None,
    recorded: Mapping[str, Any] | None,
    windows: str,
    empty: Sequence[str],
) -> dict[str, Parameter]:
    sets_of_values = _read("corrections.json")["validate_sets"].get(name, {})
    found: dict[str, Parameter] = {}
    if reference is not None:
        differs = reference.get("differs", {}).get(windows, {})
        for parameter, entry in reference["parameters"].items():
            if parameter in differs.get("missing", ()):
                continue
            kind = short_type(entry["type"])
            values = tuple(entry.get("values") or sets_of_values.get(parameter, ()))
            found[parameter.casefold()] = Parameter(
                name=parameter,
                type=kind,
                aliases=tuple(entry.get("aliases", ())),
                values=values,
                enumeration=bool(values) and kind.removesuffix("[]") not in ("String", "Object", "Int32", "UInt32"),
                pipeline=bool(entry.get("pipeline")),
                allow_empty=parameter in empty,
            )
        for parameter in differs.get("extra", ()):
            found.setdefault(parameter.casefold(), Parameter(parameter, "Object"))
        return found
    for parameters in recorded["parameter_sets"] if recorded else ():
        for parameter, entry in parameters.items():
            values = tuple(sets_of_values.get(parameter, ()))
            found.setdefault(
                parameter.casefold(),
                Parameter(parameter, short_type(entry["type"]), values=values, allow_empty=parameter in empty),
            )
    return found


def _sets(
    name: str,
    reference: Mapping[str, Any] | None,
    recorded: Mapping[str, Any] | None,
    parameters: Mapping[str, Parameter],
) -> tuple[Mapping[str, ParameterPlace], ...]:
    """Return a command's parameter sets. Parameters that were added after Windows PowerShell 5.1 belong to all sets."""
    if recorded:
        known = {parameter.casefold() for entry in recorded["parameter_sets"] for parameter in entry}
        later = {parameter: ParameterPlace() for parameter in parameters if parameter not in known}
        return tuple(
            {
                **{
                    parameter.casefold(): ParameterPlace(bool(entry.get("mandatory")), entry.get("position"))
                    for parameter, entry in places.items()
                    if parameter.casefold() in parameters
                },
                **later,
            }
            for places in recorded["parameter_sets"]
        )
    entries = reference["parameters"] if reference else {}
    choices = _read("corrections.json")["sets"].get(name)
    required = {parameter.casefold() for parameter, entry in entries.items() if entry.get("required")}
    positions = {parameter.casefold(): entry.get("position") for parameter, entry in entries.items()}
    if choices is None:
        # The reference does not separate the sets, so parameters that are required may belong to different sets.
        alone = [[parameter] for parameter in sorted(required, key=lambda item: (positions[item] is None, item))]
        choices = alone if len(required) > 1 else [sorted(required)]
    chosen = [{choice.casefold() for choice in names} for names in choices]
    exclusive = _read("corrections.json")["sets"].get(name) is not None
    return tuple(
        {
            parameter: ParameterPlace(parameter in names, positions.get(parameter))
            for parameter in parameters
            if not (exclusive and parameter in required - names)
        }
        for names in chosen
    )


@cache
def common_parameters() -> dict[str, Parameter]:
    """Return PowerShell's common parameters, such as ErrorAction, by lower-case name."""
    return {
        name.casefold(): Parameter(
            name,
            kind,
            aliases,
            values=ACTION_PREFERENCES if kind == "ActionPreference" else (),
            enumeration=kind == "ActionPreference",
            common=True,
        )
        for name, (kind, aliases) in COMMON.items()
    }


@cache
def _module_has_functions(module: str) -> bool:
    kinds = [
        command["command_type"]
        for command in _read("powershell-5.1-commands.json")["commands"].values()
        if command["module"] == module
    ]
    return kinds.count("Function") > len(kinds) / 2 or module in _read("corrections.json")["functions"]


def _class_name(name: str, module: str) -> str:
    corrections = _read("corrections.json")
    own = corrections["classes"].get(name)
    if own:
        return str(own)
    namespace = corrections["namespaces"].get(module, "Microsoft.PowerShell.Commands")
    return f"{namespace}.{name.replace('-', '')}Command"


def short_type(name: str) -> str:
    """Return the short name of a .NET type, such as `String[]` for `System.String[]`."""
    text = name.split("#", 1)[0] + ("[]" if "#" in name and name.endswith("[]") else "")
    array = text.endswith("[]")
    text = re.sub(r"^System\.Nullable`?1?\[+", "", text).rstrip("[]").rsplit(".", 1)[-1]
    accelerators = {
        "string": "String",
        "switch": "SwitchParameter",
        "int": "Int32",
        "long": "Int64",
        "bool": "Boolean",
        "psobject": "PSObject",
        "pscredential": "PSCredential",
        "hashtable": "Hashtable",
        "scriptblock": "ScriptBlock",
        "datetime": "DateTime",
        "timespan": "TimeSpan",
        "uint16": "UInt16",
        "uint32": "UInt32",
        "uint64": "UInt64",
        "byte": "Byte",
        "char": "Char",
        "guid": "Guid",
        "version": "Version",
        "uri": "Uri",
        "object": "Object",
        "double": "Double",
        "float": "Single",
        "ipaddress": "IPAddress",
        "ciminstance": "CimInstance",
        "securestring": "SecureString",
    }
    text = accelerators.get(text.casefold(), text)
    return f"{text}[]" if array else text
