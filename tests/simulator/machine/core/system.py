# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cmdlets of the session: variables, location, streams, commands, time, ports, reboots."""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from simulator.machine import commands
from simulator.machine.core.objects import given, host
from simulator.machine.machine import Machine
from simulator.machine.objects import (
    Bound,
    Cmdlet,
    CmdletError,
    Enumeration,
    ErrorRecord,
    ProcessEndedError,
    PSObject,
    ScriptBlock,
)
from simulator.machine.powershell import values
from simulator.machine.powershell.operators import date_text
from simulator.machine.text import to_text


def set_variable(machine: Machine, bound: Bound) -> Iterable[object]:
    """Set-Variable, New-Variable."""
    value = bound.get("Value") if "Value" in bound else values.single(bound.pipeline)
    for name in bound.texts("Name"):
        host(bound).variables.set(name, value)
    return []


def get_variable(machine: Machine, bound: Bound) -> Iterable[object]:
    """Get-Variable."""
    variables = host(bound).variables
    for name in bound.texts("Name"):
        if not variables.exists(name):
            message = f"Cannot find a variable with the name '{name}'."
            kind = "System.Management.Automation.ItemNotFoundException"
            bound.write_error(CmdletError("ObjectNotFound", "VariableNotFound", message, kind))
            continue
        value = variables.get(name)
        yield (
            value
            if bound.flag("ValueOnly")
            else PSObject("System.Management.Automation.PSVariable", {"Name": name, "Value": value})
        )


def set_location(machine: Machine, bound: Bound) -> Iterable[object]:
    """Set-Location."""
    session = host(bound).session
    path = session.absolute(bound.text("LiteralPath") or bound.text("Path") or session.variable("USERPROFILE"))
    if not machine.files.is_directory(path):
        message = f"Cannot find path '{path}' because it does not exist."
        kind = "System.Management.Automation.ItemNotFoundException"
        raise CmdletError("ObjectNotFound", "PathNotFound", message, kind)
    session.directory = path
    return []


def get_location(machine: Machine, bound: Bound) -> Iterable[object]:
    """Get-Location."""
    directory = host(bound).session.directory
    return [PSObject("System.Management.Automation.PathInfo", {"Path": directory}, directory)]


def write_error(machine: Machine, bound: Bound) -> Iterable[object]:
    """Write-Error."""
    record = bound.get("ErrorRecord")
    if isinstance(record, ErrorRecord):
        bound.write_error(record.error)
        return []
    kind = "Microsoft.PowerShell.Commands.WriteErrorException"
    # The id of an error that a script writes ends in the script's or function's name, and not in Write-Error.
    message = bound.text("Message") or to_text(values.single(bound.pipeline))
    error_id = bound.text("ErrorId") or kind
    bound.write_error(CmdletError(bound.text("Category", "NotSpecified"), error_id, message, kind))
    return []


def write_warning(machine: Machine, bound: Bound) -> Iterable[object]:
    """Write-Warning."""
    bound.warn(bound.text("Message"))
    return []


def write_host(machine: Machine, bound: Bound) -> Iterable[object]:
    """Write-Host: on a console that nobody sees apart from the output."""
    return [" ".join(to_text(item) for item in values.items(bound.get("Object")))]


def nothing(machine: Machine, bound: Bound) -> Iterable[object]:
    """Cmdlets without an effect here: Set-StrictMode, Write-Verbose, Import-Module of what is built in …"""
    return []


def start_sleep(machine: Machine, bound: Bound) -> Iterable[object]:
    """Start-Sleep."""
    seconds = bound.get("Seconds", 0)
    wait = float(seconds) if isinstance(seconds, (int, float)) else 0.0
    wait += bound.number("Milliseconds") / 1000
    if bound.stop.wait(wait):
        raise ProcessEndedError
    return []


def get_date(machine: Machine, bound: Bound) -> Iterable[object]:
    """Get-Date."""
    moment = bound.get("Date") or datetime.now(UTC)
    assert isinstance(moment, datetime)
    changes = {
        part: bound.number(part.capitalize())
        for part in ("year", "month", "day", "hour", "minute", "second")
        if part in bound
    }
    moment = moment.replace(**changes)  # type: ignore[arg-type]
    if "UFormat" in bound:
        return [moment.strftime(bound.text("UFormat").removeprefix("+"))]
    return [date_text(moment, bound.text("Format"))] if "Format" in bound else [moment]


def new_timespan(machine: Machine, bound: Bound) -> Iterable[object]:
    """New-TimeSpan."""
    start, end = bound.get("Start"), bound.get("End")
    if isinstance(start, datetime):
        last = end if isinstance(end, datetime) else datetime.now(UTC)
        return [last - start]
    parts = {part: bound.number(part) for part in ("days", "hours", "minutes", "seconds")}
    return [timedelta(**parts)]


def new_guid(machine: Machine, bound: Bound) -> Iterable[object]:
    """New-Guid."""
    text = str(uuid.uuid4())
    return [PSObject("System.Guid", {"Guid": text}, text)]


