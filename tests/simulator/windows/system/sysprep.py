# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The sysprep.exe program, which validates and generalizes a machine, and the specialize pass at the next boot.

The validation fails if an app is not provisioned for all users, or if a reboot for features or updates is pending. In
that case, the image state does not change. If the generalization itself fails, the image state becomes
IMAGE_STATE_UNDEPLOYABLE. The process ends when the generalization has ended. The `sysprep_seconds` setting is the
duration of the generalization. `sysprep_fault` makes sysprep fail (see sysprep_faults.py).
Source: https://learn.microsoft.com/windows-hardware/manufacture/desktop/sysprep-command-line-options
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulator.machine.machine import COMPUTER_NAME, SETUP_STATE, TCPIP
from simulator.machine.objects import Invocation, ProcessEndedError, Program, ProgramResult
from simulator.windows.software.appx import unprovisioned
from simulator.windows.system import first_setup
from simulator.windows.system.sysprep_faults import fault_of
from simulator.windows.system.time_zones import known

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_STATUS = r"HKLM:\SYSTEM\Setup\Status\SysprepStatus"
_ZONE = r"HKLM:\SYSTEM\CurrentControlSet\Control\TimeZoneInformation"
_PANTHER = r"C:\Windows\System32\Sysprep\Panther"
_TAG = r"C:\Windows\System32\Sysprep\Sysprep_succeeded.tag"
_UNATTEND = r"C:\Windows\Panther\unattend.xml"
_WSMAN = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WSMAN"
_UNDEPLOYABLE = "IMAGE_STATE_UNDEPLOYABLE"
_OPTIONS = frozenset(("/oobe", "/audit", "/generalize", "/quiet", "/quit", "/shutdown", "/reboot", "/mode:vm"))
_INVALID_PARAMETER = 87
_FAILED = 1


@dataclass
class Sealed:
    """The state of sysprep: whether the disk has been generalized and not booted since, and the answer file."""

    generalized: bool = False
    unattend: str = ""


class _Log:
    """The setupact.log and setuperr.log files of one run of sysprep."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._lines: dict[str, list[str]] = {"setupact.log": [], "setuperr.log": []}
        machine.files.make_directory(_PANTHER)

    def info(self, text: str) -> None:
        """Log a step of sysprep in setupact.log."""
        self._add("Info                  SYSPRP " + text, error=False)

    def error(self, text: str) -> None:
        """Write the reason for a failure of sysprep to setupact.log and setuperr.log."""
        self._add("Error                 SYSPRP " + text, error=True)

    def _add(self, text: str, *, error: bool) -> None:
        line = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}, {text}"
        for name in ("setupact.log", "setuperr.log") if error else ("setupact.log",):
            self._lines[name].append(line)
        for name, lines in self._lines.items():
            path = f"{_PANTHER}\\{name}"
            self._machine.files.write_text(path, "".join(f"{item}\r\n" for item in lines))


def _problems(machine: Machine, options: Sequence[str]) -> list[str]:
    """Return the log messages for the problems that sysprep's validation finds."""
    if "/generalize" not in options:
        return []
    found = [
        f"Package {name} was installed for a user, but not provisioned for all users. This package will not function "
        "properly in the sysprep image."
        for name in unprovisioned(machine)
    ]
    if {"features", "updates"} & set(machine.power.pending_reasons()):
        found.append(
            "[0x0f0036] spopk.dll:: ValidateServicing: There are one or more Windows updates that require a reboot. "
            "To run Sysprep, reboot the computer and restart the application."
        )
    fault = fault_of(machine.settings.option("sysprep_fault"))
    if fault is not None and fault.phase == "validate":
        found += fault.lines
    return found


def sysprep(machine: Machine, run: Invocation) -> ProgramResult:
    """Run sysprep.exe."""
    options = [argument.casefold() for argument in run.argv]
    unattend = next(
        (argument[len("/unattend:") :] for argument in run.argv if argument.casefold().startswith("/unattend:")), ""
    )
    if any(option not in _OPTIONS and not option.startswith("/unattend:") for option in options) or not options:
        return ProgramResult(_INVALID_PARAMETER)
    if "/oobe" in options and "/audit" in options:
        return ProgramResult(_INVALID_PARAMETER)
    log = _Log(machine)
    log.info(f"Sysprep command line: {' '.join(run.argv)}")
    if unattend and not machine.files.is_file(unattend):
        log.error(f"[0x0f0085] Could not find the answer file {unattend}")
        return ProgramResult(_FAILED)
    problems = _problems(machine, options)
    if problems:
        for problem in problems:
            log.error(problem)
        log.error(
            "ActionPlatform::LaunchModule: Failure occurred while executing 'SysprepGeneralizeValidate'; dwRet = 0x3cf2"
        )
        log.error("RunPlatformActions:Failed while validating Sysprep session actions; dwRet = 0x3cf2")
        return ProgramResult(_FAILED)
    return _seal(machine, run, options, unattend, log)


