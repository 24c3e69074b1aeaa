# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Owners and access lists as Windows keeps them: SDDL read and written, inheritance, and who may do what.

Sources: MS-DTYP 2.5.1 (SDDL) and
https://learn.microsoft.com/windows/win32/secauthz/ace-inheritance-rules
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PureWindowsPath

TRUSTED_INSTALLER = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
CREATOR_OWNER = "CO"

# Windows Server's C:\, which all folders made there inherit. icacls of Server 2019, 2022 and 2025:
# https://github.com/moby/buildkit/issues/4731, https://github.com/microsoft/Windows-Containers/issues/539
DRIVE = (
    f"O:{TRUSTED_INSTALLER}G:{TRUSTED_INSTALLER}D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICIIO;FA;;;CO)"
    "(A;OICI;0x1200a9;;;BU)(A;CI;LC;;;BU)(A;CIIO;DC;;;BU)(A;;0x1200a9;;;WD)"
)
# icacls C:\ProgramData: (CI)(WD,AD,WEA,WA) lets Users make files and folders in all of it, which are theirs then.
# https://github.com/aelassas/servy/issues/357
_PROGRAM_DATA = "O:SYG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICIIO;FA;;;CO)(A;OICI;0x1200a9;;;BU)(A;CI;0x116;;;BU)"
# Its entries below hold for what is made there, with generic rights: https://github.com/p0dalirius/smbclient-ng/pull/118
_PROGRAM_FILES = (
    f"O:{TRUSTED_INSTALLER}G:{TRUSTED_INSTALLER}D:PAI(A;;FA;;;{TRUSTED_INSTALLER})(A;CIIO;GA;;;{TRUSTED_INSTALLER})"
    "(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;SY)(A;;0x1301bf;;;BA)(A;OICIIO;GA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)"
    "(A;OICIIO;GA;;;CO)"
)
# Windows' own folders: ordinary users read them.
_SYSTEM = (
    f"O:{TRUSTED_INSTALLER}G:{TRUSTED_INSTALLER}D:PAI(A;OICI;FA;;;{TRUSTED_INSTALLER})(A;OICI;FA;;;SY)"
    "(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;OICIIO;FA;;;CO)"
)
WINDOWS_OWN = {
    "c:\\programdata": _PROGRAM_DATA,
    "c:\\windows": _SYSTEM,
    "c:\\program files": _PROGRAM_FILES,
    "c:\\program files (x86)": _PROGRAM_FILES,
    "c:\\users": _SYSTEM,
}
"""What Windows' own folders have, by lower-case path."""

MADE_BY_ADMINISTRATORS = "BA"
"""The owner of what administrators and SYSTEM make."""
TRUSTED = frozenset({"SY", "BA", TRUSTED_INSTALLER})

_MASKS = {
    "FA": 0x1F01FF, "FR": 0x120089, "FW": 0x120116, "FX": 0x1200A0, "GA": 0x1F01FF, "GR": 0x120089, "GW": 0x120116,
    "GX": 0x1200A0, "RC": 0x20000, "SD": 0x10000, "WD": 0x40000, "WO": 0x80000, "CC": 1, "DC": 2, "LC": 4, "SW": 8,
    "RP": 16, "WP": 32, "DT": 64, "LO": 128, "CR": 256,
}  # fmt: skip
_GENERIC = ("GA", "GR", "GW", "GX")
# MS-DTYP 2.5.1.1: ace-flag-string, sid-token.
_FLAGS = frozenset({"CI", "OI", "NP", "IO", "ID", "SA", "FA", "TP", "CR"})
_TRUSTEES = (
    "DA DG DU ED DD DC BA BG BU LA LG AO BO PO SO AU PS CO CG SY PU WD RE IU NU SU RC WR AN SA CA RS EA PA RU LS NS RD "
    "NO MU LU IS CY OW ER RO CD AC RA ES MS UD HA CN AA RM LW ME MP HI SI"
)
READ = 0x1
"""FILE_READ_DATA, of a folder FILE_LIST_DIRECTORY."""
TAKE = 0x10000 | 0x40000 | 0x80000
"""DELETE (which renaming takes as well), WRITE_DAC, WRITE_OWNER."""
WRITE = 0x2 | 0x4 | 0x40 | TAKE
"""FILE_WRITE_DATA or FILE_ADD_FILE, FILE_APPEND_DATA or FILE_ADD_SUBDIRECTORY, FILE_DELETE_CHILD, and TAKE."""
REPLACE_CHILD = 0x40 | TAKE
"""What of a folder lets somebody put other things into the place of those in it."""


@dataclass(frozen=True)
class Ace:
    """One entry of a list, as SDDL writes it."""

    kind: str
    flags: frozenset[str]
    rights: str
    trustee: str

    @property
    def mask(self) -> int:
        """Its access rights."""
        if re.fullmatch(r"0[xX][0-9a-fA-F]+|[0-9]+", self.rights):
            return int(self.rights, 0)
        mask = 0
        for start in range(0, len(self.rights), 2):
            mask |= _MASKS[self.rights[start : start + 2]]
        return mask

    @property
    def generic(self) -> bool:
        """Whether its rights are generic ones, which mean others for each kind of object."""
        return any(self.rights[start : start + 2] in _GENERIC for start in range(0, len(self.rights), 2))

    def __str__(self) -> str:
        flags = "".join(flag for flag in ("OI", "CI", "NP", "IO", "ID") if flag in self.flags)
        return f"({self.kind};{flags};{self.rights};;;{self.trustee})"


