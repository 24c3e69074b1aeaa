# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The built-in verbs of docs/wire.md for the registry, the environment and ports; `file_verbs` has those for files."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Mapping
from typing import Any

from simulator.machine import net_files
from simulator.machine.conversion import ConversionError, convert
from simulator.machine.machine import ENVIRONMENT, Machine
from simulator.machine.objects import NotModelled, OrderedOutput
from simulator.machine.processes import Process
from simulator.machine.registry import Value
from simulator.machine.text import to_text
from wire_provider import access_verbs, file_verbs
from wire_provider.verb_parameters import Handler, entries, failure, text


def read_registry(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Read registry values or whole keys."""
    found: list[object] = []
    for entry in entries(parameters, "values"):
        path, name = text(entry, "path"), entry.get("name")
        if re.split(r":?\\", path, maxsplit=1)[0].upper() not in HIVES:
            raise failure("ObjectNotFound", "DriveNotFound", f"'{path}' is in none of {', '.join(HIVES)}")
        exists = machine.registry.key_exists(path)
        if name is not None:
            value = machine.registry.get(path, to_text(name))
            found.append(
                OrderedOutput(
                    path=path,
                    name=name,
                    exists=value is not None,
                    key_exists=exists,
                    value=value.data if value else None,
                    kind=value.kind if value else None,
                )
            )
            continue
        values = {key: _plain(value) for key, value in machine.registry.values(path).items()}
        subkeys = machine.registry.subkeys(path)
        found.append(
            OrderedOutput(path=path, name=None, exists=exists, key_exists=exists, values=values, subkeys=subkeys)
        )
    return found


def _plain(value: Value) -> dict[str, object]:
    return {"value": value.data, "kind": value.kind}


def set_environment(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Set or remove an environment variable of the machine."""
    name, value = text(parameters, "name"), parameters.get("value")
    given_kind = parameters.get("kind")
    kind = _kind(to_text(given_kind)) if given_kind else "String"
    if kind is None:
        kind = to_text(given_kind)
        message = f'Cannot convert argument "valueKind", with value: "{kind}", for "SetValue" to a registry kind.'
        exception = "System.Management.Automation.MethodException"
        raise failure("NotSpecified", "MethodArgumentConversionInvalidCastArgument", message, exception)
    if not name:
        raise net_files.exception(net_files.ARGUMENT, "String cannot be of zero length.")
    if value is None:
        machine.registry.delete(ENVIRONMENT, name)
    else:
        machine.registry.set(ENVIRONMENT, name, _data(to_text(value), kind), "String" if kind == "Unknown" else kind)
    return []


def _kind(given: str) -> str | None:
    """Return .NET's name for a registry type, given by name (case-insensitive) or number; None if it does not exist."""
    return next((name for name, number in KINDS.items() if given.casefold() in (name.casefold(), str(number))), None)


def _data(value: str, kind: str) -> object:
    """Convert text to data of a registry type, as RegistryKey.SetValue does.

    Raises:
        CmdletError: the text cannot be converted.
    """
    low = {"DWord": 2**31, "QWord": 2**63}.get(kind)
    if low is None and kind in ("String", "ExpandString", "Unknown"):
        return value
    number = int(value) if re.fullmatch(r"\s*[+-]?[0-9]{1,20}\s*", value) else None
    if low is None or number is None or not -low <= number < low:
        message = "The type of the value object did not match the specified RegistryValueKind or the object could not "
        raise net_files.exception(net_files.ARGUMENT, message + "be properly converted.")
    # The registry stores unsigned numbers.
    return number % (2 * low)


def _seconds(parameters: Mapping[str, Any], default: float) -> float:
    value = parameters.get("timeout")
    if value is not None and not isinstance(value, (int, float)):
        raise NotModelled("a timeout of @wait-port that is no number")
    return default if value is None else float(value)


def _port(parameters: Mapping[str, Any]) -> int:
    port = convert(parameters.get("port"), "Int32")
    assert isinstance(port, int)
    return port


def wait_port(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Wait until a TCP port accepts connections. An invalid name or port counts as a closed port."""
    end = time.monotonic() + _seconds(parameters, timeout)
    host = text(parameters, "host")
    while True:
        process.check()
        if machine.network.is_up:
            # UnicodeError: a label of the name is longer than 63 characters; OverflowError: a port above 65535.
            with contextlib.suppress(OSError, UnicodeError, OverflowError, ConversionError):
                address = (host, _port(parameters))
                with socket.create_connection(address, timeout=max(0.1, min(1.0, end - time.monotonic()))):
                    return [OrderedOutput(open=True)]
        if time.monotonic() >= end:
            return [OrderedOutput(open=False)]
        process.sleep(0.1)


def stop_if(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Count the objects that remain after filtering. The runner stops if there are any."""
    return [len(given)]


def barrier(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Do nothing. The call ends the group before it, because it is not a program."""
    return []


def fail(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Fail with the given message."""
    message = text(parameters, "message")
    raise failure("OperationStopped", "Failed", message)


def free_space(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Return a volume's free and total bytes."""
    path = text(parameters, "path")
    if not path or "\0" in path:
        raise net_files.exception(net_files.ARGUMENT, "The path is not of a legal form.")
    if not machine.files.drive_exists(path):
        raise net_files.exception("System.IO.DriveNotFoundException", f"Could not find the drive '{path}'.")
    return [OrderedOutput(free=machine.files.free_space(path[0]), total=machine.files.size(path[0]))]


def port_pools(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """List HNS's pools of 64 TCP ports from the ranges that netsh.exe prints."""
    printed = machine.programs.run(
        "netsh.exe", ["interface", "ipv4", "show", "excludedportrange", "protocol=tcp"], stop=process.stop
    ).stdout
    listed = re.findall(r"^\s*(\d+)\s+(\d+)\s*$", printed, re.MULTILINE)
    found = [(first, last) for first, last in listed if int(last) - int(first) == 63]
    return [OrderedOutput(reserved=len(found), ranges=[f"{first}-{last}" for first, last in found])]


KINDS = {
    "Unknown": 0,
    "String": 1,
    "ExpandString": 2,
    "Binary": 3,
    "DWord": 4,
    "MultiString": 7,
    "QWord": 11,
    "None": -1,
}
"""https://learn.microsoft.com/dotnet/api/microsoft.win32.registryvaluekind"""
HIVES = ("HKLM", "HKCU", "HKU", "HKCR")
VERB_HANDLERS: Mapping[str, Handler] = {
    **file_verbs.HANDLERS,
    "@read-registry": read_registry,
    "@set-environment": set_environment,
    "@wait-port": wait_port,
    "@stop-if": stop_if,
    "@barrier": barrier,
    "@fail": fail,
    "@set-acl": access_verbs.set_acl,
    "@make-directory": access_verbs.make_directory,
    "@free-space": free_space,
    "@port-pools": port_pools,
}
