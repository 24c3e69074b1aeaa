# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Local users and groups, their security identifiers (SIDs), and Windows' well-known names.

The SIDs are those in https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-identifiers.
The accounts of a newly installed server are listed in ../contracts/local-accounts.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from simulator.machine.contract import FOLDER
from simulator.machine.rights.tokens import AUTHENTICATED, service_sid

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

BUILTIN = "S-1-5-32-"
# The placeholder for the machine's part of a SID, which sysprep replaces.
_HERE = "@"
_FIRST = 1000
INTERACTIVE = "S-1-5-4"

WELL_KNOWN = {
    "S-1-1-0": "Everyone",
    "S-1-3-0": "CREATOR OWNER",
    "S-1-5-4": "NT AUTHORITY\\INTERACTIVE",
    "S-1-5-6": "NT AUTHORITY\\SERVICE",
    "S-1-5-11": "NT AUTHORITY\\Authenticated Users",
    "S-1-5-18": "NT AUTHORITY\\SYSTEM",
    "S-1-5-19": "NT AUTHORITY\\LOCAL SERVICE",
    "S-1-5-20": "NT AUTHORITY\\NETWORK SERVICE",
    "S-1-5-93-2-1": "User Manager\\ContainerAdministrator",
    "S-1-5-93-2-2": "User Manager\\ContainerUser",
    "S-1-15-2-1": "APPLICATION PACKAGE AUTHORITY\\ALL APPLICATION PACKAGES",
    "S-1-15-2-2": "APPLICATION PACKAGE AUTHORITY\\ALL RESTRICTED APPLICATION PACKAGES",
}


@dataclass
class Account:
    """A local user or group.

    Args:
        key: the SID, with `@` in place of the part that identifies the machine.
        members: the keys of a group's members.
        password: the password, or an empty string while the account has the password that was set at the first boot.
    """

    name: str
    kind: Literal["User", "Group"]
    key: str
    description: str = ""
    enabled: bool = True
    members: list[str] = field(default_factory=list)
    password: str = ""


@dataclass
class LocalAccounts:
    """The local users and groups of a machine, by lower-case name. The `accounts` function creates them."""

    accounts: dict[str, Account] = field(default_factory=dict)
    next_id: int = _FIRST


@cache
def _fresh() -> dict[str, dict[str, Any]]:
    """Return the `groups` and `users` of a new server, each as a dictionary keyed by the last part of the SID."""
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / "local-accounts.json").read_text(encoding="utf-8"))
    return found


def accounts(machine: Machine) -> LocalAccounts:
    """Return the machine's local accounts. The first call creates those of a new server and the administrator."""
    found = machine.part(LocalAccounts)
    if not found.accounts:
        fresh = _fresh()
        for number, entry in fresh["groups"].items():
            found.accounts[entry["name"].casefold()] = Account(kind="Group", key=f"{BUILTIN}{number}", **entry)
        for number, entry in fresh["users"].items():
            found.accounts[entry["name"].casefold()] = Account(kind="User", key=f"{_HERE}-{number}", **entry)
        found.accounts["users"].members += [AUTHENTICATED, INTERACTIVE]
        found.accounts["guests"].members.append(f"{_HERE}-501")
        administrators = found.accounts["administrators"].members
        administrators.append(f"{_HERE}-500")
        own = machine.settings.user
        if own.casefold() not in found.accounts:
            administrators.append(_new(found, own, "User", "").key)
    return found


def _new(known: LocalAccounts, name: str, kind: Literal["User", "Group"], description: str) -> Account:
    known.next_id += 1
    account = Account(name, kind, f"{_HERE}-{known.next_id}", description)
    known.accounts[name.casefold()] = account
    return account


def find(machine: Machine, name: str, kind: str = "") -> Account | None:
    """Return the local account with this name and, if given, this kind. Return None if no such account exists."""
    found = accounts(machine).accounts.get(name.casefold())
    return found if found and (not kind or found.kind == kind) else None


