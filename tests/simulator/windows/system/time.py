# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The machine's time: its time zone, tzutil.exe, and the Windows Time service with w32tm.exe.

Source:
https://learn.microsoft.com/windows-server/networking/windows-time-service/windows-time-service-tools-and-settings
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from simulator.machine.objects import (
    Bound,
    Cmdlet,
    CmdletError,
    IdleService,
    Invocation,
    Program,
    ProgramResult,
    PSObject,
    ServiceProgram,
)
from simulator.machine.wildcards import any_match
from simulator.windows.system.time_zones import TIME_ZONES, display, known

if TYPE_CHECKING:
    from simulator.machine.machine import Machine
    from simulator.machine.services import Service

_ZONE = r"HKLM:\SYSTEM\CurrentControlSet\Control\TimeZoneInformation"
_W32TIME = r"HKLM:\SYSTEM\CurrentControlSet\Services\W32Time"
_NOT_STARTED = "The following error occurred: The service has not been started. (0x80070426)\r\n"
_SYNC_FROM = {"MANUAL": "NTP", "DOMHIER": "NT5DS", "ALL": "AllSync", "NO": "NoSync", "MANUAL,DOMHIER": "AllSync"}
_CONFIG = (
    "computer",
    "update",
    "manualpeerlist",
    "syncfromflags",
    "localclockdispersion",
    "reliable",
    "largephaseoffset",
)


def current_zone(machine: Machine) -> str:
    """Return the identifier of the machine's time zone."""
    return str(machine.registry.data(_ZONE, "TimeZoneKeyName", "UTC"))


def _set_zone(machine: Machine, name: str) -> None:
    bias = (-TIME_ZONES[name]) & 0xFFFFFFFF
    machine.registry.write(_ZONE, {"TimeZoneKeyName": name, "Bias": bias, "ActiveTimeBias": bias, "StandardName": name})


def _object(name: str) -> PSObject:
    properties: dict[str, object] = {
        "Id": name,
        "DisplayName": display(name),
        "StandardName": name,
        "DaylightName": name.replace("Standard", "Daylight"),
        "BaseUtcOffset": timedelta(minutes=TIME_ZONES[name]),
        "SupportsDaylightSavingTime": name != "UTC",
    }
    return PSObject("System.TimeZoneInfo", properties, display(name))


def _unknown(name: str, command: str) -> CmdletError:
    return CmdletError(
        "ObjectNotFound",
        f"TimeZoneNotFound,Microsoft.PowerShell.Commands.{command}",
        f"The time zone ID '{name}' was not found on the local computer.",
        "System.TimeZoneNotFoundException",
    )


