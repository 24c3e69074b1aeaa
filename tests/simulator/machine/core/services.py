# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Get-, Start-, Stop-, Restart-, Set- and New-Service.

The error ids and messages come from Service.cs and ServiceResources.resx of PowerShell
(https://github.com/PowerShell/PowerShell/tree/master/src/Microsoft.PowerShell.Commands.Management).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from simulator.machine.objects import Bound, Cmdlet, CmdletError, Enumeration, PSObject, items
from simulator.machine.services import ROOT, Service, ServiceError
from simulator.machine.text import to_text
from simulator.machine.wildcards import any_match, has_wildcard

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

CONTROLLER = "System.ServiceProcess.ServiceController"
EXCEPTION = "Microsoft.PowerShell.Commands.ServiceCommandException"
_STATUS = {"Stopped": 1, "StartPending": 2, "StopPending": 3, "Running": 4}
_STATUS_TYPE = "System.ServiceProcess.ServiceControllerStatus"
_MODE_TYPE = "System.ServiceProcess.ServiceStartMode"
_TYPES = {
    1: "KernelDriver", 2: "FileSystemDriver", 4: "Adapter", 8: "RecognizerDriver", 16: "Win32OwnProcess",
    32: "Win32ShareProcess", 256: "InteractiveProcess",
}  # fmt: skip
MODES = {"boot": 0, "system": 1, "automatic": 2, "manual": 3, "disabled": 4}
# Errors of StartService itself. With any other code, the process started and then ended.
REFUSALS = frozenset({2, 3, 5, 193, 1053, 1055, 1056, 1057, 1058, 1059, 1060, 1068, 1069, 1072, 1075})


def controller(machine: Machine, service: Service, deep: bool = True) -> PSObject:
    """Return a service as a .NET ServiceController object.

    Args:
        deep: whether the object contains the services on which the service depends, and those that depend on it.
    """
    needed = [found for name in service.dependencies if (found := machine.services.get(name))] if deep else []
    above = machine.services.dependants(service.name) if deep else []
    dependants = [found for name in above if (found := machine.services.get(name))]
    running = service.state == "Running"
    required = [controller(machine, found, deep=False) for found in needed]
    return PSObject(
        CONTROLLER,
        {
            "Name": service.name,
            "RequiredServices": required,
            "CanPauseAndContinue": False,
            "CanShutdown": running,
            "CanStop": running,
            "DisplayName": service.display_name,
            "DependentServices": [controller(machine, found, deep=False) for found in dependants],
            "MachineName": ".",
            "ServiceName": service.name,
            "ServicesDependedOn": required,
            "ServiceHandle": None,
            "Status": Enumeration(service.state, _STATUS[service.state], _STATUS_TYPE),
            "ServiceType": _type(machine, service.name),
            "StartType": Enumeration(service.start_mode, service.start, _MODE_TYPE),
            "Site": None,
            "Container": None,
            "Refresh": lambda: None,
            "WaitForStatus": lambda *requested: _wait_for(machine, service.name, *requested),
        },
    )


def _wait_for(machine: Machine, name: str, requested: object, limit: object = None) -> None:
    """Simulate ServiceController.WaitForStatus.

    Raises:
        CmdletError: the service does not reach the status within the time limit.
    """
    end = time.monotonic() + (limit.total_seconds() if isinstance(limit, timedelta) else 600.0)
    while (service := machine.services.get(name)) and service.state.casefold() != to_text(requested).casefold():
        if time.monotonic() >= end:
            late = "Time out has expired and the operation has not been completed."
            message = f'Exception calling "WaitForStatus" with "2" argument(s): "{late}"'
            raise CmdletError("NotSpecified", "TimeoutException", message, "System.ServiceProcess.TimeoutException")
        time.sleep(0.05)


def _type(machine: Machine, name: str) -> Enumeration:
    number = machine.registry.data(f"{ROOT}\\{name}", "Type", 16)
    bits = number if isinstance(number, int) else 16
    names = [word for bit, word in _TYPES.items() if bits & bit]
    return Enumeration(", ".join(names), bits, "System.ServiceProcess.ServiceType")


def _label(service: Service) -> str:
    return f"{service.display_name} ({service.name})"


def _failure(category: str, error_id: str, message: str) -> CmdletError:
    return CmdletError(category, error_id, message, EXCEPTION)


def _missing(name: str, by: str = "service name") -> CmdletError:
    error_id = "NoServiceFoundForGivenName" if by == "service name" else "NoServiceFoundForGivenDisplayName"
    return _failure("ObjectNotFound", error_id, f"Cannot find any service with {by} '{name}'.")


def _given_names(bound: Bound) -> list[str] | None:
    """Return the service names in a cmdlet's parameters or pipeline input, or None if neither contains any."""
    if "Name" in bound:
        return bound.texts("Name")
    given = items(bound.get("InputObject")) or bound.pipeline
    if not given:
        return None
    return [to_text(item.get("Name")) if isinstance(item, PSObject) else to_text(item) for item in given]


def _selected(machine: Machine, bound: Bound) -> Iterator[Service]:
    """Yield the services named in a cmdlet's parameters or pipeline input, or all services if none is named.

    If a name without wildcards matches no service, write a non-terminating error.
    """
    everything = [found for name in machine.services.names() if (found := machine.services.get(name))]
    include, exclude = bound.texts("Include"), bound.texts("Exclude")
    seen: set[str] = set()
    for service in _matching(everything, bound):
        if service.name in seen or any_match(exclude, service.name):
            continue
        if include and not any_match(include, service.name):
            continue
        seen.add(service.name)
        yield service


def _matching(everything: list[Service], bound: Bound) -> Iterator[Service]:
    names = _given_names(bound)
    by_display = "DisplayName" in bound and names is None and bound.command != "Set-Service"
    if names is None and not by_display:
        yield from everything
        return
    for pattern in bound.texts("DisplayName") if by_display else names or []:
        text = {service.name: service.display_name if by_display else service.name for service in everything}
        found = [service for service in everything if any_match([pattern], text[service.name])]
        if not found and not has_wildcard(pattern):
            bound.write_error(_missing(pattern, "display name" if by_display else "service name"))
        yield from found


def _start(machine: Machine, bound: Bound, name: str) -> bool:
    service = machine.services.get(name)
    if service is None:
        bound.write_error(_missing(name))
        return False
    try:
        machine.services.start(name)
    except ServiceError as error:
        if error.code == 1056:
            return True
        label = _label(service)
        if error.code in REFUSALS:
            message = (
                f"Service '{label}' cannot be started due to the following error: "
                f"Cannot start service {service.name} on computer '.'."
            )
            bound.write_error(_failure("OpenError", "CouldNotStartService", message))
        else:
            bound.write_error(_failure("OpenError", "StartServiceFailed", f"Failed to start service '{label}'."))
        return False
    return True


def _stop(machine: Machine, bound: Bound, name: str, *, force: bool) -> bool:
    service = machine.services.get(name)
    if service is None:
        bound.write_error(_missing(name))
        return False
    try:
        machine.services.stop(name, force=force)
    except ServiceError as error:
        if error.code == 1062:
            return True
        label = _label(service)
        if error.code == 1051:
            message = (
                f"Cannot stop service '{label}' because it has dependent services. "
                "It can only be stopped if the Force flag is set."
            )
            bound.write_error(_failure("InvalidOperation", "ServiceHasDependentServices", message))
        elif error.code == 1053:
            # PowerShell has waited, and the service is still running.
            bound.write_error(_failure("OpenError", "StopServiceFailed", f"Service '{label}' stop failed."))
        else:
            message = (
                f"Service '{label}' cannot be stopped due to the following error: "
                f"Cannot stop {service.name} service on computer '.'."
            )
            bound.write_error(_failure("CloseError", "CouldNotStopService", message))
        return False
    return True


def _passed(machine: Machine, bound: Bound, name: str) -> Iterator[object]:
    service = machine.services.get(name)
    if bound.flag("PassThru") and service:
        yield controller(machine, service)


def get_service(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return the services with the given names or display names.

    With -RequiredServices, return the services on which these depend. With -DependentServices, return the services
    that depend on these.
    """
    for service in sorted(_selected(machine, bound), key=lambda item: item.name.casefold()):
        if bound.flag("DependentServices"):
            others = machine.services.dependants(service.name)
        elif bound.flag("RequiredServices"):
            others = service.dependencies
        else:
            yield controller(machine, service)
            continue
        yield from (controller(machine, found) for name in others if (found := machine.services.get(name)))


def start_service(machine: Machine, bound: Bound) -> Iterable[object]:
    """Start services. If a service is already running, do nothing."""
    for service in _selected(machine, bound):
        if _start(machine, bound, service.name):
            yield from _passed(machine, bound, service.name)


def stop_service(machine: Machine, bound: Bound) -> Iterable[object]:
    """Stop services. If a service is already stopped, do nothing."""
    for service in _selected(machine, bound):
        if _stop(machine, bound, service.name, force=bound.flag("Force")):
            yield from _passed(machine, bound, service.name)


def restart_service(machine: Machine, bound: Bound) -> Iterable[object]:
    """Stop and start services. With -Force, also restart running services that depend on these services."""
    for service in _selected(machine, bound):
        again = [service.name, *_running_above(machine, service.name)]
        if not _stop(machine, bound, service.name, force=bound.flag("Force")):
            continue
        for name in again:
            if _start(machine, bound, name):
                yield from _passed(machine, bound, name)


def _running_above(machine: Machine, name: str) -> list[str]:
    found: list[str] = []
    for above in machine.services.dependants(name):
        service = machine.services.get(above)
        if service and service.state == "Running" and above not in found:
            found += [above, *_running_above(machine, above)]
    return found


def set_service(machine: Machine, bound: Bound) -> Iterable[object]:
    """Change a service's configuration, and optionally start or stop it."""
    for service in _selected(machine, bound):
        entries: dict[str, object] = {}
        if "StartupType" in bound:
            # ChangeServiceConfig does not change whether an automatic start is delayed.
            entries["Start"] = MODES[bound.text("StartupType").casefold()]
        for parameter in ("DisplayName", "Description"):
            if parameter in bound:
                entries[parameter] = bound.text(parameter)
        try:
            machine.services.configure(service.name, **entries)
        except ServiceError as error:
            text = error.text.rstrip(".")
            message = f"Service '{_label(service)}' cannot be configured due to the following error: {text}"
            bound.write_error(_failure("PermissionDenied", "CouldNotSetService", message))
            continue
        status = bound.text("Status").casefold()
        if status == "running":
            _start(machine, bound, service.name)
        elif status == "stopped":
            _stop(machine, bound, service.name, force=False)
        yield from _passed(machine, bound, service.name)


def new_service(machine: Machine, bound: Bound) -> Iterable[object]:
    """Create a service."""
    name = bound.text("Name")
    entries: dict[str, object] = {
        "DisplayName": bound.text("DisplayName", name),
        "Start": MODES[bound.text("StartupType", "Automatic").casefold()],
    }
    if "DependsOn" in bound:
        entries["DependOnService"] = bound.texts("DependsOn")
    if "Description" in bound:
        entries["Description"] = bound.text("Description")
    credential = bound.get("Credential")
    if isinstance(credential, PSObject):
        entries["ObjectName"] = to_text(credential.get("UserName"))
    try:
        machine.services.create(name, bound.text("BinaryPathName"), **entries)
    except ServiceError as error:
        label = f"{entries['DisplayName']} ({name})"
        message = f"Service '{label}' cannot be created due to the following error: {error.text.rstrip('.')}"
        raise _failure("PermissionDenied", "CouldNotNewService", message) from None
    service = machine.services.get(name)
    assert service is not None
    yield controller(machine, service)


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-Service": get_service,
    "Start-Service": start_service,
    "Stop-Service": stop_service,
    "Restart-Service": restart_service,
    "Set-Service": set_service,
    "New-Service": new_service,
}
