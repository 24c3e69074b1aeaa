# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate cmdlets for the session and the computer: location, time, GUIDs, ports and reboots."""

from __future__ import annotations

import re
import socket
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from simulator.machine.machine import Machine
from simulator.machine.objects import (
    Bound,
    Cmdlet,
    CmdletError,
    NotModelled,
    ProcessEndedError,
    PSObject,
)
from simulator.machine.powershell.cmdlets.common import host
from simulator.machine.powershell.types.text import date_text


def set_location(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-Location."""
    session = host(bound).session
    path = session.absolute(bound.text("LiteralPath") or bound.text("Path") or session.variable("USERPROFILE"))
    if not machine.files.is_directory(path):
        message = f"Cannot find path '{path}' because it does not exist."
        kind = "System.Management.Automation.ItemNotFoundException"
        raise CmdletError("ObjectNotFound", "PathNotFound", message, kind)
    session.directory = path
    return []


def get_location(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Location."""
    directory = host(bound).session.directory
    return [PSObject("System.Management.Automation.PathInfo", {"Path": directory}, directory)]


def nothing(machine: Machine, bound: Bound) -> Iterable[object]:
    """Do nothing. This simulates cmdlets that have no effect in the simulator, such as Set-ExecutionPolicy."""
    return []


def start_sleep(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Start-Sleep."""
    seconds = bound.get("Seconds", 0)
    wait = float(seconds) if isinstance(seconds, (int, float)) else 0.0
    wait += bound.number("Milliseconds") / 1000
    if bound.stop.wait(wait * machine.settings.pause_scale):
        raise ProcessEndedError
    return []


def get_date(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Date."""
    moment = bound.get("Date") or machine.clock.now()
    assert isinstance(moment, datetime)
    changes = {
        part: bound.number(part.capitalize())
        for part in ("year", "month", "day", "hour", "minute", "second")
        if part in bound
    }
    moment = moment.replace(**changes)  # type: ignore[arg-type]
    if "UFormat" in bound:
        return [_unix_date(moment, bound.text("UFormat").removeprefix("+"))]
    return [date_text(moment, bound.text("Format"))] if "Format" in bound else [moment]


def _unix_date(moment: datetime, form: str) -> str:
    if any(code not in "YmdHMSyjTFD%" for code in re.findall(r"%(.)", form)):
        raise NotModelled(f"Get-Date -UFormat {form}")
    return moment.strftime(form)


def new_timespan(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-TimeSpan."""
    start, end = bound.get("Start"), bound.get("End")
    if isinstance(start, datetime):
        last = end if isinstance(end, datetime) else datetime.now(UTC)
        return [last - start]
    if start is not None or end is not None:
        raise NotModelled("New-TimeSpan with -End but no -Start, or with a -Start that is not a date")
    parts = {part: bound.number(part) for part in ("days", "hours", "minutes", "seconds")}
    return [timedelta(**parts)]


def new_guid(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-Guid."""
    text = str(uuid.uuid4())
    return [PSObject("System.Guid", {"Guid": text}, text)]


def test_net_connection(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Test-NetConnection. If a port is given and the machine's link is up, open a real TCP connection."""
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
    """Simulate Restart-Computer."""
    try:
        machine.power.reboot(0, "Restart-Computer")
    except RuntimeError as error:
        raise CmdletError("OperationStopped", "System.InvalidOperationException", str(error)) from None
    return []


def stop_computer(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Stop-Computer."""
    machine.power.shutdown(0, "Stop-Computer")
    return []


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-Date": get_date,
    "Get-Location": get_location,
    "New-Guid": new_guid,
    "New-TimeSpan": new_timespan,
    "Restart-Computer": restart_computer,
    "Set-ExecutionPolicy": nothing,
    "Set-Location": set_location,
    "Start-Sleep": start_sleep,
    "Stop-Computer": stop_computer,
    "Test-NetConnection": test_net_connection,
}
