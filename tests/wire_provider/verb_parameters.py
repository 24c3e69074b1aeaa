# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parameters and errors of verbs."""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Mapping
from typing import Any

from simulator.machine.conversion import ConversionError, convert, net_type
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError, NotModelled
from simulator.machine.processes import Process
from simulator.machine.text import to_text

Handler = Callable[[Machine, Mapping[str, Any], list[object], Process, float], list[object]]


def failure(category: str, error_id: str, message: str, kind: str = "System.IO.IOException") -> CmdletError:
    return CmdletError(category, error_id, message, kind)


def missing(path: str) -> CmdletError:
    kind = "System.Management.Automation.ItemNotFoundException"
    return CmdletError("ObjectNotFound", "PathNotFound", f"Cannot find path '{path}' because it does not exist.", kind)


def require_apart(path: str, destination: str) -> None:
    """Reject a destination that is the source file itself, which File.Replace would delete."""
    if _full(path) == _full(destination):
        raise failure("InvalidArgument", "SameFile", f"{path} and {destination} are the same file")


def _full(path: str) -> str:
    return ntpath.normpath(path).rstrip("\\").casefold()


def text(parameters: Mapping[str, Any], name: str) -> str:
    """Return a parameter cast to a string as in PowerShell. A missing parameter is empty."""
    return to_text(parameters.get(name))


def whole(parameters: Mapping[str, Any], name: str, default: int = 0, kind: str = "Int64") -> int:
    """Return a parameter cast to an integer as in PowerShell.

    Args:
        parameters: the parameters of the verb.
        name: the name of the parameter.
        default: the number if the parameter is missing.
        kind: the type, `Int64` or `Int32`.

    Raises:
        CmdletError: the value cannot be cast.
    """
    value = parameters.get(name)
    if value is None:
        return default
    if isinstance(value, (list, Mapping)):
        raise NotModelled(f"a list or an object as {name}")
    try:
        number = convert(value, kind)
    except ConversionError as error:
        error_id = "InvalidCastFromStringToInteger" if isinstance(value, str) else "InvalidCastIConvertible"
        exception = "System.Management.Automation.PSInvalidCastException"
        raise CmdletError("InvalidArgument", error_id, str(error), exception) from None
    assert isinstance(number, int)
    return number


def several(parameters: Mapping[str, Any], name: str) -> list[Any]:
    """Return a parameter as a list: empty for null, with one item for a single value."""
    value = parameters.get(name)
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def entries(parameters: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return a parameter that must be a list of objects.

    Raises:
        CmdletError: an item is not an object. PowerShell reports this when it looks up a name in the item.
    """
    found = several(parameters, name)
    for entry in found:
        if entry is None:
            raise _no_object("NullArray", "Cannot index into a null array.")
        if not isinstance(entry, Mapping):
            raise _no_object("CannotIndex", f"Unable to index into an object of type {net_type(entry)}.")
    return found


def require_settable(value: object) -> None:
    """Reject a value that is not an object, with PowerShell's error for an assignment to a property.

    Raises:
        CmdletError: the value is not an object.
    """
    if isinstance(value, list):
        raise NotModelled("an assignment to a name of a list")
    if not isinstance(value, Mapping):
        raise _no_object("CannotIndex", f"Unable to index into an object of type {net_type(value)}.")


def _no_object(error_id: str, message: str) -> CmdletError:
    return CmdletError("InvalidOperation", error_id, message, "System.Management.Automation.RuntimeException")
