# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the configuration of a service as the service control manager does.

https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-createservicew lists the errors. The page also states
that only drivers may use the start types boot and system.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.machine import accounts
from simulator.machine.service_errors import ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

ROOT = r"HKLM:\SYSTEM\CurrentControlSet\Services"
INVALID_PARAMETER = 87
INVALID_SERVICE_ACCOUNT = 1057
CIRCULAR_DEPENDENCY = 1059
DRIVER = 0x1 | 0x2 | 0x4 | 0x8
"""The bits in a service's type that mark it as a driver."""
# https://learn.microsoft.com/windows/win32/services/service-user-accounts
BUILT_IN = frozenset(
    {
        "localsystem",
        ".\\localsystem",
        "nt authority\\system",
        "nt authority\\localservice",
        "nt authority\\local service",
        "nt authority\\networkservice",
        "nt authority\\network service",
    }
)


def check(machine: Machine, name: str, entries: Mapping[str, object]) -> None:
    """Check a service's configuration before it is written to the registry.

    Args:
        name: the name of the service.
        entries: the registry values to write. None stands for a value to remove.

    Raises:
        ServiceError: Windows rejects the configuration.
    """

    def number(value: str, default: int) -> int:
        found = entries.get(value, machine.registry.data(f"{ROOT}\\{name}", value, default))
        return found if isinstance(found, int) else default

    if number("Start", 3) < 2 and not number("Type", 0x10) & DRIVER:
        raise ServiceError(INVALID_PARAMETER)
    account = entries.get("ObjectName")
    if account and not account_exists(machine, str(account), name):
        raise ServiceError(INVALID_SERVICE_ACCOUNT)
    if _needs(machine, entries.get("DependOnService"), name.casefold(), set()):
        raise ServiceError(CIRCULAR_DEPENDENCY)


def account_exists(machine: Machine, account: str, service: str) -> bool:
    r"""Return whether an account exists and services can run as it.

    Of domain accounts, only managed accounts (`DOMAIN\NAME$`) are modelled. They are assumed to exist.
    """
    requested = account.casefold()
    if requested in BUILT_IN:
        return True
    authority, separator, user = requested.rpartition("\\")
    if authority == "nt service":
        # Each service has an account with its name.
        return user == service.casefold() or machine.services.exists(user)
    if separator and user.endswith("$"):
        # A managed account of a domain. Windows checks it with the domain, which the simulator does not have.
        return True
    if separator and authority not in (".", machine.name.casefold()):
        return False
    return accounts.find(machine, user, "User") is not None


def is_administrator(machine: Machine, account: str) -> bool:
    """Return whether a service's account has administrator rights. LocalSystem and administrators have them.

    LocalService, NetworkService and the services' virtual accounts have only the rights of a user:
    https://learn.microsoft.com/windows/win32/services/localservice-account
    """
    return machine.acting.token_of(account).administrative


def _needs(machine: Machine, names: object, service: str, seen: set[str]) -> bool:
    """Return whether any of the named services is `service` or depends on it, directly or indirectly."""
    for name in map(str, names if isinstance(names, list) else ()):
        if name.casefold() == service:
            return True
        if name.casefold() not in seen:
            seen.add(name.casefold())
            if _needs(machine, machine.registry.data(f"{ROOT}\\{name}", "DependOnService", []), service, seen):
                return True
    return False
