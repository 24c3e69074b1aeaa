# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows owners and access control lists (ACLs): parse SDDL, inherit entries, and find the accounts that have a right.

Sources: MS-DTYP 2.5.1 (SDDL) and
https://learn.microsoft.com/windows/win32/secauthz/ace-inheritance-rules
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PureWindowsPath

from simulator.machine.rights import defaults

CREATOR_OWNER = "CO"

MADE_BY_ADMINISTRATORS = "BA"
"""The SDDL name of the owner of files and folders that administrators or SYSTEM create."""
TRUSTED = frozenset({"SY", "BA", defaults.TRUSTED_INSTALLER})

_MASKS = {
    "FA": 0x1F01FF, "FR": 0x120089, "FW": 0x120116, "FX": 0x1200A0, "GA": 0x1F01FF, "GR": 0x120089, "GW": 0x120116,
    "GX": 0x1200A0, "RC": 0x20000, "SD": 0x10000, "WD": 0x40000, "WO": 0x80000, "CC": 1, "DC": 2, "LC": 4, "SW": 8,
    "RP": 16, "WP": 32, "DT": 64, "LO": 128, "CR": 256,
}  # fmt: skip
_GENERIC = ("GA", "GR", "GW", "GX")
# MS-DTYP 2.5.1.1: ace-flag-string, sid-token.
_FLAGS = frozenset({"CI", "OI", "NP", "IO", "ID", "SA", "FA", "TP", "CR"})
_TRUSTEES = frozenset(
    re.findall(
        "..",
        "DADGDUEDDDDCBABGBULALGAOBOPOSOAUPSCOCGSYPUWDREIUNUSURCWRANSACARSEAPARULSNSRDNOMULUISCYOWERROCDACRAESMSUDHACN"
        "AARMLWMEMPHISI",
    )
)
READ = 0x1
"""The right to read: FILE_READ_DATA for a file, or FILE_LIST_DIRECTORY for a folder."""
TAKE = 0x10000 | 0x40000 | 0x80000
"""The rights to take control of an item: DELETE (which renaming also requires), WRITE_DAC and WRITE_OWNER."""
WRITE = 0x2 | 0x4 | 0x40 | TAKE
"""The rights to write: FILE_WRITE_DATA, FILE_APPEND_DATA, FILE_DELETE_CHILD, and those in TAKE.

For a folder, the first two allow adding items.
"""
REPLACE_CHILD = 0x40 | TAKE
"""The rights on a folder that allow replacing the items in it."""


@dataclass(frozen=True)
class Ace:
    """One access control entry (ACE), with its parts as written in SDDL."""

    kind: str
    flags: frozenset[str]
    rights: str
    trustee: str

    @property
    def mask(self) -> int:
        """The access rights of the entry as a bit mask."""
        if re.fullmatch(r"0[xX][0-9a-fA-F]+|[0-9]+", self.rights):
            return int(self.rights, 0)
        mask = 0
        for start in range(0, len(self.rights), 2):
            mask |= _MASKS[self.rights[start : start + 2]]
        return mask

    @property
    def generic(self) -> bool:
        """Whether the entry has generic rights, which Windows maps to different rights for each kind of object."""
        return any(self.rights[start : start + 2] in _GENERIC for start in range(0, len(self.rights), 2))

    def __str__(self) -> str:
        flags = "".join(flag for flag in ("OI", "CI", "NP", "IO", "ID") if flag in self.flags)
        return f"({self.kind};{flags};{self.rights};;;{self.trustee})"


@dataclass(frozen=True)
class SecurityDescriptor:
    """A security descriptor: owner, group and access list. `protected` means that the list inherits no entries."""

    owner: str | None = None
    group: str | None = None
    protected: bool = False
    entries: tuple[Ace, ...] | None = None
    """The entries of the access list, or None if the descriptor contains no access list."""

    def __str__(self) -> str:
        head = (f"O:{self.owner}" if self.owner else "") + (f"G:{self.group}" if self.group else "")
        return head + ("D:PAI" if self.protected else "D:AI") + "".join(map(str, self.entries or ()))


def parse(sddl: str) -> SecurityDescriptor:
    """Parse a security descriptor in SDDL (Security Descriptor Definition Language).

    Raises:
        ValueError: the SDDL is invalid.
    """
    found = re.fullmatch(
        r"(?:O:([A-Z]{2}|S-[\d-]+))?(?:G:([A-Z]{2}|S-[\d-]+))?(?:D:(P?(?:A[IR])*)((?:\([^()]*\))*))?", sddl
    )
    if not found or not sddl:
        raise ValueError("The SDDL string contains an invalid sid or a sid that cannot be translated.")
    owner, group, control, listed = found.groups()
    if not all(_is_trustee(account) for account in (owner, group) if account):
        raise ValueError("The SDDL string contains an invalid sid or a sid that cannot be translated.")
    if control is None:
        return SecurityDescriptor(owner, group)
    entries = tuple(_ace(entry) for entry in re.findall(r"\(([^()]*)\)", listed))
    return SecurityDescriptor(owner, group, control.startswith("P"), entries)


