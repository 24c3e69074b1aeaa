# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Get-, Set-, New- and Remove-CimInstance cmdlets, and Invoke-CimMethod.

Sources: https://learn.microsoft.com/powershell/module/cimcmdlets/ and, for the error codes,
https://learn.microsoft.com/windows/win32/wmisdk/wmi-error-constants
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine import command_line
from simulator.machine.objects import Bound, Cmdlet, CmdletError, NotModelled, PSObject
from simulator.machine.processes import Process
from simulator.machine.programs import SYSTEM, NotExecutableError, ProgramNotFoundError
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.services import ServiceError
from simulator.windows.common import class_of, objects
from simulator.windows.wmi import page_file, wql
from simulator.windows.wmi.cim_classes import CLASSES

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_NAMES = {name.casefold(): name for name in CLASSES}


def _error(category: str, code: str, message: str) -> CmdletError:
    return CmdletError(category, f"HRESULT {code}", message, "Microsoft.Management.Infrastructure.CimException")


def _class(name: str) -> str:
    found = _NAMES.get(name.casefold())
    if found is None:
        if name.casefold().startswith(("msft_", "cim_", "win32_")):
            raise NotModelled(f"the CIM class {name}")
        raise _error("MetadataError", "0x80041010", "Invalid class ")
    return found


def _check_namespace(bound: Bound) -> None:
    namespace = bound.text("Namespace", "root/cimv2").replace("\\", "/").casefold()
    if namespace == "root/microsoft/windows/deviceguard" and bound.text("ClassName") == "Win32_DeviceGuard":
        return
    if namespace != "root/cimv2":
        raise NotModelled(f"the CIM namespace {bound.text('Namespace')}")


def _find(machine: Machine, bound: Bound) -> list[PSObject]:
    """Return the instances that match -ClassName and -Filter, or -Query."""
    _check_namespace(bound)
    try:
        if bound.get("Query"):
            query = wql.parse(bound.text("Query"))
        else:
            condition = wql.parse_condition(bound.text("Filter"))
            names = tuple(bound.texts("Property")) if bound.command.casefold() == "get-ciminstance" else ()
            query = wql.Query(bound.text("ClassName"), names, condition)
    except wql.WqlError as error:
        raise _error("InvalidArgument", "0x80041017", "Invalid query ") from error
    class_name = _class(query.class_name)
    found = [item for item in CLASSES[class_name](machine) if wql.holds(query.condition, item)]
    return [_only(item, query.names) for item in found]


def _only(item: PSObject, names: tuple[str, ...]) -> PSObject:
    """Return a copy of an object in which the properties that -Property does not select are null."""
    if not names or "*" in names:
        return item
    requested = {name.casefold() for name in names}
    kept = {name: value if name.casefold() in requested else None for name, value in item.properties.items()}
    return PSObject(item.type_name, kept, item.text)


