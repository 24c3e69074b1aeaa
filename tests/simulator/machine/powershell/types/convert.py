# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Convert values to types as PowerShell does: `[type]value`."""

from __future__ import annotations

import ipaddress
import re
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from urllib.parse import urlsplit

from simulator.machine.conversion import ConversionError, convert, net_type
from simulator.machine.objects import CUSTOM_OBJECT, CmdletError, Enumeration, NotModelled, PSObject, ScriptBlock
from simulator.machine.powershell.running.errors import bad_cast, exception, failure
from simulator.machine.powershell.types import arithmetic, names
from simulator.machine.powershell.types.kinds import (
    INTEGERS,
    ArrayList,
    Byte,
    Char,
    GenericList,
    OrderedDictionary,
    Regex,
    Single,
    SwitchValue,
    TypedArray,
    TypeValue,
)
from simulator.machine.powershell.types.patterns import compiled
from simulator.machine.powershell.types.plain_text import to_text

VERSION = "System.Version"
IMPOSSIBLE = "ConvertToFinalInvalidCastException"


def truth(value: object) -> bool:
    """Return whether a value is true when it is used as a condition."""
    if isinstance(value, (list, tuple)):
        return truth(value[0]) if len(value) == 1 else bool(value)
    if value is None:
        return False
    if isinstance(value, Enumeration):
        return value.number != 0
    if isinstance(value, SwitchValue):
        return value.on
    if isinstance(value, Char):
        return value != "\0"
    if isinstance(value, (bool, int, float, str, Decimal)):
        return bool(value)
    return True


def items(value: object) -> list[object]:
    """Return the objects that a pipeline passes on for a value.

    A list yields its items, null yields nothing, and any other value yields itself.
    """
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def single(values: list[object]) -> object:
    """Return a pipeline's output as a value: null, one object, or a list."""
    if not values:
        return None
    return values[0] if len(values) == 1 else values


def _refuse(value: object, kind: str, error_id: str = IMPOSSIBLE) -> CmdletError:
    if isinstance(value, str):
        return bad_cast(f'Cannot convert value "{value}" to type "{kind}".', error_id)
    message = f'Cannot convert the "{to_text(value)}" value of type "{net_type(value)}" to type "{kind}".'
    return bad_cast(message, error_id)


def _integer(value: object, kind: str) -> object:
    make, _, _ = INTEGERS[kind]
    if isinstance(value, (list, tuple, dict, PSObject, datetime, timedelta)) or value is None:
        if value is None:
            return make(0)
        if isinstance(value, SwitchValue):
            return make(value.on)
        if isinstance(value, list):
            raise NotModelled(f"the conversion of a list to [{kind}]")
        raise _refuse(value, kind)
    found = arithmetic.parse(value, kind) if isinstance(value, str) and not isinstance(value, Char) else value
    exact = arithmetic.number(found)
    try:
        rounded = exact if isinstance(exact, int) else round(exact)
    except (ValueError, OverflowError):
        rounded = 2**70
    if not arithmetic.fits(kind, int(rounded)):
        if isinstance(value, str):
            raise NotModelled(f"the conversion of a string with an out-of-range number to [{kind}]")
        text = f"Value was either too large or too small for {'an' if 'Int' in kind[:11] else 'a'} {kind[7:]}."
        raise bad_cast(
            f'Cannot convert value "{to_text(value)}" to type "{kind}". Error: "{text}"', "InvalidCastIConvertible"
        )
    return make(int(rounded))


def _double(value: object, kind: str) -> object:
    if isinstance(value, (list, tuple, dict, PSObject, datetime, timedelta)):
        raise NotModelled(f"the conversion of {net_type(value)} to [{kind}]")
    if isinstance(value, str) and not isinstance(value, Char):
        if value.strip().casefold() in ("nan", "infinity", "-infinity"):
            raise NotModelled(f"the conversion of {value} to [{kind}]")
        found = arithmetic.parse(value, kind)
    else:
        found = arithmetic.number(value)
    if kind == "System.Decimal":
        try:
            return Decimal(str(found)) if isinstance(found, float) else Decimal(int(found))
        except InvalidOperation:
            raise NotModelled(f"the conversion of {to_text(value)} to [decimal]") from None
    return Single(found) if kind == "System.Single" else float(found)


