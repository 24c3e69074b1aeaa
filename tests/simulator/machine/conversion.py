# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Convert values to .NET types as leniently as PowerShell does (recorded in contracts/powershell-behaviour.json)."""

from __future__ import annotations

import ipaddress
import re
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from simulator.machine.objects import Enumeration, OrderedOutput, PSObject, ScriptBlock
from simulator.machine.text import iso_utc, to_text

_INTEGERS = {
    "Byte": (0, 2**8 - 1),
    "SByte": (-(2**7), 2**7 - 1),
    "Int16": (-(2**15), 2**15 - 1),
    "UInt16": (0, 2**16 - 1),
    "Int32": (-(2**31), 2**31 - 1),
    "UInt32": (0, 2**32 - 1),
    "Int64": (-(2**63), 2**63 - 1),
    "UInt64": (0, 2**64 - 1),
}
_FULL_NAMES = {
    "SwitchParameter": "System.Management.Automation.SwitchParameter",
    "Hashtable": "System.Collections.Hashtable",
    "IPAddress": "System.Net.IPAddress",
    "ScriptBlock": "System.Management.Automation.ScriptBlock",
    "PSCredential": "System.Management.Automation.PSCredential",
    "CimInstance": "Microsoft.Management.Infrastructure.CimInstance",
    "PSObject": "System.Management.Automation.PSObject",
}


class ConversionError(Exception):
    """PowerShell cannot convert a value. The message is the reason, without the sentence that names the parameter."""


def full_type(short: str) -> str:
    """Return the full name of a .NET type from its short name, as PowerShell's error messages spell it."""
    bare = short.removesuffix("[]")
    full = _FULL_NAMES.get(bare, bare if "." in bare else f"System.{bare}")
    return full + ("[]" if short.endswith("[]") else "")


def net_type(value: object) -> str:
    """Return the full name of a value's .NET type, or `System.Object` if the type is not known."""
    named = getattr(value, "type_name", None)
    if isinstance(named, str):
        return named
    if isinstance(value, bool):
        return "System.Boolean"
    if isinstance(value, int):
        return "System.Int32" if -(2**31) <= value < 2**31 else "System.Int64"
    names: list[tuple[type, str]] = [
        (float, "System.Double"),
        (str, "System.String"),
        (list, "System.Object[]"),
        (OrderedOutput, "System.Collections.Specialized.OrderedDictionary"),
        (dict, "System.Collections.Hashtable"),
        (bytes, "System.Byte[]"),
        (datetime, "System.DateTime"),
        (timedelta, "System.TimeSpan"),
        (Decimal, "System.Decimal"),
        (ScriptBlock, "System.Management.Automation.ScriptBlock"),
    ]
    return next((name for kind, name in names if isinstance(value, kind)), "System.Object")


def convert(value: object, kind: str, values: tuple[str, ...] = ()) -> object:
    """Convert a value to a .NET type. If the simulator does not know the type, return the value unchanged.

    Args:
        kind: the short name of the type, with `[]` for an array.
        values: the names of the values, if the type is an enumeration.

    Raises:
        ConversionError: PowerShell cannot convert the value.
    """
    if kind.endswith("[]"):
        if kind == "Byte[]" and isinstance(value, (bytes, bytearray)):
            return bytes(value)
        if value is None:
            return None
        items = list(value) if isinstance(value, (list, tuple)) else [value]
        return [convert(item, kind[:-2], values) for item in items]
    if values:
        return _enumeration(value, kind, values)
    if kind in _INTEGERS:
        return _integer(value, kind)
    simple = {
        "String": _string,
        "Boolean": _boolean,
        "SwitchParameter": _switch,
        "Double": _double,
        "Single": _double,
        "DateTime": _date,
        "TimeSpan": _timespan,
        "Guid": _guid,
        "IPAddress": _address,
        "Version": _version,
        "Hashtable": _hashtable,
        "IDictionary": _hashtable,
        "CimInstance": _instance,
        "Uri": _uri,
    }.get(kind)
    if simple is None or (value is None and kind not in ("Boolean", "SwitchParameter", "String", "Double")):
        return value
    return simple(value, kind)


def _refuse(value: object, kind: str, why: str) -> ConversionError:
    return ConversionError(f'Cannot convert value "{to_text(value)}" to type "{full_type(kind)}". Error: "{why}"')


def _string(value: object, kind: str) -> object:
    if isinstance(value, (list, tuple)):
        raise ConversionError("Cannot convert value to type System.String.")
    return iso_utc(value) if isinstance(value, datetime) else to_text(value)


def _switch(value: object, kind: str) -> object:
    """Convert a value to a SwitchParameter. Null becomes true.

    Source: PowerShell's ParameterBinderBase.cs (HandleNullParameterForSpecialTypes).
    """
    return True if value is None else _boolean(value, kind)


def _boolean(value: object, kind: str) -> object:
    if isinstance(value, (bool, int, float)):
        return bool(value)
    given = net_type(value) if value is not None else ""
    raise ConversionError(
        f'Cannot convert value "{given}" to type "{full_type(kind)}". '
        "Boolean parameters accept only Boolean values and numbers, such as $True, $False, 1 or 0."
    )


