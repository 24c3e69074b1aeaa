# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compare SDDL security descriptors by meaning, because Windows may return them in a different notation.

Source: MS-DTYP 2.5.1 (security descriptor description language).
"""

from __future__ import annotations

import re

ADMINISTRATORS_ONLY = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
"""An access list for a folder that gives full access only to Administrators and to SYSTEM, which runs the services."""
ADMINISTRATORS_ONLY_FILE = "O:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)"
"""An access list for a file that gives full access only to Administrators and SYSTEM."""
READABLE = f"{ADMINISTRATORS_ONLY}(A;OICI;0x1200a9;;;BU)"
r"""An access list for a folder whose content all users may read and run, such as C:\k on Azure's nodes.
Source: Azure/aks-engine#4633."""
SHARED = f"{ADMINISTRATORS_ONLY}(A;OICIIO;FA;;;CO)(A;OICI;0x1200a9;;;BU)(A;CI;LC;;;BU)(A;CIIO;DC;;;BU)"
r"""An access list like that of C:\ on Windows Server: all users may read, create subfolders, and create files in these
subfolders. Administrators own the folder, so other users cannot rename or delete what they did not create. Source:
moby/buildkit#4731."""

# Rights and trustees of files, which SDDL can also write as numbers and SIDs.
_RIGHTS = {"FA": 0x1F01FF, "FR": 0x120089, "FW": 0x120116, "FX": 0x1200A0}
_STANDARD = {"RC": 0x20000, "SD": 0x10000, "WD": 0x40000, "WO": 0x80000}
_GENERIC = {"GA": 0x10000000, "GX": 0x20000000, "GW": 0x40000000, "GR": 0x80000000}
_DIRECTORY = {"CC": 1, "DC": 2, "LC": 4, "SW": 8, "RP": 16, "WP": 32, "DT": 64, "LO": 128, "CR": 256}
_ALL_RIGHTS = {**_RIGHTS, **_STANDARD, **_GENERIC, **_DIRECTORY}
_TRUSTEES = {
    "SY": "S-1-5-18",
    "LS": "S-1-5-19",
    "NS": "S-1-5-20",
    "BA": "S-1-5-32-544",
    "BU": "S-1-5-32-545",
    "AU": "S-1-5-11",
    "IU": "S-1-5-4",
    "WD": "S-1-1-0",
    "CO": "S-1-3-0",
    "CG": "S-1-3-1",
    "OW": "S-1-3-4",
}
_TRUSTED = frozenset({"S-1-5-18", "S-1-5-32-544", "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"})
"""The SIDs of SYSTEM, Administrators and TrustedInstaller. On Windows Server, the Administrators group owns what its
members create."""
_BUILT_IN_ADMINISTRATOR = re.compile(r"S-1-5-21-[0-9-]+-500|LA")
_OWNER = re.compile(r"O:([A-Z]{2}|S-1-[0-9-]+)")
WRITE = 0x2 | 0x4 | 0x40000 | 0x80000 | _GENERIC["GA"] | _GENERIC["GW"]
"""Rights to change a file: to write, to append, and to change its access list or owner."""
REPLACE = 0x40 | 0x10000 | 0x40000 | 0x80000 | _GENERIC["GA"]
"""Rights to replace a folder or its content: to delete or rename it, to delete its children, and to change its access
list or owner."""
_DACL = re.compile(r"D:([A-Z_]*)((?:\([^()]*\))*)")

Acl = tuple[bool, frozenset[tuple[str, frozenset[str], str, str]]]
"""A parsed access list: whether it is protected from inheritance, and the kind, flags, rights and trustee of each
explicit entry."""


def parse(sddl: str) -> Acl | None:
    """Return a descriptor's discretionary access list (DACL) without inherited entries, or None if it has no DACL."""
    match = _DACL.search(sddl)
    if not match:
        return None
    control, entries = match.groups()
    own = set()
    for entry in re.findall(r"\(([^()]*)\)", entries):
        kind, flags, rights, dummy_object, dummy_inherited, trustee = (*entry.split(";"), *[""] * 6)[:6]
        names = frozenset(flags[index : index + 2] for index in range(0, len(flags), 2))
        if "ID" not in names:
            own.add((kind.upper(), names, _rights(rights), _TRUSTEES.get(trustee.upper(), trustee.upper())))
    return "P" in re.sub("A[IR]", "", control.upper()), frozenset(own)


def owner(sddl: str) -> str | None:
    """Return the SID of a descriptor's owner, or None if the descriptor names no owner."""
    match = _OWNER.match(sddl)
    return _TRUSTEES.get(match[1], match[1]) if match else None


def same(expected: str, actual: str) -> bool:
    """Return whether a descriptor has the expected access list and, if given, the expected owner."""
    return parse(expected) == parse(actual) and owner(expected) in (None, owner(actual))


def is_administrative(sid: str | None) -> bool:
    """Return whether an account is SYSTEM, Administrators, TrustedInstaller or the built-in administrator."""
    return sid is not None and (sid in _TRUSTED or bool(_BUILT_IN_ADMINISTRATOR.fullmatch(sid)))


def others(sddl: str, rights: int) -> tuple[str, ...]:
    """Return the SIDs of all non-administrative accounts that own an object or have any of the given rights on it."""
    sids = {sid for sid in (owner(sddl),) if sid}
    listed = _DACL.search(sddl)
    if listed is None or "NO_ACCESS_CONTROL" in listed[1]:
        # Without an access list, every user has all rights.
        sids.add(_TRUSTEES["WD"])
    for entry in re.findall(r"\(([^()]*)\)", listed[2] if listed else ""):
        kind, flags, mask, dummy_object, dummy_inherited, trustee = (*entry.split(";"), *[""] * 6)[:6]
        names = {flags[index : index + 2] for index in range(0, len(flags), 2)}
        if kind.upper() == "A" and "IO" not in names and _mask(mask) & rights:
            sids.add(_TRUSTEES.get(trustee.upper(), trustee.upper()))
    return tuple(sorted(sid for sid in sids if not is_administrative(sid)))


def _mask(text: str) -> int:
    """Return the rights in an SDDL string as a bit mask. Unknown rights are treated as all rights."""
    rights = _rights(text)
    return int(rights, 16) if rights.startswith("0x") else 0xFFFFFFFF


def _rights(text: str) -> str:
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", text):
        return hex(int(text, 16))
    if re.fullmatch(r"[0-9]+", text):
        return hex(int(text, 10))
    names = [text[index : index + 2].upper() for index in range(0, len(text), 2)]
    if all(name in _ALL_RIGHTS for name in names):
        mask = 0
        for name in names:
            mask |= _ALL_RIGHTS[name]
        return hex(mask)
    return text.upper()
