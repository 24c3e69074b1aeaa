# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The component store of a machine: installed, pending and superseded updates, and the check of applicability.

Three places indicate a pending reboot: Component Based Servicing's `RebootPending`, Windows Update's
`RebootRequired`, and `PendingFileRenameOperations`. TrustedInstaller starts at boot while anything is pending.
"""

from __future__ import annotations

import copy
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from simulator.machine.baseline import CURRENT_VERSION
from simulator.machine.power import CBS_PENDING, SESSION_MANAGER, UPDATE_PENDING
from simulator.windows.system import event_log_store
from simulator.windows.updates import update_catalogue
from simulator.windows.updates.update_catalogue import CUMULATIVE, SERVICING_STACK, Update

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

State = Literal["Installed", "InstallPending", "Superseded"]
Verdict = Literal["applicable", "installed", "pending", "superseded", "not_applicable", "needs_checkpoint"]
Client = Literal["WindowsUpdate", "WUSA", "DISM", "Installer"]

TRUSTED_INSTALLER = "TrustedInstaller"
PROVIDER = "Microsoft-Windows-WindowsUpdateClient"
# Windows deletes files in use at the next boot. The path of any file in WinSxS is sufficient here.
_RENAMED = r"\??\C:\Windows\WinSxS\Temp\PendingDeletes\$$DeleteMe.ntdll.dll"
_AUTOMATIC, _DEMAND = 2, 3


@dataclass
class StoredUpdate:
    """An update in the component store: its state, its date, and the number of reboots that it still needs."""

    update: Update
    state: State
    installed_on: datetime
    client: Client = "WindowsUpdate"
    reboots_left: int = 0


@dataclass
class ComponentStore:
    """The component store of one machine.

    Args:
        entries: maps the KB article of each update to the update.
        downloaded: the KB articles of the updates that Windows Update has downloaded.
        working: the KB article of the update that TiWorker is installing; otherwise empty.
        committing: the KB article of the update that a boot was completing when the power failed; otherwise empty.
    """

    entries: dict[str, StoredUpdate] = field(default_factory=dict)
    downloaded: set[str] = field(default_factory=set)
    working: str = ""
    committing: str = ""
    filled: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __deepcopy__(self, memo: dict[int, object]) -> ComponentStore:
        """Return a copy for a machine that is deployed from the disk of this store's machine.

        The copy has a new lock, because locks cannot be copied.
        """
        entries, downloaded = copy.deepcopy(self.entries, memo), set(self.downloaded)
        return ComponentStore(entries, downloaded, self.working, self.committing, self.filled)


def store_of(machine: Machine) -> ComponentStore:
    """Return the machine's component store. The first call fills the store from the machine's settings."""
    store = machine.part(ComponentStore)
    with store.lock:
        if not store.filled:
            store.filled = True
            _fill(machine, store)
    return store


def _fill(machine: Machine, store: ComponentStore) -> None:
    build = machine.windows.build
    configured = machine.settings.option("updates")
    names = [str(item) for item in configured] if isinstance(configured, list) else None
    for name in names if names is not None else update_catalogue.installed_at_first(build):
        known = update_catalogue.find(name, build)
        _add(store, known or Update(name, category="Updates", date="2024-09-10", reboots=0))
    chosen = [entry.update.ubr for entry in store.entries.values() if entry.update.ubr]
    requested = machine.settings.option("ubr")
    ubr = requested if isinstance(requested, int) else max(chosen, default=machine.windows.ubr)
    if ubr not in chosen:
        # The cumulative update of the installation media has no article, but determines the build.
        base = Update(f"base {ubr}", hot_fix="", builds=(build,), ubr=ubr, date="2024-09-10")
        _add(store, base)
    for entry in list(store.entries.values()):
        retire(store, entry.update)
    if not any(entry.update.chain == SERVICING_STACK for entry in store.entries.values()):
        _add(store, _base_stack(build, ubr))
    set_ubr(machine, ubr)


def _add(store: ComponentStore, update: Update) -> None:
    published = datetime.fromisoformat(update.date).replace(tzinfo=UTC)
    store.entries[update.kb] = StoredUpdate(update, "Installed", published + timedelta(days=1))


def _base_stack(build: int, ubr: int) -> Update:
    name = f"Package_for_ServicingStack_{ubr}~31bf3856ad364e35~amd64~~{build}.{ubr}.1.0"
    return Update(
        f"servicing stack {ubr}", hot_fix="", package=name, chain=SERVICING_STACK, rank=1, date="2024-09-10", reboots=0
    )


def set_ubr(machine: Machine, ubr: int) -> None:
    """Set the machine's update build revision."""
    machine.registry.write(CURRENT_VERSION, {"UBR": ubr})
    machine.windows = replace(machine.windows, ubr=ubr)


