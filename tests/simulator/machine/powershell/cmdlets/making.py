# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cmdlets that create, inspect and store objects: New-Object, Add-Member, Get-Member and Tee-Object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from simulator.machine.machine import Machine
from simulator.machine.objects import (
    CUSTOM_OBJECT,
    Bound,
    Cmdlet,
    CmdletError,
    Enumeration,
    NotModelled,
    PSObject,
    ScriptBlock,
)
from simulator.machine.powershell import statics
from simulator.machine.powershell.cmdlets.common import given, host, terminating
from simulator.machine.powershell.members.objects import ScriptMember
from simulator.machine.powershell.types import names
from simulator.machine.powershell.types.convert import items
from simulator.machine.powershell.types.plain_text import to_text


def new_object(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-Object."""
    if "ComObject" in bound:
        raise NotModelled(f"New-Object -ComObject {bound.text('ComObject')}")
    script = host(bound)
    name = bound.text("TypeName")
    if names.is_missing(name):
        message = f"Cannot find type [{name}]: verify that the assembly containing this type is loaded."
        kind = "System.Management.Automation.PSArgumentException"
        raise terminating(CmdletError("InvalidType", "TypeNotFound", message, kind))
    try:
        made = statics.create(script.session, name, items(bound.get("ArgumentList")))
    except NotModelled:
        raise
    except CmdletError as error:
        raise terminating(error) from None
    properties = bound.get("Property")
    if properties is not None:
        if not isinstance(made, PSObject) or made.type_name != CUSTOM_OBJECT or not isinstance(properties, dict):
            raise NotModelled(f"New-Object {name} with -Property")
        made.properties.update({to_text(key): value for key, value in properties.items()})
    return [made]


def add_member(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Add-Member for note properties, script properties and script methods."""
    for item in given(bound):
        if not isinstance(item, PSObject):
            raise NotModelled("Add-Member to a value that is not an object with properties")
        added = _added(bound)
        for name, value in added.items():
            if item.find(name) is not None and not bound.flag("Force"):
                message = (
                    f'Cannot add a member with the name "{name}" because a member with that name already exists. '
                    "To overwrite the member anyway, add the Force parameter to your command."
                )
                kind = "System.InvalidOperationException"
                bound.write_error(CmdletError("InvalidOperation", "MemberAlreadyExists", message, kind))
                continue
            item.properties[item.find(name) or name] = value
        if bound.flag("PassThru"):
            yield item


def _added(bound: Bound) -> dict[str, object]:
    several = bound.get("NotePropertyMembers")
    if isinstance(several, dict):
        return {to_text(key): value for key, value in several.items()}
    if "NotePropertyName" in bound:
        return {bound.text("NotePropertyName"): bound.get("NotePropertyValue")}
    kind, value = bound.text("MemberType").casefold(), bound.get("Value")
    if kind == "noteproperty":
        return {bound.text("Name"): value}
    if kind in ("scriptproperty", "scriptmethod") and isinstance(value, ScriptBlock) and "SecondValue" not in bound:
        return {bound.text("Name"): ScriptMember(value, kind == "scriptmethod")}
    raise NotModelled(f"Add-Member {bound.text('MemberType')}")


def get_member(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Member for the note properties of PSCustomObjects."""
    if bound.text("MemberType").casefold() not in ("noteproperty", "properties", "property"):
        raise NotModelled("Get-Member for anything but properties")
    seen: set[str] = set()
    for item in given(bound):
        if not isinstance(item, PSObject) or item.type_name != CUSTOM_OBJECT:
            raise NotModelled("Get-Member for a value that is not a PSCustomObject")
        for name in sorted(item.properties, key=str.casefold):
            if name in seen or (bound.texts("Name") and name.casefold() not in map(str.casefold, bound.texts("Name"))):
                continue
            seen.add(name)
            kind = Enumeration("NoteProperty", 8, "System.Management.Automation.PSMemberTypes")
            properties: dict[str, object] = {"TypeName": CUSTOM_OBJECT, "Name": name, "MemberType": kind}
            yield PSObject("Microsoft.PowerShell.Commands.MemberDefinition", properties)


def tee(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Tee-Object with a variable."""
    if "Variable" not in bound:
        raise NotModelled("Tee-Object to a file")
    found = given(bound)
    host(bound).variables.set(bound.text("Variable"), found[0] if len(found) == 1 else list(found))
    return found


CMDLETS: Mapping[str, Cmdlet] = {
    "Add-Member": add_member,
    "Get-Member": get_member,
    "New-Object": new_object,
    "Tee-Object": tee,
}
