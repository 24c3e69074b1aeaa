# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Properties and methods of values.

Using a member that exists in .NET but is not modelled raises an error that names the member. For a member that does
not exist in .NET, the result is the same as in PowerShell: null for a property (an error in strict mode), and an error
for a method.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from simulator.machine.conversion import net_type
from simulator.machine.objects import CmdletError, Enumeration, NotModelled, PSObject
from simulator.machine.powershell.members import collections, objects, reflection, regexes, texts, times
from simulator.machine.powershell.members.table import Members
from simulator.machine.powershell.running.errors import failure, method_failure, null_method
from simulator.machine.powershell.types.arithmetic import integer
from simulator.machine.powershell.types.compare import find_key
from simulator.machine.powershell.types.convert import single
from simulator.machine.powershell.types.kinds import (
    Char,
    GenericDictionary,
    Growing,
    OrderedDictionary,
    Queue,
    Regex,
    Stack,
    TypeValue,
)

__all__ = ["call", "find_key", "index", "read", "store", "write"]


def read(value: object, name: str, *, strict: bool = False) -> object:
    """Return the value of a property, or None if the property does not exist and strict mode is off.

    Raises:
        CmdletError: strict mode is on, and the property does not exist.
        NotModelled: .NET has the property, but the simulator does not model it.
    """
    lower = name.casefold()
    if isinstance(value, dict):
        return _of_table(value, name, strict=strict)
    if isinstance(value, PSObject):
        return objects.read(value, name, strict=strict)
    if isinstance(value, (list, tuple, bytes, bytearray)):
        return _of_list(list(value) if not isinstance(value, list) else value, name, strict=strict)
    if isinstance(value, datetime):
        found = times.date_property(value, lower)
    elif isinstance(value, timedelta):
        found = times.span_property(value, lower)
    elif isinstance(value, Enumeration) and lower == "value__":
        found = value.number
    elif isinstance(value, str) and not isinstance(value, Char) and lower == "length":
        found = len(value)
    else:
        found = NotImplemented
    if found is not NotImplemented:
        return found
    if lower in ("count", "length"):
        if strict:
            raise NotModelled(f".{name} of a single value in strict mode")
        return 0 if value is None else 1
    if lower == "psobject":
        return objects.ps_object(value)
    methods = _members(value)
    if methods and lower in (methods.others or ()):
        raise NotModelled(f"the property {name} of {net_type(value)}")
    if strict and (value is not None or name):
        raise objects.missing_property(name)
    return None


def _of_table(table: dict[object, object], name: str, *, strict: bool) -> object:
    key = find_key(table, name) if not isinstance(table, GenericDictionary) else _exact_or_none(table, name)
    if key is not None:
        return table[key]
    lower = name.casefold()
    own: dict[str, object] = {"count": len(table), "keys": list(table), "values": list(table.values())}
    if lower in own:
        return own[lower]
    if lower in (collections.TABLE.others or ()) or lower == "psobject":
        raise NotModelled(f"the property {name} of {net_type(table)}")
    if strict:
        raise objects.missing_property(name)
    return None


def _exact_or_none(table: GenericDictionary, name: str) -> object:
    return find_key(table, name) if table.key in ("System.String", "System.Object") else None


def _of_list(found: list[object], name: str, *, strict: bool) -> object:
    lower = name.casefold()
    if lower == "count" or (lower in ("length", "longlength") and not isinstance(found, Growing)):
        return len(found)
    if lower == "rank" and not isinstance(found, Growing):
        return 1
    members = _members(found)
    if members and lower in (members.others or ()):
        raise NotModelled(f"the property {name} of {net_type(found)}")
    # Member enumeration: the values of the property for all items that have it.
    values: list[object] = []
    missing = 0
    for item in found:
        present = not isinstance(item, (PSObject, dict)) or _has(item, name)
        value = read(item, name) if present else None
        missing += not present
        if isinstance(value, list):
            values += value
        elif value is not None or (present and isinstance(item, (PSObject, dict))):
            values.append(value)
    if strict and (missing == len(found)):
        raise objects.missing_property(name)
    return single(values)


def _has(item: object, name: str) -> bool:
    if isinstance(item, dict):
        return find_key(item, name) is not None or name.casefold() in ("count", "keys", "values")
    return isinstance(item, PSObject) and (
        item.find(name) is not None or name.casefold() in ("psobject", "pstypenames")
    )


def write(value: object, name: str, new: object) -> None:
    """Set a property of a value.

    Raises:
        CmdletError: the property does not exist.
    """
    if isinstance(value, dict):
        collections.store(value, name, new)
        return
    if isinstance(value, list):
        raise NotModelled("setting a property of a list")
    objects.write(value, name, new)


def _members(value: object) -> Members | None:
    """Return the members of a value's type, or None if the type is not modelled."""
    if isinstance(value, OrderedDictionary):
        return collections.ORDERED
    if isinstance(value, GenericDictionary):
        return collections.DICTIONARY
    if isinstance(value, dict):
        return collections.TABLE
    if isinstance(value, objects.PropertyBag):
        return objects.BAG
    if isinstance(value, (regexes.Groups, regexes.Matches)):
        return collections.ARRAY
    kinds: tuple[tuple[type | tuple[type, ...], Members], ...] = (
        (Char, texts.CHARACTER),
        (str, texts.TEXT),
        (bool, texts.BOOLEAN),
        ((int, float, Decimal), texts.NUMBER),
        (Queue, collections.QUEUE),
        (Stack, collections.STACK),
        (Growing, collections.LIST),
        ((list, tuple, bytes, bytearray), collections.ARRAY),
        (datetime, times.DATE),
        (timedelta, times.SPAN),
        (Enumeration, times.ENUMERATION),
        (Regex, regexes.REGEX),
    )
    found = next((members for kind, members in kinds if isinstance(value, kind)), None)
    if found is None and isinstance(value, PSObject):
        return objects.METHODS.get(value.type_name)
    return found


