# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate cmdlets for the properties of items: registry values, and properties of files.

Of a file's properties, only the modification date can be set in the simulator.
The error ids and conversions come from RegistryProvider.cs of PowerShell
(https://github.com/PowerShell/PowerShell/blob/master/src/System.Management.Automation/namespaces/RegistryProvider.cs).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from simulator.machine.conversion import ConversionError, convert
from simulator.machine.core import paths
from simulator.machine.core.item_objects import item, provider_properties
from simulator.machine.core.paths import ProviderItem
from simulator.machine.objects import CUSTOM_OBJECT, Bound, Cmdlet, CmdletError, NotModelled, PSObject, items
from simulator.machine.registry import KINDS, Value
from simulator.machine.rights import check
from simulator.machine.text import to_text
from simulator.machine.wildcards import has_wildcard, matches

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

IO = "System.IO.IOException"
ARGUMENT = "System.Management.Automation.PSArgumentException"
CAST = "System.Management.Automation.PSInvalidCastException"


def _missing(name: str, place: ProviderItem) -> CmdletError:
    where = paths.full(place)
    return CmdletError("InvalidArgument", ARGUMENT, f"Property {name} does not exist at path {where}.", ARGUMENT)


def _inner(name: str) -> str:
    """Return the name under which the registry stores a value, which is an empty string for `(default)`."""
    return "" if name.casefold() == "(default)" else name


def _read(machine: Machine, value: Value) -> object:
    return machine.expand(str(value.data)) if value.kind == "ExpandString" else value.data


def _shown(machine: Machine, place: ProviderItem, names: Iterable[str]) -> PSObject:
    """Return an object with the given values of a registry key and the properties that PowerShell adds."""
    found = {name or "(default)": _read(machine, value) for name, value in machine.registry.values(place.path).items()}
    requested = {name.casefold() for name in names}
    chosen = {name: value for name, value in found.items() if name.casefold() in requested}
    return PSObject(CUSTOM_OBJECT, {**chosen, **provider_properties(place)})


def get_item_property(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return all properties of items, or only those with the names in -Name."""
    for place in paths.selected(machine, bound):
        names = bound.texts("Name")
        if place.provider == "Registry":
            known = [name or "(default)" for name in machine.registry.values(place.path)]
            chosen = list(_named(bound, place, known, names)) if names else known
            if chosen:
                yield _shown(machine, place, chosen)
            continue
        whole = item(machine, place, environment=paths.environment(machine, bound))
        if not names:
            yield whole
            continue
        chosen = list(_named(bound, place, list(whole.properties), names))
        if chosen:
            properties = {name: whole[name] for name in chosen}
            yield PSObject(CUSTOM_OBJECT, {**properties, **provider_properties(place)})


def _named(bound: Bound, place: ProviderItem, known: list[str], names: list[str]) -> Iterator[str]:
    for pattern in names:
        found = [name for name in known if matches(pattern, name)]
        if not found and not has_wildcard(pattern):
            bound.write_error(_missing(pattern, place))
        yield from found


def get_item_property_value(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return the values of the properties with the names in -Name, without the properties' names."""
    for found in get_item_property(machine, bound):
        assert isinstance(found, PSObject)
        for name in bound.texts("Name"):
            if found.find(name):
                yield found[name]


def _to_kind(value: object, kind: str) -> object:
    """Convert a value to a registry type.

    Raises:
        ConversionError: PowerShell cannot convert the value.
    """
    if kind in ("String", "ExpandString"):
        return to_text(value)
    if kind == "MultiString":
        return [to_text(each) for each in items(value)]
    if kind in ("Binary", "None"):
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        bytes_given = convert(items(value), "Byte[]")
        assert isinstance(bytes_given, list)
        return bytes(bytes_given)
    bits = 32 if kind == "DWord" else 64
    try:
        number = convert(value, f"Int{bits}")
    except ConversionError as error:
        try:
            number = convert(value, f"UInt{bits}")
        except ConversionError:
            raise error from None
    assert isinstance(number, int)
    return number % (1 << bits)


def _kind_of(value: object) -> str:
    """Return the registry type that .NET chooses for a value.

    See https://learn.microsoft.com/dotnet/api/microsoft.win32.registrykey.setvalue.
    """
    if isinstance(value, (bytes, bytearray)):
        return "Binary"
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return "MultiString"
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return "DWord" if is_number and isinstance(value, int) and -(2**31) <= value < 2**31 else "String"


def _given_kind(text: str) -> str | None:
    """Return the registry type for the text of -PropertyType or -Type, or None if the text is empty or `Unknown`."""
    if not text or text.casefold() == "unknown":
        return None
    for kind in KINDS:
        if kind.casefold() == text.casefold():
            return kind
    message = (
        f'Cannot bind parameter "Type". Cannot convert value "{text}" to type "Microsoft.Win32.RegistryValueKind" '
        "due to enumeration values that are not valid. Specify one of the following enumeration values and try again. "
        'The possible enumeration values are "String, ExpandString, Binary, DWord, MultiString, QWord, Unknown".'
    )
    raise CmdletError("InvalidArgument", CAST, message, "System.ArgumentException")


def _write(machine: Machine, place: ProviderItem, name: str, value: object, kind: str) -> None:
    try:
        data = _to_kind(value, kind)
    except ConversionError as error:
        raise CmdletError("WriteError", CAST, str(error), CAST) from None
    machine.registry.set(place.path, _inner(name), data, kind)


def new_item_property(machine: Machine, bound: Bound) -> Iterable[object]:
    """Create a registry value. Replacing an existing value requires -Force."""
    name, value = bound.text("Name"), bound.get("Value")
    kind = _given_kind(bound.text("PropertyType"))
    for place in paths.selected(machine, bound):
        if place.provider != "Registry":
            interface = "IDynamicPropertyCmdletProvider"
            message = f"Cannot use interface. The {interface} interface is not implemented by this provider."
            no = "System.Management.Automation.PSNotSupportedException"
            raise CmdletError("NotImplemented", "NotSupported", message, no)
        if machine.registry.get(place.path, _inner(name)) is not None and not bound.flag("Force"):
            bound.write_error(CmdletError("ResourceExists", IO, "The property already exists.", IO))
            continue
        # With -Force the new value gets its own type; RegSetValueEx keeps the capitalization of the existing name.
        _write(machine, place, name, value, kind or _kind_of(value))
        yield _shown(machine, place, [name])


def set_item_property(machine: Machine, bound: Bound) -> Iterable[object]:
    """Set a registry value or the modification date of a file. Without -Type, an existing value keeps its type."""
    given = bound.get("InputObject")
    pairs: dict[str, object] = {bound.text("Name"): bound.get("Value")}
    if isinstance(given, PSObject):
        own = {"pspath", "psparentpath", "pschildname", "psdrive", "psprovider", "psiscontainer"}
        pairs = {name: value for name, value in given.properties.items() if name.casefold() not in own}
    kind = _given_kind(to_text(bound.get("Type")))
    for place in paths.selected(machine, bound):
        for name, value in pairs.items():
            if place.provider == "Registry":
                old = machine.registry.get(place.path, _inner(name))
                _write(machine, place, name, value, kind or (old.kind if old else _kind_of(value)))
            else:
                _set_of_file(machine, place, name, value)
        if bound.flag("PassThru"):
            yield _shown(machine, place, pairs) if place.provider == "Registry" else item(machine, place)


def _set_of_file(machine: Machine, place: ProviderItem, name: str, value: object) -> None:
    if name.casefold() in ("lastwritetime", "lastwritetimeutc"):
        moment = convert(value, "DateTime")
        assert isinstance(moment, datetime)
        machine.files.require(place.path, check.WRITE_ATTRIBUTES)
        os.utime(machine.files.real(place.path), (moment.timestamp(), moment.timestamp()))
        return
    known = item(machine, place).find(name)
    if known is None:
        raise _missing(name, place)
    raise NotModelled(f"setting the property {known} of a file")


def remove_item_property(machine: Machine, bound: Bound) -> Iterable[object]:
    """Remove registry values."""
    for place in paths.selected(machine, bound):
        if place.provider != "Registry":
            raise NotModelled("removing properties of files")
        known = [name or "(default)" for name in machine.registry.values(place.path)]
        for name in list(_named(bound, place, known, bound.texts("Name"))):
            machine.registry.delete(place.path, _inner(name))
    return []


def rename_item_property(machine: Machine, bound: Bound) -> Iterable[object]:
    """Rename a registry value."""
    name, new = bound.text("Name"), bound.text("NewName")
    for place in paths.selected(machine, bound):
        value = machine.registry.get(place.path, _inner(name)) if place.provider == "Registry" else None
        if value is None:
            bound.write_error(_missing(name, place))
            continue
        machine.registry.delete(place.path, _inner(name))
        machine.registry.set(place.path, _inner(new), value.data, value.kind)
        if bound.flag("PassThru"):
            yield _shown(machine, place, [new])


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-ItemProperty": get_item_property,
    "Get-ItemPropertyValue": get_item_property_value,
    "New-ItemProperty": new_item_property,
    "Set-ItemProperty": set_item_property,
    "Remove-ItemProperty": remove_item_property,
    "Rename-ItemProperty": rename_item_property,
}
