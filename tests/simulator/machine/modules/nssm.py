# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the win_nssm module of community.windows, which configures services by calling an installed nssm.exe."""

from __future__ import annotations

from typing import Any

from simulator.machine import command_line
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.modules.commands import not_started
from simulator.machine.objects import NotModelled
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.session import Session

_START = {
    "auto": "SERVICE_AUTO_START",
    "delayed": "SERVICE_DELAYED_AUTO_START",
    "manual": "SERVICE_DEMAND_START",
    "disabled": "SERVICE_DISABLED",
}
_STATES = ("present", "absent", "started", "stopped", "restarted")
# What the module always sets: log files are overwritten, and rotated at a restart if they are a day old.
_ROTATION = {
    "AppStdoutCreationDisposition": "2",
    "AppStderrCreationDisposition": "2",
    "AppRotateFiles": "1",
    "AppRotateSeconds": "86400",
}


class _Failed(Exception):
    """A failure of nssm.exe. `answer` is the module's result."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer["msg"])
        self.answer = answer


class _Nssm:
    """One run of win_nssm: the path of nssm.exe, the service, and the result so far."""

    def __init__(self, session: Session, arguments: ModuleArguments) -> None:
        self._session = session
        self._arguments = arguments
        self.name = arguments.text("name")
        self._program = arguments.path(session, "executable", default="nssm.exe")
        self.answer: dict[str, Any] = {"changed": False}

    @property
    def exists(self) -> bool:
        """Whether the service exists."""
        return self._session.machine.services.exists(self.name)

    def change(self, what: str) -> bool:
        """Record a change, and return whether to make it. In check mode, no change is made."""
        self.answer |= {"changed": True, "changed_by": what}
        return not self._arguments.check_mode

    def run(self, failed: str, *words: str) -> str:
        """Run nssm.exe and return its output.

        Raises:
            _Failed: nssm.exe fails.
        """
        line = command_line.join([self._program, *words])
        try:
            result = self._session.run_program(self._program, list(words))
        except (ProgramNotFoundError, NotExecutableError) as error:
            message = f"Unhandled exception while executing module: {not_started(self._program, error)}"
            raise _Failed({"changed": False, "failed": True, "msg": message}) from None
        if result.exit_code:
            log = {"nssm_error_cmd": line, "nssm_error_log": result.stderr, "failed": True, "msg": failed}
            raise _Failed(self.answer | log)
        return result.stdout.replace("\0", "")

    def update(self, parameter: str, requested: list[str] | None) -> None:
        """Set a service parameter if its value differs. An empty list resets the parameter, and None has no effect."""
        if requested is None:
            return
        values = [value for value in requested if value]
        of = f'{parameter} for service "{self.name}"'
        found = self.run(f"Error retrieving {of}", "get", self.name, parameter)
        now = [line for line in found.splitlines() if line]
        if sorted(value.casefold() for value in now) == sorted(value.casefold() for value in values):
            return
        if self.change(parameter):
            command = ["set", self.name, parameter, *values] if values else ["reset", self.name, parameter]
            self.run(f"Error setting {of}", *command)


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Create, change, start, stop or remove a service (win_nssm)."""
    state = arguments.text("state", default="present")
    if state not in _STATES:
        known = ",".join(_STATES)
        raise ArgumentError(f"Get-AnsibleParam: Argument state needs to be one of {known} but was {state}.")
    nssm = _Nssm(session, arguments)
    try:
        if state == "absent":
            _remove(session, nssm)
        else:
            _define(session, arguments, nssm)
            if nssm.exists:
                _configure(session, arguments, nssm)
                _bring(nssm, state)
    except _Failed as error:
        return error.answer
    return nssm.answer