def _seal(machine: Machine, run: Invocation, options: Sequence[str], unattend: str, log: _Log) -> ProgramResult:
    """Run all generalization steps of sysprep, and then set the state of the image."""
    generalize = "/generalize" in options
    machine.registry.set(SETUP_STATE, "ImageState", _UNDEPLOYABLE)
    machine.registry.write(_STATUS, {"GeneralizationState": 3, "CleanupState": 2})
    log.info("ActionPlatform::LaunchModule: Executing method 'Sysprep_Generalize'")
    seconds = machine.settings.option("sysprep_seconds", 0.5)
    if run.stop.wait(float(seconds) if isinstance(seconds, (int, float)) else 0.5):
        raise ProcessEndedError
    fault = fault_of(machine.settings.option("sysprep_fault"))
    if generalize and fault is not None and fault.phase == "generalize":
        for line in fault.lines:
            log.error(line)
        log.error("WinMain:Hit failure while processing sysprep generalize providers; hr = 0x8007001f")
        return ProgramResult(_FAILED)
    if unattend:
        machine.files.make_directory(r"C:\Windows\Panther")
        machine.files.copy(unattend, _UNATTEND)
    target = "AUDIT" if "/audit" in options else "OOBE"
    machine.registry.write(_STATUS, {"GeneralizationState": 7, "CleanupState": 2})
    machine.registry.set(
        SETUP_STATE, "ImageState", f"IMAGE_STATE_{'GENERALIZE' if generalize else 'SPECIALIZE'}_RESEAL_TO_{target}"
    )
    machine.files.write_text(_TAG, "")
    sealed = machine.part(Sealed)
    sealed.generalized, sealed.unattend = generalize, _UNATTEND if unattend else ""
    log.info("Shutting down Sysprep log")
    _leave(machine, options)
    return ProgramResult(0)


def _leave(machine: Machine, options: Sequence[str]) -> None:
    if "/reboot" in options:
        machine.power.reboot(0, "sysprep")
    elif "/quit" not in options:
        machine.power.shutdown(0, "sysprep")


def on_boot(machine: Machine) -> None:
    """Set up a new machine from a generalized disk.

    WinRM gets its default settings. The answer file sets the computer name and the time zone, and its commands and
    SetupComplete.cmd run.
    """
    sealed = machine.part(Sealed)
    if not sealed.generalized:
        return
    sealed.generalized = False
    machine.registry.delete_key(_WSMAN)
    machine.registry.delete_key(_STATUS)
    if machine.services.exists("WinRM"):
        machine.services.configure("WinRM", Start=2, DelayedAutostart=None)
    if sealed.unattend and machine.files.is_file(sealed.unattend):
        text = machine.files.read_text(sealed.unattend)
        _answer(machine, text)
        first_setup.run_synchronous(machine, text)
    first_setup.start_setup_complete(machine)


def _answer(machine: Machine, text: str) -> None:
    """Apply the computer name (unless it is `*`) and the time zone from any pass of an answer file."""
    name = re.search(r"<ComputerName>\s*([^<*]+?)\s*</ComputerName>", text)
    if name:
        machine.registry.set(f"{COMPUTER_NAME}\\ComputerName", "ComputerName", name[1][:15].upper())
        machine.registry.set(f"{COMPUTER_NAME}\\ActiveComputerName", "ComputerName", name[1][:15].upper())
        machine.registry.write(TCPIP, {"Hostname": name[1], "NV Hostname": name[1]})
    zone = re.search(r"<TimeZone>\s*([^<]+?)\s*</TimeZone>", text)
    if zone and known(zone[1]):
        machine.registry.set(_ZONE, "TimeZoneKeyName", str(known(zone[1])))


def _status(machine: Machine) -> object:
    return str(machine.registry.data(SETUP_STATE, "ImageState", ""))


PROGRAMS: Mapping[str, Program] = {"sysprep.exe": sysprep}
STATUS = {"image_state": _status}
ON_BOOT = on_boot
