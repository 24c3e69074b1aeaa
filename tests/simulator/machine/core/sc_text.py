# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Format the output of sc.exe.

The texts follow the examples in https://learn.microsoft.com/windows-server/administration/windows-commands/sc-query and
https://learn.microsoft.com/windows/win32/services/controlling-a-service-using-sc.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from simulator.machine.objects import ProgramResult
from simulator.machine.services import ERRORS, Service, failure_action

TYPES = {
    0x1: "KERNEL_DRIVER",
    0x2: "FILE_SYSTEM_DRIVER",
    0x4: "ADAPTER",
    0x8: "RECOGNIZER_DRIVER",
    0x10: "WIN32_OWN_PROCESS",
    0x20: "WIN32_SHARE_PROCESS",
}
STARTS = ("BOOT_START", "SYSTEM_START", "AUTO_START", "DEMAND_START", "DISABLED")
CONTROLS = ("IGNORE", "NORMAL", "SEVERE", "CRITICAL")
STATES = {
    "Stopped": (1, "STOPPED"),
    "StartPending": (2, "START_PENDING"),
    "StopPending": (3, "STOP_PENDING"),
    "Running": (4, "RUNNING"),
}
MESSAGES = {
    123: "The filename, directory name, or volume label syntax is incorrect.",
    1722: "The RPC server is unavailable.",
    **ERRORS,
}


def joined(lines: Iterable[str]) -> str:
    """Return lines as a string in which each ends with CR and LF, as Windows programs print them."""
    return "".join(f"{line}\r\n" for line in lines)


def success(function: str) -> ProgramResult:
    """Return the result of sc.exe after a successful Windows API call."""
    return ProgramResult(0, f"[SC] {function} SUCCESS\r\n")


def failed(function: str, code: int) -> ProgramResult:
    """Return the result of sc.exe after a failed Windows API call. The exit code is the error code."""
    message = MESSAGES.get(code, f"Error {code}.")
    return ProgramResult(code, joined([f"[SC] {function} FAILED {code}:", "", message, ""]))


def _type(number: int) -> str:
    name = TYPES.get(number & ~0x100, "WIN32")
    return f"{number:x}  {name} {'(interactive)' if number & 0x100 else ''}"


def status(
    service: Service, kind: int, *, extended: bool = False, display: bool = False, state: str | None = None
) -> str:
    """Return a service's status as sc.exe prints it. If `state` is given, it replaces the current state."""
    shown = state or service.state
    number, name = STATES[shown]
    accepted = "STOPPABLE, NOT_PAUSABLE, ACCEPTS_SHUTDOWN"
    if shown != "Running":
        accepted = "NOT_STOPPABLE, NOT_PAUSABLE, IGNORES_SHUTDOWN"
    code = service.exit_code if shown == "Stopped" else 0
    lines = ["", f"SERVICE_NAME: {service.name} "]
    if display:
        lines.append(f"DISPLAY_NAME: {service.display_name}")
    lines += [f"        TYPE               : {_type(kind)} ", f"        STATE              : {number}  {name} "]
    if shown != "Stopped":
        lines.append(f"                                ({accepted})")
    lines += [
        f"        WIN32_EXIT_CODE    : {code}  (0x{code:x})",
        "        SERVICE_EXIT_CODE  : 0  (0x0)",
        "        CHECKPOINT         : 0x0",
        f"        WAIT_HINT          : {'0x7d0' if 'Pending' in shown else '0x0'}",
    ]
    if extended:
        lines += [f"        PID                : {service.process_id}", "        FLAGS              : "]
    return joined(lines)


def configuration(service: Service, kind: int, error_control: int, group: str, tag: int) -> str:
    """Return the output of `sc qc`."""
    start = f"{service.start}   {STARTS[service.start]}" + ("  (DELAYED)" if service.delayed else "")
    first, *more = service.dependencies or [""]
    lines = [
        "[SC] QueryServiceConfig SUCCESS",
        "",
        f"SERVICE_NAME: {service.name}",
        f"        TYPE               : {_type(kind)}",
        f"        START_TYPE         : {start}",
        f"        ERROR_CONTROL      : {error_control}   {CONTROLS[error_control]}",
        f"        BINARY_PATH_NAME   : {service.image_path}",
        f"        LOAD_ORDER_GROUP   : {group}",
        f"        TAG                : {tag}",
        f"        DISPLAY_NAME       : {service.display_name}",
        f"        DEPENDENCIES       : {first}",
        *(f"                           : {name}" for name in more),
        f"        SERVICE_START_NAME : {service.account}",
    ]
    return joined(lines)


def failure(name: str, data: object, message: str, command: str) -> str:
    """Return the output of `sc qfailure`.

    Args:
        data: the service's FailureActions registry value.
        message, command: the service's RebootMessage and FailureCommand registry values.
    """
    known = isinstance(data, bytes) and len(data) >= 20
    reset, count = struct.unpack_from("<I8xI", data) if isinstance(data, bytes) and known else (0, 0)
    words = {"none": "NONE", "restart": "RESTART", "reboot": "REBOOT", "run": "RUN PROCESS"}
    lines = [
        "[SC] QueryServiceConfig2 SUCCESS",
        "",
        f"SERVICE_NAME: {name}",
        f"        RESET_PERIOD (in seconds)    : {'INFINITE' if reset == 0xFFFFFFFF else reset}",
        f"        REBOOT_MESSAGE               : {message}",
        f"        COMMAND_LINE                 : {command}",
    ]
    for index in range(count):
        action, delay = failure_action(data, index)
        head = "        FAILURE_ACTIONS              : " if index == 0 else " " * 39
        lines.append(f"{head}{words[action]} -- Delay = {delay} milliseconds.")
    return joined(lines)
