# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The conversion of objects to CLIXML for PSRP, with type names, properties and the results of ToString().

PowerShell serializes the output of a remote pipeline to a depth of 1: an object is sent with its properties, but an
object in a property is sent as text. Enumeration values are objects too; lists and dictionaries do not count as levels.
https://github.com/PowerShell/PowerShell/blob/master/src/System.Management.Automation/engine/serialization.cs
(WriteOneObject, HandleKnownContainerTypes, HandleComplexTypePSObject)
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from psrpcore import types as wire

from simulator.machine.conversion import net_type
from simulator.machine.objects import CUSTOM_OBJECT, Enumeration, ErrorRecord, NotModelled, PSObject, ScriptBlock
from simulator.machine.powershell.members.objects import ScriptMember
from simulator.machine.powershell.types.kinds import Char, Growing, Hashtable, Single, TypeValue, to_bytes
from simulator.machine.powershell.types.plain_text import to_text

DEPTH = 1
_INTEGERS: Mapping[str, Any] = {
    "System.Byte": wire.PSByte,
    "System.SByte": wire.PSSByte,
    "System.Int16": wire.PSInt16,
    "System.UInt16": wire.PSUInt16,
    "System.Int32": wire.PSInt,
    "System.UInt32": wire.PSUInt,
    "System.Int64": wire.PSInt64,
    "System.UInt64": wire.PSUInt64,
}
_COMPONENT = ("System.ComponentModel.Component", "System.MarshalByRefObject")
_FILE = ("System.IO.FileSystemInfo", "System.MarshalByRefObject")
# The base classes of a type below System.Object.
_BASES: Mapping[str, tuple[str, ...]] = {
    "System.ServiceProcess.ServiceController": _COMPONENT,
    "System.Diagnostics.Process": _COMPONENT,
    "System.IO.FileInfo": _FILE,
    "System.IO.DirectoryInfo": _FILE,
    "Microsoft.Win32.RegistryKey": ("System.MarshalByRefObject",),
    "System.Management.Automation.SwitchParameter": ("System.ValueType",),
    "System.Collections.DictionaryEntry": ("System.ValueType",),
    "System.RuntimeType": ("System.Reflection.TypeInfo", "System.Type", "System.Reflection.MemberInfo"),
}
# Properties that the provider and PowerShell's own types.ps1xml add to a .NET object. They are serialized separately.
_PROVIDER = frozenset(("PSPath", "PSParentPath", "PSChildName", "PSDrive", "PSProvider", "PSIsContainer", "Property"))
_ADDED: Mapping[str, frozenset[str]] = {
    "System.ServiceProcess.ServiceController": frozenset(("Name", "RequiredServices")),
    "System.IO.FileInfo": _PROVIDER | {"Mode", "BaseName", "VersionInfo", "Target", "LinkType"},
    "System.IO.DirectoryInfo": _PROVIDER | {"Mode", "BaseName", "Target", "LinkType"},
}
# A type for which types.ps1xml defines ToString, which returns the name.
_CONTROLLER = "System.ServiceProcess.ServiceController"


def to_wire(value: object, depth: int = DEPTH) -> Any:
    """Convert a value to an object that psrpcore serializes in the same way as PowerShell serializes the value.

    Args:
        depth: the depth to which the properties of objects are serialized.

    Raises:
        NotModelled: the simulator does not model the serialization of the value.
    """
    if value is None or isinstance(value, (bool, bytes, datetime, timedelta, Decimal)):
        return value
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return wire.PSSingle(value) if isinstance(value, Single) else wire.PSDouble(value)
    if isinstance(value, Char):
        return wire.PSChar(str(value))
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return _dictionary(value, depth)
    if isinstance(value, (list, tuple)):
        return _list(value, depth)
    return _object(value, depth)


def _integer(value: int) -> Any:
    kind = _INTEGERS[net_type(value)]
    return kind(int(value)) if kind.MinValue <= value <= kind.MaxValue else Decimal(int(value))


def _dictionary(value: dict[Any, object], depth: int) -> Any:
    items = wire.PSDict({to_wire(key, depth): to_wire(entry, depth) for key, entry in value.items()})
    name = net_type(value) if isinstance(value, Hashtable) or hasattr(value, "type_name") else ""
    if name and name != "System.Collections.Hashtable":
        items.PSObject.type_names = [name, "System.Object"]
    return items


def _list(value: list[object] | tuple[object, ...], depth: int) -> Any:
    if getattr(value, "element", "") == "System.Byte" and (data := to_bytes(list(value))) is not None:
        return data
    items = wire.PSList([to_wire(item, depth) for item in value])
    between = [] if isinstance(value, Growing) else ["System.Array"]
    name = net_type(value) if isinstance(value, list) else "System.Object[]"
    items.PSObject.type_names = [name, *between, "System.Object"]
    return items


def _object(value: object, depth: int) -> Any:
    if isinstance(value, ScriptBlock):
        return wire.PSScriptBlock(value.text)
    if isinstance(value, ErrorRecord):
        raise NotModelled("an error record in the output of a remote pipeline")
    if isinstance(value, PSObject) and (known := _simple(value)) is not None:
        return known
    if depth == 0:
        return _text(value)
    if isinstance(value, Enumeration):
        return _enumeration(value)
    return _properties(value, depth) if isinstance(value, PSObject) else to_text(value)


def _simple(value: PSObject) -> Any:
    """Convert an object whose type has its own CLIXML element, such as a GUID. Return None for other objects."""
    if value.type_name == "System.Guid":
        return wire.PSGuid(str(uuid.UUID(str(value.text or value.get("Guid")))))
    if value.type_name == "System.Version":
        return wire.PSVersion(to_text(value))
    if value.type_name == "System.Uri":
        return wire.PSUri(to_text(value))
    return None


def _text(value: object) -> str:
    if isinstance(value, PSObject) and value.type_name == _CONTROLLER:
        return to_text(value.get("Name"))
    return to_text(value)


def _enumeration(value: Enumeration) -> Any:
    """Convert an enumeration value to a member of a Python enumeration, from which psrpcore derives the type's name."""
    module, _, name = value.type_name.rpartition(".")
    # Created for each value, so that two equal values are not the same object in CLIXML.
    make: Any = enum.Enum
    return make(name, {value.name: value.number}, module=module)(value.number)


def _properties(value: PSObject, depth: int) -> Any:
    if any(isinstance(item, ScriptMember) for item in value.properties.values()):
        raise NotModelled("an object with script properties or script methods in the output of a remote pipeline")
    bag = value.type_name == CUSTOM_OBJECT or value.type_name.startswith("Selected.")
    found = wire.PSObject()
    meta: Any = found.PSObject
    meta.type_names = _type_names(value)
    added = _ADDED.get(value.type_name, _PROVIDER)
    for name, item in value.properties.items():
        if callable(item):
            continue
        listed = meta.extended_properties if bag or name in added else meta.adapted_properties
        listed.append(wire.PSNoteProperty(name, to_wire(item, depth - 1)))
    meta.to_string = None if bag else _text(value)
    return found


def _type_names(value: PSObject) -> list[str]:
    if isinstance(value, TypeValue):
        return ["System.RuntimeType", *_BASES["System.RuntimeType"], "System.Object"]
    if value.type_name.startswith("Selected."):
        return [value.type_name, CUSTOM_OBJECT, "System.Object"]
    bases = _BASES.get(value.type_name, ())
    if value.type_name.endswith("Exception") and value.type_name != "System.Exception":
        bases = ("System.Exception",)
    return list(dict.fromkeys([value.type_name, *bases, "System.Object"]))
