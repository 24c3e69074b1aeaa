# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Installation of an update. TiWorker does the work for every caller, and continues if the caller ends.

Only one installation runs at a time. The next boot undoes an installation that a power failure interrupted. Sources of
the HRESULTs: https://learn.microsoft.com/windows/win32/wua_sdk/wua-success-and-error-codes- and (for those of CBS)
https://learn.microsoft.com/windows/deployment/update/windows-update-error-reference
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.files import DiskFullError
from simulator.machine.objects import ProcessEndedError
from simulator.machine.processes import Process
from simulator.machine.programs import SYSTEM
from simulator.machine.services import ServiceError
from simulator.windows.updates import component_store, update_faults
from simulator.windows.updates.component_store import TRUSTED_INSTALLER, Client
from simulator.windows.updates.update_catalogue import Update

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

OK = 0
ALREADY_INSTALLED = 0x00240006  # WU_S_ALREADY_INSTALLED
NOT_APPLICABLE = 0x80240017  # WU_E_NOT_APPLICABLE
CBS_NOT_APPLICABLE = 0x800F081E  # CBS_E_NOT_APPLICABLE
# The error if the target is installed without its checkpoint: ChrisTitusTech/winutil#3214.
CBS_SOURCE_MISSING = 0x800F081F
CBS_PENDING = 0x800F0828
FILE_NOT_FOUND = 0x80070002
ACCESS_DENIED = 0x80070005
INVALID_DATA = 0x8007000D
NOT_SUPPORTED = 0x80070032
DISK_FULL = 0x80070070
FILE_CORRUPT = 0x80070570
INSTALL_RUNNING = 0x80070652  # ERROR_INSTALL_ALREADY_RUNNING, 1618
SERVER_DIED = 0x800706BE  # RPC_S_CALL_FAILED: TiWorker was ended
NO_SIGNATURE = 0x800B0100
UNTRUSTED_ROOT = 0x800B0109

_MEGABYTE = 1 << 20
_SECONDS = 20.0
_INTERVAL = 0.05
_RUNNING = 1056


@dataclass
class Job:
    """An update installation: its progress in percent, and its result."""

    percent: int = 0
    hresult: int = OK
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class InstallationResult:
    """The result of an update installation: an unsigned HRESULT, and whether a reboot is needed."""

    hresult: int = OK
    reboot: bool = False


def scale(machine: Machine, seconds: float) -> float:
    """Convert simulated seconds to real seconds."""
    return seconds * machine.settings.time_scale


def install(
    machine: Machine,
    update: Update,
    client: Client,
    stop: threading.Event,
    progress: Callable[[int], None] = lambda _percent: None,
) -> InstallationResult:
    """Install an applicable update, wait until TiWorker has finished, and return the result.

    Args:
        stop: an event that is set when the calling process ends. This ends the wait, while TiWorker continues.
        progress: a function that is called with every new percentage.

    Raises:
        ProcessEndedError: `stop` was set, or the machine went down.
    """
    store = component_store.store_of(machine)
    with store.lock:
        if store.working:
            return InstallationResult(INSTALL_RUNNING)
        problem = start_service(machine, TRUSTED_INSTALLER)
        if problem:
            return InstallationResult(problem)
        store.working = update.kb
    component_store.note(machine, 43, update, client)
    job = Job()

    def work(process: Process) -> None:
        _work(machine, update, client, process, job)

    worker = machine.processes.detach("TiWorker.exe", SYSTEM, work)
    shown = 0
    progress(shown)
    while not job.done.wait(_INTERVAL):
        if stop.is_set():
            raise ProcessEndedError
        if job.percent != shown:
            shown = job.percent
            progress(shown)
        if worker.ended.is_set() and not job.done.is_set():
            break
    if stop.is_set() or machine.power.state != "on":
        raise ProcessEndedError
    hresult = job.hresult if job.done.is_set() else SERVER_DIED
    return InstallationResult(hresult, hresult == OK and update.reboots > 0)


def start_service(machine: Machine, name: str) -> int:
    """Start a service. Return 0, or an HRESULT if the service cannot run."""
    try:
        machine.services.start(name)
    except ServiceError as error:
        return OK if error.code == _RUNNING else 0x80070000 | error.code
    return OK


def _work(machine: Machine, update: Update, client: Client, process: Process, job: Job) -> None:
    """Install an update in the TiWorker process, and store the result in `job`."""
    store, boots = component_store.store_of(machine), machine.power.boots
    try:
        job.hresult = _stage(machine, update, process, job)
        with store.lock:
            process.check()
            if job.hresult == OK:
                component_store.take_in(machine, update, client)
            component_store.note(machine, 20 if job.hresult else 19, update, client, job.hresult)
            store.working = ""
    except ProcessEndedError:
        # After a power failure the store keeps this state, which the next boot undoes.
        with store.lock:
            if machine.power.state == "on" and machine.power.boots == boots:
                component_store.roll_back(machine, update.kb, "TiWorker was ended")
                store.working = ""
        raise
    job.percent = 100
    if not component_store.pending(machine):
        rest(machine)
    job.done.set()


def _stage(machine: Machine, update: Update, process: Process, job: Job) -> int:
    """Wait for the duration of the installation. Return 0, or the HRESULT of an error."""
    try:
        machine.files.check_space(update.disk_mb * _MEGABYTE)
    except DiskFullError:
        return DISK_FULL
    seconds = scale(machine, _seconds(machine, update))
    cut = update_faults.take(machine, "update_cut", update.kb, "install")
    for percent in range(0, 100, 10):
        job.percent = percent
        if percent == 50 and cut is not None:
            update_faults.strike(machine, cut)
            if cut.action != "link":
                process.sleep(60)
        process.sleep(seconds / 10)
    failure = update_faults.take(machine, "update_fails", update.kb, "install")
    return failure.hresult if failure else OK


def _seconds(machine: Machine, update: Update) -> float:
    slow = update_faults.take(machine, "update_slow", update.kb)
    if slow is not None:
        return slow.seconds
    if update.seconds is not None:
        return update.seconds
    configured = machine.settings.option("update_seconds", _SECONDS)
    return float(configured) if isinstance(configured, (int, float)) else _SECONDS


def rest(machine: Machine) -> None:
    """Stop TrustedInstaller, because no update is being installed any more."""
    try:
        machine.services.stop(TRUSTED_INSTALLER)
    except ServiceError:
        return