def _integer(value: object, kind: str) -> object:
    low, high = _INTEGERS[kind]
    number: int
    if value is None or value == "":
        number = 0
    elif isinstance(value, bool):
        number = int(value)
    elif isinstance(value, Enumeration):
        number = value.number
    elif isinstance(value, int):
        number = value
    elif isinstance(value, float):
        number = round(value)  # half to even, as in .NET
    elif isinstance(value, str):
        number = _parse_integer(value, kind)
    else:
        raise _refuse(
            value,
            kind,
            f'Cannot convert the "{to_text(value)}" value of type "{net_type(value)}" to type "{full_type(kind)}".',
        )
    if not low <= number <= high:
        article = "an" if kind[0] in "I" else "a"
        raise _refuse(value, kind, f"Value was either too large or too small for {article} {kind}.")
    return number


def _parse_integer(text: str, kind: str) -> int:
    stripped = text.strip()
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", stripped):
        return int(stripped, 16)
    try:
        return int(stripped) if re.fullmatch(r"[+-]?\d+", stripped) else round(float(stripped))
    except (ValueError, OverflowError):
        raise _refuse(text, kind, "Input string was not in a correct format.") from None


def _double(value: object, kind: str) -> object:
    if value is None:
        return 0.0
    if isinstance(value, (bool, int, float)):
        return float(value)
    try:
        return float(to_text(value))
    except ValueError:
        raise _refuse(value, "Double", "Input string was not in a correct format.") from None


def _date(value: object, kind: str) -> object:
    if isinstance(value, datetime):
        return value
    text = to_text(value)
    for form in (None, "%m/%d/%Y", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%H:%M", "%H:%M:%S", "%I:%M%p", "%I%p"):
        try:
            if form is None:
                return datetime.fromisoformat(text)
            moment = datetime.strptime(text, form).replace(tzinfo=UTC)
            if form.startswith(("%H", "%I")):
                today = datetime.now(UTC)
                moment = moment.replace(year=today.year, month=today.month, day=today.day)
            return moment
        except ValueError:
            continue
    raise _refuse(value, kind, f"String '{text}' was not recognized as a valid DateTime.")


def _timespan(value: object, kind: str) -> object:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return timedelta(microseconds=value / 10)  # ticks
    match = re.fullmatch(r"(-)?(?:(\d+)\.)?(\d+):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,7}))?)?", to_text(value).strip())
    if match:
        sign, days, hours, minutes, seconds, fraction = match.groups()
        span = timedelta(
            days=int(days or 0),
            hours=int(hours),
            minutes=int(minutes),
            seconds=int(seconds or 0),
            microseconds=int((fraction or "0").ljust(7, "0")) // 10,
        )
        return -span if sign else span
    if re.fullmatch(r"\d+", to_text(value).strip()):
        return timedelta(days=int(to_text(value)))
    raise _refuse(value, kind, f"String '{to_text(value)}' was not recognized as a valid TimeSpan.")


def _guid(value: object, kind: str) -> object:
    try:
        return str(uuid.UUID(to_text(value)))
    except ValueError:
        raise _refuse(value, kind, "Unrecognized Guid format.") from None


def _address(value: object, kind: str) -> object:
    try:
        return str(ipaddress.ip_address(to_text(value)))
    except ValueError:
        raise _refuse(value, kind, "An invalid IP address was specified.") from None


def _version(value: object, kind: str) -> object:
    text = to_text(value)
    if text.casefold() == "latest":  # Set-StrictMode has its own conversion
        return text
    if not re.fullmatch(r"\d+(\.\d+){1,3}", text):
        raise _refuse(value, kind, "Version string portion was too short or too long.")
    return text


def _hashtable(value: object, kind: str) -> object:
    if isinstance(value, dict):
        return value
    raise ConversionError(
        f'Cannot convert the "{to_text(value)}" value of type "{net_type(value)}" to type "{full_type(kind)}".'
    )


def _instance(value: object, kind: str) -> object:
    if isinstance(value, PSObject):
        return value
    raise ConversionError(
        f'Cannot convert the "{to_text(value)}" value of type "{net_type(value)}" to type "{full_type(kind)}".'
    )


def _enumeration(value: object, kind: str, values: tuple[str, ...]) -> object:
    if isinstance(value, Enumeration):
        value = value.name
    if isinstance(value, bool) or not isinstance(value, (str, int, list)):
        raise _invalid_name(value, kind, values)
    if isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"\d+", value) and value not in values):
        number = int(value)
        if number < len(values):
            return values[number]
        raise _invalid_name(value, kind, values)
    # Several names of a flags enumeration may be joined by commas, or given as a list.
    names = [to_text(item).strip() for item in (value if isinstance(value, list) else value.split(","))]
    return ", ".join(_name(name, kind, values) for name in names)


def _name(name: str, kind: str, values: tuple[str, ...]) -> str:
    requested = name.casefold()
    exact = [known for known in values if known.casefold() == requested]
    prefixed = exact or [known for known in values if requested and known.casefold().startswith(requested)]
    if len(prefixed) != 1:
        raise _invalid_name(name, kind, values)
    return prefixed[0]


def _invalid_name(value: object, kind: str, values: tuple[str, ...]) -> ConversionError:
    return _refuse(
        value,
        kind,
        f"Unable to match the identifier name {to_text(value)} to a valid enumerator name. "
        f"Specify one of the following enumerator names and try again:\n{', '.join(values)}",
    )


def _uri(value: object, kind: str) -> object:
    return to_text(value)
