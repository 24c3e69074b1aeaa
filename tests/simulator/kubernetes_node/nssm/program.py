# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Simulate nssm.exe as a service program, which runs an application that cannot run as a service, and restarts it.

The application's settings are in the registry (`…\Services\NAME\Parameters`), no matter which program wrote them.
See https://nssm.cc/usage and nssm's README. An application that ends within AppThrottle (1500 ms) is restarted after a
delay, which doubles each time up to four minutes. `AppExit` has a default value, and optionally a value for each exit
code. The modelled values are Restart, Ignore and Exit. `commands.py` simulates the command line of nssm.exe.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.programs.log_file import ProgramLogFile
from simulator.machine.objects import ProcessEndedError, ProgramResult, RunningService, ServiceProgram
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.services import ROOT, Service, ServiceError
from simulator.machine.windows_paths import normalise

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

THROTTLE = 1500  # milliseconds
_LONGEST = 240.0  # seconds


def parameters(name: str) -> str:
    """Return the path of the registry key with nssm's parameters for a service."""
    return f"{ROOT}\\{name}\\Parameters"


def _pairs(value: object) -> dict[str, str]:
    found = [str(item).partition("=") for item in value] if isinstance(value, list) else []
    return {name: text for name, _, text in found if name}


class _Application:
    """The application that nssm runs for a service. Its settings are those in the registry when the service started."""

    def __init__(self, machine: Machine, service: Service) -> None:
        key, data = parameters(service.name), machine.registry.data
        base = {**machine.environment(), **service.environment}
        own = _pairs(data(key, "AppEnvironment"))
        self.environment = {**(own or base), **_pairs(data(key, "AppEnvironmentExtra"))}

        def text(name: str) -> str:
            return machine.expand(str(data(key, name, "") or ""))

        self.program, self.arguments = text("Application"), text("AppParameters")
        self.directory = text("AppDirectory") or self.program.rpartition("\\")[0] or "C:\\"
        throttle = data(key, "AppThrottle", THROTTLE)
        self.throttle = (throttle if isinstance(throttle, int) else THROTTLE) / 1000
        self.logs = {stream: text(name) for stream, name in (("stdout", "AppStdout"), ("stderr", "AppStderr"))}
        self.key = key


class _RunningNssm:
    """The processes of nssm and of the application that it runs."""

    def __init__(self, machine: Machine, service: Service) -> None:
        self._machine, self._service = machine, service
        self._application = _Application(machine, service)
        self._stop = threading.Event()
        self._ignored = False
        self.exit_code = 0
        self._check()
        self._logs = {path: ProgramLogFile(machine, path) for path in set(self._application.logs.values()) if path}
        self._thread = threading.Thread(
            target=machine.acting.carried(self._run), name=f"nssm-{service.name}-{machine.name}", daemon=True
        )
        self._thread.start()

    def _check(self) -> None:
        application = self._application
        if not application.program:
            raise ServiceError(2, "nssm: the service's Parameters registry key has no Application value")
        try:
            self._machine.programs.find(application.program, application.environment, application.directory)
        except ProgramNotFoundError as error:
            raise ServiceError(2, application.program) from error
        except NotExecutableError as error:
            raise ServiceError(193, application.program) from error

    @property
    def alive(self) -> bool:
        """Whether nssm is running. nssm keeps running while it waits before it restarts its application."""
        return self._ignored or self._thread.is_alive()

    def _run(self) -> None:
        delay = 0.0
        while not self._stop.is_set():
            begun = time.monotonic()
            result = self._once()
            if self._stop.is_set() or result is None:
                return
            self._machine.services.events.append(
                f"{self._service.name}: program {self._application.program} exited with return code {result.exit_code}"
            )
            action = self._action(result.exit_code)
            if action == "ignore":
                self._ignored = True
                return
            if action != "restart":
                self.exit_code = result.exit_code
                return
            scale = self._machine.settings.time_scale
            quick = time.monotonic() - begun < self._application.throttle * max(scale, 0.001)
            delay = min(_LONGEST, delay * 2 or 2.0) if quick else 0.0
            self._stop.wait(max(0.05, delay * scale))

    def _once(self) -> ProgramResult | None:
        application = self._application
        try:
            result = self._machine.programs.run(
                application.program,
                application.arguments,
                environment=application.environment,
                directory=application.directory,
                stop=self._stop,
                user=self._service.account,
            )
        except ProcessEndedError:
            return None
        except (ProgramNotFoundError, NotExecutableError) as error:
            result = ProgramResult(1, "", f"{error}\n")
        finally:
            # AppKillProcessTree: https://nssm.cc/usage
            self._machine.processes.kill_started(self._stop)
        for stream, text in (("stdout", result.stdout), ("stderr", result.stderr)):
            if text and application.logs[stream]:
                for line in text.splitlines():
                    self._logs[application.logs[stream]].write(line)
        return result

    def _action(self, code: int) -> str:
        data, key = self._machine.registry.data, f"{self._application.key}\\AppExit"
        found = data(key, str(code)) or data(key, "") or "Restart"
        return str(found).casefold()

    def stop(self) -> None:
        """End the application and then nssm."""
        self._ignored = False
        self._stop.set()
        self._thread.join(3.0)


class _NssmService:
    def start(self, machine: Machine, service: Service) -> RunningService:
        """Start nssm and the application."""
        return _RunningNssm(machine, service)


def executable(machine: Machine, name: str) -> str:
    """Return the path of the program that a service runs, or an empty string if the service does not exist.

    If the service runs nssm, this is the path of the application that nssm starts, not of nssm.exe.
    """
    service = machine.services.get(name)
    if service is None or not service.argv:
        return ""
    return normalise(str(machine.registry.data(parameters(name), "Application", "") or service.argv[0]))


SERVICES: Mapping[str, ServiceProgram] = {"nssm": _NssmService()}
