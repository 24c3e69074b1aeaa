# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The powercfg.exe, icacls.exe and takeown.exe programs, with the options that the collection's roles use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simulator.machine import accounts
from simulator.machine.access_lists import parse
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.machine.rights import check
from simulator.machine.rights.guard import InvalidOwnerError
from simulator.machine.rights.tokens import RESTORE, TAKE_OWNERSHIP, abbreviated

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_SCHEMES = {
    "381b4222-f694-41f0-9685-ff5bb260df2e": "Balanced",
    "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c": "High performance",
    "a1841308-3541-4fab-bc81-f71556f20b4a": "Power saver",
}
_ALIASES = {"SCHEME_BALANCED": 0, "SCHEME_MIN": 1, "SCHEME_MAX": 2}
_NOT_OWNER = "This security ID may not be assigned as the owner of this object."
_RIGHTS = {"F": "FA", "M": "0x1301bf", "RX": "0x1200a9", "R": "FR", "W": "FW", "D": "SD"}


@dataclass
class Scheme:
    """The active power scheme."""

    scheme: str = "381b4222-f694-41f0-9685-ff5bb260df2e"


def powercfg(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate powercfg.exe /getactivescheme, /setactive SCHEME and /list. /hibernate and /change have no effect."""
    words = [argument.casefold().lstrip("-/") for argument in run.argv]
    active = machine.part(Scheme)
    match words:
        case ["getactivescheme"]:
            return ProgramResult(0, f"Power Scheme GUID: {active.scheme}  ({_SCHEMES[active.scheme]})\r\n")
        case ["l" | "list"]:
            lines = [
                f"Power Scheme GUID: {key}  ({name}){' *' if key == active.scheme else ''}"
                for key, name in _SCHEMES.items()
            ]
            return ProgramResult(0, "".join(f"{line}\r\n" for line in lines))
        case ["s" | "setactive", requested]:
            keys = list(_SCHEMES)
            key = keys[_ALIASES[requested.upper()]] if requested.upper() in _ALIASES else requested
            if key not in _SCHEMES:
                text = 'Invalid Parameters -- try "/?" for help\r\n'
                return ProgramResult(1, text)
            active.scheme = key
            return ProgramResult(0)
        case ["h" | "hibernate", "on" | "off"] | ["change" | "x", _, _]:
            return ProgramResult(0)
    return ProgramResult(1, 'Invalid Parameters -- try "/?" for help\r\n')


def icacls(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate icacls.exe PATH OPTIONS.

    The modelled options are /inheritance:r|d|e, /grant[:r] WHO:RIGHTS, /deny WHO:RIGHTS, /remove WHO and /setowner WHO.
    """
    if not run.argv:
        return ProgramResult(87, "", "ICACLS name /save aclfile [/T] [/C] [/L] [/Q]\r\n")
    path, words = run.argv[0], list(run.argv[1:])
    if not machine.files.exists(path):
        text = f"{path}: The system cannot find the file specified.\r\n"
        return ProgramResult(2, "Successfully processed 0 files; Failed processing 1 files\r\n", text)
    try:
        return _icacls(machine, path, words)
    except PermissionError as error:
        foreign = isinstance(error, InvalidOwnerError)
        text = f"{path}: {_NOT_OWNER if foreign else 'Access is denied.'}\r\n"
        message = "Successfully processed 0 files; Failed processing 1 files\r\n"
        return ProgramResult(1307 if foreign else 5, message, text)


def _icacls(machine: Machine, path: str, words: list[str]) -> ProgramResult:
    sddl = before = machine.files.sddl(path)
    mode = ""
    for word in words:
        low = word.casefold()
        if low.startswith("/inheritance:"):
            sddl = _inheritance(sddl, low[-1])
        elif low.startswith(("/grant", "/deny", "/remove", "/setowner")):
            mode = low
        elif low in ("/t", "/c", "/q", "/l"):
            continue
        elif mode == "/setowner" and (owner := _trustee(machine, word)):
            # icacls has no force option (`icacls /?`). With SeRestorePrivilege, administrators can set any owner.
            machine.files.guard.require(path, check.WRITE_OWNER)
            machine.files.set_sddl(path, f"O:{owner}", {RESTORE})
        elif mode:
            changed = _change(machine, sddl, mode, word)
            if changed is None:
                return ProgramResult(
                    1332, "", f"{word}: No mapping between account names and security IDs was done.\r\n"
                )
            sddl = changed
        else:
            return ProgramResult(87, "", f'Invalid parameter "{word}"\r\n')
    if sddl != before:
        changed_list = parse(sddl)
        # "icacls preserves the canonical order of ACE entries":
        # https://learn.microsoft.com/windows-server/administration/windows-commands/icacls
        ordered = replace(changed_list, owner=None, group=None, entries=check.canonical(changed_list.entries or ()))
        machine.files.set_sddl(path, str(ordered))
    return ProgramResult(0, f"processed file: {path}\r\nSuccessfully processed 1 files; Failed processing 0 files\r\n")


def takeown(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate takeown.exe /f PATH [/a] [/r [/d y]].

    With /a, the Administrators group becomes the owner; without it, the acting user.
    Source: https://learn.microsoft.com/windows-server/administration/windows-commands/takeown
    """
    words = [word.casefold() for word in run.argv]
    token = machine.files.guard.token
    if "/f" not in words[:-1] or set(words) - {"/f", "/a", "/r", "/d", "y", words[words.index("/f") + 1]}:
        return ProgramResult(1, "", 'ERROR: Invalid syntax.\r\nType "TAKEOWN /?" for usage.\r\n')
    path, group = run.argv[words.index("/f") + 1], "/a" in words
    if not machine.files.exists(path):
        return ProgramResult(1, "", "ERROR: The system cannot find the file specified.\r\n")
    # With /r, takeown.exe grants the new owner the right to list each folder.
    with machine.acting.as_windows():
        inside = [entry.path for entry in machine.files.walk(path)] if "/r" in words else []
    owner = "BA" if group or token is None else token.user
    named = "the administrators group" if group else f'user "{machine.name}\\{run.user.rpartition(chr(92))[2]}"'
    message = ""
    for place in dict.fromkeys([path, *inside]):
        try:
            machine.files.set_sddl(place, f"O:{owner}", {TAKE_OWNERSHIP})
        except PermissionError:
            text = "ERROR: The current logged on user does not have ownership privileges on the file (or folder)"
            return ProgramResult(1, message, f'{text} "{place}".\r\n')
        message += f'\r\nSUCCESS: The file (or folder): "{place}" now owned by {named}.\r\n'
    return ProgramResult(0, message)


def _entries(sddl: str) -> tuple[str, list[str]]:
    head, _, _ = sddl.partition("(")
    return head, re.findall(r"\([^)]*\)", sddl)


def _inheritance(sddl: str, letter: str) -> str:
    """Return the access list that results from applying `icacls /inheritance` to the given one.

    Args:
        letter: `r` removes the inherited entries, `d` makes them explicit, and `e` enables inheritance.
    """
    head, entries = _entries(sddl)
    if letter == "e":
        return re.sub(r"D:P?(?:AI)?", "D:", head) + "".join(entries)
    kept = [entry for entry in entries if "ID" not in entry.split(";")[1]] if letter == "r" else entries
    copied = [
        ";".join([parts[0], parts[1].replace("ID", ""), *parts[2:]]) for parts in (entry.split(";") for entry in kept)
    ]
    return re.sub(r"D:(P?)(AI)?", "D:P", head) + "".join(copied)


def _trustee(machine: Machine, who: str) -> str | None:
    r"""Return the SDDL abbreviation or SID of an account (`NAME`, `AUTHORITY\NAME` or `*SID`), or None if unknown."""
    found = accounts.resolve(machine, who.removeprefix("*"))
    return abbreviated(found) if found else None


def _change(machine: Machine, sddl: str, mode: str, word: str) -> str | None:
    head, entries = _entries(sddl)
    who, _, rights = word.rpartition(":") if mode.startswith(("/grant", "/deny")) else (word, "", "")
    trustee = _trustee(machine, who)
    if trustee is None:
        return None
    replaces = mode.startswith("/remove") or mode.endswith(":r")
    kept = [
        entry
        for entry in entries
        if not (replaces and entry.endswith(f";{trustee})") and "ID" not in entry.split(";")[1])
    ]
    if mode.startswith("/remove"):
        return head + "".join(kept)
    flags = "".join(re.findall(r"\((OI|CI|IO|NP)\)", rights))
    simple = re.sub(r"\((?:OI|CI|IO|NP)\)", "", rights).strip("()")
    if simple not in _RIGHTS:
        return None
    kind = "D" if mode.startswith("/deny") else "A"
    return head + f"({kind};{flags};{_RIGHTS[simple]};;;{trustee})" + "".join(kept)


PROGRAMS: Mapping[str, Program] = {"powercfg.exe": powercfg, "icacls.exe": icacls, "takeown.exe": takeown}
