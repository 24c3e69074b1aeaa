# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The service control manager: configuration in the registry, processes, dependencies, recovery."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simulator.machine import service_rules, service_startup
from simulator.machine.failure_actions import failure_action, make_failure_actions
from simulator.machine.objects import RunningService, ServiceProgram
from simulator.machine.processes import Processes
from simulator.machine.registry import Registry, Value
from simulator.machine.rights import check
from simulator.machine.service_errors import ERRORS, ServiceError
from simulator.machine.service_parts import HungServices, Resolved, Service, ServiceRuntime
from simulator.machine.service_rules import ROOT
from simulator.machine.windows_paths import normalise

__all__ = [
    "ERRORS",
    "ROOT",
    "Resolved",
    "Service",
    "ServiceError",
    "Services",
    "failure_action",
    "make_failure_actions",
]

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

START = {"boot": 0, "system": 1, "auto": 2, "demand": 3, "disabled": 4}


class Services:
    """The service control manager of one machine.

    Args:
        registry, processes: the machine's registry and processes.
        resolve: a function that finds the program for a service's name and command line.
        expand: a function that expands the machine's `%NAME%` variables.
        time_scale: the number of real seconds per simulated second of recovery delays.
    """

    def __init__(
        self,
        registry: Registry,
        processes: Processes,
        resolve: Callable[[str, str], Resolved],
        expand: Callable[[str], str],
        time_scale: float,
    ) -> None:
        self._registry = registry
        self._processes = processes
        self._resolve = resolve
        self._expand = expand
        self._time_scale = time_scale
        self._runtime: dict[str, ServiceRuntime] = {}
        self._lock = threading.RLock()
        self._watcher: threading.Event | None = None
        self.machine: Machine
        self.events: list[str] = []
        self.started: list[str] = []
        """The names of the services that have started since the last boot, in the order in which they started."""
        self.first_at_boot: Sequence[str] = ()
        """Services that start first in their load ordering group, or first among services without a group."""

    def names(self) -> list[str]:
        """Return the sorted names of all services, except the drivers that are part of a new Windows installation."""
        found = self._registry.subkeys(ROOT)
        return sorted((name for name in found if self._registry.get(f"{ROOT}\\{name}", "ImagePath")), key=str.casefold)

    def exists(self, name: str) -> bool:
        """Return whether a service with this name exists."""
        return self._registry.get(f"{ROOT}\\{name}", "ImagePath") is not None

    def get(self, name: str) -> Service | None:
        """Return a service, or None if it does not exist."""
        key = f"{ROOT}\\{name}"
        image = self._registry.get(key, "ImagePath")
        if image is None:
            return None
        data = self._registry.data
        own = next((known for known in self._registry.subkeys(ROOT) if known.casefold() == name.casefold()), name)
        runtime = self._runtime.get(name.casefold(), ServiceRuntime())
        command_line = self._expand(str(image.data))
        environment = data(key, "Environment", [])
        pairs = [str(item).partition("=") for item in environment] if isinstance(environment, list) else []
        depends = data(key, "DependOnService", [])
        return Service(
            name=own,
            display_name=str(data(key, "DisplayName", own)),
            description=str(data(key, "Description", "")),
            image_path=str(image.data),
            command_line=command_line,
            argv=self._resolve(own, command_line).argv,
            start=_number(data(key, "Start", 3)),
            delayed=bool(_number(data(key, "DelayedAutostart", 0))),
            account=str(data(key, "ObjectName", "LocalSystem")),
            dependencies=[str(item) for item in depends] if isinstance(depends, list) else [],
            environment={before: after for before, _, after in pairs if before},
            state=runtime.state,
            process_id=runtime.process.id if runtime.process and runtime.state == "Running" else 0,
            exit_code=runtime.exit_code,
        )

    def create(self, name: str, image_path: str, **entries: object) -> None:
        """Create a service. `entries` are its registry values, such as `Start`, `DisplayName` or `ObjectName`.

        Raises:
            ServiceError: with code 5 (denied), 1072 (being deleted) or 1073 (exists), or from `service_rules.check`.
        """
        with self._changing():
            if self.exists(name):
                raise ServiceError(1072 if self._state(name).deleted else 1073)
            service_rules.check(self.machine, name, entries)
            self._registry.write(
                f"{ROOT}\\{name}",
                {
                    "Type": 0x10,
                    "Start": 3,
                    "ErrorControl": 1,
                    "ImagePath": Value(image_path, "ExpandString"),
                    "ObjectName": "LocalSystem",
                    **entries,
                },
            )
            self._runtime[name.casefold()] = ServiceRuntime()

    def configure(self, name: str, **entries: object) -> None:
        """Change values in a service's configuration; None removes a value.

        Raises:
            ServiceError: with code 5, 87, 1057, 1059, 1060 or 1072; `ERRORS` contains their meanings.
        """
        with self._changing():
            self._require(name)
            service_rules.check(self.machine, name, entries)
            for value, data in entries.items():
                if data is None:
                    self._registry.delete(f"{ROOT}\\{name}", value)
                else:
                    kept = Value(data, "ExpandString") if value == "ImagePath" else data
                    self._registry.write(f"{ROOT}\\{name}", {value: kept})

    def delete(self, name: str) -> None:
        """Delete a service, or mark a running one for deletion. Raise ServiceError (5, 1060 or 1072) if this fails."""
        with self._changing():
            self._require(name)
            if self._state(name).state == "Running":
                self._state(name).deleted = True
            else:
                self._forget(name)

    def start(self, name: str) -> None:
        """Start a service after its dependencies, and wait until it is running.

        Raises:
            ServiceError: with code 2, 5, 193, 1053, 1056, 1058, 1059, 1060, 1068, 1072 or 1075, or the program's error.
        """
        with self._changing():
            self._require(name)
            self._start(name, ())

    def stop(self, name: str, *, force: bool = False) -> None:
        """Stop a service, even if it is marked for deletion. `force` first stops the services that depend on it.

        Raises:
            ServiceError: with code 5, 1051, 1060 or 1062, or with 1053 if the service does not respond.
        """
        with self._changing():
            self._require(name, may_be_deleted=True)
            runtime = self._state(name)
            if runtime.state != "Running":
                raise ServiceError(1062)
            for dependant in self.dependants(name):
                if self._state(dependant).state == "Running":
                    if not force:
                        raise ServiceError(1051)
                    self.stop(dependant, force=True)
            self._end(name, runtime)

    def dependants(self, name: str) -> list[str]:
        """Return the names of the services that depend directly on a service."""
        requested = name.casefold()
        found: list[str] = []
        for other in self.names():
            depends = self._registry.data(f"{ROOT}\\{other}", "DependOnService", [])
            if isinstance(depends, list) and requested in (str(item).casefold() for item in depends):
                found.append(other)
        return found

    def crash(self, name: str) -> None:
        """Crash a service, and run its recovery action. Raise ServiceError (1062) if the service is not running."""
        with self._lock:
            runtime = self._state(name)
            if runtime.state != "Running" or runtime.running is None:
                raise ServiceError(1062)
            runtime.running.stop()
            self._crashed(name, runtime)

    def boot(self) -> None:
        """Start the automatic services, and later the delayed ones. Log failures, and continue with the others."""
        with self._lock:
            self._runtime = {name: ServiceRuntime() for name in self._runtime}
            self.started.clear()
            at_boot, delayed = service_startup.automatic(self.machine, self.first_at_boot)
            for name in at_boot:
                self._try_to_start(name)
            halted = self._watch()
        if delayed:
            service_startup.start_later(delayed, self._try_to_start, halted, self._time_scale)

    def _try_to_start(self, name: str, path: tuple[str, ...] = ()) -> bool:
        """Start a service unless it is running, and log a failure. Return whether the service is running."""
        with self._lock:
            if self.exists(name) and self._state(name).state != "Running":
                try:
                    self._start(name, path)
                except ServiceError as error:
                    self.events.append(f"The {name} service failed to start: {error}")
            return self._state(name).state == "Running"

    def halt(self) -> None:
        """Stop all services, as a shutdown does."""
        if self._watcher:
            self._watcher.set()
        with self._lock:
            for name, runtime in list(self._runtime.items()):
                if runtime.state == "Running":
                    self._end(name, runtime)

    def _start(self, name: str, path: tuple[str, ...]) -> None:
        runtime = self._state(name)
        if runtime.state == "Running":
            raise ServiceError(1056)
        if runtime.deleted:
            raise ServiceError(1072)
        service = self.get(name)
        if service is None:
            raise ServiceError(1060)
        if service.start == 4:
            raise ServiceError(1058)
        if name.casefold() in path:
            raise ServiceError(1059)
        for needed in service.dependencies:
            if not self.exists(needed):
                raise ServiceError(1075, needed)
            if self._state(needed).state != "Running":
                try:
                    self._start(needed, (*path, name.casefold()))
                except ServiceError as error:
                    raise ServiceError(1068, f"{needed}: {error}") from error
        for group in service_startup.needed_groups(self.machine, name):
            members = service_startup.members(self.machine, group)
            running = [self._try_to_start(member, (*path, name.casefold())) for member in members]
            if not any(running):
                raise ServiceError(1068, f"group {group}")
        self._launch(service, runtime)

    def _launch(self, service: Service, runtime: ServiceRuntime) -> None:
        found = self._resolve(service.name, service.command_line)
        if found.error:
            self.events.append(f"The {service.name} service failed to start: {ERRORS.get(found.error)}")
            raise ServiceError(found.error, found.path)
        if found.program is None or self._hangs(service.name):
            # The program runs, but does not report to the service control manager.
            raise ServiceError(1053, found.path)
        runtime.state = "StartPending"
        image = normalise(found.path)
        runtime.process = self._processes.begin(image.rpartition("\\")[2], service.account, image=image)
        try:
            with self.machine.acting.as_account(service.account):
                runtime.running = self._run(found, found.program, service)
        except BaseException as error:
            self._processes.end(runtime.process)
            runtime.state = "Stopped"
            runtime.exit_code = error.code if isinstance(error, ServiceError) else 1067
            if isinstance(error, ServiceError):
                self.events.append(f"The {service.name} service failed to start: {error}")
                self._recover(service.name, runtime)
            raise
        runtime.exit_code = 0
        runtime.state = "Running"
        self.started.append(service.name)

    def _run(self, found: Resolved, program: ServiceProgram, service: Service) -> RunningService:
        """Start a program. Raise ServiceError 5 if it may not be executed, or 1053 if a file access is denied."""
        try:
            self.machine.files.require(found.path, check.EXECUTE)
        except PermissionError:
            raise ServiceError(5, found.path) from None
        try:
            return program.start(self.machine, service)
        except PermissionError as error:
            raise ServiceError(1053, str(error)) from error

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Lock the services for an operation. Raise ServiceError (5) unless the caller is SYSTEM or an administrator.

        Source: https://learn.microsoft.com/windows/win32/services/service-security-and-access-rights
        """
        token = self.machine.acting.token
        if token is not None and not token.administrative:
            raise ServiceError(5)
        # The service control manager itself writes to the registry, so the caller's rights do not matter.
        with self._lock, self.machine.acting.as_windows():
            yield

    def _hangs(self, name: str) -> bool:
        return name.casefold() in self.machine.part(HungServices).names

    def _end(self, name: str, runtime: ServiceRuntime) -> None:
        running, process = runtime.running, runtime.process
        runtime.state = "StopPending"
        runtime.running = runtime.process = None
        if running:
            try:
                running.stop()
            except ServiceError:
                # The service did not respond, and keeps running.
                runtime.state, runtime.running, runtime.process = "Running", running, process
                raise
        if process:
            self._processes.kill(process)
        runtime.state = "Stopped"
        runtime.exit_code = 0
        if runtime.deleted:
            self._forget(name)

    def _watch(self) -> threading.Event:
        """Start watching for services whose process ends by itself. Return an event that the next shutdown sets."""
        stop = threading.Event()
        self._watcher = stop

        def watch() -> None:
            while not stop.wait(0.1):
                with self._lock:
                    for name, runtime in list(self._runtime.items()):
                        if runtime.state == "Running" and runtime.running and not runtime.running.alive:
                            self._crashed(name, runtime)

        threading.Thread(target=watch, name="service-watcher", daemon=True).start()
        return stop

    def _crashed(self, name: str, runtime: ServiceRuntime) -> None:
        code = runtime.running.exit_code if runtime.running else 0
        if runtime.process:
            self._processes.end(runtime.process)
        runtime.state, runtime.running, runtime.process = "Stopped", None, None
        runtime.exit_code = 1067
        runtime.failures += 1
        self.events.append(f"The {name} service terminated unexpectedly (exit code {code}), time {runtime.failures}.")
        if runtime.deleted:
            self._forget(name)
        else:
            self._recover(name, runtime)

    def _recover(self, name: str, runtime: ServiceRuntime) -> None:
        """Restart a service if its FailureActions request a restart after this failure. Other actions are ignored."""
        value = self._registry.data(f"{ROOT}\\{name}", "FailureActions")
        action, delay = failure_action(value, max(0, runtime.failures - 1))
        watcher = self._watcher
        if action != "restart" or runtime.failures == 0 or watcher is None:
            return

        def restart() -> None:
            if watcher.wait(max(0.05, delay / 1000 * self._time_scale)):
                return
            with self._lock:
                if self._state(name).state == "Stopped" and self.exists(name) and not watcher.is_set():
                    try:
                        self._start(name, ())
                    except ServiceError:
                        runtime.failures += 1

        threading.Thread(target=restart, name=f"recovery-{name}", daemon=True).start()

    def _require(self, name: str, *, may_be_deleted: bool = False) -> None:
        if not self.exists(name):
            raise ServiceError(1060)
        if self._state(name).deleted and not may_be_deleted:
            raise ServiceError(1072)

    def _state(self, name: str) -> ServiceRuntime:
        return self._runtime.setdefault(name.casefold(), ServiceRuntime())

    def _forget(self, name: str) -> None:
        self._registry.delete_key(f"{ROOT}\\{name}")
        self._runtime.pop(name.casefold(), None)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
