# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The dism.exe program with /Online, for packages, features and /Cleanup-Image.

Unlike wusa.exe, it works in a network logon session. Source:
https://learn.microsoft.com/windows-hardware/manufacture/desktop/dism-operating-system-package-servicing-command-line-options
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import Invocation, ProcessEndedError, Program, ProgramResult
from simulator.windows.updates import dism_features, packages, update_install
from simulator.windows.updates.component_store import store_of
from simulator.windows.updates.update_install import InstallationResult
from simulator.windows.updates.wusa import exit_code

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_REBOOT = 3010
_STATES = {"Installed": "Installed", "InstallPending": "Install Pending", "Superseded": "Superseded"}
_TYPES = {"SecurityUpdate": "Security Update", "Update": "Update"}
_DONE = "The operation completed successfully.\r\n"
_CLEANUPS = ("/startcomponentcleanup", "/restorehealth", "/checkhealth", "/scanhealth", "/analyzecomponentstore")


def dism(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate dism.exe /Online with one servicing option."""
    words = [word.replace("-", "/", 1) if word.startswith("-") else word for word in run.argv]
    names = [word.partition(":")[0].casefold() for word in words]
    head = _head(machine)
    if "/online" not in names:
        return ProgramResult(1, "", "the simulator does not model dism without /online\r\n")
    if "/add-package" in names:
        paths = [
            word.partition(":")[2].strip('"') for word, name in zip(words, names, strict=True) if name == "/packagepath"
        ]
        return _add(machine, run, [path for path in paths if path], names, head)
    if "/enable-feature" in names or "/disable-feature" in names:
        requested = [
            word.partition(":")[2].strip('"') for word, name in zip(words, names, strict=True) if name == "/featurename"
        ]
        return _features(machine, run, requested, names, head)
    if "/get-packages" in names:
        return ProgramResult(0, head + _list(machine) + _DONE)
    if "/cleanup-image" in names and any(name in _CLEANUPS for name in names):
        if "/startcomponentcleanup" in names:
            _clean(machine)
        return ProgramResult(0, f"{head}[==========================100.0%==========================]\r\n{_DONE}")
    return ProgramResult(87, f"{head}\r\nError: 87\r\n\r\nAn option is unknown.\r\n")


def _head(machine: Machine) -> str:
    return (
        "\r\nDeployment Image Servicing and Management tool\r\n"
        f"Version: 10.0.{machine.windows.build}.1\r\n\r\nImage Version: {machine.windows.full}\r\n\r\n"
    )


def _add(machine: Machine, run: Invocation, paths: list[str], names: list[str], head: str) -> ProgramResult:
    if not paths:
        return ProgramResult(87, f"{head}\r\nError: 87\r\n\r\nThe add-package option requires a packagepath.\r\n")
    files = [file for path in paths for file in packages.files_of(machine, path)]
    outcomes: list[InstallationResult] = []
    for number, file in enumerate(files, 1):
        head += f"Processing {number} of {len(files)} - Adding package {file}\r\n"
        outcome = packages.add(machine, file, "DISM", run.stop)
        if outcome.hresult not in (update_install.OK, update_install.ALREADY_INSTALLED):
            return _failed(head, outcome.hresult)
        outcomes.append(outcome)
    return _done(machine, run, names, head, restart=any(outcome.reboot for outcome in outcomes))


def _features(machine: Machine, run: Invocation, requested: list[str], names: list[str], head: str) -> ProgramResult:
    enable = "/enable-feature" in names
    if not requested:
        option = "enable-feature" if enable else "disable-feature"
        return ProgramResult(87, f"{head}\r\nError: 87\r\n\r\nThe {option} option requires a feature name.\r\n")
    head += f"{'Enabling' if enable else 'Disabling'} feature(s)\r\n"
    restart = False
    for name in requested:
        hresult, needed = dism_features.change(machine, name, enable=enable, parents="/all" in names)
        if hresult == dism_features.UNKNOWN_FEATURE:
            text = f"Feature name {name} is unknown.\r\nA Windows feature name was not recognized.\r\n"
            return ProgramResult(exit_code(hresult), f"{head}\r\nError: 0x{hresult:08x}\r\n\r\n{text}")
        if hresult:
            return _failed(head, hresult)
        restart = restart or needed
    head += "[==========================100.0%==========================]\r\n"
    return _done(machine, run, names, head, restart=restart)


def _done(machine: Machine, run: Invocation, names: list[str], head: str, *, restart: bool) -> ProgramResult:
    """Return DISM's final output and exit code.

    If a restart is needed, /NoRestart omits it. Without /NoRestart, DISM restarts the machine if /Quiet is given.
    Otherwise, it waits for a confirmation that never comes.
    """
    if not restart:
        return ProgramResult(0, head + _DONE)
    if "/norestart" in names:
        return ProgramResult(_REBOOT, head + _DONE)
    if "/quiet" not in names:
        # DISM asks whether to restart now, and gets no answer.
        run.stop.wait()
        raise ProcessEndedError
    machine.power.reboot(0, "DISM")
    return ProgramResult(_REBOOT, head + _DONE)


def _failed(head: str, hresult: int) -> ProgramResult:
    wrapped = hresult >> 16 == 0x8007
    number = str(hresult & 0xFFFF) if wrapped else f"0x{hresult:08x}"
    text = packages.MESSAGES.get(hresult, "DISM failed. No operation was performed.")
    log = "The DISM log file can be found at C:\\Windows\\Logs\\DISM\\dism.log\r\n"
    return ProgramResult(exit_code(hresult), f"{head}\r\nError: {number}\r\n\r\n{text}\r\n\r\n{log}")


def _list(machine: Machine) -> str:
    blocks = []
    for entry in store_of(machine).entries.values():
        if not entry.update.package:
            continue
        time = "" if entry.state == "InstallPending" else f"{entry.installed_on:%m/%d/%Y %I:%M %p}"
        blocks.append(
            f"Package Identity : {entry.update.package}\r\nState : {_STATES[entry.state]}\r\n"
            f"Release Type : {_TYPES[packages.release_type(entry)]}\r\nInstall Time : {time}\r\n\r\n"
        )
    return "Packages listing:\r\n\r\n" + "".join(blocks)


def _clean(machine: Machine) -> None:
    """Remove superseded updates from the component store."""
    store = store_of(machine)
    with store.lock:
        store.entries = {kb: entry for kb, entry in store.entries.items() if entry.state != "Superseded"}


PROGRAMS: Mapping[str, Program] = {"dism.exe": dism}
