# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""win_service."""

from __future__ import annotations

from typing import Any

from simulator.machine.modules.arguments import ArgumentError, Arguments
from simulator.machine.services import Service, ServiceError
from simulator.machine.session import Session

_MODES = {
    "auto": (2, 0),
    "delayed": (2, 1),
    "manual": (3, 0),
    "disabled": (4, 0),
}


def run(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Define, start, stop or remove a service; without a state only describe it."""
    name, services = arguments.text("name"), session.machine.services
    service = services.get(name)
    wanted = arguments.raw("state")
    changed = False
    try:
        if wanted == "absent":
            if service and not arguments.check_mode:
                if service.state == "Running":
                    services.stop(name, force=True)
                services.delete(name)
            return {"changed": service is not None, "exists": False}
        if service is None:
            if arguments.raw("path") is None:
                return {"changed": False, "exists": False} if wanted is None else _missing(name)
            changed = True
            if arguments.check_mode:
                return {"changed": True, "exists": True}
            services.create(name, arguments.text("path"), DisplayName=arguments.text("display_name", default=name))
        changed |= _configure(session, arguments, name)
        changed |= _bring(session, arguments, name, wanted)
    except ServiceError as error:
        message = (
            f"Unhandled exception while executing module: {error.text} ({error.code}, Win32ErrorCode {error.code})"
        )
        return {"changed": changed, "failed": True, "msg": message}
    found = services.get(name)
    assert found is not None
    return {"changed": changed, **_describe(session, found)}


def _missing(name: str) -> dict[str, Any]:
    return {"changed": False, "failed": True, "msg": f"the service '{name}' does not exist and no path was given"}


def _configure(session: Session, arguments: Arguments, name: str) -> bool:
    services = session.machine.services
    service = services.get(name)
    assert service is not None
    changes: dict[str, object] = {}
    if arguments.raw("start_mode") is not None:
        mode = arguments.text("start_mode")
        if mode not in _MODES:
            raise ArgumentError(f"value of start_mode must be one of: {', '.join(_MODES)}. Got no match for: {mode}")
        start, delayed = _MODES[mode]
        if (service.start, int(service.delayed)) != (start, delayed):
            changes |= {"Start": start, "DelayedAutostart": delayed}
    for argument, value, current in (
        ("path", "ImagePath", service.image_path),
        ("display_name", "DisplayName", service.display_name),
        ("description", "Description", service.description),
    ):
        if arguments.raw(argument) is not None and arguments.text(argument) != current:
            changes[value] = arguments.text(argument)
    dependencies = arguments.raw("dependencies")
    if dependencies is not None:
        names = [str(item) for item in (dependencies if isinstance(dependencies, list) else [dependencies])]
        if [item.casefold() for item in names] != [item.casefold() for item in service.dependencies]:
            changes["DependOnService"] = names
    if changes and not arguments.check_mode:
        services.configure(name, **changes)
    return bool(changes)


def _bring(session: Session, arguments: Arguments, name: str, wanted: object) -> bool:
    services = session.machine.services
    service = services.get(name)
    assert service is not None
    running = service.state == "Running"
    if wanted == "restarted":
        if not arguments.check_mode:
            if running:
                services.stop(name, force=arguments.flag("force_dependent_services"))
            services.start(name)
        return True
    if wanted not in ("started", "stopped") or running == (wanted == "started"):
        return False
    if not arguments.check_mode:
        if wanted == "started":
            services.start(name)
        else:
            services.stop(name, force=arguments.flag("force_dependent_services"))
    return True


def _describe(session: Session, service: Service) -> dict[str, Any]:
    modes = ("boot", "system", "delayed" if service.delayed else "auto", "manual", "disabled")
    return {
        "exists": True,
        "name": service.name,
        "display_name": service.display_name,
        "description": service.description,
        "path": service.image_path,
        "start_mode": modes[service.start],
        "state": {"Running": "running", "Stopped": "stopped"}.get(service.state, service.state.lower()),
        "username": service.account,
        "dependencies": service.dependencies,
        "depended_by": session.machine.services.dependants(service.name),
        "can_pause_and_continue": False,
        "desktop_interact": False,
    }
