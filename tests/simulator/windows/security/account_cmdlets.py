# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cmdlets for local groups and users.

Source: https://learn.microsoft.com/powershell/module/microsoft.powershell.localaccounts/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine import accounts
from simulator.machine.accounts import Account
from simulator.machine.objects import Bound, Cmdlet, CmdletError, Enumeration, NotModelled, PSObject, items
from simulator.machine.wildcards import any_match, has_wildcard

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_NAMESPACE = "Microsoft.PowerShell.Commands"
# Identifiers below this number belong to built-in accounts (learn.microsoft.com: security identifiers).
_FIRST_OWN = 1000
_LOCAL = Enumeration("Local", 1, f"{_NAMESPACE}.PrincipalSource")


def identifier(value: str) -> PSObject:
    """Return a SID as a .NET object."""
    domain = value.rpartition("-")[0] if value.startswith("S-1-5-21-") else None
    return PSObject(
        "System.Security.Principal.SecurityIdentifier",
        {"BinaryLength": 8 + 4 * (value.count("-") - 2), "AccountDomainSid": domain, "Value": value},
        text=value,
    )


def _object(machine: Machine, account: Account) -> PSObject:
    properties: dict[str, object] = {"Description": account.description, "Name": account.name}
    if account.kind == "User":
        properties["Enabled"] = account.enabled
    properties |= {
        "SID": identifier(accounts.sid(machine, account)),
        "PrincipalSource": _LOCAL,
        "ObjectClass": account.kind,
    }
    return PSObject(f"{_NAMESPACE}.Local{account.kind}", properties, text=account.name)


def _missing(kind: str, requested: str) -> CmdletError:
    exception = f"{_NAMESPACE}.{kind}NotFoundException"
    return CmdletError("ObjectNotFound", f"{kind}NotFound", f"{kind} {requested} was not found.", exception)


def _select(machine: Machine, bound: Bound, kind: str) -> list[Account]:
    everybody = accounts.all_of(machine, kind)
    found: list[Account] = []
    names = [str(item) for item in items(bound.get("Name")) or bound.pipeline]
    sids = [str(item) for item in items(bound.get("SID"))]
    for requested in names:
        chosen = [account for account in everybody if any_match([requested], account.name)]
        if not chosen and not has_wildcard(requested):
            bound.write_error(_missing(kind, requested))
        found += chosen
    for requested in sids:
        chosen = [account for account in everybody if accounts.sid(machine, account) == requested]
        if not chosen:
            bound.write_error(_missing(kind, requested))
        found += chosen
    return found if names or sids else everybody


def get_local_group(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-LocalGroup."""
    return [_object(machine, account) for account in _select(machine, bound, "Group")]


def get_local_user(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-LocalUser."""
    return [_object(machine, account) for account in _select(machine, bound, "User")]


def get_local_group_member(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-LocalGroupMember without -Member."""
    if "Member" in bound:
        raise NotModelled("Get-LocalGroupMember -Member")
    given = str(next(iter(items(bound.get("Group") or bound.get("Name") or bound.get("SID")) or bound.pipeline), ""))
    group = accounts.find(machine, given, "Group")
    if group is None:
        raise _missing("Group", given)
    for member in accounts.member_sids(machine, group):
        name = accounts.name_of(machine, member)
        # A member that no longer exists is shown by its SID.
        account = accounts.find(machine, name.rpartition("\\")[2]) if name else None
        yield PSObject(
            f"{_NAMESPACE}.LocalPrincipal",
            {
                "Name": name or member,
                "SID": identifier(member),
                "PrincipalSource": _LOCAL,
                "ObjectClass": account.kind if account else "User",
            },
            text=name or member,
        )


def _enable(enabled: bool) -> Cmdlet:
    """Return a function that simulates Enable-LocalUser or Disable-LocalUser. Open logon sessions continue."""

    def handler(machine: Machine, bound: Bound) -> Iterable[object]:
        for account in _select(machine, bound, "User"):
            account.enabled = enabled
        return []

    return handler


def remove_local_user(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Remove-LocalUser. The user's profile stays. Windows refuses to delete its built-in accounts."""
    for account in _select(machine, bound, "User"):
        if int(account.key.rpartition("-")[2]) < _FIRST_OWN:
            raise CmdletError(
                "PermissionDenied",
                f"InvalidOperation,{_NAMESPACE}.RemoveLocalUserCommand",
                "Cannot perform this operation on built-in accounts.",
                f"{_NAMESPACE}.InvalidOperationException",
            )
        accounts.remove(machine, account)
    return []


def _status(machine: Machine) -> object:
    return {
        group.name: [accounts.name_of(machine, member) or member for member in accounts.member_sids(machine, group)]
        for group in accounts.all_of(machine, "Group")
    }


CMDLETS: Mapping[str, Cmdlet] = {
    "Get-LocalGroup": get_local_group,
    "Get-LocalGroupMember": get_local_group_member,
    "Get-LocalUser": get_local_user,
    "Disable-LocalUser": _enable(False),
    "Enable-LocalUser": _enable(True),
    "Remove-LocalUser": remove_local_user,
}
STATUS = {"local_groups": _status}
