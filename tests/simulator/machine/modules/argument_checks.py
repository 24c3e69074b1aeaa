# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Checks of a module's arguments before the module runs, with the messages of Ansible.Basic.AnsibleModule.

https://github.com/ansible/ansible/blob/v2.19.0/lib/ansible/module_utils/csharp/Ansible.Basic.cs (CheckArguments). In
Ansible's messages, names appear in the order of a .NET Hashtable. Here, they appear in the order of the specification.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.machine.modules.specification import Delegate, ModuleOption, Rules
from simulator.machine.windows_paths import LONG

TRUE = ("y", "yes", "on", "1", "true", "t", "1.0")
FALSE = ("n", "no", "off", "0", "false", "f", "0.0")
INTERNAL = "_ansible_"
_PATH = re.compile(r'[<>"|\x00-\x1f]')
_UINT32 = 2**32 - 1
MASK = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"


class ArgumentError(ValueError):
    """A failure of a module, such as an invalid argument. The exception's text becomes `msg` in the module's result."""


class NoCheckModeError(Exception):
    """Raised in check mode if the module does not support check mode. The module is then skipped."""


def net_name(value: object) -> str:
    """Return the .NET type of a value in a module's JSON arguments."""
    names: tuple[tuple[type, str], ...] = (
        (bool, "System.Boolean"),
        (int, "System.Int32"),
        (float, "System.Double"),
        (list, "System.Object[]"),
        (dict, "System.Collections.Hashtable"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "System.String")


def net_text(value: object) -> str:
    """Return the result of ToString() for a value in a module's JSON arguments."""
    if isinstance(value, (bool, str, int, float)):
        return str(value)
    return net_name(value)


def to_bool(value: object) -> bool:
    """Convert a value to a Boolean, as ParseBool in Ansible.Basic does.

    Raises:
        ValueError: the value is not one of the valid booleans.
    """
    if isinstance(value, bool):
        return value
    text = net_text(value).lower().strip()
    if text in TRUE or text in FALSE:
        return text in TRUE
    listed = ", ".join((*TRUE, *FALSE))
    raise ValueError(f"The value '{text}' is not a valid boolean. Valid booleans include: {listed}")


def _to_dict(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, str):
        raise ValueError(f"{net_name(value)} cannot be converted to a dict")
    if value.startswith("{") and value.endswith("}"):
        found: dict[str, Any] = json.loads(value)
        return found
    if "=" not in value:
        raise ValueError("string cannot be converted to a dict, must either be a JSON string or in the key=value form")
    pairs = [part.partition("=") for part in re.split(r"[, ]+", value) if part]
    return {key: text for key, _, text in pairs}


def to_int(value: object, low: int = -(2**31), high: int = 2**31 - 1, kind: str = "an Int32") -> int:
    """Convert a value to an integer, as the Parse method of a .NET type such as Int32 does.

    Raises:
        ValueError: the value is not an integer, or it is outside the type's range.
    """
    if isinstance(value, bool) or not re.fullmatch(r"\s*[+-]?\d+\s*", net_text(value)):
        raise ValueError("Input string was not in a correct format.")
    number = int(net_text(value))
    if not low <= number <= high:
        raise ValueError(f"Value was either too large or too small for {kind}.")
    return number


def _to_list(value: object) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    raise ValueError(f"{net_name(value)} cannot be converted to a list")


def _to_float(value: object) -> float:
    try:
        return float(net_text(value))
    except ValueError:
        raise ValueError("Input string was not in a correct format.") from None


def _to_json(value: object) -> str:
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    if isinstance(value, str):
        return value
    raise ValueError(f"{net_name(value)} cannot be converted to json")


def _unsigned(value: object) -> int:
    """Convert a value to an integer as `[UInt32]$value` does, or raise ValueError with PowerShell's message."""
    try:
        return to_int(value, 0, _UINT32, "a UInt32")
    except ValueError as error:
        raise ValueError(
            f'Cannot convert value "{net_text(value)}" to type "System.UInt32". Error: "{error}"'
        ) from None


@dataclass
class Checks:
    """One run of the argument checks.

    Args:
        module: the module's name, for error messages.
        expand: a function that replaces `%NAME%` in values of type path.
        secrets: a set to which the values of options with no_log are added.
    """

    module: str
    expand: Callable[[str], str]
    secrets: set[str] = field(default_factory=set)
    _context: list[str] = field(default_factory=list)

    def run(self, rules: Rules, values: Mapping[str, Any]) -> dict[str, Any]:
        """Check and convert a module's arguments. Return the arguments, with defaults for options that are not set.

        Raises:
            ArgumentError: an argument is invalid.
            NoCheckModeError: check mode is requested, but the module does not support check mode.
        """
        given = {name: value for name, value in values.items() if not name.startswith(INTERNAL)}
        return self._arguments(rules, given, check_mode=bool(values.get(f"{INTERNAL}check_mode")))

    def _fail(self, message: str) -> ArgumentError:
        where = f" found in {' -> '.join(self._context)}" if self._context else ""
        return ArgumentError(message + where)

    def _arguments(self, rules: Rules, given: Mapping[str, Any], *, check_mode: bool = False) -> dict[str, Any]:
        params = dict(given)
        aliases = rules.aliases
        for alias, name in aliases.items():
            if alias in params:
                params[name] = params[alias]
        for name, option in rules.options.items():
            if option.no_log and params.get(name) is not None and net_text(params[name]):
                self.secrets.add(net_text(params[name]))
        params = self._known(params, [*rules.options, *aliases])
        if check_mode and not rules.supports_check_mode and not self._context:
            raise NoCheckModeError(f"remote module ({self.module}) does not support check mode")
        self._exclusive(rules, params)
        self._required(rules, params)
        for name, option in rules.options.items():
            if params.get(name) is not None:
                params[name] = self._converted(name, option, params[name])
        self._together(rules, params)
        for name, option in rules.options.items():
            params[name] = self._nested(name, option, params.get(name))
        return params

    def _known(self, params: dict[str, Any], legal: list[str]) -> dict[str, Any]:
        spelling = {name.casefold(): name for name in legal}
        unknown = [name for name in params if name.casefold() not in spelling]
        if unknown:
            message = f"Unsupported parameters for ({self.module}) module: {', '.join(unknown)}"
            raise ArgumentError(f"{self._fail(message)}. Supported parameters include: {', '.join(legal)}")
        return {name if name in legal else spelling[name.casefold()]: value for name, value in params.items()}

    def _exclusive(self, rules: Rules, params: Mapping[str, Any]) -> None:
        for group in rules.mutually_exclusive:
            if sum(name in params for name in group) > 1:
                raise self._fail(f"parameters are mutually exclusive: {', '.join(group)}")

    def _required(self, rules: Rules, params: dict[str, Any]) -> None:
        for name, option in rules.options.items():
            if option.default is not None and name not in params:
                params[name] = option.default
        missing = [name for name, option in rules.options.items() if option.required and name not in params]
        if missing:
            raise self._fail(f"missing required arguments: {', '.join(missing)}")

    def _converted(self, name: str, option: ModuleOption, value: Any) -> Any:
        kind = option.type if isinstance(option.type, str) else "delegate"
        try:
            made = self._convert(option.type, value)
        except ValueError as error:
            what = f"argument for {name} is of type {net_name(value)} and we were unable to convert to {kind}: {error}"
            raise self._fail(what) from None
        if option.choices:
            chosen = [net_text(item) for item in made] if kind == "list" else [net_text(made)]
            allowed = {choice.casefold() for choice in option.choices}
            if wrong := [item for item in chosen if item.casefold() not in allowed]:
                of = "one or more of" if kind == "list" else "one of"
                listed = ", ".join(option.choices)
                raise self._fail(f"value of {name} must be {of}: {listed}. Got no match for: {', '.join(wrong)}")
        return made

    def _convert(self, kind: str | Delegate, value: Any) -> Any:
        if isinstance(kind, Delegate):
            return _unsigned(value) if kind.kind.casefold() == "uint32" else value
        conversions: Mapping[str, Callable[[Any], Any]] = {
            "bool": to_bool,
            "dict": _to_dict,
            "float": _to_float,
            "int": to_int,
            "json": _to_json,
            "list": _to_list,
            "path": self._path,
            "str": net_text,
        }
        return conversions.get(kind, lambda item: item)(value)

    def _path(self, value: Any) -> str:
        text = net_text(value)
        if text.startswith(LONG):
            return text
        text = self.expand(text)
        if _PATH.search(text):
            raise ValueError("string value contains invalid path characters, cannot convert to path")
        return text

    def _together(self, rules: Rules, params: Mapping[str, Any]) -> None:
        for group in rules.required_together:
            if 0 < sum(name in params for name in group) < len(group):
                raise self._fail(f"parameters are required together: {', '.join(group)}")
        for group in rules.required_one_of:
            if not any(name in params for name in group):
                raise self._fail(f"one of the following is required: {', '.join(group)}")
        for condition in rules.required_if:
            self._required_if(condition, params)
        for name, needed in rules.required_by.items():
            missing = [other for other in needed if other not in params]
            if name in params and missing:
                raise self._fail(f"missing parameter(s) required by '{name}': {', '.join(missing)}")

    def _required_if(self, condition: tuple[Any, ...], params: Mapping[str, Any]) -> None:
        name, requested, needed = str(condition[0]), condition[1], [str(item) for item in condition[2]]
        any_of = len(condition) > 3 and bool(condition[3])
        if params.get(name) is None or net_text(params[name]) != net_text(requested):
            return
        missing = [other for other in needed if other not in params]
        if len(missing) >= (len(needed) if any_of else 1):
            term = "any" if any_of else "all"
            listed = ", ".join(missing)
            raise self._fail(f"{name} is {net_text(requested)} but {term} of the following are missing: {listed}")

    def _nested(self, name: str, option: ModuleOption, value: Any) -> Any:
        if option.type == "dict":
            return self._sub(name, option, value)
        if option.type != "list" or option.elements is None or value is None:
            return value
        if option.elements == "dict":
            return [self._sub(name, option, item) for item in value]
        found = []
        for item in value:
            try:
                found.append(self._convert(option.elements, item))
            except ValueError as error:
                kind = option.elements if isinstance(option.elements, str) else "delegate"
                what = f"argument for list entry {name} is of type {net_name(item)}"
                raise self._fail(f"{what} and we were unable to convert to {kind}: {error}") from None
        return found

    def _sub(self, name: str, option: ModuleOption, value: Any) -> Any:
        if option.rules is None or (value is None and not option.apply_defaults):
            return value
        self._context.append(name)
        found = self._arguments(option.rules, _to_dict({} if value is None else value))
        self._context.pop()
        return found


def masked(value: Any, secrets: set[str]) -> Any:
    """Mask the secrets in a module's result, as RemoveNoLogValues in Ansible.Basic does."""
    if not secrets:
        return value
    if isinstance(value, Mapping):
        return {name: masked(item, secrets) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(item, secrets) for item in value]
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return value
    text = str(value)
    if text in secrets:
        return MASK
    for secret in secrets:
        text = text.replace(secret, "********")
    return text if isinstance(value, str) or text != str(value) else value
