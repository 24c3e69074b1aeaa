# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An Active Directory domain with its accounts, as the machines of a fleet see it over the network.

The `domain` section of a fleet file describes the domain. Machines find the domain through DNS.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# System error codes and network management error codes: learn.microsoft.com/windows/win32/debug/system-error-codes and
# /windows/win32/netmgmt/network-management-error-codes. 2732 was added by KB5020276.
FILE_NOT_FOUND = 2
ACCESS_DENIED = 5
LOGON_FAILURE = 1326
NO_SUCH_DOMAIN = 1355
SETUP_ALREADY_JOINED = 2691
ACCOUNT_REUSE_BLOCKED = 2732
QUOTA_EXCEEDED = 8557
INVALID_PARAMETER = 87
_MESSAGES = {
    FILE_NOT_FOUND: "The system cannot find the file specified.",
    ACCESS_DENIED: "Access is denied.",
    INVALID_PARAMETER: "The parameter is incorrect.",
    LOGON_FAILURE: "The user name or password is incorrect.",
    NO_SUCH_DOMAIN: "The specified domain either does not exist or could not be contacted.",
    SETUP_ALREADY_JOINED: "This computer is already joined to a domain.",
    ACCOUNT_REUSE_BLOCKED: (
        "An account with the same name exists in Active Directory. Re-using the account was blocked by security policy."
    ),
    QUOTA_EXCEEDED: (
        "Your computer could not be joined to the domain. You have exceeded the maximum number of computer accounts "
        "you are allowed to create in this domain. Contact your system administrator to have this limit reset or "
        "increased."
    ),
}


class NetJoinError(Exception):
    """Raised with a Windows error code if joining a domain fails."""

    def __init__(self, code: int) -> None:
        super().__init__(_MESSAGES[code])
        self.code = code


@dataclass
class DomainDirectory:
    """A domain with its domain controller.

    Args:
        name: the DNS name.
        netbios: the NetBIOS name.
        users: maps each user name to the user's password.
        joiners: the users who may create computer accounts, because an administrator has delegated this right to them.
        units: the distinguished names of organizational units.
        computers: maps the name of each computer that has an account to the owner of the account.
        quota: the maximum number of computer accounts that one user may create (ms-DS-MachineAccountQuota).
        reachable: whether the domain controller responds.
    """

    name: str
    netbios: str = ""
    users: Mapping[str, str] = field(default_factory=dict)
    joiners: Sequence[str] = ()
    units: Sequence[str] = ()
    computers: dict[str, str] = field(default_factory=dict)
    quota: int = 10
    reachable: bool = True

    def __post_init__(self) -> None:
        """Derive the NetBIOS name from the first label of the DNS name, as Windows does, unless a name is given."""
        self.netbios = self.netbios or self.name.partition(".")[0][:15].upper()
        self._lock = threading.Lock()

    def is_called(self, name: str) -> bool:
        """Return whether a string is the domain's DNS or NetBIOS name."""
        return name.casefold().rstrip(".") in (self.name.casefold(), self.netbios.casefold())

    def answers_dns(self, query: str) -> bool:
        """Return whether a DNS query asks for the record by which clients find the domain's controller.

        Source: [MS-ADTS] 6.3.2.3
        """
        return query.casefold().rstrip(".") == f"_ldap._tcp.dc._msdcs.{self.name}".casefold()

    def create_account(self, computer: str, user: str, password: str, unit: str = "") -> None:
        """Create the account of a computer that joins the domain, or reuse an account that the same user created.

        Raises:
            NetJoinError: the domain controller refuses the request.
        """
        if not self.reachable:
            raise NetJoinError(NO_SUCH_DOMAIN)
        account = self._authenticated(user, password)
        if account not in self.joiners:
            raise NetJoinError(ACCESS_DENIED)
        if unit and unit.casefold() not in [known.casefold() for known in self.units]:
            raise NetJoinError(FILE_NOT_FOUND)
        with self._lock:
            self._own(computer.upper(), account)

    def _own(self, computer: str, account: str) -> None:
        owner = self.computers.get(computer)
        if owner is not None and owner != account:
            raise NetJoinError(ACCOUNT_REUSE_BLOCKED)
        if owner is None and list(self.computers.values()).count(account) >= self.quota:
            raise NetJoinError(QUOTA_EXCEEDED)
        self.computers[computer] = account

    def _authenticated(self, user: str, password: str) -> str:
        r"""Check a user's password, and return the user name without the domain.

        The user is given as `DOMAIN\user`, `user@domain` or `user`.

        Raises:
            NetJoinError: the user is from another domain, or the user name or password is wrong.
        """
        domain, _, name = user.rpartition("\\")
        if not domain and "@" in user:
            name, _, domain = user.partition("@")
        if (domain and not self.is_called(domain)) or self.users.get(name) != password:
            raise NetJoinError(LOGON_FAILURE)
        return name