def _ace(text: str) -> Ace:
    parts = text.split(";")
    if len(parts) != 6 or parts[0] not in ("A", "D"):
        raise ValueError("The SDDL form of a security descriptor object is invalid.")
    flags = frozenset(parts[1][start : start + 2] for start in range(0, len(parts[1]), 2))
    if not flags <= _FLAGS or not _is_trustee(parts[5]):
        raise ValueError("The SDDL form of a security descriptor object is invalid.")
    ace = Ace(parts[0], flags, parts[2], parts[5])
    try:
        _ = ace.mask
    except KeyError:
        raise ValueError("The SDDL form of a security descriptor object is invalid.") from None
    return ace


def _is_trustee(text: str) -> bool:
    return text in _TRUSTEES or re.fullmatch(r"S-1(-\d+){2,16}", text) is not None


def inherited(parent: Iterable[Ace], *, folder: bool, owner: str) -> tuple[Ace, ...]:
    """Return the access control entries that a new file or folder inherits from its parent folder.

    Args:
        parent: all entries of the parent folder.
        folder: whether the new item is a folder.
        owner: the owner of the new item, who replaces CREATOR OWNER.
    """
    found: list[Ace] = []
    for ace in parent:
        objects, containers = "OI" in ace.flags, "CI" in ace.flags
        passed = {"OI", "CI"} & ace.flags if folder and "NP" not in ace.flags else set()
        if containers if folder else objects:
            if ace.trustee != CREATOR_OWNER and not ace.generic:
                found.append(replace(ace, flags=frozenset({"ID", *passed})))
                continue
            # "The system maps any generic rights to the specific rights for the child object", and passes them on.
            trustee = owner if ace.trustee == CREATOR_OWNER else ace.trustee
            rights = ("FA" if ace.mask == _MASKS["FA"] else f"0x{ace.mask:x}") if ace.generic else ace.rights
            found.append(replace(ace, flags=frozenset({"ID"}), rights=rights, trustee=trustee))
        if folder and passed:
            found.append(replace(ace, flags=frozenset({"ID", "IO", *passed})))
    return tuple(found)


def holders(descriptor: SecurityDescriptor, mask: int) -> set[str]:
    """Return the accounts, except SYSTEM, Administrators and TrustedInstaller, that have at least one right in a mask.

    Entries that deny rights are ignored. An owner can always change the access list (WRITE_DAC), and therefore counts
    as having all rights. See https://learn.microsoft.com/windows/win32/secauthz/owner-of-a-new-object.
    """
    found = {
        ace.trustee for ace in descriptor.entries or () if ace.kind == "A" and "IO" not in ace.flags and ace.mask & mask
    }
    return {who for who in (*found, descriptor.owner or "") if who and who not in TRUSTED}