def verdict(machine: Machine, update: Update, same_folder: tuple[str, ...] = ()) -> Verdict:
    """Return `applicable` if an update can be installed now, or else the reason, such as `superseded`.

    Args:
        same_folder: the KB articles of the other updates in the folder that contains the update's file.
    """
    store = store_of(machine)
    own = store.entries.get(update.kb)
    if own is not None and own.state != "Superseded":
        return "pending" if own.state == "InstallPending" else "installed"
    if update.builds and machine.windows.build not in update.builds:
        return "not_applicable"
    others = [entry for entry in store.entries.values() if entry.state != "Superseded"]
    if own is not None or any(entry.update.replaces(update) for entry in others):
        return "superseded"
    if update.ubr and update.ubr == machine.windows.ubr:
        return "installed"
    if machine.windows.ubr < update.needs_ubr:
        return "not_applicable"
    missing = [kb for kb, ubr in update.checkpoints if machine.windows.ubr < ubr and kb not in same_folder]
    return "needs_checkpoint" if missing else "applicable"


def retire(store: ComponentStore, update: Update) -> None:
    """Mark the updates that an installed update supersedes as superseded."""
    for entry in store.entries.values():
        if entry.state == "Installed" and update.replaces(entry.update):
            entry.state = "Superseded"


def take_in(machine: Machine, update: Update, client: Client) -> StoredUpdate:
    """Add an update, and any servicing stack update that it contains, to the store.

    An update that needs a reboot becomes pending.

    Returns:
        The entry of the update.
    """
    store = store_of(machine)
    with store.lock:
        state: State = "InstallPending" if update.reboots else "Installed"
        entry = StoredUpdate(update, state, _today(), client, update.reboots)
        store.entries[update.kb] = entry
        stack = _stack_of(machine, update)
        if stack is not None:
            take_in(machine, stack, client)
        if update.reboots:
            mark_pending(machine, client)
        else:
            take_effect(machine, entry)
    return entry


def _stack_of(machine: Machine, update: Update) -> Update | None:
    """Return the servicing stack update that a cumulative update contains, or None if there is none to install.

    A servicing stack update needs no reboot.
    """
    if update.chain != CUMULATIVE:
        return None
    stacks = [
        other
        for other in update_catalogue.for_build(machine.windows.build)
        if other.chain == SERVICING_STACK and other.date <= update.date
    ]
    newest = max(stacks, key=lambda other: other.rank, default=None)
    return newest if newest is not None and verdict(machine, newest) == "applicable" else None


def take_effect(machine: Machine, entry: StoredUpdate) -> None:
    """Mark an update as installed and those that it replaces as superseded. Set the UBR if the update has one."""
    store = store_of(machine)
    entry.state, entry.reboots_left = "Installed", 0
    retire(store, entry.update)
    if entry.update.ubr:
        set_ubr(machine, entry.update.ubr)
    if entry.update.category != "Definition Updates":
        entry.installed_on = _today()


def roll_back(machine: Machine, kb: str, why: str) -> None:
    """Remove an update that could not be completed. Windows then shows "Undoing changes made to your computer"."""
    store = store_of(machine)
    with store.lock:
        store.entries.pop(kb, None)
    machine.services.events.append(f"The installation of {kb} was rolled back: {why}")


def mark_pending(machine: Machine, client: Client) -> None:
    """Record a pending reboot in the registry."""
    registry = machine.registry
    if client != "Installer":
        registry.create_key(CBS_PENDING)
        configure_installer(machine, automatic=True)
    if client in ("WindowsUpdate", "WUSA"):
        registry.create_key(UPDATE_PENDING)
    renames = registry.data(SESSION_MANAGER, "PendingFileRenameOperations", [])
    waiting = [str(item) for item in renames] if isinstance(renames, list) else []
    registry.write(SESSION_MANAGER, {"PendingFileRenameOperations": [*waiting, _RENAMED, ""]})


def configure_installer(machine: Machine, *, automatic: bool) -> None:
    """Make TrustedInstaller start at boot while an update is pending, and otherwise on demand."""
    service = machine.services.get(TRUSTED_INSTALLER)
    if service is not None and service.start in (_AUTOMATIC, _DEMAND):
        machine.services.configure(TRUSTED_INSTALLER, Start=_AUTOMATIC if automatic else _DEMAND)


def pending(machine: Machine) -> list[StoredUpdate]:
    """Return the updates that are pending until a reboot."""
    return [entry for entry in store_of(machine).entries.values() if entry.state == "InstallPending"]


def note(machine: Machine, number: int, update: Update, client: Client, hresult: int = 0) -> None:
    """Write a Windows Update event to the System log, if the client is Windows Update or WUSA.

    The event id is 43 (installation started), 19 (installed) or 20 (failed).

    Source: https://learn.microsoft.com/troubleshoot/windows-client/installing-updates-features-roles/
    """
    if client not in ("WindowsUpdate", "WUSA"):
        return
    texts = {
        19: f"Installation Successful: Windows successfully installed the following update: {update.title}",
        20: f"Installation Failure: Windows failed to install the following update with error "
        f"0x{hresult:08X}: {update.title}",
        43: f"Installation Started: Windows has started installing the following update: {update.title}",
    }
    level = 2 if number == 20 else 4
    event_log_store.write(machine, "System", texts[number], provider=PROVIDER, level=level, event_id=number)


def _today() -> datetime:
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
