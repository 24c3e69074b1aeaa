# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Updates at boot: Windows completes pending updates and undoes interrupted ones.

TiWorker continues its work after the boot. This module also provides the TrustedInstaller service, the status and
faults of updates, and the updates of a new machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.machine import executables
from simulator.machine.baseline import CURRENT_VERSION
from simulator.machine.objects import IdleServiceProgram, ServiceProgram
from simulator.machine.processes import Process
from simulator.machine.programs import SYSTEM
from simulator.machine.services import ServiceError
from simulator.windows.system import boot_configuration
from simulator.windows.updates import component_store, update_faults, windows_update
from simulator.windows.updates.component_store import TRUSTED_INSTALLER, ComponentStore, StoredUpdate
from simulator.windows.updates.update_install import rest, scale

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_FOLDER = r"C:\Windows\servicing"
_SETTLE_SECONDS = 20.0


def on_boot(machine: Machine) -> None:
    """Complete pending updates, and undo an interrupted one.

    If any update was pending or interrupted, make TrustedInstaller start automatically.
    """
    ubr = machine.registry.data(CURRENT_VERSION, "UBR", machine.windows.ubr)
    if isinstance(ubr, int) and ubr != machine.windows.ubr:
        # The disk was copied from another machine, which had different updates.
        machine.windows = replace(machine.windows, ubr=ubr)
    machine.power.shutdown_delay = lambda: _before_shutdown(machine)
    store = component_store.store_of(machine)
    with store.lock:
        worked = _go_on(machine, store)
        left = component_store.pending(machine)
    component_store.configure_installer(machine, automatic=worked or bool(left))
    for entry in unloaded(machine):
        # Code integrity rejects test-signed files while test signing is off.
        text = (
            f"Windows is unable to verify the image integrity of the files of {entry.update.kb}: test signing is off."
        )
        machine.services.events.append(text)
    if worked:
        machine.processes.detach("TiWorker.exe", SYSTEM, lambda process: _settle(machine, process))


def _before_shutdown(machine: Machine) -> float:
    """Return the number of simulated seconds by which "Working on updates" delays a shutdown.

    TrustedInstaller requests this time before the shutdown.
    Source: https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_preshutdown_info
    """
    configured = machine.settings.option("update_shutdown_seconds", 0)
    return float(configured) if isinstance(configured, (int, float)) and component_store.pending(machine) else 0.0


def _go_on(machine: Machine, store: ComponentStore) -> bool:
    """Undo an interrupted update, and do those parts of the pending updates that belong to this boot.

    If the machine goes down meanwhile, the remaining updates stay pending.

    Returns:
        Whether any update was interrupted or pending.
    """
    waiting, cut_off = component_store.pending(machine), store.working
    if cut_off:
        component_store.roll_back(machine, cut_off, "the power was cut while it was installed")
        store.working = ""
    for entry in waiting:
        if not _complete(machine, store, entry):
            break
    return bool(waiting or cut_off)


def _complete(machine: Machine, store: ComponentStore, entry: StoredUpdate) -> bool:
    """Do the part of a pending update that belongs to this boot.

    Return True, or False if the machine goes down before this part is finished.
    """
    kb = entry.update.kb
    if store.committing == kb:
        component_store.roll_back(machine, kb, "the power was cut while the boot completed it")
        store.committing = ""
        return True
    cut = update_faults.take(machine, "update_cut", kb, "boot")
    if cut is not None:
        store.committing = kb
        update_faults.strike(machine, cut)
        if cut.action != "link":
            return False
        store.committing = ""
    if update_faults.take(machine, "update_reboot_loop", kb) is not None:
        component_store.mark_pending(machine, entry.client)
        machine.power.reboot(0, f"{kb} restarts the computer")
        return False
    failure = update_faults.take(machine, "update_fails", kb, "boot")
    if failure is not None:
        component_store.note(machine, 20, entry.update, entry.client, failure.hresult)
        component_store.roll_back(machine, kb, f"0x{failure.hresult:08X} while the boot completed it")
        return True
    entry.reboots_left -= 1
    if entry.reboots_left <= 0:
        component_store.take_effect(machine, entry)
    return True


def _settle(machine: Machine, process: Process) -> None:
    """Simulate the work of TiWorker after a boot. Only afterwards do updates report that they need another reboot."""
    while machine.power.state != "on":
        process.sleep(0.02)
    configured = machine.settings.option("update_settle_seconds", _SETTLE_SECONDS)
    process.sleep(scale(machine, float(configured) if isinstance(configured, (int, float)) else _SETTLE_SECONDS))
    process.check()
    left = component_store.pending(machine)
    for entry in left:
        component_store.mark_pending(machine, entry.client)
    if not left:
        component_store.configure_installer(machine, automatic=False)
    if not component_store.store_of(machine).working:
        rest(machine)


def unloaded(machine: Machine) -> list[StoredUpdate]:
    """Return the installed updates whose files Windows does not load, because test signing is off."""
    if boot_configuration.is_active(machine, "testsigning"):
        return []
    installed = component_store.store_of(machine).entries.values()
    return [entry for entry in installed if entry.state == "Installed" and entry.update.test_signed]


def create_baseline(machine: Machine) -> None:
    """Add the updates of a new machine, and the executable of TrustedInstaller."""
    machine.files.make_directory(_FOLDER)
    path = f"{_FOLDER}\\TrustedInstaller.exe"
    machine.files.write_bytes(path, executables.make(TRUSTED_INSTALLER, machine.windows.full))
    try:
        machine.services.configure(TRUSTED_INSTALLER, ImagePath=r"%SystemRoot%\servicing\TrustedInstaller.exe")
    except ServiceError:
        return  # a machine without Windows' own services, in tests
    windows_update.check_settings(machine)
    update_faults.faults_of(machine)
    component_store.store_of(machine)


def _status(machine: Machine) -> object:
    store = component_store.store_of(machine)
    entries = store.entries.values()
    return {
        "build": f"{machine.windows.build}.{machine.windows.ubr}",
        "installed": {
            entry.update.kb: entry.installed_on.date().isoformat() for entry in entries if entry.state == "Installed"
        },
        "pending": [entry.update.kb for entry in entries if entry.state == "InstallPending"],
        "superseded": [entry.update.kb for entry in entries if entry.state == "Superseded"],
        "working": store.working,
        "not_loaded": [entry.update.kb for entry in unloaded(machine)],
        "test_signing": {
            "set": boot_configuration.is_set(machine, "testsigning"),
            "active": boot_configuration.is_active(machine, "testsigning"),
        },
    }


SERVICES: Mapping[str, ServiceProgram] = {TRUSTED_INSTALLER: IdleServiceProgram()}
STATUS: Mapping[str, Callable[[Machine], object]] = {"updates": _status}
FAULTS = update_faults.FAULTS
BASELINE = create_baseline
ON_BOOT = on_boot
