# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create the access tokens of accounts. The tokens depend on local groups and on the assigned privileges.

Source: https://learn.microsoft.com/windows-server/security/windows-authentication/windows-logon-scenarios
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from simulator.machine import accounts
from simulator.machine.rights import tokens
from simulator.machine.rights.tokens import Token
from simulator.machine.rights.user_rights import held_by

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# Tokens of these accounts do not depend on the machine's groups.
_COMPLETE = frozenset({tokens.SYSTEM, tokens.CONTAINER_ADMINISTRATOR, tokens.CONTAINER_USER})


def token(machine: Machine, account: str) -> Token:
    """Return the token that an account gets at a logon.

    Args:
        machine: the machine on which the account logs on.
        account: a name with or without its authority, or a SID. An account that the machine does not know is treated as
            a user of a domain.
    """
    found = tokens.built_in(account) or _user(machine, account)
    if found.user in _COMPLETE:
        return found
    groups = found.groups | accounts.groups_of(machine, found.sids)
    sids = groups | {found.user}
    privileges = frozenset(right for right in tokens.ADMINISTRATIVE if not sids.isdisjoint(held_by(machine, right)))
    return Token(found.user, groups, privileges)


def _user(machine: Machine, account: str) -> Token:
    local = accounts.find(machine, account.rpartition("\\")[2], "User")
    if local:
        user = accounts.sid(machine, local)
    elif account.upper().startswith("S-1-"):
        user = account.upper()
    else:
        user = f"{_elsewhere(account)}-{1001 + zlib.crc32(account.casefold().encode()) % 8999}"
    # Guests are not Authenticated Users.
    known = {tokens.AUTHENTICATED} if user != f"{machine.sid}-501" else set()
    return Token(user, frozenset({tokens.EVERYONE, tokens.NETWORK, *known}))


def _elsewhere(account: str) -> str:
    """Return a made-up SID for the domain to which an account belongs. The SID depends only on the domain's name."""
    domain = account.casefold().rpartition("\\")[0]
    return f"S-1-5-21-1-1-{zlib.crc32(domain.encode())}"
