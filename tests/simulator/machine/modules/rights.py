# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Ansible module win_user_right."""

from __future__ import annotations

from typing import Any

from simulator.machine import accounts
from simulator.machine.modules.accounts import sid_of
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import NotModelled
from simulator.machine.rights.user_rights import RIGHTS, UserRights, held_by
from simulator.machine.session import Session

_NO_SID = "Failed to translate the account '{name}' to a SID"


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Grant or revoke a privilege or logon right (win_user_right)."""
    name = next((known for known in RIGHTS if known.casefold() == arguments.text("name").casefold()), None)
    if name is None:
        raise NotModelled(f"the user right {arguments.text('name')}")
    action = arguments.text("action", default="set")
    if action not in ("add", "remove", "set"):
        raise ArgumentError(f"value of action must be one of: add, remove, set. Got no match for: {action}")
    users = arguments.raw("users")
    if users is None:
        raise ArgumentError("missing required arguments: users")
    listed = users if isinstance(users, list) else [users]
    requested = list(dict.fromkeys(sid_of(session, str(user), _NO_SID) for user in listed))
    holders = held_by(session.machine, name)
    new = [user for user in requested if user not in holders] if action != "remove" else []
    gone = {
        "add": [],
        "remove": [user for user in requested if user in holders],
        "set": [user for user in holders if user not in requested],
    }[action]
    if not arguments.check_mode:
        kept = [user for user in holders if user not in gone]
        session.machine.part(UserRights).assigned[name] = [*kept, *new]

    def names(sids: list[str]) -> list[str]:
        return [accounts.name_of(session.machine, each) or each for each in sids]

    return {"changed": bool(new or gone), "added": names(new), "removed": names(gone)}
