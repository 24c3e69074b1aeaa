# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Properties and methods of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from simulator.machine.conversion import net_type
from simulator.machine.objects import CUSTOM_OBJECT, Enumeration, PSObject
from simulator.machine.powershell import values
from simulator.machine.powershell.operators import date_text, shaped
from simulator.machine.text import to_text

EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def file_time(value: datetime) -> int:
    """Return a date as Windows' file time: 100 ns since 1601."""
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1) * 10


def read(value: object, name: str) -> object:
    """Return a property; None if it does not exist (as without strict mode)."""
    lower = name.casefold()
    if isinstance(value, dict):
        found = next((key for key in value if to_text(key).casefold() == lower), None)
        if found is not None:
            return value[found]
        return {"count": len(value), "keys": list(value), "values": list(value.values())}.get(lower)
    if isinstance(value, PSObject):
        if value.find(name) is not None:
            return value.get(name)
        if lower == "psobject":
            properties = [
                PSObject(CUSTOM_OBJECT, {"Name": key, "Value": item}) for key, item in value.properties.items()
            ]
            return PSObject(
                "System.Management.Automation.PSObject", {"Properties": properties, "TypeNames": [value.type_name]}
            )
        if lower in ("count", "length"):
            return 1
        return None
    if isinstance(value, list):
        if lower in ("count", "length"):
            return len(value)
        # Member enumeration: the property of every item that has it.
        return values.single([found for item in value if (found := read(item, name)) is not None])
    if isinstance(value, str):
        return len(value) if lower == "length" else (1 if lower == "count" else None)
    if isinstance(value, datetime):
        return _date(value, lower)
    if isinstance(value, timedelta):
        return _span(value, lower)
    if isinstance(value, Enumeration):
        return {"value__": value.number}.get(lower)
    if isinstance(value, (bytes, bytearray)) and lower in ("length", "count"):
        return len(value)
    return 0 if value is None and lower == "count" else (1 if lower == "count" else None)


def _date(value: datetime, name: str) -> object:
    if name in ("year", "month", "day", "hour", "minute", "second"):
        return getattr(value, name)
    return {
        "ticks": file_time(value) + 504911232000000000,
        "date": value.replace(hour=0, minute=0, second=0, microsecond=0),
        "dayofweek": Enumeration(value.strftime("%A"), (value.weekday() + 1) % 7, "System.DayOfWeek"),
        "dayofyear": int(value.strftime("%j")),
        "millisecond": value.microsecond // 1000,
        "kind": Enumeration("Utc", 1, "System.DateTimeKind"),
    }.get(name)


