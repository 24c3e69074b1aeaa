# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Access tokens: the acting account, its groups and its privileges.

Sources: https://learn.microsoft.com/windows/win32/secauthz/access-tokens,
https://learn.microsoft.com/windows/win32/secauthz/well-known-sids,
https://learn.microsoft.com/windows/win32/services/localservice-account,
https://learn.microsoft.com/windows/win32/services/networkservice-account,
https://learn.microsoft.com/windows/win32/services/localsystem-account,
https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-security
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

SYSTEM = "S-1-5-18"
LOCAL_SERVICE = "S-1-5-19"
NETWORK_SERVICE = "S-1-5-20"
ADMINISTRATORS = "S-1-5-32-544"
USERS = "S-1-5-32-545"
GUESTS = "S-1-5-32-546"
EVERYONE = "S-1-1-0"
AUTHENTICATED = "S-1-5-11"
NETWORK = "S-1-5-2"
SERVICE = "S-1-5-6"
OWNER_RIGHTS = "S-1-3-4"
CONTAINER_ADMINISTRATOR = "S-1-5-93-2-1"
CONTAINER_USER = "S-1-5-93-2-2"

BACKUP = "SeBackupPrivilege"
RESTORE = "SeRestorePrivilege"
TAKE_OWNERSHIP = "SeTakeOwnershipPrivilege"
ADMINISTRATIVE = frozenset({BACKUP, RESTORE, TAKE_OWNERSHIP})

ALIASES = {
    "SY": SYSTEM, "BA": ADMINISTRATORS, "BU": USERS, "BG": GUESTS, "WD": EVERYONE, "AU": AUTHENTICATED,
    "NU": NETWORK, "SU": SERVICE, "IU": "S-1-5-4", "LS": LOCAL_SERVICE, "NS": NETWORK_SERVICE, "OW": OWNER_RIGHTS,
    "CO": "S-1-3-0", "CG": "S-1-3-1", "AN": "S-1-5-7", "PS": "S-1-5-10", "RC": "S-1-5-12", "PU": "S-1-5-32-547",
    "AO": "S-1-5-32-548", "SO": "S-1-5-32-549", "PO": "S-1-5-32-550", "BO": "S-1-5-32-551", "RU": "S-1-5-32-554",
    "RD": "S-1-5-32-555", "NO": "S-1-5-32-556", "MU": "S-1-5-32-558", "LU": "S-1-5-32-559", "HA": "S-1-5-32-578",
    "RM": "S-1-5-32-580", "AC": "S-1-15-2-1",
}  # fmt: skip
"""SDDL's common abbreviations for accounts that every machine has (MS-DTYP 2.5.1.1), excluding domain accounts."""

_SYSTEM_NAMES = frozenset({"system", "localsystem"})
_SERVICE_NAMES = {
    "localservice": LOCAL_SERVICE,
    "local service": LOCAL_SERVICE,
    "networkservice": NETWORK_SERVICE,
    "network service": NETWORK_SERVICE,
}


@dataclass(frozen=True)
class Token:
    """The access token of an account.

    Args:
        user: the SID of the account.
        groups: the SIDs of the account's groups.
        privileges: the privileges of the account. A program has to enable a privilege before it can use the privilege.
    """

    user: str
    groups: frozenset[str] = frozenset()
    privileges: frozenset[str] = frozenset()

    @property
    def sids(self) -> frozenset[str]:
        """The SIDs of the account and its groups."""
        return self.groups | {self.user}

    @property
    def administrative(self) -> bool:
        """Whether the token belongs to SYSTEM or an administrator."""
        return self.user == SYSTEM or ADMINISTRATORS in self.groups

    @property
    def owner(self) -> str:
        """The SID of the owner of items that the account creates.

        Source: https://learn.microsoft.com/windows/win32/secauthz/owner-of-a-new-object
        """
        return ADMINISTRATORS if self.administrative else self.user


def sid(trustee: str) -> str:
    """Return the SID for an SDDL abbreviation. If the argument is a SID, return it unchanged."""
    return ALIASES.get(trustee, trustee)


def abbreviated(full: str) -> str:
    """Return the SDDL abbreviation for a SID, or the SID if it has no abbreviation."""
    return next((short for short, known in ALIASES.items() if known == full), full)


def service_sid(name: str) -> str:
    r"""Return the SID of a service's account, `NT SERVICE\NAME`.

    The SID consists of S-1-5-80 and the SHA-1 hash of the name. Source: MS-DTYP 2.4.2.4
    """
    digest = hashlib.sha1(name.upper().encode("utf-16-le"), usedforsecurity=False).digest()
    return "S-1-5-80-" + "-".join(str(part) for part in struct.unpack("<5I", digest))


def built_in(account: str) -> Token | None:
    """Return the token of a built-in account or of a service's account, or None for a user's account.

    The tokens of SYSTEM and of containers' accounts are complete. Other tokens do not contain the
    local groups of the account.

    Args:
        account: a name with or without its authority.
    """
    authority, _, name = account.casefold().rpartition("\\")
    everybody = frozenset({EVERYONE, AUTHENTICATED})
    if authority == "nt service":
        return Token(service_sid(name), everybody | {SERVICE, "S-1-5-80-0"})
    if name in _SYSTEM_NAMES:
        return Token(SYSTEM, everybody | {ADMINISTRATORS}, ADMINISTRATIVE)
    if name in _SERVICE_NAMES:
        return Token(_SERVICE_NAMES[name], everybody | {SERVICE})
    if name == "containeradministrator":
        return Token(CONTAINER_ADMINISTRATOR, everybody | {USERS, SERVICE, ADMINISTRATORS}, ADMINISTRATIVE)
    if name == "containeruser":
        return Token(CONTAINER_USER, everybody | {USERS, SERVICE})
    return None