@dataclass(frozen=True)
class Descriptor:
    """A security descriptor: owner, group, whether the list is protected from inheritance, its entries."""

    owner: str | None = None
    group: str | None = None
    protected: bool = False
    entries: tuple[Ace, ...] | None = None
    """None: it says nothing of the list."""

    def __str__(self) -> str:
        head = (f"O:{self.owner}" if self.owner else "") + (f"G:{self.group}" if self.group else "")
        return head + ("D:PAI" if self.protected else "D:AI") + "".join(map(str, self.entries or ()))


def parse(sddl: str) -> Descriptor:
    """Read SDDL. Raises ValueError."""
    found = re.fullmatch(
        r"(?:O:([A-Z]{2}|S-[\d-]+))?(?:G:([A-Z]{2}|S-[\d-]+))?(?:D:(P?(?:A[IR])*)((?:\([^()]*\))*))?", sddl
    )
    if not found or not sddl:
        raise ValueError("The SDDL string contains an invalid sid or a sid that cannot be translated.")
    owner, group, control, listed = found.groups()
    if not all(_is_trustee(account) for account in (owner, group) if account):
        raise ValueError("The SDDL string contains an invalid sid or a sid that cannot be translated.")
    if control is None:
        return Descriptor(owner, group)
    entries = tuple(_ace(entry) for entry in re.findall(r"\(([^()]*)\)", listed))
    return Descriptor(owner, group, control.startswith("P"), entries)


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
    return text in _TRUSTEES.split() or re.fullmatch(r"S-1(-\d+){2,16}", text) is not None


def inherited(parent: Iterable[Ace], *, folder: bool, owner: str) -> tuple[Ace, ...]:
    """Return the entries that something new in a folder gets of the folder's own.

    Parameters:
        parent: all entries of the folder.
        folder: whether the new thing is a folder.
        owner: of the new thing, who stands in for CREATOR OWNER.
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


def holders(descriptor: Descriptor, mask: int) -> set[str]:
    """Return who holds any of these rights, beside SYSTEM, Administrators and TrustedInstaller.

    An owner may always change the list (WRITE_DAC), and so has all rights:
    https://learn.microsoft.com/windows/win32/secauthz/owner-of-a-new-object
    """
    found = {
        ace.trustee for ace in descriptor.entries or () if ace.kind == "A" and "IO" not in ace.flags and ace.mask & mask
    }
    return {who for who in (*found, descriptor.owner or "") if who and who not in TRUSTED}


class AccessLists:
    """Who owns what on a machine, and its lists; paths are whole and in lower case.

    Parameters:
        is_folder: whether a path is one of a folder.
    """

    def __init__(self, is_folder: Callable[[str], bool]) -> None:
        self._is_folder = is_folder
        # What is not as it was inherited: owners and lists that somebody set.
        self._own: dict[str, Descriptor] = {}
        # Inherited entries of what was moved: it keeps them until a list above it is set.
        self._kept: dict[str, tuple[Ace, ...]] = {}

    def descriptor(self, path: str) -> Descriptor:
        """Return owner and list, with the inherited entries."""
        own = self._own.get(path)
        if own is None and (len(path) == 3 or path in WINDOWS_OWN):
            return parse(WINDOWS_OWN.get(path, DRIVE))
        own = own or Descriptor()
        owner, entries = own.owner or MADE_BY_ADMINISTRATORS, own.entries or ()
        if not own.protected:
            entries = (*entries, *self._inherited(path, owner))
        return Descriptor(owner, own.group or "SY", own.protected, entries)

    def _inherited(self, path: str, owner: str) -> tuple[Ace, ...]:
        kept = self._kept.get(path)
        if kept is not None:
            return kept
        above = self.descriptor(str(PureWindowsPath(path).parent))
        return inherited(above.entries or (), folder=self._is_folder(path), owner=owner)

    def set(self, path: str, sddl: str) -> None:
        """Set what the SDDL names. Raises ValueError.

        What is below inherits it at once, as with SetNamedSecurityInfo:
        https://learn.microsoft.com/windows/win32/secauthz/automatic-propagation-of-inheritable-aces
        """
        given, old = parse(sddl), self._own.get(path, Descriptor())
        owner, group = given.owner or old.owner, given.group or old.group
        if given.entries is None:
            self._own[path] = Descriptor(owner, group, old.protected, old.entries)
            return
        # What is inherited is worked out anew.
        entries = tuple(ace for ace in given.entries if "ID" not in ace.flags)
        self._own[path] = Descriptor(owner, group, given.protected, entries)
        for below in _below(self._kept, path):
            del self._kept[below]

    def deleted(self, path: str) -> None:
        """Forget a path and all below it."""
        for key in _below(self._own, path):
            del self._own[key]
        for key in _below(self._kept, path):
            del self._kept[key]

    def moved(self, path: str, destination: str, before: Descriptor) -> None:
        """Note a move, which keeps the list that it had before.

        https://learn.microsoft.com/troubleshoot/windows-client/windows-security/permissions-on-copying-moving-files
        """
        self.deleted(destination)
        for key in _below(self._own, path):
            self._own[destination + key[len(path) :]] = self._own.pop(key)
        for key in _below(self._kept, path):
            self._kept[destination + key[len(path) :]] = self._kept.pop(key)
        if before.entries != self.descriptor(destination).entries:
            self._kept[destination] = tuple(ace for ace in before.entries or () if "ID" in ace.flags)

    def copy_from(self, other: AccessLists) -> None:
        """Become a copy."""
        self._own, self._kept = dict(other._own), dict(other._kept)


def _below(known: Mapping[str, object], path: str) -> list[str]:
    """Return the keys of a path and of all below it."""
    return [name for name in known if name == path or name.startswith(path.rstrip("\\") + "\\")]
