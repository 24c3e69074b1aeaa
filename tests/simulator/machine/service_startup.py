# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Determine which services the service control manager starts at boot, and in which order.

Only two things define the order: load ordering groups and dependencies
(https://learn.microsoft.com/windows/win32/services/automatically-starting-services). In all other respects, services
start here in a random order, which differs from boot to boot. Therefore, a node that works with only one order fails
on some boots.

Delayed auto-start services start later than all others, one at a time in the order of their names, but each after the
services on which it depends. If a service that is not delayed depends on a delayed service, the delayed service
starts at boot (https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_delayed_auto_start_info).

Tags, which order drivers within a group, are not modelled.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simulator.machine.service_rules import ROOT

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

GROUP_ORDER = r"HKLM:\SYSTEM\CurrentControlSet\Control\ServiceGroupOrder"
DELAY_SECONDS = 120.0
"""The delay of delayed auto-start services. Source: [MS-SCMR] 2.2.33, SERVICE_DELAYED_AUTO_START_INFO."""
_AUTOMATIC = 2


def automatic(machine: Machine, first: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Return the names of the automatic services in the order in which Windows tries to start them.

    Args:
        machine: the machine.
        first: services that start in the given order, before all other services of their group. Those without a group
            start before all other services without a group.

    Returns:
        The services that start at boot, and the services that start after a delay.
    """
    groups = [group.casefold() for group in _texts(machine, GROUP_ORDER, "List")]
    preferred = [name.casefold() for name in first]
    chance = random.Random(f"{machine.settings.name} {machine.power.boots}")

    def rank(name: str) -> tuple[int, int, float]:
        group = str(machine.registry.data(f"{ROOT}\\{name}", "Group", "")).casefold()
        key = name.casefold()
        return (
            groups.index(group) if group in groups else len(groups),
            preferred.index(key) if key in preferred else len(preferred),
            chance.random(),
        )

    services = [service for name in machine.services.names() if (service := machine.services.get(name))]
    starting = [service for service in services if service.start <= _AUTOMATIC]
    at_boot = [service.name for service in starting if not service.delayed]
    return sorted(at_boot, key=rank), [service.name for service in starting if service.delayed]


def start_later(
    names: Sequence[str], start: Callable[[str], object], halted: threading.Event, time_scale: float
) -> None:
    """In a new thread, wait DELAY_SECONDS, then start the delayed services one by one until the machine goes down.

    Args:
        names: the names of the delayed services.
        start: a function that starts a service.
        halted: an event that is set when the machine goes down.
        time_scale: the number of real seconds per simulated second of the delay.
    """

    def run() -> None:
        if halted.wait(DELAY_SECONDS * time_scale):
            return
        for name in names:
            if not halted.is_set():
                start(name)

    threading.Thread(target=run, name="delayed-services", daemon=True).start()


def needed_groups(machine: Machine, name: str) -> list[str]:
    """Return the load ordering groups that a service depends on.

    The service can run if, once Windows has tried to start all members, at least one member of each group is running
    (https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-createservicew, lpDependencies).
    """
    return _texts(machine, f"{ROOT}\\{name}", "DependOnGroup")


def members(machine: Machine, group: str) -> list[str]:
    """Return the names of the services in a load ordering group."""
    groups = {name: machine.registry.data(f"{ROOT}\\{name}", "Group", "") for name in machine.services.names()}
    return [name for name, found in groups.items() if str(found).casefold() == group.casefold()]


def _texts(machine: Machine, path: str, name: str) -> list[str]:
    data = machine.registry.data(path, name, [])
    return [str(item) for item in data] if isinstance(data, list) else []