def _span(value: timedelta, name: str) -> object:
    seconds = value.total_seconds()
    return {
        "totalseconds": seconds,
        "totalminutes": seconds / 60,
        "totalhours": seconds / 3600,
        "totaldays": seconds / 86400,
        "totalmilliseconds": seconds * 1000,
        "days": value.days,
        "hours": int(seconds // 3600 % 24),
        "minutes": int(seconds // 60 % 60),
        "seconds": int(seconds % 60),
        "ticks": int(seconds * 10_000_000),
    }.get(name)


def write(value: object, name: str, new: object) -> None:
    """Set a property. Raises CmdletError if the object has none of that name."""
    if isinstance(value, dict):
        found = next((key for key in value if to_text(key).casefold() == name.casefold()), name)
        value[found] = new
        return
    if isinstance(value, PSObject):
        found_name = value.find(name)
        if found_name is not None:
            value.properties[found_name] = new
            return
    message = f"The property '{name}' cannot be found on this object. Verify that the property exists and can be set."
    raise values.failure(message, "PropertyNotFound")


def call(value: object, name: str, arguments: list[object]) -> object:
    """Call a method. Raises CmdletError."""
    lower = name.casefold()
    if value is None:
        raise values.failure("You cannot call a method on a null-valued expression.", "InvokeMethodOnNull")
    if isinstance(value, PSObject) and callable(method := value.get(name)):
        return method(*arguments)
    common: Mapping[str, Callable[[], object]] = {
        "tostring": lambda: _text(value, arguments),
        "gettype": lambda: type_object(net_type(value)),
        "equals": lambda: values.same(value, arguments[0]),
        "gethashcode": lambda: hash(to_text(value)),
        "dispose": lambda: None,
        "close": lambda: None,
    }
    if isinstance(value, str) and lower in _STRING:
        return _STRING[lower](value, arguments)
    if isinstance(value, dict) and lower in _DICTIONARY:
        return _DICTIONARY[lower](value, arguments)
    if isinstance(value, list) and lower in _LIST:
        return _LIST[lower](value, arguments)
    if isinstance(value, datetime) and lower in _DATE:
        return _DATE[lower](value, arguments)
    if isinstance(value, Enumeration) and lower in _ENUMERATION:
        return _ENUMERATION[lower](value, arguments)
    if lower in common:
        return common[lower]()
    if isinstance(value, list):
        return values.single([call(item, name, arguments) for item in value])
    if isinstance(value, PSObject) and value.type_name == values.VERSION and lower == "compareto":
        return values.compare(value, arguments[0])
    message = f"Method invocation failed because [{net_type(value)}] does not contain a method named '{name}'."
    raise values.failure(message, "MethodNotFound")


def type_object(name: str) -> PSObject:
    """Return a System.RuntimeType."""
    return PSObject("System.RuntimeType", {"Name": name.rsplit(".", 1)[-1], "FullName": name}, name)


def _text(value: object, arguments: list[object]) -> str:
    form = to_text(arguments[0]) if arguments else ""
    if isinstance(value, datetime) and form:
        return date_text(value, form)
    return shaped(value, form) if isinstance(value, (int, float)) and not isinstance(value, bool) else to_text(value)


def _characters(arguments: list[object]) -> str | None:
    return "".join(to_text(item) for argument in arguments for item in values.items(argument)) or None


def _substring(value: str, arguments: list[object]) -> str:
    start = int(values.number(arguments[0]))
    end = len(value) if len(arguments) < 2 else start + int(values.number(arguments[1]))
    if start < 0 or end > len(value) or start > len(value):
        kind = "Index and length must refer to a location within the string."
        raise values.failure(f'Exception calling "Substring": "{kind}"', "ArgumentOutOfRangeException", "NotSpecified")
    return value[start:end]


def _split(value: str, arguments: list[object]) -> list[object]:
    import re

    marks = _characters(arguments[:1])
    parts = re.split("[" + re.escape(marks) + "]", value) if marks else value.split()
    return [part for part in parts if part or len(arguments) < 2]


_STRING: dict[str, Callable[[str, list[object]], object]] = {
    "tolower": lambda text, _: text.lower(),
    "tolowerinvariant": lambda text, _: text.lower(),
    "toupper": lambda text, _: text.upper(),
    "toupperinvariant": lambda text, _: text.upper(),
    "trim": lambda text, given: text.strip(_characters(given)),
    "trimend": lambda text, given: text.rstrip(_characters(given)),
    "trimstart": lambda text, given: text.lstrip(_characters(given)),
    "replace": lambda text, given: text.replace(to_text(given[0]), to_text(given[1])),
    "split": _split,
    "startswith": lambda text, given: text.startswith(to_text(given[0])),
    "endswith": lambda text, given: text.endswith(to_text(given[0])),
    "contains": lambda text, given: to_text(given[0]) in text,
    "indexof": lambda text, given: text.find(to_text(given[0])),
    "lastindexof": lambda text, given: text.rfind(to_text(given[0])),
    "substring": _substring,
    "padleft": lambda text, given: text.rjust(int(values.number(given[0])), to_text(given[1]) if given[1:] else " "),
    "padright": lambda text, given: text.ljust(int(values.number(given[0])), to_text(given[1]) if given[1:] else " "),
    "insert": lambda text, given: (
        text[: int(values.number(given[0]))] + to_text(given[1]) + text[int(values.number(given[0])) :]
    ),
    "tochararray": lambda text, _: list(text),
    "tostring": lambda text, _: text,
}
_DICTIONARY: dict[str, Callable[[dict[object, object], list[object]], object]] = {
    "containskey": lambda table, given: any(values.same(key, given[0]) for key in table),
    "contains": lambda table, given: any(values.same(key, given[0]) for key in table),
    "add": lambda table, given: table.__setitem__(given[0], given[1]),
    "remove": lambda table, given: (
        table.pop(next((key for key in table if values.same(key, given[0])), None), None) and None
    ),
    "clear": lambda table, _: table.clear(),
    "getenumerator": lambda table, _: [
        PSObject("System.Collections.DictionaryEntry", {"Key": key, "Value": item, "Name": key})
        for key, item in table.items()
    ],
    "clone": lambda table, _: dict(table),
}
_LIST: dict[str, Callable[[list[object], list[object]], object]] = {
    "contains": lambda items, given: any(values.same(item, given[0]) for item in items),
    "indexof": lambda items, given: next((at for at, item in enumerate(items) if values.same(item, given[0])), -1),
    "add": lambda items, given: items.append(given[0]),
    "clear": lambda items, _: items.clear(),
    "toarray": lambda items, _: list(items),
    "getenumerator": lambda items, _: list(items),
}
_DATE: dict[str, Callable[[datetime, list[object]], object]] = {
    "tofiletime": lambda date, _: file_time(date),
    "tofiletimeutc": lambda date, _: file_time(date),
    "touniversaltime": lambda date, _: date,
    "tolocaltime": lambda date, _: date,
    "adddays": lambda date, given: date + timedelta(days=values.number(given[0])),
    "addhours": lambda date, given: date + timedelta(hours=values.number(given[0])),
    "addminutes": lambda date, given: date + timedelta(minutes=values.number(given[0])),
    "addseconds": lambda date, given: date + timedelta(seconds=values.number(given[0])),
    "toshortdatestring": lambda date, _: f"{date.month}/{date.day}/{date.year}",
}
_ENUMERATION: dict[str, Callable[[Enumeration, list[object]], object]] = {
    "hasflag": lambda value, given: bool(value.number & int(values.number(given[0]))),
}


def index(value: object, at: object) -> object:
    """Return `value[at]`."""
    if isinstance(value, dict):
        if isinstance(at, list):
            return [index(value, item) for item in at]
        return next((item for key, item in value.items() if values.same(key, at)), None)
    if isinstance(value, PSObject):
        raise values.failure(f"Unable to index into an object of type {value.type_name}.", "CannotIndex")
    if value is None:
        raise values.failure("Cannot index into a null array.", "NullArray")
    if isinstance(value, (list, str, bytes, bytearray)):
        if isinstance(at, list):
            return [index(value, item) for item in at]
        place = int(values.number(at))
        return value[place] if -len(value) <= place < len(value) else None
    return value if values.same(at, 0) else None
