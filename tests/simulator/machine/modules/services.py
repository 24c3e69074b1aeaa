# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Ansible module win_service."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from simulator.machine.core.services import CMDLETS
from simulator.machine.machine import Machine
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.modules.service_settings import INTERACTIVE, MODES, ServiceSettings
from simulator.machine.objects import Bound, CmdletError
from simulator.machine.service_rules import ROOT
from simulator.machine.services import Service, ServiceError
from simulator.machine.session import Session

_OPTIONS = (
    "dependencies", "dependency_action", "description", "desktop_interact", "display_name", "error_control",
    "failure_actions", "failure_actions_on_non_crash_failure", "failure_command", "failure_reboot_msg",
    "failure_reset_period_sec", "force_dependent_services", "load_order_group", "name", "password", "path",
    "pre_shutdown_timeout_ms", "required_privileges", "service_type", "sid_info", "start_mode", "state",
    "update_password", "username",
)  # fmt: skip
# With only these options, a missing service is neither created nor an error. This does not apply to a
# dependency_action other than `set`, and to a desktop_interact of true.
_NO_SERVICE_NEEDED = ("name", "force_dependent_services", "update_password", "dependency_action", "desktop_interact")


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Create, change, start, stop or remove a service. If the task only names the service, only describe it."""
    arguments.modelled(*_OPTIONS)
    machine, write = session.machine, not arguments.check_mode
    service = _find(machine, arguments.text("name"))
    if arguments.text("state", default="").casefold() == "absent":
        return _remove(machine, arguments, service)
    if service is None and not _needs_service(arguments):
        return {"changed": False, "exists": False}
    created = service is None
    if service is None:
        service = _create(machine, arguments)
        if service is None:
            # In check mode, only the task's own options can be described.
            return {"changed": True, "exists": True, "name": arguments.text("name")}
    changed = created | _configure(machine, arguments, service, new=created)
    changed |= _bring(machine, arguments, service.name, write=write)
    found = machine.services.get(service.name)
    assert found is not None
    return {"changed": changed, **_describe(machine, found)}


def _find(machine: Machine, name: str) -> Service | None:
    """Return a service by its name or display name, as Get-ServiceFromName does, or None if it is missing."""
    found = machine.services.get(name)
    if found is not None:
        return found
    everything = (machine.services.get(each) for each in machine.services.names())
    return next((each for each in everything if each and each.display_name.casefold() == name.casefold()), None)


def _needs_service(arguments: ModuleArguments) -> bool:
    given = [name for name in _OPTIONS if name not in _NO_SERVICE_NEEDED and arguments.raw(name) is not None]
    other = arguments.text("dependency_action", default="set") != "set"
    return bool(given) or other or arguments.flag("desktop_interact")


def _cmdlet(machine: Machine, name: str, **values: object) -> None:
    """Run a cmdlet for win_service. The module fails at the cmdlet's first error.

    Raises:
        ArgumentError: the cmdlet fails.
    """
    bound = Bound(name, values)
    try:
        for _ in _objects(CMDLETS[name](machine, bound)):
            pass
    except CmdletError as error:
        raise _unhandled(error.message) from None
    if bound.errors:
        raise _unhandled(bound.errors[0].message)


def _objects(found: Iterable[object] | None) -> Iterable[object]:
    return found or ()


def _unhandled(message: str) -> ArgumentError:
    return ArgumentError(f"Unhandled exception while executing module: {message}")


def _changed_config(work: Callable[[], None], what: str) -> None:
    """Run an operation that win_service performs through SCManager.cs.

    Raises:
        ArgumentError: the operation fails.
    """
    try:
        work()
    except ServiceError as error:
        raise _unhandled(
            f"{what} ({error.text.rstrip('.')}, Win32ErrorCode {error.code} - 0x{error.code:08X})"
        ) from None


def _remove(machine: Machine, arguments: ModuleArguments, service: Service | None) -> dict[str, Any]:
    if service is None:
        return {"changed": False, "exists": False}
    name = service.name
    if not arguments.check_mode:
        _cmdlet(machine, "Stop-Service", Name=[name], Force=arguments.flag("force_dependent_services"))
        _changed_config(lambda: machine.services.delete(name), "Failed to delete service")
    return {"changed": True, "exists": False}


def _create(machine: Machine, arguments: ModuleArguments) -> Service | None:
    name, path = arguments.text("name"), arguments.raw("path")
    if path is None:
        raise ArgumentError(f"Service '{name}' is not installed, need to set 'path' to create a new service")
    if arguments.check_mode:
        return None
    _cmdlet(machine, "New-Service", Name=name, BinaryPathName=str(path))
    return machine.services.get(name)


def _configure(machine: Machine, arguments: ModuleArguments, service: Service, *, new: bool) -> bool:
    changes = ServiceSettings(machine, service, arguments).changes()
    if changes and not arguments.check_mode:
        _changed_config(lambda: machine.services.configure(service.name, **changes), "Failed to change service config")
    # A password cannot be compared.
    always = new or "ObjectName" in changes or arguments.text("update_password", default="on_create") == "always"
    return bool(changes) or (always and bool(arguments.raw("password")))


def _bring(machine: Machine, arguments: ModuleArguments, name: str, *, write: bool) -> bool:
    service = machine.services.get(name)
    assert service is not None
    requested, force = arguments.text("state", default="").casefold(), arguments.flag("force_dependent_services")
    if requested == "paused":
        # No simulated service accepts SERVICE_CONTROL_PAUSE: CanPauseAndContinue is false for all of them.
        raise ArgumentError(f"failed to pause service {name}: The service does not support pausing")
    if not requested or service.state == {"started": "Running", "stopped": "Stopped"}.get(requested):
        return False
    if write and requested == "started":
        _cmdlet(machine, "Start-Service", Name=[name])
    elif write and requested == "stopped":
        _cmdlet(machine, "Stop-Service", Name=[name], Force=force)
    elif write:
        _cmdlet(machine, "Restart-Service", Name=[name], Force=force)
    return True


def _describe(machine: Machine, service: Service) -> dict[str, Any]:
    modes = {numbers: name for name, numbers in MODES.items()} | {(0, 0): "boot", (1, 0): "system"}
    kind = machine.registry.data(f"{ROOT}\\{service.name}", "Type", 0x10)
    delayed = int(service.delayed and service.start == 2)
    return {
        "exists": True,
        "name": service.name,
        "display_name": service.display_name,
        "description": service.description,
        "path": service.image_path,
        "start_mode": modes[service.start, delayed],
        "state": {"Running": "running", "Stopped": "stopped"}.get(service.state, service.state.lower()),
        "username": service.account,
        "dependencies": service.dependencies,
        "depended_by": machine.services.dependants(service.name),
        "can_pause_and_continue": False,
        "desktop_interact": bool(isinstance(kind, int) and kind & INTERACTIVE),
    }
