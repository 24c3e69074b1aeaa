# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The command line of nssm.exe: install, set, get, reset (or unset), start, stop, restart, status, remove.

See https://nssm.cc/commands. The names of nssm's parameters are in contracts/docker.json. nssm's output is UTF-16, so
callers that expect one byte per character find a NUL after each character. The win_nssm module of community.windows
removes the NULs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.nssm.program import parameters
from simulator.kubernetes_node.programs import contracts
from simulator.machine.command_line import quote
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.machine.services import ROOT, ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

NOT_FOUND, BAD, FAILED = 3, 1, 5


class _NssmError(Exception):
    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate nssm.exe."""
    words = list(invocation.argv)
    handler = _COMMANDS.get(words[0].casefold()) if words else None
    if handler is None or (len(words) < 2 and words[0].casefold() != "install"):
        return ProgramResult(
            BAD, "", _wide("NSSM: The non-sucking service manager\r\nUsage: nssm <option> [<args> ...]")
        )
    try:
        return ProgramResult(0, _wide(handler(machine, invocation, words[1:])))
    except _NssmError as error:
        return ProgramResult(error.code, "", _wide(str(error)))


def _wide(text: str) -> str:
    return "".join(f"{char}\0" for char in f"{text}\r\n") if text else ""


def _require(machine: Machine, name: str) -> str:
    service = machine.services.get(name)
    if service is None:
        raise _NssmError(
            "Can't open service!\r\nOpenService(): The specified service does not exist as an installed service.",
            NOT_FOUND,
        )
    return service.name


def _install(machine: Machine, invocation: Invocation, words: list[str]) -> str:
    if len(words) < 2:
        raise _NssmError("the simulator does not model nssm's dialogs", BAD)
    name, application, *arguments = words
    path = machine.programs.locate(application, invocation.environment, invocation.directory) or application
    try:
        machine.services.create(name, quote(invocation.program), Start=2, DisplayName=name)
    except ServiceError as error:
        raise _NssmError(f"Error creating service!\r\nCreateService(): {error.text}", FAILED) from error
    key = parameters(name)
    machine.registry.set(key, "Application", path, "ExpandString")
    machine.registry.set(key, "AppParameters", " ".join(quote(word) for word in arguments), "ExpandString")
    machine.registry.set(key, "AppDirectory", path.rpartition("\\")[0], "ExpandString")
    machine.registry.set(f"{key}\\AppExit", "", "Restart", "ExpandString")
    return f'Service "{name}" installed successfully!'


def _known(name: str) -> tuple[str, str, bool]:
    """Return nssm's spelling of a parameter, its type, and whether it is a setting of the Windows service itself.

    Raises:
        _NssmError: the parameter does not exist.
    """
    table = contracts.load("docker")["nssm"]
    for group in ("parameters", "native"):
        for known, kind in table[group].items():
            if known.casefold() == name.casefold():
                return known, str(kind), group == "native"
    if name.casefold() == "appexit":
        return "AppExit", "ExpandString", False
    raise _NssmError(f'Invalid parameter "{name}".  Valid parameters are: …', BAD)


def _value(name: str, kind: str, values: list[str]) -> Any:
    if name == "Start":
        table: Mapping[str, int] = contracts.load("docker")["nssm"]["start"]
        if values[0].upper() not in table:
            raise _NssmError(f'Invalid startup type "{values[0]}".', BAD)
        return table[values[0].upper()]
    if kind == "MultiString":
        return list(values)
    if kind == "DWord":
        try:
            return int(values[0], 0)
        except ValueError as error:
            raise _NssmError(f'Invalid number "{values[0]}".', BAD) from error
    # nssm joins its arguments with spaces.
    return " ".join(values)


def _set(machine: Machine, _: Invocation, words: list[str]) -> str:
    name = _require(machine, words[0])
    if len(words) < 3:
        raise _NssmError("Usage: nssm set <servicename> <parameter> [<subparameter>] <value>", BAD)
    parameter, kind, native = _known(words[1])
    message = f'Set parameter "{parameter}" for service "{name}".'
    if parameter == "AppExit":
        code = "" if words[2].casefold() == "default" else words[2]
        actions = contracts.load("docker")["nssm"]["exit_actions"]
        action = next((item for item in actions if item.casefold() == " ".join(words[3:]).casefold()), None)
        if action is None:
            raise _NssmError(f'Invalid exit action "{" ".join(words[3:])}".', BAD)
        machine.registry.set(f"{parameters(name)}\\AppExit", code, action, kind)
        return message
    value = _value(parameter, kind, words[2:])
    if parameter == "Start":
        machine.services.configure(name, Start=value, DelayedAutostart=int("DELAYED" in words[2].upper()))
    elif native:
        machine.services.configure(name, **{parameter: value})
    else:
        machine.registry.set(parameters(name), parameter, value, kind)
    return message


def _get(machine: Machine, _: Invocation, words: list[str]) -> str:
    name = _require(machine, words[0])
    if len(words) < 2:
        raise _NssmError("Usage: nssm get <servicename> <parameter> [<subparameter>]", BAD)
    parameter, _kind, native = _known(words[1])
    key = f"{ROOT}\\{name}" if native else parameters(name)
    if parameter == "AppExit":
        code = "" if [word.casefold() for word in words[2:]] in ([], ["default"]) else words[2]
        return str(machine.registry.data(f"{key}\\AppExit", code, "Restart"))
    data = machine.registry.data(key, parameter, "")
    if parameter == "Start":
        names = ("SERVICE_BOOT_START", "SERVICE_SYSTEM_START", "SERVICE_AUTO_START", "SERVICE_DEMAND_START",
                 "SERVICE_DISABLED")  # fmt: skip
        delayed = data == 2 and machine.registry.data(key, "DelayedAutostart", 0)
        return "SERVICE_DELAYED_AUTO_START" if delayed else names[data if isinstance(data, int) else 3]
    if isinstance(data, list):
        if len(words) > 2:
            return next((str(item).partition("=")[2] for item in data if str(item).startswith(f"{words[2]}=")), "")
        return "\r\n".join(str(item) for item in data)
    return str(data)


def _reset(machine: Machine, _: Invocation, words: list[str]) -> str:
    name = _require(machine, words[0])
    parameter, _kind, native = _known(words[1] if len(words) > 1 else "")
    if parameter == "AppExit":
        machine.registry.set(f"{parameters(name)}\\AppExit", "", "Restart", "ExpandString")
    elif native:
        machine.services.configure(name, **{parameter: None})
    else:
        machine.registry.delete(parameters(name), parameter)
    return f'Reset parameter "{parameter}" for service "{name}" to its default.'


def _control(verb: str) -> Callable[[Machine, Invocation, list[str]], str]:
    def control(machine: Machine, _: Invocation, words: list[str]) -> str:
        name = _require(machine, words[0])
        try:
            if verb in ("STOP", "RESTART") and (verb == "STOP" or machine.services.get(name).state == "Running"):  # type: ignore[union-attr]
                machine.services.stop(name)
            if verb in ("START", "RESTART"):
                machine.services.start(name)
        except ServiceError as error:
            raise _NssmError(f"{name}: {verb}: {error.text}", BAD) from error
        return f"{name}: {verb}: The operation completed successfully."

    return control


def _status(machine: Machine, _: Invocation, words: list[str]) -> str:
    service = machine.services.get(_require(machine, words[0]))
    state = service.state if service else "Stopped"
    return {"Running": "SERVICE_RUNNING", "StartPending": "SERVICE_START_PENDING"}.get(state, "SERVICE_STOPPED")


def _remove(machine: Machine, _: Invocation, words: list[str]) -> str:
    name = _require(machine, words[0])
    if [word.casefold() for word in words[1:]] != ["confirm"]:
        raise _NssmError("the simulator does not model nssm's dialogs: expected `nssm remove NAME confirm`", BAD)
    machine.services.delete(name)
    return f'Service "{name}" removed successfully!'


_COMMANDS: Mapping[str, Callable[[Machine, Invocation, list[str]], str]] = {
    "install": _install,
    "set": _set,
    "get": _get,
    "reset": _reset,
    "unset": _reset,
    "start": _control("START"),
    "stop": _control("STOP"),
    "restart": _control("RESTART"),
    "status": _status,
    "remove": _remove,
}
PROGRAMS: Mapping[str, Program] = {"nssm": run}