def all_of(machine: Machine, kind: str) -> list[Account]:
    """Return all accounts of a kind (`User`, `Group`), sorted by name."""
    found = [account for account in accounts(machine).accounts.values() if account.kind == kind]
    return sorted(found, key=lambda account: account.name.casefold())


def add(machine: Machine, name: str, kind: Literal["User", "Group"], description: str = "") -> Account:
    """Create a local account."""
    return _new(accounts(machine), name, kind, description)


def provide_own(machine: Machine) -> None:
    """Create the administrator of a new machine, or enable an existing account and reset its password.

    On real machines, the cloud platform or an answer file does this at the first boot.
    """
    known = machine.part(LocalAccounts)
    if not known.accounts:
        return
    own = find(machine, machine.settings.user, "User")
    if own is None:
        own = add(machine, machine.settings.user, "User")
        known.accounts["administrators"].members.append(own.key)
    own.enabled, own.password = True, ""


def remove(machine: Machine, account: Account) -> None:
    """Delete a local account. As on Windows, its SID remains in the groups of which it was a member."""
    accounts(machine).accounts.pop(account.name.casefold(), None)


def sid(machine: Machine, account: Account) -> str:
    """Return the SID of a local user or group."""
    return _whole(machine, account.key)


def member_sids(machine: Machine, group: Account) -> list[str]:
    """Return the SIDs of a group's members."""
    return [_whole(machine, key) for key in group.members]


def join(machine: Machine, group: Account, member: str) -> None:
    """Add a SID to a group."""
    group.members.append(_short(machine, member))


def leave(machine: Machine, group: Account, member: str) -> None:
    """Remove a SID from a group."""
    group.members.remove(_short(machine, member))


def groups_of(machine: Machine, sids: Collection[str]) -> set[str]:
    """Return the SIDs of the local groups that have at least one of the given SIDs as a member."""
    requested = {_short(machine, each) for each in sids}
    groups = (account for account in list(accounts(machine).accounts.values()) if account.kind == "Group")
    return {sid(machine, group) for group in groups if not requested.isdisjoint(group.members)}


def resolve(machine: Machine, name: str) -> str | None:
    r"""Return the SID of an account name (`NAME`, `.\NAME`, `AUTHORITY\NAME`), or None if the account does not exist.

    If the name is itself a SID, return it in upper case, even if no account has it.
    """
    if re.fullmatch(r"S-1(-\d+){2,16}", name, re.IGNORECASE):
        return name.upper()
    authority, separator, short = name.rpartition("\\")
    if separator and authority.casefold() == "nt service":
        return _service(machine, short)
    requested = name.casefold()
    for known, full in WELL_KNOWN.items():
        if requested == full.casefold() or (not separator and requested == full.rpartition("\\")[2].casefold()):
            return known
    account = find(machine, short)
    if account is None:
        return None
    builtin = account.key.startswith(BUILTIN)
    homes = {"", "builtin"} if builtin else {"", ".", machine.name.casefold()}
    return sid(machine, account) if authority.casefold() in homes else None


def name_of(machine: Machine, requested: str) -> str | None:
    r"""Return the name of the account with a SID, as `AUTHORITY\NAME`, or None if no account has this SID."""
    if requested in WELL_KNOWN:
        return WELL_KNOWN[requested]
    for account in accounts(machine).accounts.values():
        if sid(machine, account) == requested:
            return f"{'BUILTIN' if account.key.startswith(BUILTIN) else machine.name}\\{account.name}"
    services = (name for name in machine.services.names() if _service(machine, name) == requested)
    return next((f"NT SERVICE\\{name}" for name in services), None)


def _service(machine: Machine, name: str) -> str | None:
    r"""Return the SID of the virtual account `NT SERVICE\NAME`, or None if the service does not exist."""
    if not machine.services.exists(name):
        return None
    return service_sid(name)


def _whole(machine: Machine, key: str) -> str:
    return key.replace(_HERE, machine.sid)


def _short(machine: Machine, text: str) -> str:
    return text.replace(f"{machine.sid}-", f"{_HERE}-")
