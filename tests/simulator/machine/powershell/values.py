# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""PowerShell's operators on values: truth, comparison, arithmetic, conversion."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from datetime import datetime, timedelta

from simulator.machine.conversion import ConversionError, convert, net_type
from simulator.machine.objects import CUSTOM_OBJECT, CmdletError, Enumeration, NotModelled, PSObject, ScriptBlock
from simulator.machine.text import to_text

VERSION = "System.Version"
_TYPES = {
    "string": "String",
    "int": "Int32",
    "int32": "Int32",
    "uint32": "UInt32",
    "long": "Int64",
    "int64": "Int64",
    "uint64": "UInt64",
    "byte": "Byte",
    "uint16": "UInt16",
    "double": "Double",
    "float": "Single",
    "single": "Single",
    "decimal": "Double",
    "bool": "Boolean",
    "boolean": "Boolean",
    "switch": "Boolean",
    "datetime": "DateTime",
    "timespan": "TimeSpan",
    "guid": "Guid",
    "ipaddress": "IPAddress",
    "net.ipaddress": "IPAddress",
    "uri": "Uri",
    "char": "String",
    "hashtable": "Hashtable",
}


def failure(message: str, error_id: str = "RuntimeException", category: str = "InvalidOperation") -> CmdletError:
    """Return an error of the language itself."""
    return CmdletError(category, error_id, message, "System.Management.Automation.RuntimeException")


def truth(value: object) -> bool:
    """Return whether a value counts as true."""
    if isinstance(value, (list, tuple)):
        return truth(value[0]) if len(value) == 1 else bool(value)
    if value is None:
        return False
    if isinstance(value, Enumeration):
        return value.number != 0
    if isinstance(value, (bool, int, float, str)):
        return bool(value)
    return True


def items(value: object) -> list[object]:
    """Return a value as the list of what a pipeline would pass on."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def single(values: list[object]) -> object:
    """Return what a pipeline's output is as a value: nothing, one object, or a list."""
    if not values:
        return None
    return values[0] if len(values) == 1 else values


def type_name(name: str) -> str:
    """Return a type's short name in lower case, without `System.`."""
    lower = name.casefold().replace(" ", "")
    return lower.removeprefix("system.")


def cast(name: str, value: object) -> object:
    """Return `[name]value`. Raises CmdletError."""
    kind = type_name(name)
    if kind.endswith("[]"):
        inner = kind[:-2]
        return [value_ if inner == "object" else cast(inner, value_) for value_ in items(value)]
    if kind in ("array",):
        return items(value)
    if kind in ("void",):
        return None
    if kind in ("object", "psobject"):
        return value
    if kind in ("pscustomobject", "management.automation.pscustomobject"):
        return (
            PSObject(CUSTOM_OBJECT, {str(key): item for key, item in value.items()})
            if isinstance(value, dict)
            else value
        )
    if kind in ("ordered", "collections.hashtable", "collections.idictionary"):
        return value
    if kind == "version":
        return version(to_text(value))
    if kind in ("bool", "boolean", "switch"):
        return truth(value)
    if kind == "string" and isinstance(value, (list, tuple)):
        return to_text(value)
    if kind == "scriptblock" and isinstance(value, ScriptBlock):
        return value
    short = _TYPES.get(kind)
    if short is None:
        raise NotModelled(f"the type [{name}]")
    try:
        return convert(value, short)
    except ConversionError as error:
        kind_name = "System.Management.Automation.PSInvalidCastException"
        raise CmdletError("InvalidArgument", "InvalidCastFromStringToInteger", str(error), kind_name) from None


def version(text: str) -> PSObject:
    """Return a System.Version."""
    parts = text.split(".")
    if not 2 <= len(parts) <= 4 or not all(part.isdigit() for part in parts):
        raise failure(f'Cannot convert value "{text}" to type "System.Version".', "InvalidCastParseTargetInvocation")
    numbers = [int(part) for part in parts] + [-1] * (4 - len(parts))
    return PSObject(VERSION, dict(zip(("Major", "Minor", "Build", "Revision"), numbers, strict=True)), text)


def _order(value: object) -> tuple[object, ...]:
    assert isinstance(value, PSObject)
    return tuple(value.properties.values())


def compare(left: object, right: object, *, sensitive: bool = False) -> int:
    """Return -1, 0 or 1; the right value is converted to the left one's type. Raises CmdletError if it cannot be."""
    if isinstance(left, PSObject) and left.type_name == VERSION:
        other = right if isinstance(right, PSObject) else version(to_text(right))
        return _sign(_order(left), _order(other))
    if isinstance(left, Enumeration):
        if isinstance(right, int):
            return _sign(left.number, right)
        left = left.name
    if isinstance(left, (bool, int, float)) and not isinstance(right, str):
        if right is None:
            return 1
        right_number = right.number if isinstance(right, Enumeration) else right
        if isinstance(left, bool):
            return _sign(left, truth(right_number))
        if isinstance(right_number, (bool, int, float)):
            return _sign(left, right_number)
    if isinstance(left, bool):
        return _sign(left, truth(right))
    if isinstance(left, (int, float)):
        converted = cast("double", right)
        return _sign(float(left), converted)
    if isinstance(left, datetime):
        return _sign(left, right if isinstance(right, datetime) else cast("datetime", right))
    if isinstance(left, timedelta):
        return _sign(left, right if isinstance(right, timedelta) else cast("timespan", right))
    first, second = to_text(left), to_text(right)
    if not sensitive:
        first, second = first.casefold(), second.casefold()
    return _sign(first, second)