def get_time_zone(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-TimeZone. It returns the requested time zones; by default, the machine's time zone."""
    if bound.flag("ListAvailable"):
        return [_object(name) for name in TIME_ZONES]
    if bound.get("Name"):
        return [_object(name) for name in TIME_ZONES if any_match(bound.texts("Name"), name)]
    if bound.get("Id"):
        found = [(requested, known(requested)) for requested in bound.texts("Id")]
        for requested, name in found:
            if name is None:
                raise _unknown(requested, "GetTimeZoneCommand")
        return [_object(name) for _, name in found if name]
    return [_object(current_zone(machine))]


def set_time_zone(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-TimeZone."""
    given = [str(item.get("Id")) for item in bound.pipeline if isinstance(item, PSObject)]
    requested = bound.text("Id") or bound.text("Name") or (given[0] if given else "")
    name = known(requested)
    if name is None:
        raise _unknown(requested, "SetTimeZoneCommand")
    if not bound.flag("WhatIf"):
        _set_zone(machine, name)
    return [_object(name)] if bound.flag("PassThru") else []


def tzutil(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate tzutil.exe with /g, /s ID or /l."""
    option = run.argv[0].casefold() if run.argv else "/?"
    if option == "/g" and len(run.argv) == 1:
        return ProgramResult(0, current_zone(machine))
    if option == "/l" and len(run.argv) == 1:
        return ProgramResult(0, "".join(f"{display(name)}\r\n{name}\r\n\r\n" for name in TIME_ZONES))
    if option == "/s" and len(run.argv) == 2:
        name = known(run.argv[1].removesuffix("_dstoff"))
        if name is None:
            return ProgramResult(1, "", f"Error: {run.argv[1]} is not a valid time zone ID.\r\n")
        _set_zone(machine, name)
        return ProgramResult(0)
    if option in ("/?", "-?"):
        return ProgramResult(
            0, "Windows Time Zone Utility\r\n\r\nUsage:\r\nTZUTIL </? | /g | /s TimeZoneID[_dstoff] | /l>\r\n"
        )
    return ProgramResult(1, "", "Error: Invalid usage. Use TZUTIL /? for help.\r\n")


def _running(machine: Machine) -> bool:
    service = machine.services.get("W32Time")
    return service is not None and service.state == "Running"


def _parameter(machine: Machine, name: str, default: str = "") -> str:
    return str(machine.registry.data(f"{_W32TIME}\\Parameters", name, default))


class Clock:
    """The configuration that the Windows Time service has read, and the time of its last synchronization.

    The service reads the configuration at its start and on `w32tm /config /update`.
    """

    def __init__(self) -> None:
        self.peers = ""
        self.kind = ""
        self.last_sync: datetime | None = None


def w32tm(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate w32tm.exe with /config, /query, /resync or /tz."""
    arguments = [argument.lstrip("/-") for argument in run.argv]
    verb, rest = (arguments[0].casefold(), arguments[1:]) if arguments else ("?", [])
    options = {name.casefold(): value for name, _, value in (item.partition(":") for item in rest)}
    if verb == "config":
        return _config(machine, options)
    if verb == "query":
        return _query(machine, options)
    if verb == "resync":
        return _resync(machine, options)
    if verb == "tz":
        return ProgramResult(
            0, f'Time zone: Current:TIME_ZONE_ID_UNKNOWN [Standard Name:"{current_zone(machine)}"]\r\n'
        )
    if verb == "?":
        return ProgramResult(0, "w32tm [/? | /register | /unregister ]\r\n")
    return _invalid(f"/{arguments[0]}")


def _invalid(what: str) -> ProgramResult:
    return ProgramResult(
        -2147024809,
        f"The command line parameter {what} is unexpected here.\r\nThe following error occurred: "
        "The parameter is incorrect. (0x80070057)\r\n",
    )


def _config(machine: Machine, options: Mapping[str, str]) -> ProgramResult:
    for name in options:
        if name not in _CONFIG:
            return _invalid(f"/{name}")
    if not options:
        return _invalid("/config")
    if "syncfromflags" in options:
        kind = _SYNC_FROM.get(options["syncfromflags"].upper())
        if kind is None:
            return _invalid(f"/syncfromflags:{options['syncfromflags']}")
        machine.registry.set(f"{_W32TIME}\\Parameters", "Type", kind)
    if "manualpeerlist" in options:
        machine.registry.set(f"{_W32TIME}\\Parameters", "NtpServer", options["manualpeerlist"])
    if "reliable" in options:
        flags = 5 if options["reliable"].casefold() == "yes" else 10
        machine.registry.set(f"{_W32TIME}\\Config", "AnnounceFlags", flags, "DWord")
    if "update" in options:
        if not _running(machine):
            return ProgramResult(-2147023834, _NOT_STARTED)
        _load(machine)
    return ProgramResult(0, "The command completed successfully.\r\n")


def _load(machine: Machine) -> Clock:
    clock = machine.part(Clock)
    clock.peers, clock.kind = _parameter(machine, "NtpServer"), _parameter(machine, "Type", "NTP")
    return clock


def _source(clock: Clock) -> str:
    peers = clock.peers.split()
    return peers[0] if clock.kind in ("NTP", "AllSync") and peers and clock.last_sync else "Local CMOS Clock"


def _query(machine: Machine, options: Mapping[str, str]) -> ProgramResult:
    requested = [name for name in options if name not in ("verbose", "computer")]
    if len(requested) != 1 or requested[0] not in ("status", "configuration", "source", "peers"):
        return _invalid(f"/{requested[0] if requested else 'query'}")
    if not _running(machine):
        return ProgramResult(-2147023834, _NOT_STARTED)
    clock = machine.part(Clock)
    if requested == ["source"]:
        return ProgramResult(0, f"{_source(clock)}\r\n")
    if requested == ["configuration"]:
        lines = [
            "[Configuration]",
            "",
            "EventLogFlags: 2 (Local)",
            "AnnounceFlags: 10 (Local)",
            "",
            "[TimeProviders]",
            "",
            "NtpClient (Local)",
            r"DllName: C:\Windows\system32\w32time.dll (Local)",
            "Enabled: 1 (Local)",
            f"Type: {clock.kind} (Local)",
            f"NtpServer: {clock.peers} (Local)",
            "",
        ]
        return ProgramResult(0, "\r\n".join(["", *lines, ""]))
    if requested == ["peers"]:
        peers = clock.peers.split()
        return ProgramResult(
            0, f"#Peers: {len(peers)}\r\n" + "".join(f"\r\nPeer: {peer}\r\nState: Active\r\n" for peer in peers)
        )
    synchronised = clock.last_sync is not None
    moment = clock.last_sync.strftime("%m/%d/%Y %I:%M:%S %p") if clock.last_sync else "unspecified"
    lines = [
        "Leap Indicator: 0(no warning)" if synchronised else "Leap Indicator: 3(not synchronized)",
        "Stratum: 3 (secondary reference - syncd by (S)NTP)" if synchronised else "Stratum: 0 (unspecified)",
        "Precision: -23 (119.209ns per tick)",
        "Root Delay: 0.0000000s",
        "Root Dispersion: 0.0000000s",
        f"Last Successful Sync Time: {moment}",
        f"Source: {_source(clock)}",
        "Poll Interval: 6 (64s)",
    ]
    return ProgramResult(0, "\r\n".join([*lines, "", ""]))


def _resync(machine: Machine, options: Mapping[str, str]) -> ProgramResult:
    for name in options:
        if name not in ("rediscover", "nowait", "computer", "soft", "force"):
            return _invalid(f"/{name}")
    head = "Sending resync command to local computer\r\n"
    if not _running(machine):
        return ProgramResult(-2147023834, _NOT_STARTED)
    clock = machine.part(Clock)
    reachable = machine.settings.option("ntp_reachable", True) is not False and machine.network.is_up
    if clock.kind == "NoSync" or not clock.peers.strip() or not reachable:
        why = "The computer did not resync because no time data was available.\r\n"
        return ProgramResult(0, head + why)
    if abs(machine.clock.offset) > _largest_correction(machine):
        why = "The computer did not resync because the required time change was too big.\r\n"
        return ProgramResult(0, head + why)
    machine.clock.offset = 0.0
    clock.last_sync = machine.clock.now()
    return ProgramResult(0, head + "The command completed successfully.\r\n")


def _largest_correction(machine: Machine) -> int:
    """Return the maximum number of seconds by which the Windows Time service corrects the clock.

    It is read from the registry: MaxNegPhaseCorrection if the clock is ahead, otherwise MaxPosPhaseCorrection. The
    default is 15 hours. Source:
    https://learn.microsoft.com/windows-server/networking/windows-time-service/windows-time-service-tools-and-settings
    """
    name = "MaxNegPhaseCorrection" if machine.clock.offset > 0 else "MaxPosPhaseCorrection"
    found = machine.registry.data(f"{_W32TIME}\\Config", name, 54000)
    return found if isinstance(found, int) else 54000


class TimeService:
    """The Windows Time service. It reads its configuration when it starts."""

    def start(self, machine: Machine, service: Service) -> IdleService:
        """Start the Windows Time service. This does not synchronize the clock."""
        _load(machine).last_sync = None
        return IdleService()


CMDLETS: Mapping[str, Cmdlet] = {"Get-TimeZone": get_time_zone, "Set-TimeZone": set_time_zone}
PROGRAMS: Mapping[str, Program] = {"tzutil.exe": tzutil, "w32tm.exe": w32tm}
SERVICES: Mapping[str, ServiceProgram] = {"svchost:W32Time": TimeService()}
