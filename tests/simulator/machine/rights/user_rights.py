# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Privileges and logon rights, and the accounts and groups that have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.rights.tokens import ADMINISTRATORS, EVERYONE, LOCAL_SERVICE, NETWORK_SERVICE, SERVICE, USERS

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_OPERATORS = "S-1-5-32-551"
# The defaults of a stand-alone server, according to the pages about each right below
# https://learn.microsoft.com/windows/security/threat-protection/security-policy-settings/user-rights-assignment
RIGHTS: Mapping[str, tuple[str, ...]] = {
    "SeAssignPrimaryTokenPrivilege": (LOCAL_SERVICE, NETWORK_SERVICE),
    "SeAuditPrivilege": (LOCAL_SERVICE, NETWORK_SERVICE),
    "SeBackupPrivilege": (ADMINISTRATORS, _OPERATORS),
    "SeBatchLogonRight": (ADMINISTRATORS, _OPERATORS, "S-1-5-32-559"),
    "SeChangeNotifyPrivilege": (EVERYONE, LOCAL_SERVICE, NETWORK_SERVICE, ADMINISTRATORS, USERS, _OPERATORS),
    "SeCreateGlobalPrivilege": (LOCAL_SERVICE, NETWORK_SERVICE, ADMINISTRATORS, SERVICE),
    "SeCreateSymbolicLinkPrivilege": (ADMINISTRATORS,),
    "SeDebugPrivilege": (ADMINISTRATORS,),
    "SeDenyBatchLogonRight": (),
    "SeDenyInteractiveLogonRight": (),
    "SeDenyNetworkLogonRight": (),
    "SeDenyRemoteInteractiveLogonRight": (),
    "SeDenyServiceLogonRight": (),
    "SeImpersonatePrivilege": (LOCAL_SERVICE, NETWORK_SERVICE, ADMINISTRATORS, SERVICE),
    "SeIncreaseQuotaPrivilege": (LOCAL_SERVICE, NETWORK_SERVICE, ADMINISTRATORS),
    "SeInteractiveLogonRight": (ADMINISTRATORS, USERS, _OPERATORS),
    "SeLockMemoryPrivilege": (),
    "SeManageVolumePrivilege": (ADMINISTRATORS,),
    "SeNetworkLogonRight": (EVERYONE, ADMINISTRATORS, USERS, _OPERATORS),
    "SeRemoteInteractiveLogonRight": (ADMINISTRATORS, "S-1-5-32-555"),
    "SeRestorePrivilege": (ADMINISTRATORS, _OPERATORS),
    "SeServiceLogonRight": ("S-1-5-80-0",),
    "SeShutdownPrivilege": (ADMINISTRATORS, _OPERATORS),
    "SeTakeOwnershipPrivilege": (ADMINISTRATORS,),
    "SeTcbPrivilege": (),
}


@dataclass
class UserRights:
    """User rights whose default assignment was replaced, mapped to the SIDs of the accounts that now have them."""

    assigned: dict[str, list[str]] = field(default_factory=dict)


def held_by(machine: Machine, right: str) -> list[str]:
    """Return the SIDs of the accounts that have a right."""
    return list(machine.part(UserRights).assigned.get(right, RIGHTS[right]))