def _sign(left: object, right: object) -> int:
    return 0 if left == right else (-1 if left < right else 1)  # type: ignore[operator]


def same(left: object, right: object, *, sensitive: bool = False) -> bool:
    """Return whether two values are equal as `-eq` sees it."""
    if left is None or right is None:
        return left is None and right is None
    if isinstance(left, dict) or (isinstance(left, PSObject) and left.type_name != VERSION and left.text is None):
        return left is right
    try:
        return compare(left, right, sensitive=sensitive) == 0
    except CmdletError:
        return False


def like(text: object, pattern: object, *, sensitive: bool = False) -> bool:
    """Return whether a text meets a wildcard pattern."""
    # fnmatch's [!x] is PowerShell's literal, and its own escape is the backtick.
    wanted = to_text(pattern).replace("`[", "[[]").replace("`]", "]").replace("`*", "[*]").replace("`?", "[?]")
    flags = 0 if sensitive else re.IGNORECASE
    return re.fullmatch(fnmatch.translate(wanted), to_text(text), flags | re.DOTALL) is not None


def regex(pattern: object) -> str:
    """Return a .NET pattern as Python's."""
    return re.sub(r"\(\?<(?![=!])(\w+)>", r"(?P<\1>", to_text(pattern))


def replacement(text: object) -> Callable[[re.Match[str]], str]:
    """Return the replacement of `-replace` as a function: `$1`, `${name}`, `$&`, `$$`."""
    wanted = to_text(text)

    def fill(match: re.Match[str]) -> str:
        def group(reference: re.Match[str]) -> str:
            name = reference[1] or reference[2]
            if name == "$":
                return "$"
            if name == "&":
                return match[0]
            key: int | str = int(name) if name.isdigit() else name
            try:
                return match[key] or ""
            except (IndexError, re.error):
                return reference[0]

        return re.sub(r"\$(?:\{(\w+)\}|(\d+|[&$]))", group, wanted)

    return fill


def add(left: object, right: object) -> object:
    """Return `left + right`."""
    if isinstance(left, (list, tuple)):
        return [*left, *(right if isinstance(right, (list, tuple)) else [right])]
    if isinstance(left, dict) and isinstance(right, dict):
        return {**left, **right}
    if isinstance(left, str):
        return left + to_text(right)
    if isinstance(left, (datetime, timedelta)) and isinstance(right, timedelta):
        return left + right
    if left is None:
        return right
    return _number(left) + _number(right)


def subtract(left: object, right: object) -> object:
    """Return `left - right`."""
    if isinstance(left, datetime) and isinstance(right, (datetime, timedelta)):
        return left - right
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left - right
    return _number(left) - _number(right)


def multiply(left: object, right: object) -> object:
    """Return `left * right`: a text or list is repeated."""
    if isinstance(left, str):
        return left * int(_number(right))
    if isinstance(left, list):
        return left * int(_number(right))
    return _number(left) * _number(right)


def divide(left: object, right: object) -> object:
    """Return `left / right`: whole if it comes out even."""
    divisor = _number(right)
    if divisor == 0:
        raise failure("Attempted to divide by zero.")
    result = _number(left) / divisor
    return int(result) if isinstance(left, int) and isinstance(right, int) and left % right == 0 else result


def modulo(left: object, right: object) -> object:
    """Return `left % right` with the sign of the left."""
    first, second = _number(left), _number(right)
    if second == 0:
        raise failure("Attempted to divide by zero.")
    result = abs(first) % abs(second)
    return -result if first < 0 else result


def _number(value: object) -> int | float:
    if isinstance(value, Enumeration):
        return value.number
    if isinstance(value, (bool, int, float)):
        return value if not isinstance(value, bool) else int(value)
    if value is None:
        return 0
    text = to_text(value).strip()
    converted = cast("double" if re.search(r"[.eE]", text) and "x" not in text.casefold() else "long", text)
    assert isinstance(converted, (int, float))
    return converted


def number(value: object) -> int | float:
    """Return a value as a number. Raises CmdletError."""
    return _number(value)


def is_type(value: object, name: str) -> bool:
    """Return whether `value -is [name]`."""
    kind, actual = type_name(name), type_name(net_type(value))
    if kind in ("object", "psobject"):
        return value is not None
    if kind in ("array", "object[]", "collections.ilist", "collections.ienumerable"):
        return isinstance(value, (list, tuple))
    if kind in ("pscustomobject", "management.automation.pscustomobject"):
        return isinstance(value, PSObject) and value.type_name == CUSTOM_OBJECT
    if kind in ("hashtable", "collections.hashtable", "collections.idictionary"):
        return isinstance(value, dict)
    if isinstance(value, PSObject):
        return actual == kind or actual.rsplit(".", 1)[-1] == kind or _inherits(actual, kind)
    short = _TYPES.get(kind)
    return type_name(short or kind) == actual


def _inherits(actual: str, kind: str) -> bool:
    return kind == "io.filesysteminfo" and actual in ("io.fileinfo", "io.directoryinfo")