def get_command(machine: Machine, bound: Bound) -> Iterable[object]:
    """Get-Command: cmdlets and functions of the contract, programs on PATH."""
    for name in bound.texts("Name"):
        description = commands.describe(machine, name)
        path = machine.programs.locate(name)
        alias = commands.ALIASES.get(name.casefold())
        if description is not None:
            kind = Enumeration("Function", 2) if description.function else Enumeration("Cmdlet", 8)
            properties: dict[str, object] = {"CommandType": kind, "Name": description.command}
            properties["Parameters"] = {item.name: item.type for item in description.parameters.values()}
            yield PSObject("System.Management.Automation.CmdletInfo", properties, description.command)
        elif path is not None:
            program = machine.programs.find(path)
            file_name = path.rsplit("\\", 1)[-1]
            properties = {
                "CommandType": Enumeration("Application", 32),
                "Name": file_name,
                "Source": path,
                "Path": path,
            }
            properties["Version"] = program.version
            yield PSObject("System.Management.Automation.ApplicationInfo", properties, file_name)
        elif alias:
            yield PSObject("System.Management.Automation.AliasInfo", {"Name": name, "Definition": alias}, name)
        else:
            bound.write_error(commands.not_found(name))


def invoke_command(machine: Machine, bound: Bound) -> Iterable[object]:
    """Invoke-Command on this computer."""
    block = bound.get("ScriptBlock")
    if not isinstance(block, ScriptBlock) or "ComputerName" in bound:
        raise CmdletError(
            "OpenError", "CannotConnect", "the simulator does not model Invoke-Command on other computers"
        )
    return host(bound).call_block(block, values.items(bound.get("ArgumentList")), pipeline=bound.pipeline)


def invoke_expression(machine: Machine, bound: Bound) -> Iterable[object]:
    """Invoke-Expression, in its caller's scope."""
    from simulator.machine.powershell.parser import Parser

    texts = bound.texts("Command") or [to_text(item) for item in bound.pipeline]
    for text in texts:
        yield from host(bound).call_block(Parser().script(text), new_scope=False)


def test_net_connection(machine: Machine, bound: Bound) -> Iterable[object]:
    """Test-NetConnection: a real TCP connection, if the machine's link is up."""
    target, port = bound.text("ComputerName", "internetbeacon.msedge.net"), bound.number("Port")
    named = {"HTTP": 80, "RDP": 3389, "SMB": 445, "WINRM": 5985}
    port = port or named.get(bound.text("CommonTCPPort").upper(), 0)
    succeeded = False
    if port and machine.network.is_up:
        try:
            with socket.create_connection((target, port), timeout=3):
                succeeded = True
        except OSError:
            bound.warn(f"TCP connect to ({target} : {port}) failed")
    if bound.text("InformationLevel") == "Quiet":
        return [succeeded]
    properties: dict[str, object] = {"ComputerName": target, "RemoteAddress": target, "RemotePort": port}
    properties |= {"SourceAddress": machine.address, "TcpTestSucceeded": succeeded, "PingSucceeded": succeeded}
    return [PSObject("TestNetConnectionResult", properties)]


def restart_computer(machine: Machine, bound: Bound) -> Iterable[object]:
    """Restart-Computer."""
    try:
        machine.power.reboot(0, "Restart-Computer")
    except RuntimeError as error:
        raise CmdletError("OperationStopped", "System.InvalidOperationException", str(error)) from None
    return []


def stop_computer(machine: Machine, bound: Bound) -> Iterable[object]:
    """Stop-Computer."""
    machine.power.shutdown(0, "Stop-Computer")
    return []


def measure_command(machine: Machine, bound: Bound) -> Iterable[object]:
    """Measure-Command."""
    block = bound.get("Expression")
    started = time.monotonic()
    if isinstance(block, ScriptBlock):
        host(bound).call_block(block, new_scope=False)
    return [timedelta(seconds=time.monotonic() - started)]


def get_unique(machine: Machine, bound: Bound) -> Iterable[object]:
    """Get-Unique."""
    found: list[object] = []
    for item in given(bound):
        if not found or not values.same(found[-1], item):
            found.append(item)
    return found


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-Command": get_command,
    "Get-Date": get_date,
    "Get-Location": get_location,
    "Get-Unique": get_unique,
    "Get-Variable": get_variable,
    "Import-Module": nothing,
    "Invoke-Command": invoke_command,
    "Invoke-Expression": invoke_expression,
    "Measure-Command": measure_command,
    "New-Guid": new_guid,
    "New-TimeSpan": new_timespan,
    "New-Variable": set_variable,
    "Restart-Computer": restart_computer,
    "Set-ExecutionPolicy": nothing,
    "Set-Location": set_location,
    "Set-StrictMode": nothing,
    "Set-Variable": set_variable,
    "Start-Sleep": start_sleep,
    "Stop-Computer": stop_computer,
    "Test-NetConnection": test_net_connection,
    "Write-Debug": nothing,
    "Write-Error": write_error,
    "Write-Host": write_host,
    "Write-Information": nothing,
    "Write-Progress": nothing,
    "Write-Verbose": nothing,
    "Write-Warning": write_warning,
}