def _char(value: object, kind: str) -> object:
    if isinstance(value, str) and len(value) == 1:
        return Char(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 65536:
        return Char(chr(value))
    raise NotModelled(f"the conversion of {to_text(value)} to [char]")


def _string(value: object, kind: str) -> object:
    return str(to_text(value))


def _bool(value: object, kind: str) -> object:
    return truth(value)


def version(text: str) -> PSObject:
    """Return a string as a System.Version. Raise CmdletError if the string is not a version."""
    parts = text.strip().split(".")
    if not 2 <= len(parts) <= 4 or not all(part.isdigit() for part in parts):
        raise bad_cast(f'Cannot convert value "{text}" to type "System.Version".', "InvalidCastParseTargetInvocation")
    numbers = [int(part) for part in parts] + [-1] * (4 - len(parts))
    shown = ".".join(str(int(part)) for part in parts)
    return PSObject(VERSION, dict(zip(("Major", "Minor", "Build", "Revision"), numbers, strict=True)), shown)


def _version(value: object, kind: str) -> object:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise NotModelled("the conversion of a number to [version]")
    return version(to_text(value))


def _through(short: str) -> Callable[[object, str], object]:
    """Return a function that converts values to a type as the parameter binding of cmdlets does."""

    def work(value: object, kind: str) -> object:
        if value is None:
            raise _refuse(value, kind, "InvalidCastFromNull")
        try:
            return convert(str(value) if isinstance(value, str) else value, short)
        except ConversionError as error:
            raise bad_cast(str(error), "InvalidCastParseTargetInvocation") from None

    return work


def guid(text: str) -> PSObject:
    """Return a string as a System.Guid. Raise CmdletError if the string is not a GUID."""
    try:
        found = str(uuid.UUID(text))
    except ValueError:
        raise bad_cast(
            f'Cannot convert value "{text}" to type "System.Guid".', "InvalidCastParseTargetInvocation"
        ) from None
    return PSObject("System.Guid", {"Guid": found}, found)


def address(text: str) -> PSObject:
    """Return a string as a System.Net.IPAddress. Raise CmdletError if the string is not an IP address."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        why = "An invalid IP address was specified."
        message = f'Cannot convert value "{text}" to type "System.Net.IPAddress". Error: "{why}"'
        raise bad_cast(message, "InvalidCastParseTargetInvocation") from None
    family = Enumeration("InterNetwork", 2, "System.Net.Sockets.AddressFamily")
    if found.version == 6:
        family = Enumeration("InterNetworkV6", 23, "System.Net.Sockets.AddressFamily")
    return PSObject("System.Net.IPAddress", {"IPAddressToString": str(found), "AddressFamily": family}, str(found))


def uri(text: str) -> PSObject:
    """Return a string as a System.Uri. Raise NotModelled for anything but a simple http or https URL."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[\x21-\x7e]+", text) or "%" in text:
        raise NotModelled(f"the conversion of {text} to [uri]")
    default = {"http": 80, "https": 443}[parts.scheme]
    port = parts.port or default
    host, path = parts.hostname or "", parts.path or "/"
    query = f"?{parts.query}" if parts.query else ""
    authority = host if port == default else f"{host}:{port}"
    whole = f"{parts.scheme}://{authority}{path}{query}" + (f"#{parts.fragment}" if parts.fragment else "")
    properties: dict[str, object] = {
        "AbsolutePath": path,
        "AbsoluteUri": whole,
        "Authority": authority,
        "Host": host,
        "Port": port,
        "Scheme": parts.scheme,
        "Query": query,
        "PathAndQuery": path + query,
        "Fragment": f"#{parts.fragment}" if parts.fragment else "",
        "IsAbsoluteUri": True,
        "IsDefaultPort": port == default,
        "OriginalString": text,
        "LocalPath": path,
    }
    return PSObject("System.Uri", properties, whole)


def _of_text(make: Callable[[str], PSObject]) -> Callable[[object, str], object]:
    def work(value: object, kind: str) -> object:
        if not isinstance(value, str):
            raise NotModelled(f"the conversion of {net_type(value)} to [{kind}]")
        return make(value)

    return work


def _regex(value: object, kind: str) -> object:
    return Regex(to_text(value), compiled(value, sensitive=True))


def _custom(value: object, kind: str) -> object:
    if isinstance(value, dict):
        return PSObject(CUSTOM_OBJECT, {to_text(key): item for key, item in value.items()})
    return value


def _table(value: object, kind: str) -> object:
    if isinstance(value, dict):
        return value
    raise _refuse(value, kind)


def _ordered(value: object, kind: str) -> object:
    if isinstance(value, OrderedDictionary):
        return value
    if isinstance(value, dict):
        raise NotModelled("the conversion of an existing hash table to [ordered]")
    raise _refuse(value, kind)


