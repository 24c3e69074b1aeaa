# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Ansible modules win_group, win_group_membership and win_user."""

from __future__ import annotations

from typing import Any

from simulator.machine import accounts
from simulator.machine.accounts import Account
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.session import Session

_UNKNOWN = "Some or all identity references could not be translated."
_NO_MEMBER = "Unhandled exception while executing module: Failed to translate '{name}' to a SecurityIdentifier: {why}"


def sid_of(
    session: Session, name: str, failure: str = "account_name {name} is not a valid account, cannot get SID: {why}"
) -> str:
    """Return the security identifier of an account.

    Args:
        failure: the error message if the account does not exist; by default, that of Ansible.ModuleUtils.SID.

    Raises:
        ArgumentError: the account does not exist.
    """
    found = accounts.resolve(session.machine, name)
    if found is None:
        why = f'Exception calling "Translate" with "1" argument(s): "{_UNKNOWN}"'
        raise ArgumentError(failure.format(name=name, why=why))
    return found


def group(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Create, change or remove a local group (win_group)."""
    machine, name, check = session.machine, arguments.text("name"), arguments.check_mode
    state = arguments.text("state", default="present")
    if state not in ("absent", "present"):
        raise ArgumentError(f"value of state must be one of: absent, present. Got no match for: {state}")
    found = accounts.find(machine, name, "Group")
    if state == "absent":
        if found and not check:
            accounts.remove(machine, found)
        return {"changed": found is not None, "sid": None}
    changed = found is None
    if found is None:
        if check:
            return {"changed": True, "sid": "S-1-5-0000"}
        found = accounts.add(machine, name, "Group")
    answer: dict[str, Any] = {"sid": accounts.sid(machine, found)}
    description = arguments.raw("description")
    if description is not None and description != found.description:
        changed = True
        if not check:
            found.description = str(description)
    return {"changed": _members(session, arguments, found) or changed, **answer}


def _members(session: Session, arguments: ModuleArguments, found: Account) -> bool:
    """Add and remove members of a group as the option `members` requests. Return whether a change was needed."""
    requested = arguments.raw("members", {})
    now = accounts.member_sids(session.machine, found)
    if requested.get("set") is not None and (requested.get("add") or requested.get("remove")):
        raise ArgumentError("parameters are mutually exclusive: set, add found in members")
    if requested.get("set") is not None:
        kept = [sid_of(session, str(name), _NO_MEMBER) for name in requested["set"]]
        new, gone = [member for member in kept if member not in now], [member for member in now if member not in kept]
    else:
        listed = {
            key: [sid_of(session, str(name), _NO_MEMBER) for name in requested.get(key) or ()]
            for key in ("add", "remove")
        }
        new = [member for member in listed["add"] if member not in now]
        gone = [member for member in listed["remove"] if member in now]
    if not arguments.check_mode:
        _change(session, found, list(dict.fromkeys(new)), list(dict.fromkeys(gone)))
    return bool(new or gone)


def _change(session: Session, found: Account, new: list[str], gone: list[str]) -> None:
    for member in new:
        accounts.join(session.machine, found, member)
    for member in gone:
        accounts.leave(session.machine, found, member)


def membership(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Change the members of a local group (win_group_membership)."""
    machine, name = session.machine, arguments.text("name")
    given = arguments.raw("members")
    if given is None:
        raise ArgumentError("Get-AnsibleParam: Missing required argument: members")
    state = arguments.text("state", default="present")
    if state not in ("present", "absent", "pure"):
        raise ArgumentError(f"Get-AnsibleParam: Argument state needs to be one of present,absent,pure but was {state}.")
    answer: dict[str, Any] = {"changed": False, "name": name}
    found = accounts.find(machine, name, "Group")
    if found is None:
        return answer | {"failed": True, "msg": f"Could not find local group {name}"}
    listed = given if isinstance(given, list) else str(given).split(",")
    requested = list(dict.fromkeys(sid_of(session, str(item).strip()) for item in listed))
    now = accounts.member_sids(machine, found)
    new = [member for member in requested if member not in now] if state != "absent" else []
    gone = {
        "present": [],
        "absent": [member for member in requested if member in now],
        "pure": [member for member in now if member not in requested],
    }[state]
    if not arguments.check_mode:
        _change(session, found, new, gone)
    shown = [*(member for member in now if member not in gone), *new]
    if state != "absent":
        answer["added"] = [_name(session, member) for member in new]
    if state != "present":
        answer["removed"] = [_name(session, member) for member in gone]
    return answer | {"changed": bool(new or gone), "members": [_name(session, member) for member in shown]}


def _name(session: Session, member: str) -> str:
    return accounts.name_of(session.machine, member) or member


def user(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Set the password of a local user (win_user).

    The module tries to log on with the password, and sets it only if the logon fails.
    Source: win_user.ps1 in the ansible.windows collection.
    """
    arguments.modelled("name", "password", "update_password")
    found = accounts.find(session.machine, arguments.text("name"), "User")
    if found is None:
        raise ArgumentError("the simulator does not model creating a user with win_user")
    password = arguments.text("password")
    is_own = found.name.casefold() == session.machine.settings.user.casefold()
    known = found.password or (session.machine.settings.password if is_own else "")
    changed = bool(password) and password != known and arguments.text("update_password", default="always") == "always"
    if changed and len(password) < 8:
        why = (
            "The password does not meet the password policy requirements. Check the minimum password length, password "
            "complexity and password history requirements."
        )
        call = 'Exception calling "SetPassword" with "1" argument(s)'
        raise ArgumentError(f'Unhandled exception while executing module: {call}: "{why}"')
    if changed and not arguments.check_mode:
        found.password = password
    return {"changed": changed, "name": found.name, "state": "present"}
