# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the win_acl and win_acl_inheritance modules of Ansible for files and folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator.machine.access_lists import Ace, SecurityDescriptor
from simulator.machine.modules.accounts import sid_of
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import NotModelled
from simulator.machine.rights.tokens import abbreviated, sid
from simulator.machine.session import Session

# https://learn.microsoft.com/dotnet/api/system.security.accesscontrol.filesystemrights
_RIGHTS: Mapping[str, int] = {
    "AppendData": 0x4, "ChangePermissions": 0x40000, "CreateDirectories": 0x4, "CreateFiles": 0x2, "Delete": 0x10000,
    "DeleteSubdirectoriesAndFiles": 0x40, "ExecuteFile": 0x20, "FullControl": 0x1F01FF, "ListDirectory": 0x1,
    "Modify": 0x301BF, "Read": 0x20089, "ReadAndExecute": 0x200A9, "ReadAttributes": 0x80, "ReadData": 0x1,
    "ReadExtendedAttributes": 0x8, "ReadPermissions": 0x20000, "Synchronize": 0x100000, "TakeOwnership": 0x80000,
    "Traverse": 0x20, "Write": 0x116, "WriteAttributes": 0x100, "WriteData": 0x2, "WriteExtendedAttributes": 0x10,
}  # fmt: skip
_SYNCHRONIZE, _FULL = 0x100000, 0x1F01FF
_INHERIT: Mapping[str, str] = {"None": "", "ContainerInherit": "CI", "ObjectInherit": "OI"}
_PROPAGATION: Mapping[str, str] = {"None": "", "NoPropagateInherit": "NP", "InheritOnly": "IO"}
_KINDS = {"allow": "A", "deny": "D"}


@dataclass(frozen=True)
class _Rule:
    """The access control entry that a task describes: allow or deny, account, rights as a mask, and flags."""

    kind: str
    who: str
    mask: int
    flags: frozenset[str]

    def equals(self, ace: Ace) -> bool:
        """Return whether an explicit entry equals this rule's entry."""
        same = (ace.kind, sid(ace.trustee), ace.mask) == (self.kind, self.who, self.mask)
        return same and ace.flags == self.flags

    def entry(self) -> Ace:
        """Return the rule as an access control entry."""
        return Ace(self.kind, self.flags, "FA" if self.mask == _FULL else f"0x{self.mask:x}", abbreviated(self.who))


def _enumeration_names(text: str, known: Mapping[str, Any], kind: str) -> list[str]:
    """Return the names in a comma-separated list of enumeration members.

    Raises:
        ArgumentError: a name is unknown.
    """
    found = []
    for word in text.split(","):
        name = next((name for name in known if name.casefold() == word.strip().casefold()), None)
        if name is None:
            raise ArgumentError(
                f'Cannot convert value "{text}" to type "System.Security.AccessControl.{kind}". Error: "Unable to '
                f"match the identifier name {word.strip()} to a valid enumerator name. Specify one of the following "
                f'enumerator names and try again: {", ".join(known)}"'
            )
        found.append(name)
    return found


def _rule(session: Session, arguments: ModuleArguments, path: str) -> _Rule:
    kind = _KINDS.get(arguments.text("type").casefold())
    if kind is None:
        wrong = arguments.text("type")
        raise ArgumentError(f"Get-AnsibleParam: Argument type needs to be one of allow,deny but was {wrong}.")
    who = sid_of(session, arguments.text("user"))
    propagation = arguments.text("propagation", default="None")
    if propagation.casefold() not in {name.casefold() for name in _PROPAGATION}:
        known = ",".join(sorted(_PROPAGATION))
        raise ArgumentError(f"Get-AnsibleParam: Argument propagation needs to be one of {known} but was {propagation}.")
    try:
        mask, flags = _mask_and_flags(session, arguments, path, propagation)
    except ArgumentError as error:
        change = f"{arguments.text('state', default='present')} {arguments.text('rights')}"
        head = f"an error occurred when attempting to {change} permission(s) on {path} for {arguments.text('user')}"
        raise ArgumentError(f"{head} - {error}") from None
    # FileSystemAccessRule adds Synchronize to the rights that it allows, and removes it from those that it denies.
    mask = mask | _SYNCHRONIZE if kind == "A" else mask if mask == _FULL else mask & ~_SYNCHRONIZE
    return _Rule(kind, who, mask, flags)


