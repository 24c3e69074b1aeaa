# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""win_user_right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.machine.modules.accounts import sid_of
from simulator.machine.modules.arguments import ArgumentError, Arguments
from simulator.machine.objects import NotModelled
from simulator.machine.session import Session
from simulator.windows import accounts

_ADMINISTRATORS, _USERS, _EVERYONE = "S-1-5-32-544", "S-1-5-32-545", "S-1-1-0"
_OPERATORS, _SERVICES, _LOCAL, _NETWORK = "S-1-5-32-551", "S-1-5-6", "S-1-5-19", "S-1-5-20"
# What a stand-alone server grants, by the pages of the single rights below
# https://learn.microsoft.com/windows/security/threat-protection/security-policy-settings/user-rights-assignment
RIGHTS: Mapping[str, tuple[str, ...]] = {
    "SeAssignPrimaryTokenPrivilege": (_LOCAL, _NETWORK),
    "SeAuditPrivilege": (_LOCAL, _NETWORK),
    "SeBackupPrivilege": (_ADMINISTRATORS, _OPERATORS),
    "SeBatchLogonRight": (_ADMINISTRATORS, _OPERATORS, "S-1-5-32-559"),
    "SeChangeNotifyPrivilege": (_EVERYONE, _LOCAL, _NETWORK, _ADMINISTRATORS, _USERS, _OPERATORS),
    "SeCreateGlobalPrivilege": (_LOCAL, _NETWORK, _ADMINISTRATORS, _SERVICES),
    "SeCreateSymbolicLinkPrivilege": (_ADMINISTRATORS,),
    "SeDebugPrivilege": (_ADMINISTRATORS,),
    "SeDenyBatchLogonRight": (),
    "SeDenyInteractiveLogonRight": (),
    "SeDenyNetworkLogonRight": (),
    "SeDenyRemoteInteractiveLogonRight": (),
    "SeDenyServiceLogonRight": (),
    "SeImpersonatePrivilege": (_LOCAL, _NETWORK, _ADMINISTRATORS, _SERVICES),
    "SeIncreaseQuotaPrivilege": (_LOCAL, _NETWORK, _ADMINISTRATORS),
    "SeInteractiveLogonRight": (_ADMINISTRATORS, _USERS, _OPERATORS),
    "SeLockMemoryPrivilege": (),
    "SeManageVolumePrivilege": (_ADMINISTRATORS,),
    "SeNetworkLogonRight": (_EVERYONE, _ADMINISTRATORS, _USERS, _OPERATORS),
    "SeRemoteInteractiveLogonRight": (_ADMINISTRATORS, "S-1-5-32-555"),
    "SeRestorePrivilege": (_ADMINISTRATORS, _OPERATORS),
    "SeServiceLogonRight": ("S-1-5-80-0",),
    "SeShutdownPrivilege": (_ADMINISTRATORS, _OPERATORS),
    "SeTakeOwnershipPrivilege": (_ADMINISTRATORS,),
    "SeTcbPrivilege": (),
}


@dataclass
class UserRights:
    """Who holds which right, where that was changed: security identifiers by the right's name."""

    held: dict[str, list[str]] = field(default_factory=dict)


def run(session: Session, arguments: Arguments) -> dict[str, Any]:
    """Grant or revoke a privilege or logon right (win_user_right)."""
    name = next((known for known in RIGHTS if known.casefold() == arguments.text("name").casefold()), None)
    if name is None:
        raise NotModelled(f"the right {arguments.text('name')}")
    action = arguments.text("action", default="set")
    if action not in ("add", "remove", "set"):
        raise ArgumentError(f"value of action must be one of: add, remove, set. Got no match for: {action}")
    users = arguments.raw("users")
    if users is None:
        raise ArgumentError("missing required arguments: users")
    wanted = list(dict.fromkeys(sid_of(session, str(user)) for user in (users if isinstance(users, list) else [users])))
    held = session.machine.part(UserRights).held.get(name, list(RIGHTS[name]))
    new = [user for user in wanted if user not in held] if action != "remove" else []
    gone = {
        "add": [],
        "remove": [user for user in wanted if user in held],
        "set": [user for user in held if user not in wanted],
    }[action]
    if not arguments.check_mode:
        kept = [user for user in held if user not in gone]
        session.machine.part(UserRights).held[name] = [*kept, *new]

    def names(sids: list[str]) -> list[str]:
        return [accounts.name_of(session.machine, each) or each for each in sids]

    return {"changed": bool(new or gone), "added": names(new), "removed": names(gone)}
