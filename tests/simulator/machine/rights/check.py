# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The access check: which rights an access list grants to a token.

Sources: MS-DTYP 2.5.3.2 (access check algorithm) and
https://learn.microsoft.com/windows/win32/secauthz/how-dacls-control-access-to-an-object
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.machine.access_lists import Ace, SecurityDescriptor
from simulator.machine.rights.tokens import BACKUP, OWNER_RIGHTS, RESTORE, TAKE_OWNERSHIP, Token, sid

# https://learn.microsoft.com/windows/win32/fileio/file-access-rights-constants
READ_DATA = LIST = 0x1
WRITE_DATA = ADD_FILE = 0x2
APPEND_DATA = ADD_FOLDER = 0x4
EXECUTE = 0x20
DELETE_CHILD = 0x40
READ_ATTRIBUTES = 0x80
WRITE_ATTRIBUTES = 0x100
DELETE = 0x10000
READ_CONTROL = 0x20000
WRITE_DAC = 0x40000
WRITE_OWNER = 0x80000
GENERIC_READ = 0x120089
GENERIC_WRITE = 0x120116
GENERIC_EXECUTE = 0x1200A0
FULL = 0x1F01FF


def granted(descriptor: SecurityDescriptor, token: Token, enabled: Iterable[str] = ()) -> int:
    """Return all rights that a token has on the object to which a security descriptor belongs.

    Args:
        enabled: the privileges that the caller uses. To use a privilege, a program must enable it and, for backup and
            restore, open the object with FILE_FLAG_BACKUP_SEMANTICS
            (https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew). Privileges that the
            token does not have are ignored.
    """
    sids, entries = token.sids, descriptor.entries
    if entries is None:
        return FULL
    # For each right, the first entry that mentions it decides.
    allowed = _of_owner(descriptor, token) | _of_privileges(token, enabled)
    denied = 0
    owner = descriptor.owner is not None and sid(descriptor.owner) in sids
    for ace in entries:
        who = sid(ace.trustee)
        if "IO" in ace.flags or not (who in sids or (owner and who == OWNER_RIGHTS)):
            continue
        if ace.kind == "A":
            allowed |= ace.mask & ~denied
        else:
            denied |= ace.mask & ~allowed
    return allowed


def _of_owner(descriptor: SecurityDescriptor, token: Token) -> int:
    """Return the rights that a token has because it belongs to the owner of the object.

    The owner has them even if no entry of the access list grants them, unless there is an entry for OWNER RIGHTS.
    """
    if descriptor.owner is None or sid(descriptor.owner) not in token.sids:
        return 0
    if any(sid(ace.trustee) == OWNER_RIGHTS and "IO" not in ace.flags for ace in descriptor.entries or ()):
        return 0
    return READ_CONTROL | WRITE_DAC


def _of_privileges(token: Token, enabled: Iterable[str]) -> int:
    """Return the rights that a token has because of its enabled privileges.

    Source: https://learn.microsoft.com/windows/win32/secauthz/privilege-constants
    """
    usable = token.privileges & frozenset(enabled)
    found = WRITE_OWNER if TAKE_OWNERSHIP in usable else 0
    if BACKUP in usable:
        found |= GENERIC_READ | EXECUTE
    if RESTORE in usable:
        found |= GENERIC_WRITE | DELETE | WRITE_DAC | WRITE_OWNER
    return found


def may_own(token: Token, owner: str, enabled: Iterable[str] = ()) -> bool:
    """Return whether a user with the given token may make `owner` the owner of an object.

    `owner` must be the token's user or default owner. With SeRestorePrivilege, it can be any account. Otherwise,
    Windows reports ERROR_INVALID_OWNER (1307). Source:
    https://learn.microsoft.com/windows/win32/secauthz/taking-object-ownership-in-c--
    """
    return sid(owner) in (token.user, token.owner) or RESTORE in token.privileges & frozenset(enabled)


def canonical(entries: Iterable[Ace]) -> tuple[Ace, ...]:
    """Return access list entries in the order that Windows' tools use: explicit before inherited, deny before allow.

    Source: https://learn.microsoft.com/windows/win32/secauthz/order-of-aces-in-a-dacl
    """
    return tuple(sorted(entries, key=lambda ace: 2 if "ID" in ace.flags else int(ace.kind == "A")))