def get_instance(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-CimInstance."""
    given = objects(bound, "InputObject")
    if given and not bound.get("ClassName") and not bound.get("Query"):
        return [_again(machine, item) for item in given]
    return _find(machine, bound)


def _key(item: PSObject) -> object:
    return item.get("Name") or item.get("DeviceID") or item.get("Handle") or item.get("LocalPath")


def _again(machine: Machine, item: PSObject) -> PSObject:
    """Return the current state of a given instance. Its key identifies the instance."""
    now = CLASSES[_class(class_of(item))](machine)
    found = next((other for other in now if _key(other) == _key(item)), None)
    if found is None:
        raise _error("ObjectNotFound", "0x80041002", "Not found ")
    return found


def _pairs(value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        return {str(name): item for name, item in value.items()}
    return dict(value.properties) if isinstance(value, PSObject) else {}


def set_instance(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-CimInstance."""
    changes = _pairs(bound.get("Property"))
    given = objects(bound, "InputObject") or (_find(machine, bound) if bound.get("Query") else [])
    changed = []
    for item in given:
        current = _again(machine, item)
        for name, value in changes.items():
            known = current.find(name)
            if known is None:
                raise _error("InvalidArgument", "0x80070057", f"Property not found: {name}")
            current.properties[known] = value
        if not bound.flag("WhatIf"):
            _write(machine, class_of(item), current, changes or dict(item.properties))
        changed.append(current)
    return changed if bound.flag("PassThru") else []


def _write(machine: Machine, class_name: str, item: PSObject, changes: Mapping[str, object]) -> None:
    names = {name.casefold() for name in changes}
    if class_name == "Win32_ComputerSystem" and "automaticmanagedpagefile" in names:
        page_file.make_automatic(machine, item.get("AutomaticManagedPagefile") is True)
    elif class_name == "Win32_PageFileSetting":
        requested = _page_file(item)
        others = [file for file in page_file.configured(machine) if file.path.casefold() != requested.path.casefold()]
        page_file.configure(machine, [*others, requested])
    else:
        raise _error("InvalidOperation", "0x80041024", "Provider is not capable of the attempted operation ")


def _page_file(item: PSObject) -> page_file.PageFile:
    sizes = [_number(item.get(name)) for name in ("InitialSize", "MaximumSize")]
    if sizes[0] > sizes[1]:
        raise _error("InvalidArgument", "0x8004102f", "Value out of range ")
    return page_file.PageFile(str(item.get("Name")), *sizes)


def _number(value: object) -> int:
    try:
        return int(str(value or 0))
    except ValueError as error:
        raise _error("InvalidArgument", "0x80041005", "Type mismatch ") from error


def new_instance(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-CimInstance for a page file. For other classes, only -ClientOnly is modelled."""
    name = bound.text("ClassName")
    properties = _pairs(bound.get("Property"))
    if bound.flag("ClientOnly"):
        return [PSObject(f"Microsoft.Management.Infrastructure.CimInstance#root/cimv2/{name}", properties, name)]
    if _class(name) != "Win32_PageFileSetting":
        raise _error("InvalidOperation", "0x80041024", "Provider is not capable of the attempted operation ")
    for size in ("InitialSize", "MaximumSize"):
        if any(key.casefold() == size.casefold() for key in properties):
            # PowerShell integers are Int32 and the property is UInt32. A new instance does not convert values.
            raise _error("InvalidArgument", "0x80041005", f'Type mismatch for property "{size}"')
    requested = _page_file(PSObject("", properties))
    existing = page_file.configured(machine)
    if any(file.path.casefold() == requested.path.casefold() for file in existing):
        raise _error("ResourceExists", "0x80041019", "Already exists ")
    if page_file.is_automatic(machine) or not machine.files.drive_exists(requested.path):
        raise _error("NotSpecified", "0x80041001", "Generic failure ")
    page_file.configure(machine, [*existing, requested])
    return [item for item in CLASSES["Win32_PageFileSetting"](machine) if item.get("Name") == requested.path]


def remove_instance(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Remove-CimInstance for a page file or a user's profile."""
    given = objects(bound, "InputObject") or (_find(machine, bound) if bound.get("Query") else [])
    for item in given:
        if class_of(item) == "Win32_UserProfile":
            machine.files.delete(str(_again(machine, item).get("LocalPath")))
            continue
        if class_of(item) != "Win32_PageFileSetting":
            raise _error("InvalidOperation", "0x80041024", "Provider is not capable of the attempted operation ")
        gone = str(_again(machine, item).get("Name")).casefold()
        page_file.configure(machine, [file for file in page_file.configured(machine) if file.path.casefold() != gone])
    return []


def invoke_method(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Invoke-CimMethod for methods of Win32_Process, Win32_Service and Win32_OperatingSystem."""
    method = bound.text("MethodName").casefold()
    arguments = _pairs(bound.get("Arguments"))
    given = objects(bound, "InputObject") or (_find(machine, bound) if bound.get("Query") else [])
    class_name = class_of(given[0]) if given else _class(bound.text("ClassName"))
    if (class_name, method) == ("Win32_Process", "create"):
        return [_create_process(machine, bound, str(arguments.get("CommandLine") or ""))]
    if class_name == "Win32_Service" and method in ("startservice", "stopservice"):
        return [_result(_service(machine, str(item.get("Name")), method)) for item in given]
    if class_name == "Win32_OperatingSystem" and method in ("reboot", "shutdown"):
        (machine.power.reboot if method == "reboot" else machine.power.shutdown)(0, "Win32_OperatingSystem")
        return [_result(0)]
    raise NotModelled(f"the method {bound.text('MethodName')} of {class_name}")


def _result(code: int, **more: object) -> PSObject:
    return PSObject(
        "Microsoft.Management.Infrastructure.CimMethodResult", {**more, "ReturnValue": code, "PSComputerName": None}
    )


def _service(machine: Machine, name: str, method: str) -> int:
    """Start or stop a service, and return the return value of StartService or StopService.

    Source: https://learn.microsoft.com/windows/win32/cimwin32prov/startservice-method-in-class-win32-service
    """
    codes = {1056: 10, 1058: 14, 1062: 5, 1051: 3, 1068: 15, 1075: 16, 1053: 7, 2: 9}
    try:
        (machine.services.start if method == "startservice" else machine.services.stop)(name)
    except ServiceError as error:
        return codes.get(error.code, 8)
    return 0


def _create_process(machine: Machine, bound: Bound, line: str) -> PSObject:
    """Start a program as the calling user, in the same logon session."""
    session = getattr(bound.session, "session", bound.session)
    user, logon = getattr(session, "user", SYSTEM), getattr(session, "logon", "")
    program, rest = command_line.program_and_rest(line, machine.files.is_file)
    try:
        machine.programs.find(program)
    except ProgramNotFoundError:
        return _result(9, ProcessId=None)
    except AccessDeniedError:
        return _result(2, ProcessId=None)
    except NotExecutableError:
        return _result(8, ProcessId=None)

    def work(process: Process) -> None:
        machine.programs.run(program, rest, stop=process.stop, user=user, logon=logon)

    return _result(0, ProcessId=machine.processes.detach(program.rpartition("\\")[2], user, work).id)


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-CimInstance": get_instance,
    "Set-CimInstance": set_instance,
    "New-CimInstance": new_instance,
    "Remove-CimInstance": remove_instance,
    "Invoke-CimMethod": invoke_method,
}
ON_BOOT = page_file.on_boot
