# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Give the built-in administrator of a machine a random password, once per machine.

Otherwise, all machines from an image would share the password of the image. PowerShell's Set-LocalUser
needs a SecureString, which no call of a batch can create, so ansible.windows.win_user sets the password. A registry
value marks a machine whose password has been set. The value contains the administrator's SID, which differs for each
machine that starts from an image. So a mark that comes from the image does not count.
"""

from __future__ import annotations

import csv
import dataclasses
import secrets
import string
import typing as t

from ...module_utils.redaction import BLANK
from ..engine import managed_marks
from ..remote.errors import NodeError
from ..remote.session import NodeSession
from ..wire.calls import query
from ..wire.messages import Batch, Call, Observation
from .password_file import PasswordFile

MODULE = "ansible.windows.win_user"
SHORTEST, LONGEST = 14, 127
"""Accepted password lengths, from the minimum of Microsoft's security baselines to the sign-in screen's maximum."""
_STEP = "set the administrator's password"
_ATTEMPTS = 2
"""Maximum number of attempts, if the connection fails before it is known whether win_user has run."""
_BUILT_IN = "-500"
"""Last part of the built-in administrator's SID, which does not depend on the account's name. Source:
learn.microsoft.com, well-known SIDs."""
_MARK = "administrator password"
_PRODUCT = "HKLM:\\SYSTEM\\CurrentControlSet\\Control\\ProductOptions"
_CONTROLLER = "LanmanNT"
"""The product type of all domain controllers. Source: gitlab.com/samba-team/samba, merge request 4063."""
_GROUPS = (string.ascii_lowercase, string.ascii_uppercase, string.digits, "+-.:=_")
"""Groups of characters in a password. Windows can require characters from three of these groups. Inside quotation
marks, none of the characters needs escaping in a shell, XML or YAML."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuiltInAdministrator:
    """The built-in administrator of a machine."""

    name: str
    sid: str
    is_own: bool
    """Whether Ansible connects with this account."""
    is_marked: bool
    """Whether an earlier run has set the password on this machine."""
    is_of_domain: bool
    """Whether the machine is a domain controller, in which case this is the domain's administrator."""


def random_password(length: int) -> str:
    """Return a random password with characters from each of the groups in `_GROUPS`."""
    characters = "".join(_GROUPS)
    while True:
        password = "".join(secrets.choice(characters) for dummy in range(length))
        if all(not set(group).isdisjoint(password) for group in _GROUPS):
            return password


def calls() -> tuple[Call, ...]:
    """Return the calls that observe the built-in administrator."""
    return (
        query(
            "product",
            "@read-registry",
            {"values": [{"path": _PRODUCT, "name": "ProductType"}]},
            select=("value",),
            on_error="stop",
        ),
        query("users", "Get-LocalUser", select=("Name", "SID"), on_error="stop"),
        query("self", "whoami.exe", arguments=("/user", "/fo", "csv", "/nh"), on_error="stop"),
        query(
            "mark",
            "@read-registry",
            {"values": [{"path": managed_marks.KEY, "name": _MARK}]},
            select=("value",),
            on_error="stop",
        ),
    )


def read(seen: Observation) -> BuiltInAdministrator | None:
    """Return the built-in administrator, as read from the results of `calls`, or None if the machine has none."""
    users = {str(item["SID"]): str(item["Name"]) for item in seen["users"].output}
    sid = next((sid for sid in users if sid.startswith("S-1-5-21-") and sid.endswith(_BUILT_IN)), "")
    if not sid:
        return None
    # whoami prints the name and the SID.
    own = [row[-1] for row in csv.reader(seen["self"].stdout.splitlines()) if row]
    return BuiltInAdministrator(
        name=users[sid],
        sid=sid,
        is_own=sid in own,
        is_marked=seen["mark"].first.get("value") == sid,
        is_of_domain=str(seen["product"].first.get("value")).casefold() == _CONTROLLER.casefold(),
    )


class AdministratorPassword:
    """The password of one machine's built-in administrator.

    Args:
        session: the session with the machine.
        file: the file on the controller that keeps the password, or None to discard the password.
        length: length of a new password.
        by_key: whether Ansible connects without a password.
    """

    def __init__(self, session: NodeSession, file: PasswordFile | None, *, length: int, by_key: bool) -> None:
        self._session, self._file, self._length, self._by_key = session, file, length, by_key

    def set(self, *, check_mode: bool) -> dict[str, t.Any]:
        """Set the password if no earlier run has set it, or if the file with the password is gone.

        Returns:
            The values `changed`, `changes` and `account` of the action's result.

        Raises:
            UnsupportedWindows: the collection does not support the machine's Windows version.
            NodeError: the machine has no built-in administrator or is a domain controller, Ansible connects as this
                administrator with a password, or the new password was not set.
            ResourceError: the file cannot be read or written.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        seen, dummy = self._session.observe(calls(), step=_STEP)
        self._session.check_windows()
        account = read(seen)
        if account is None:
            raise self._failed("expected a local account with a SID that ends with -500, got none")
        if account.is_of_domain:
            raise self._failed(
                "expected a machine with local accounts, got a domain controller, where this would change the password "
                f"of the domain's {account.name}. Set node_prepare_administrator_password: keep"
            )
        if account.is_marked and (self._file is None or self._file.exists()):
            return {"changed": False, "changes": [], "account": account.name}
        if account.is_own and not self._by_key:
            raise self._failed(
                f"expected Ansible to connect with an account other than {account.name}, or over SSH with a key, "
                "because this change would prevent it from connecting again. Use another account, or set "
                "node_prepare_administrator_password: keep"
            )
        why = (
            "the file with its password does not exist"
            if account.is_marked
            else "this machine has no password of its own"
        )
        change = {"type": "LocalUser", "name": account.name, "action": "update", "why": why}
        if not check_mode:
            self._apply(account)
        return {"changed": True, "changes": [change], "account": account.name}

    def _apply(self, account: BuiltInAdministrator) -> None:
        # The file is written first, so that no password is lost. An interrupted run continues with the same password.
        password = self._file.read_or_create(lambda: random_password(self._length)) if self._file else ""
        self._run(account.name, password or random_password(self._length))
        self._session.node.run(Batch(calls=managed_marks.write(_MARK, account.sid)), step=_STEP)

    def _run(self, name: str, password: str) -> None:
        arguments = {"name": name, "password": password, "update_password": "always"}
        for _attempt in range(_ATTEMPTS):
            result = self._session.node.run_module(MODULE, arguments, step=_STEP)
            if result is None:
                continue
            if result.get("failed"):
                message = str(result.get("msg") or "the module failed").replace(password, BLANK)
                raise self._failed(f"{' '.join(message.split())}")
            return
        raise self._failed(
            "the connection failed before it was known whether the password was set. Run the playbook again"
        )

    def _failed(self, why: str) -> NodeError:
        return NodeError(f"{self._session.name}: {_STEP}: {why}")