def _type(value: object, kind: str) -> object:
    return TypeValue(names.resolve(to_text(value)))


def _switch(value: object, kind: str) -> object:
    return SwitchValue(truth(value))


def _block(value: object, kind: str) -> object:
    if isinstance(value, ScriptBlock):
        return value
    raise NotModelled(f"the conversion of {net_type(value)} to [scriptblock]")


_MAKERS: Mapping[str, Callable[[object, str], object]] = {
    **dict.fromkeys(INTEGERS, _integer),
    "System.Double": _double,
    "System.Single": _double,
    "System.Decimal": _double,
    "System.Char": _char,
    "System.String": _string,
    "System.Boolean": _bool,
    "System.Version": _version,
    "System.DateTime": _through("DateTime"),
    "System.TimeSpan": _through("TimeSpan"),
    "System.Guid": _of_text(guid),
    "System.Net.IPAddress": _of_text(address),
    "System.Uri": _of_text(uri),
    "System.Text.RegularExpressions.Regex": _regex,
    CUSTOM_OBJECT: _custom,
    "System.Collections.Hashtable": _table,
    "System.Collections.IDictionary": _table,
    "System.Collections.Specialized.OrderedDictionary": _ordered,
    "System.Type": _type,
    "System.Management.Automation.SwitchParameter": _switch,
    "System.Management.Automation.ScriptBlock": _block,
    "System.Void": lambda _value, _kind: None,
    "System.Object": lambda value, _: value,
    "System.Management.Automation.PSObject": lambda value, _: value,
    "System.Array": lambda value, _: value if isinstance(value, list) else items(value),
    "System.Collections.ArrayList": lambda value, _: value if isinstance(value, ArrayList) else ArrayList(items(value)),
}


def cast(name: str, value: object) -> object:
    """Return `[name]value`.

    Raises:
        CmdletError: the value cannot be converted.
    """
    kind = names.resolve(name)
    if kind.endswith("[]"):
        return _array(kind[:-2], value)
    short, inner = names.generic(kind)
    if short == "nullable":
        return None if value is None else cast(inner[0], value)
    if short == "list":
        return GenericList([cast(inner[0], item) for item in items(value)], inner[0])
    if isinstance(value, PSObject) and value.type_name == kind:
        return value
    if kind in names.ENUMERATIONS:
        return _enumeration(value, kind)
    if kind in _MAKERS:
        return _MAKERS[kind](value, kind)
    if names.is_exception(kind) and isinstance(value, str):
        return exception(kind, value)
    raise NotModelled(f"a cast to [{name}]")


def _array(element: str, value: object) -> object:
    if value is None:
        return None
    if isinstance(value, TypedArray) and value.element == element:
        return value
    if isinstance(value, (bytes, bytearray)):
        value = [Byte(item) for item in value]
    if element == "System.Char" and isinstance(value, str) and not isinstance(value, Char):
        return TypedArray([Char(char) for char in value], element)
    found = [cast(element, item) for item in items(value)]
    return found if element == "System.Object" else TypedArray(found, element)


def _enumeration(value: object, kind: str) -> object:
    if isinstance(value, Enumeration) and value.type_name == kind:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return names.by_number(kind, int(value))
    if isinstance(value, str):
        found = names.member(kind, value) or names.flags(kind, value)
        if found:
            return found
        if "," in value or value.strip().isdigit() or not value.strip():
            raise NotModelled(f"the conversion of '{value}' to [{kind}]")
        prefix = [name for name in names.ENUMERATIONS[kind] if name.casefold().startswith(value.casefold())]
        if len(prefix) == 1:
            return names.member(kind, prefix[0])
        if prefix:
            raise NotModelled(f"the conversion of '{value}' to [{kind}], because several member names start with it")
        known = ", ".join(names.ENUMERATIONS[kind])
        message = (
            f'Cannot convert value "{value}" to type "{kind}". Error: "Unable to match the identifier name {value} '
            f'to a valid enumerator name. Specify one of the following enumerator names and try again:\n{known}"'
        )
        raise bad_cast(message, "SubstringDisambiguationEnumParseThrewAnException")
    raise NotModelled(f"the conversion of {net_type(value)} to [{kind}]")


def metadata_error(error: CmdletError) -> CmdletError:
    """Return the error for a value that does not match the type of a variable."""
    kind = "System.Management.Automation.ArgumentTransformationMetadataException"
    return failure(error.message, "RuntimeException", "MetadataError", kind)
