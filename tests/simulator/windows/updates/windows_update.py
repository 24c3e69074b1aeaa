# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Windows Update agent: the updates that it offers, the source of the updates, and the agent's errors.

The `windows_update` setting of a node is `false` if Microsoft is not reachable, or a mapping such as
`{until: 2024-12-31, offers: [KB…]}`. The `wsus` setting is a mapping such as
`{url: http://wsus:8530, approved: [KB…]}`.

Sources: https://learn.microsoft.com/windows/deployment/update/waas-wu-settings for policies, and for HRESULTs
https://learn.microsoft.com/windows/win32/wua_sdk/wua-success-and-error-codes- and
https://learn.microsoft.com/windows/win32/wua_sdk/wua-networkerror-codes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from simulator.machine.power import UPDATE_PENDING
from simulator.windows.updates import component_store, update_catalogue
from simulator.windows.updates.update_catalogue import SERVICING_STACK, Update
from simulator.windows.updates.update_install import start_service

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

Selection = Literal["default", "managed_server", "windows_update"]

POLICY = r"HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate"
DISABLED_BY_POLICY = 0x8024002F  # WU_E_CALL_CANCELLED_BY_POLICY
UNMANAGED_NOT_ALLOWED = 0x8024002E  # WU_E_WU_DISABLED
NAME_NOT_RESOLVED = 0x8024402C  # WU_E_PT_WINHTTP_NAME_NOT_RESOLVED


class AgentError(Exception):
    """An exception of the Windows Update agent's COM interface, with an unsigned HRESULT."""

    def __init__(self, hresult: int) -> None:
        super().__init__(f"Exception from HRESULT: 0x{hresult:08X}")
        self.hresult = hresult


def check_settings(machine: Machine) -> None:
    """Raise ValueError if a node's settings for updates are invalid."""
    option = machine.settings.option
    shapes = {
        "windows_update": ({"until", "offers"}, option("windows_update", {}) or {}),
        "wsus": ({"url", "approved"}, option("wsus", {})),
    }
    for name, (known, value) in shapes.items():
        if not isinstance(value, Mapping) or value.keys() - known:
            raise ValueError(
                f"node setting {name}: expected only the keys {' and '.join(sorted(known))}, got {value!r}"
            )
        for entry in (*value.get("offers", []), *value.get("approved", [])):
            if isinstance(entry, Mapping):
                update_catalogue.read(entry)
    if not isinstance(option("updates", []), list):
        raise ValueError(f"expected a list of KB articles for the node setting updates, got {option('updates')!r}")


def reboot_required(machine: Machine) -> bool:
    """Return the RebootRequired property of Microsoft.Update.SystemInfo."""
    return machine.registry.key_exists(UPDATE_PENDING)


def search(machine: Machine, selection: Selection = "default") -> list[Update]:
    """Search for updates. Return those offered updates that are applicable and not superseded by another one.

    Raises:
        AgentError: the search fails.
    """
    _start(machine)
    if _policy(machine, "DisableWindowsUpdateAccess") == 1:
        raise AgentError(DISABLED_BY_POLICY)
    offered = _from_server(machine) if _is_managed(machine, selection) else _from_microsoft(machine)
    return [update for update in update_catalogue.newest(offered) if _is_applicable(machine, update)]


def _start(machine: Machine) -> None:
    """Start the wuauserv service, whatever rights the user has. Raise AgentError if it does not start."""
    problem = start_service(machine, "wuauserv")
    if problem:
        raise AgentError(problem)


def _policy(machine: Machine, name: str, key: str = POLICY) -> object:
    return machine.registry.data(key, name)


def _is_managed(machine: Machine, selection: Selection) -> bool:
    """Return whether to use WSUS: policies must name a server and enable its use, and `selection` must permit it."""
    configured = bool(_policy(machine, "WUServer")) and _policy(machine, "UseWUServer", f"{POLICY}\\AU") == 1
    return configured and selection != "windows_update"


def _from_server(machine: Machine) -> list[Update]:
    wsus = machine.settings.option("wsus")
    url = str(_policy(machine, "WUServer")).rstrip("/").casefold()
    if not isinstance(wsus, Mapping) or str(wsus.get("url", "")).rstrip("/").casefold() != url:
        raise AgentError(NAME_NOT_RESOLVED)
    approved = wsus.get("approved", [])
    return _named(machine, approved if isinstance(approved, list) else [])


def _from_microsoft(machine: Machine) -> list[Update]:
    if _policy(machine, "DoNotConnectToWindowsUpdateInternetLocations") == 1:
        raise AgentError(UNMANAGED_NOT_ALLOWED)
    setting = machine.settings.option("windows_update", {})
    if setting is False:
        raise AgentError(NAME_NOT_RESOLVED)
    choices = setting if isinstance(setting, Mapping) else {}
    offers = choices.get("offers")
    if isinstance(offers, list):
        return _named(machine, offers)
    until = str(choices.get("until", "9999"))
    # A servicing stack update is part of its cumulative update.
    return [
        update
        for update in update_catalogue.for_build(machine.windows.build)
        if update.chain != SERVICING_STACK and update.date <= until
    ]


def _named(machine: Machine, entries: Iterable[object]) -> list[Update]:
    """Return the updates from a list in the fleet file. The list contains KB articles or definitions of updates.

    Articles that are not in the catalog are left out.
    """
    found: list[Update] = []
    for entry in entries:
        update = (
            update_catalogue.read(entry)
            if isinstance(entry, Mapping)
            else update_catalogue.find(str(entry), machine.windows.build)
        )
        if update is not None:
            found.append(update)
    return found


def _is_applicable(machine: Machine, update: Update) -> bool:
    """Return whether an update is applicable.

    Missing checkpoint updates do not matter, because Windows Update installs those that an update requires.
    """
    checkpoints = tuple(kb for kb, _ in update.checkpoints)
    return component_store.verdict(machine, update, checkpoints) == "applicable"