def call(value: object, name: str, arguments: list[object]) -> object:
    """Call a method of a value.

    Raises:
        CmdletError: the value is null, or the method does not exist or fails.
    """
    lower = name.casefold()
    if value is None:
        raise null_method()
    if isinstance(value, PSObject) and callable(method := value.get(name)):
        return method(*arguments)
    if lower == "gettype" and not arguments:
        return TypeValue(net_type(value))
    if isinstance(value, TypeValue) and lower in ("getproperty", "getfield"):
        return reflection.member(value.full_name, lower.removeprefix("get"), arguments)
    members = _members(value)
    if members is None:
        raise NotModelled(f"{net_type(value)}.{name}()")
    if lower in members.methods:
        return _called(value, name, members.methods[lower], arguments)
    if members.others is None or lower in members.others:
        raise NotModelled(f"{net_type(value)}.{name}()")
    if isinstance(value, list) and value:
        return single([found for item in value if (found := call(item, name, arguments)) is not None])
    message = f"Method invocation failed because [{net_type(value)}] does not contain a method named '{name}'."
    raise failure(message, "MethodNotFound")


def has_method(value: object, name: str) -> bool:
    """Return whether a value has a method with this name. A member that is not modelled counts as a method."""
    known = _members(value)
    lower = name.casefold()
    return lower == "gettype" or (known is not None and (lower in known.methods or lower in (known.others or ())))


def has_property(value: object, name: str) -> bool:
    """Return whether a value has a property with this name."""
    if isinstance(value, (PSObject, dict)):
        return _has(value, name)
    return value is not None and read(value, name) is not None


def _called(value: object, name: str, method: tuple[int, int, object], arguments: list[object]) -> object:
    fewest, most, work = method
    if not fewest <= len(arguments) <= most:
        message = f'Cannot find an overload for "{name}" and the argument count: "{len(arguments)}".'
        raise failure(
            message, "MethodCountCouldNotFindBest", "NotSpecified", "System.Management.Automation.MethodException"
        )
    assert callable(work)
    try:
        return work(value, *arguments)
    except (TypeError, ValueError, IndexError, ArithmeticError, AttributeError) as error:
        raise NotModelled(f"{net_type(value)}.{name}() with these arguments ({error})") from None
    except CmdletError as error:
        if error.error_id == "InvalidCastFromStringToInteger":
            raise NotModelled(f"{net_type(value)}.{name}() with an argument that is not a number") from None
        raise


def index(value: object, at: object) -> object:
    """Return `value[at]`, or None if a hash table does not contain the key or a list is too short.

    Raises:
        CmdletError: the value or the index is null, or the value cannot be indexed.
    """
    if value is None:
        raise failure("Cannot index into a null array.", "NullArray")
    if isinstance(value, dict):
        if isinstance(at, list):
            return [index(value, item) for item in at]
        if isinstance(value, OrderedDictionary) and isinstance(at, int) and not isinstance(at, bool):
            values = list(value.values())
            return values[at] if 0 <= at < len(values) else None
        key = find_key(value, at)
        if key is None and isinstance(value, GenericDictionary):
            raise NotModelled("reading a key that a Dictionary does not contain")
        return None if key is None else value[key]
    if isinstance(value, (objects.PropertyBag, regexes.Groups)) and isinstance(at, str):
        return value.find(at)
    if isinstance(value, (bytes, bytearray)):
        value = list(value)
    if isinstance(value, (list, str)) and not isinstance(value, Char):
        if isinstance(at, list):
            return [found for item in at if (found := index(value, item)) is not None]
        return collections.index(value, at)
    grid = getattr(value, "at", None)
    if callable(grid):
        return grid(at)
    if isinstance(value, (PSObject, int, float, datetime, timedelta)):
        raise failure(f"Unable to index into an object of type {net_type(value)}.", "CannotIndex")
    raise NotModelled(f"an index into {net_type(value)}")


def store(container: object, at: object, value: object) -> None:
    """Set `container[at]`.

    Raises:
        CmdletError: the item cannot be set.
    """
    if container is None:
        raise failure("Cannot index into a null array.", "NullArray")
    if isinstance(container, OrderedDictionary) and isinstance(at, int) and not isinstance(at, bool):
        raise NotModelled("setting an entry of an ordered dictionary by its position")
    if isinstance(container, dict):
        collections.store(container, at, value)
    elif isinstance(container, list) and not isinstance(container, (objects.PropertyBag, Queue, Stack)):
        place = integer(at)
        if not -len(container) <= place < len(container):
            kind = "System.IndexOutOfRangeException"
            if isinstance(container, Growing):
                raise method_failure("set_Item", 2, "System.ArgumentOutOfRangeException", "Index was out of range.")
            raise failure("Index was outside the bounds of the array.", kind, "OperationStopped", kind)
        container[place] = collections.converted(container, value)
    elif callable(getattr(container, "put", None)):
        container.put(at, value)  # type: ignore[attr-defined]
    elif isinstance(container, (str, int, float)):
        raise failure(f"Unable to index into an object of type {net_type(container)}.", "CannotIndex")
    else:
        raise NotModelled(f"setting an item of {net_type(container)}")