def _remove(session: Session, nssm: _Nssm) -> None:
    service = session.machine.services.get(nssm.name)
    if service is None or not nssm.change("remove_service"):
        return
    if service.state != "Stopped":
        nssm.run(f'Error stopping service "{nssm.name}"', "stop", nssm.name)
    nssm.run(f'Error removing service "{nssm.name}"', "remove", nssm.name, "confirm")


def _application(session: Session, arguments: ModuleArguments) -> str:
    if arguments.raw("application") is None:
        raise ArgumentError("The application parameter must be defined when the state is not absent.")
    application = arguments.path(session, "application")
    if not session.machine.files.is_file(application):
        raise ArgumentError(f'The application specified "{application}" does not exist on the host.')
    if arguments.raw("username") is not None or arguments.raw("user") is not None:
        raise NotModelled("win_nssm's option username")
    return application


def _define(session: Session, arguments: ModuleArguments, nssm: _Nssm) -> None:
    application = _application(session, arguments)
    if not nssm.exists and nssm.change("install_service"):
        nssm.run(f'Error installing service "{nssm.name}"', "install", nssm.name, application)


def _configure(session: Session, arguments: ModuleArguments, nssm: _Nssm) -> None:
    application = _application(session, arguments)

    def given(*names: str) -> list[str] | None:
        present = any(arguments.raw(name) is not None for name in names)
        return [arguments.text(*names)] if present else None

    def path(*names: str, default: str | None = None) -> list[str] | None:
        present = default is not None or any(arguments.raw(name) is not None for name in names)
        return [arguments.path(session, *names, default=default)] if present else None

    nssm.update("Application", [application])
    nssm.update("DisplayName", given("display_name"))
    nssm.update("Description", given("description"))
    folder = application.rpartition("\\")[0]
    nssm.update("AppDirectory", path("working_directory", "app_directory", "chdir", default=folder))
    _parameters(arguments, nssm)
    nssm.update("AppStdout", path("stdout_file"))
    nssm.update("AppStderr", path("stderr_file"))
    environment = arguments.raw("app_environment")
    if environment is not None:
        nssm.update("AppEnvironmentExtra", [f"{name}={value}" for name, value in environment.items()])
    for name, value in _ROTATION.items():
        nssm.update(name, [value])
    nssm.update("AppRotateOnline", [arguments.text("app_rotate_online", default="0")])
    nssm.update("AppRotateBytes", [arguments.text("app_rotate_bytes", default="104858")])
    needed = arguments.raw("dependencies")
    if needed is not None:
        listed = needed if isinstance(needed, list) else str(needed).split(",")
        nssm.update("DependOnService", [str(name).strip() for name in listed])
    mode = arguments.text("start_mode", default="auto")
    if mode not in _START:
        known = ",".join(_START)
        raise ArgumentError(f"Get-AnsibleParam: Argument start_mode needs to be one of {known} but was {mode}.")
    nssm.update("Start", [_START[mode]])
    nssm.update("AppStopMethodConsole", given("app_stop_method_console"))
    nssm.update("AppStopMethodSkip", given("app_stop_method_skip"))


def _parameters(arguments: ModuleArguments, nssm: _Nssm) -> None:
    words = arguments.raw("arguments", arguments.raw("app_parameters_free_form"))
    if words is None:
        return
    line = command_line.join([str(word) for word in words]) if isinstance(words, list) else str(words)
    nssm.answer |= {"nssm_app_parameters": words, "nssm_single_line_app_parameters": line}
    nssm.update("AppParameters", [line])


def _bring(nssm: _Nssm, state: str) -> None:
    name = nssm.name

    def bring_to(requested: str, command: str, failed: str) -> None:
        if requested not in nssm.run(failed, "status", name) and nssm.change(f"{command}_service"):
            nssm.run(failed, command, name)

    if state in ("stopped", "restarted"):
        bring_to("SERVICE_STOPPED", "stop", f'Error stopping service "{name}"')
    if state in ("started", "restarted"):
        bring_to("SERVICE_RUNNING", "start", f'Error starting service "{name}"')
