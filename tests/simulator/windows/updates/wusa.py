# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The wusa.exe program, and update installers that are .exe files.

wusa.exe does not work in a network logon session. Microsoft says: "WUSA returns 0x5 ERROR_ACCESS_DENIED when deploying
.msu files through WinRM and Windows Remote Shell" (quoted in jberezanski/ChocolateyPackages#69). wusa.exe needs the
wuauserv service. If this service is disabled, the exit code is 1058.

Source of the arguments: https://support.microsoft.com/help/934307
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import Invocation, ProcessEndedError, Program, ProgramResult
from simulator.windows.updates import component_store, packages, update_install
from simulator.windows.updates.update_package import INSTALLER

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_REBOOT, _REBOOT_STARTED = 3010, 1641
_NOT_INSTALLED = 0x00240007  # WU_S_ALREADY_UNINSTALLED


def exit_code(hresult: int) -> int:
    """Return wusa.exe's exit code for an HRESULT.

    It is the Win32 code that the HRESULT contains. If there is none, it is the HRESULT as a signed number.
    """
    if hresult >> 16 == 0x8007:
        return hresult & 0xFFFF
    return hresult - (1 << 32) if hresult & 0x80000000 else hresult


def is_network_logon(run: Invocation) -> bool:
    """Return whether a program runs in a network logon session, which is the type that WinRM creates.

    Programs that run as SYSTEM, in a scheduled task or with become have other types of sessions.
    """
    short = run.user.rsplit("\\", 1)[-1].casefold()
    return short not in ("system", "localsystem") and run.logon != "batch"


def wusa(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate wusa.exe FILE /quiet /norestart.

    /uninstall /kb:NUMBER is modelled only for updates that are not installed.
    """
    words = [word.casefold() for word in run.argv]
    options = {word.partition(":")[0]: word.partition(":")[2] for word in words if word.startswith("/")}
    files = [word for word in run.argv if not word.startswith("/")]
    if is_network_logon(run):
        return ProgramResult(exit_code(update_install.ACCESS_DENIED))
    if not options.keys() & {"/quiet", "/q"}:
        return _wait_for_a_user(run)
    problem = update_install.start_service(machine, "wuauserv")
    if problem:
        return ProgramResult(exit_code(problem))
    if "/uninstall" in options:
        installed = component_store.store_of(machine).entries
        if f"KB{options.get('/kb', '')}" not in installed:
            return ProgramResult(_NOT_INSTALLED)
        return ProgramResult(1, "", "the simulator does not model wusa /uninstall\r\n")
    if len(files) != 1:
        return ProgramResult(87)
    outcome = packages.add(machine, _absolute(run, files[0]), "WUSA", run.stop)
    if outcome.hresult != update_install.OK:
        return ProgramResult(exit_code(outcome.hresult))
    return _end(machine, options, reboot=outcome.reboot)


def _end(machine: Machine, options: Collection[str], *, reboot: bool) -> ProgramResult:
    if not reboot:
        return ProgramResult(0)
    if "/norestart" in options:
        return ProgramResult(_REBOOT)
    try:
        machine.power.reboot(0, "Windows Update Standalone Installer")
    except RuntimeError:
        return ProgramResult(_REBOOT)
    return ProgramResult(_REBOOT_STARTED)


def _wait_for_a_user(run: Invocation) -> ProgramResult:
    """Simulate a dialog that no user closes. Raise ProcessEndedError when the process is stopped."""
    run.stop.wait()
    raise ProcessEndedError


def _absolute(run: Invocation, path: str) -> str:
    return path if path[1:2] == ":" or path.startswith("\\") else f"{run.directory.rstrip(chr(92))}\\{path}"


def installer(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate an update's own installer: FILE.exe /quiet /norestart (or /q)."""
    options = {word.casefold().replace("-", "/", 1) for word in run.argv}
    if not options & {"/quiet", "/q", "/passive"}:
        return _wait_for_a_user(run)
    found = packages.read_package(machine, run.program)
    if isinstance(found, int):
        return ProgramResult(exit_code(found))
    update = found.update
    answer = component_store.verdict(machine, update)
    if answer == "pending":
        return ProgramResult(_REBOOT)
    if answer == "installed":
        return ProgramResult(0)
    if answer != "applicable":
        return ProgramResult(exit_code(update_install.NOT_APPLICABLE))
    if update.exit_code is not None:
        return ProgramResult(update.exit_code)
    # Updates with a package go through the component store. Updates without one only replace files.
    outcome = update_install.install(machine, update, "DISM" if update.package else "Installer", run.stop)
    if outcome.hresult != update_install.OK:
        return ProgramResult(exit_code(outcome.hresult))
    return _end(machine, options, reboot=outcome.reboot)


PROGRAMS: Mapping[str, Program] = {"wusa.exe": wusa, INSTALLER: installer}