def _mask_and_flags(
    session: Session, arguments: ModuleArguments, path: str, propagation: str
) -> tuple[int, frozenset[str]]:
    """Return the rights (as a mask) and the flags of the access control entry that the arguments describe.

    Raises:
        ArgumentError: a name in the options `rights` or `inherit` is unknown.
    """
    mask = 0
    for name in _enumeration_names(arguments.text("rights"), _RIGHTS, "FileSystemRights"):
        mask |= _RIGHTS[name]
    folder = session.machine.files.is_directory(path)
    inherit = arguments.text("inherit", default="ContainerInherit, ObjectInherit") if folder else "None"
    flags = {_INHERIT[name] for name in _enumeration_names(inherit, _INHERIT, "InheritanceFlags")}
    if flags - {""}:
        flags |= {_PROPAGATION[name] for name in _enumeration_names(propagation, _PROPAGATION, "PropagationFlags")}
    return mask, frozenset(flags - {""})


def _path(session: Session, arguments: ModuleArguments) -> str:
    path = session.expand(arguments.text("path"))
    drive = path.partition(":")[0]
    if len(drive) != 1 and drive != path:
        raise NotModelled(f"access lists of {drive}:")
    return path.replace("/", "\\")


def acl(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Add or remove one entry of an access list (win_acl). The module does not support check mode."""
    path, files = _path(session, arguments), session.machine.files
    if arguments.check_mode:
        return {"changed": False, "skipped": True, "msg": "remote module does not support check mode"}
    state = arguments.text("state", default="present")
    if state.casefold() not in ("present", "absent"):
        raise ArgumentError(f"Get-AnsibleParam: Argument state needs to be one of absent,present but was {state}.")
    state = state.casefold()
    if arguments.flag("follow"):
        raise NotModelled("win_acl's option follow")
    if not files.exists(path):
        raise ArgumentError(f"{path} file or directory does not exist on the host")
    rule = _rule(session, arguments, path)
    before = files.descriptor(path)
    own = [ace for ace in before.entries or () if "ID" not in ace.flags]
    exists = any(rule.equals(ace) for ace in own)
    if state == "present" and exists:
        return {"changed": False, "msg": "the specified rule already exists"}
    if state == "absent" and not exists:
        return {"changed": False, "msg": "the specified rule does not exist"}
    if state == "present":
        _write(session, path, before, _added(own, rule), protected=before.protected)
    else:
        _write(session, path, before, [ace for ace in own if not rule.equals(ace)], protected=before.protected)
    return {"changed": True}


def _added(own: list[Ace], rule: _Rule) -> list[Ace]:
    """Return explicit entries with a rule added, or merged into the entry with the same account, kind and flags."""
    for place, ace in enumerate(own):
        if (ace.kind, sid(ace.trustee), ace.flags) == (rule.kind, rule.who, rule.flags):
            merged = _Rule(rule.kind, rule.who, ace.mask | rule.mask, rule.flags)
            return [*own[:place], merged.entry(), *own[place + 1 :]]
    # Entries that deny come first: https://learn.microsoft.com/windows/win32/secauthz/order-of-aces-in-a-dacl
    denied = [ace for ace in own if ace.kind == "D"]
    allowed = [ace for ace in own if ace.kind != "D"]
    new = rule.entry()
    return [new, *denied, *allowed] if rule.kind == "D" else [*denied, new, *allowed]


def _write(session: Session, path: str, before: SecurityDescriptor, own: list[Ace], *, protected: bool) -> None:
    after = SecurityDescriptor(before.owner, before.group, protected, tuple(own))
    session.machine.files.set_sddl(path, str(after))


def inheritance(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Enable or disable inheritance for the access list of a file or folder (win_acl_inheritance)."""
    path, files = _path(session, arguments), session.machine.files
    state = arguments.text("state", default="absent")
    reorganize = arguments.flag("reorganize")
    if state not in ("absent", "present"):
        raise ArgumentError(f"value of state must be one of: absent, present. Got no match for: {state}")
    if not files.exists(path):
        raise ArgumentError(f"{path} does not exist")
    before = files.descriptor(path)
    changed = before.protected == (state == "present")
    if changed and not arguments.check_mode:
        entries = list(before.entries or ())
        own = [ace for ace in entries if "ID" not in ace.flags]
        if state == "absent":
            kept = [Ace(ace.kind, ace.flags - {"ID"}, ace.rights, ace.trustee) for ace in entries]
            _write(session, path, before, kept if reorganize else own, protected=True)
        else:
            _write(session, path, before, own, protected=False)
            if reorganize:
                _write(session, path, before, _without_doubles(session, path, own), protected=False)
    return {"changed": changed}


def _without_doubles(session: Session, path: str, own: list[Ace]) -> list[Ace]:
    """Return the explicit entries that are not also inherited."""
    inherited = [ace for ace in session.machine.files.descriptor(path).entries or () if "ID" in ace.flags]
    known = {(ace.kind, ace.flags - {"ID"}, ace.mask, sid(ace.trustee)) for ace in inherited}
    return [ace for ace in own if (ace.kind, ace.flags, ace.mask, sid(ace.trustee)) not in known]
