# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Get-Acl and Set-Acl for files and folders. Get-Acl also returns the owner and the access list as SDDL.

See https://learn.microsoft.com/windows/win32/secauthz/security-descriptor-string-format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from simulator.machine import accounts
from simulator.machine.core import paths
from simulator.machine.objects import Bound, Cmdlet, CmdletError, Enumeration, NotModelled, PSObject
from simulator.machine.rights.guard import AccessDeniedError, InvalidOwnerError
from simulator.machine.rights.tokens import BACKUP, RESTORE, sid
from simulator.machine.text import to_text

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

RIGHTS = {
    "FA": ("FullControl", 2032127), "FR": ("Read, Synchronize", 1179785), "FW": ("Write, Synchronize", 1048854),
    "FX": ("ReadAndExecute, Synchronize", 1179808), "0x1200a9": ("ReadAndExecute, Synchronize", 1179817),
    "0x1301bf": ("Modify, Synchronize", 1245631), "0x1f01ff": ("FullControl", 2032127),
    # .NET has no names for generic rights, so it shows their number.
    "GA": ("268435456", 268435456), "GXGR": ("-1610612736", -1610612736),
}  # fmt: skip


def _name(machine: Machine, who: str) -> str:
    """Return the name that .NET displays for an account, which is given as a SID or an SDDL abbreviation."""
    full = sid(who)
    return accounts.name_of(machine, full) or full


def _rule(machine: Machine, entry: str) -> PSObject:
    kind, flags, rights, _, _, who = (entry.split(";") + [""] * 6)[:6]
    name, number = RIGHTS.get(rights, (rights, 0))
    inheritance = ", ".join(
        word for flag, word in (("CI", "ContainerInherit"), ("OI", "ObjectInherit")) if flag in flags
    )
    propagation = ", ".join(
        word for flag, word in (("NP", "NoPropagateInherit"), ("IO", "InheritOnly")) if flag in flags
    )
    trustee = _name(machine, who)
    return PSObject(
        "System.Security.AccessControl.FileSystemAccessRule",
        {
            "FileSystemRights": Enumeration(name, number, "System.Security.AccessControl.FileSystemRights"),
            "AccessControlType": Enumeration(
                "Deny" if kind == "D" else "Allow", int(kind == "D"), "System.Security.AccessControl.AccessControlType"
            ),
            "IdentityReference": PSObject("System.Security.Principal.NTAccount", {"Value": trustee}, trustee),
            "IsInherited": "ID" in flags,
            "InheritanceFlags": inheritance or "None",
            "PropagationFlags": propagation or "None",
        },
    )


def read_sddl(machine: Machine, path: str) -> str:
    """Return the security descriptor of an existing file or folder as SDDL, as Get-Acl reads it.

    Get-Acl enables SeBackupPrivilege, so administrators may read every access list. Source:

    https://github.com/PowerShell/PowerShell/blob/master/src/System.Management.Automation/namespaces/FileSystemSecurity.cs

    Raises:
        CmdletError: access is denied.
    """
    try:
        return machine.files.sddl(path, {BACKUP})
    except AccessDeniedError:
        raise _unauthorized("NotSpecified") from None


def _unauthorized(category: str) -> CmdletError:
    kind = "System.UnauthorizedAccessException"
    return CmdletError(category, kind, "Attempted to perform an unauthorized operation.", kind)


def get_acl(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Acl, which returns the owners and access lists of files and folders."""
    for place in paths.selected(machine, bound, default=paths.directory(bound)):
        if place.provider != "FileSystem":
            raise NotModelled("access lists of registry keys")
        sddl = read_sddl(machine, place.path)
        owner, group = re.search(r"O:([A-Z]{2}|S-[\d-]+)", sddl), re.search(r"G:([A-Z]{2}|S-[\d-]+)", sddl)
        rules = [_rule(machine, entry) for entry in re.findall(r"\(([^)]*)\)", sddl)]
        shown = [
            f"{to_text(rule['IdentityReference'])} {to_text(rule['AccessControlType'])}  "
            f"{to_text(rule['FileSystemRights'])}"
            for rule in rules
        ]
        folder = machine.files.is_directory(place.path)
        yield PSObject(
            f"System.Security.AccessControl.{'Directory' if folder else 'File'}Security",
            {
                "Path": f"{paths.CORE}FileSystem::{place.path}",
                "Owner": _name(machine, owner[1]) if owner else None,
                "Group": _name(machine, group[1]) if group else None,
                "Access": rules,
                "Sddl": sddl,
                "AccessToString": "\n".join(shown),
                "AreAccessRulesProtected": "D:P" in sddl,
            },
        )


def set_acl(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-Acl, which sets owners and access lists to those in an object from Get-Acl."""
    requested = bound.get("AclObject")
    sddl = to_text(requested.get("Sddl")) if isinstance(requested, PSObject) else ""
    if not sddl:
        raise NotModelled("Set-Acl with an object that has no SDDL")
    for place in paths.selected(machine, bound):
        if place.provider != "FileSystem":
            raise NotModelled("access lists of registry keys")
        # The cmdlet enables this privilege.
        try:
            machine.files.set_sddl(place.path, sddl, {RESTORE})
        except AccessDeniedError:
            bound.write_error(_unauthorized("PermissionDenied"))
            continue
        except InvalidOwnerError as error:
            kind = "System.InvalidOperationException"
            bound.write_error(CmdletError("InvalidOperation", kind, str(error), kind))
            continue
        if bound.flag("Passthru"):
            yield requested


CMDLETS: Mapping[str, Cmdlet] = {"Get-Acl": get_acl, "Set-Acl": set_acl}