class AccessLists:
    """The owners and access control lists of a machine's files and folders. Paths are absolute and in lower case.

    Args:
        is_folder: a function that returns whether a path is a folder.
    """

    def __init__(self, is_folder: Callable[[str], bool]) -> None:
        self._is_folder = is_folder
        # The differences from the inherited state: owners and lists that were set.
        self._own: dict[str, SecurityDescriptor] = {}
        # Inherited entries of items that were moved. They are kept until a list above them is set.
        self._kept: dict[str, tuple[Ace, ...]] = {}
        # Cached results, each with whether its path is a folder. A change of a folder's list invalidates all of them.
        self._worked_out: dict[str, tuple[SecurityDescriptor, bool]] = {}
        self._changes = 0
        self._of_children: dict[tuple[int, bool, str], tuple[SecurityDescriptor, tuple[Ace, ...]]] = {}

    def descriptor(self, path: str) -> SecurityDescriptor:
        """Return a path's security descriptor, including the inherited entries.

        Later calls for the same path return the same object until an access list changes.
        """
        found = self._worked_out.get(path)
        if found is None:
            changes, folder = self._changes, self._is_folder(path)
            found = (self._work_out(path, folder), folder)
            # Another thread may have changed a list in the meantime.
            if changes == self._changes:
                self._worked_out[path] = found
        return found[0]

    def _work_out(self, path: str, folder: bool) -> SecurityDescriptor:
        own = self._base(path)
        own = own or _PLAIN
        owner, entries = own.owner or MADE_BY_ADMINISTRATORS, own.entries or ()
        if not own.protected:
            entries = (*entries, *self._inherited(path, owner, folder))
        return SecurityDescriptor(owner, own.group or "SY", own.protected, entries)

    def _base(self, path: str) -> SecurityDescriptor | None:
        """Return the descriptor that was set for a path, or its default descriptor, or None if it has neither."""
        own = self._own.get(path)
        return _windows_own(path) if own is None else own

    def _inherited(self, path: str, owner: str, folder: bool) -> tuple[Ace, ...]:
        kept = self._kept.get(path)
        if kept is not None or len(path) == 3:
            return kept or ()
        above = self.descriptor(str(PureWindowsPath(path).parent))
        key = (id(above), folder, owner)
        known = self._of_children.get(key)
        if known is None or known[0] is not above:
            known = (above, inherited(above.entries or (), folder=folder, owner=owner))
            self._of_children[key] = known
        return known[1]

    def set(self, path: str, sddl: str) -> None:
        """Set those parts of a path's security descriptor that the SDDL contains.

        As with SetNamedSecurityInfo, items below the path inherit the change immediately unless their access lists are
        protected. See https://learn.microsoft.com/windows/win32/secauthz/automatic-propagation-of-inheritable-aces.

        Raises:
            ValueError: the SDDL is invalid.
        """
        given, old = parse(sddl), self._base(path) or _PLAIN
        owner, group = given.owner or old.owner, given.group or old.group
        if given.entries is None:
            self._put(path, SecurityDescriptor(owner, group, old.protected, old.entries))
            return
        # Inherited entries are computed again.
        entries = tuple(ace for ace in given.entries if "ID" not in ace.flags)
        for below in _below(self._kept, path):
            del self._kept[below]
        self._put(path, SecurityDescriptor(owner, group, given.protected, entries))

    def own(self, path: str, owner: str) -> None:
        """Record the owner of a new file or folder."""
        self._put(path, SecurityDescriptor(owner))

    def is_system_file(self, path: str) -> None:
        """Record that a file is part of Windows, so only TrustedInstaller may change it."""
        self._put(path, _SYSTEM_FILE)

    def _put(self, path: str, own: SecurityDescriptor) -> None:
        self._own[path] = own
        self._changed(path)

    def _changed(self, path: str) -> None:
        """Drop the cached descriptor of a path, or all cached descriptors if the path is a folder."""
        self._changes += 1
        known = self._worked_out.pop(path, None)
        # The cache contains items that inherited from this folder.
        if known is not None and known[1]:
            self._worked_out = {}
            self._of_children = {}

    def deleted(self, path: str) -> None:
        """Discard the access lists of a deleted path and of everything below it."""
        for key in _below(self._own, path):
            del self._own[key]
        for key in _below(self._kept, path):
            del self._kept[key]
        self._changed(path)

    def moved(self, path: str, destination: str, before: SecurityDescriptor) -> None:
        """Record a move within a volume. The item keeps its access list, including the entries that it had inherited.

        See https://learn.microsoft.com/troubleshoot/windows-client/windows-security/permissions-on-copying-moving-files
        """
        self.deleted(destination)
        for key in _below(self._own, path):
            self._own[destination + key[len(path) :]] = self._own.pop(key)
        for key in _below(self._kept, path):
            self._kept[destination + key[len(path) :]] = self._kept.pop(key)
        self._changed(path)
        if before.entries != self.descriptor(destination).entries:
            self._kept[destination] = tuple(ace for ace in before.entries or () if "ID" in ace.flags)
            self._changed(destination)

    def copy_from(self, other: AccessLists) -> None:
        """Replace the owners and access lists with copies of those of another `AccessLists` object."""
        self._own, self._kept = dict(other._own), dict(other._kept)
        self._worked_out, self._of_children = {}, {}


@functools.cache
def _windows_own(path: str) -> SecurityDescriptor | None:
    """Return the default descriptor of a drive or of a Windows folder, or None for other paths."""
    sddl = defaults.FOLDERS.get(path, defaults.DRIVE if len(path) == 3 else None)
    return parse(sddl) if sddl else None


def _below(known: Mapping[str, object], path: str) -> list[str]:
    """Return those keys of a dictionary that are the given path or a path below it."""
    start = path.rstrip("\\") + "\\"
    return [name for name in known if name == path or name.startswith(start)]


_PLAIN = SecurityDescriptor()
_SYSTEM_FILE = parse(defaults.SYSTEM_FILE)
