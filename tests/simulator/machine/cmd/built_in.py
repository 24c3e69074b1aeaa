# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The built-in commands of cmd.exe. Only some commands, and some of their options, are modelled.

See https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from simulator.machine import command_line
from simulator.machine.cmd import arithmetic
from simulator.machine.cmd.errors import ExitSignal
from simulator.machine.core.item_objects import Links
from simulator.machine.objects import ProgramResult
from simulator.machine.rights import trees
from simulator.machine.session import Session
from simulator.machine.windows_paths import LONG

_SHARING_VIOLATION = 32
# Commands that exist but are not modelled.
NOT_MODELLED = frozenset(
    [
        "assoc",
        "break",
        "color",
        "date",
        "dpath",
        "ftype",
        "keys",
        "path",
        "pause",
        "popd",
        "prompt",
        "pushd",
        "ren",
        "rename",
        "replace",
        "shift",
        "start",
        "time",
        "verify",
        "vol",
    ]
)
# For these commands, the argument is everything after the name, trailing spaces included.
_WHOLE = ("echo", "set")
# Precedes the text of `echo.`, which writes a line even if the text is empty.
EVEN_EMPTY = "\0"


def name_and_rest(text: str) -> tuple[str, str]:
    """Split a command into its name and the text after it. The name is empty if the command begins with a path."""
    match = re.match(r"[A-Za-z]+(?=[\s.(\\/:]|$)", text)
    if not match or re.match(r"[A-Za-z]:", text):
        return "", text
    rest = text[match.end() :]
    lower = match[0].casefold()
    if lower == "echo" and rest[:1] in (".", ":", "(", "/"):
        return match[0], EVEN_EMPTY + rest[1:]
    return match[0], (rest[1:] if lower == "echo" else rest.lstrip()) if lower in _WHOLE else rest.strip()


def unmodelled(name: str, rest: str) -> str:
    """Return the part of a built-in command that is not modelled, or an empty string if there is no such part.

    Args:
        name, rest: the command's name and the text after it, as `name_and_rest` returns them.
    """
    lower = name.casefold()
    if lower in NOT_MODELLED:
        return lower
    # Without /y, move may ask before it overwrites a file.
    if lower == "move" and "/y" not in rest.casefold().split():
        return "move without /y"
    if lower == "goto" and rest.casefold() != ":eof":
        return f"goto {rest}"
    if (lower == "set" and rest.startswith("/") and rest[:2].casefold() != "/a") or (
        lower in ("setlocal", "endlocal") and rest
    ):
        return f"{lower} {rest}"
    return rest if not name and rest.startswith(":") else ""


def _echo(session: Session, rest: str) -> ProgramResult:
    if rest.startswith(EVEN_EMPTY):
        return ProgramResult(0, rest.removeprefix(EVEN_EMPTY) + "\r\n")
    return ProgramResult(0, (rest if rest.strip() else "ECHO is on.") + "\r\n")


def _type(session: Session, rest: str) -> ProgramResult:
    path = session.absolute(rest.strip('"'))
    if not session.machine.files.is_file(path):
        return ProgramResult(1, "", "The system cannot find the file specified.\r\n")
    return ProgramResult(0, session.machine.files.read_text(path))


def _cd(session: Session, rest: str) -> ProgramResult:
    target = rest.removeprefix("/d").removeprefix("/D").strip().strip('"')
    if not target:
        return ProgramResult(0, session.directory + "\r\n")
    path = session.absolute(target)
    if not session.machine.files.is_directory(path):
        return ProgramResult(1, "", "The system cannot find the path specified.\r\n")
    session.directory = path.rstrip("\\") if len(path) > 3 else path
    return ProgramResult()


def _set(session: Session, rest: str) -> ProgramResult:
    if rest[:2].casefold() == "/a":
        return arithmetic.set_numbers(session, rest[2:].strip().strip('"'))
    # In quotes, the value ends at the last quote; without quotes it goes to the end of the line, spaces included.
    inside = rest[1:].rpartition('"')[0] if rest.startswith('"') and rest.count('"') > 1 else rest
    name, equals, value = inside.partition("=")
    if equals:
        session.environment = {
            key: kept for key, kept in session.environment.items() if key.casefold() != name.casefold()
        }
        if not value:
            return ProgramResult()
        session.environment[name] = value
        return ProgramResult()
    name = name.strip().strip('"')
    found = [
        f"{key}={value}" for key, value in session.environment.items() if key.casefold().startswith(name.casefold())
    ]
    if not found:
        return ProgramResult(1, "", f"Environment variable {name} not defined\r\n")
    return ProgramResult(0, "".join(f"{line}\r\n" for line in sorted(found)))


def _mkdir(session: Session, rest: str) -> ProgramResult:
    path = session.absolute(rest.strip('"'))
    if session.machine.files.exists(path):
        return ProgramResult(1, "", f"A subdirectory or file {rest} already exists.\r\n")
    session.machine.files.make_directory(path)
    return ProgramResult()


def _del(session: Session, rest: str) -> ProgramResult:
    for word in command_line.split(rest):
        if word.startswith("/"):
            continue
        path = session.absolute(word)
        if not session.machine.files.is_file(path):
            return ProgramResult(1, "", f"Could Not Find {path}\r\n")
        session.machine.files.delete(path)
    return ProgramResult()


def _rmdir(session: Session, rest: str) -> ProgramResult:
    words = command_line.split(rest)
    recursive = any(word.casefold() == "/s" for word in words)
    for word in words:
        if word.startswith("/"):
            continue
        path = session.absolute(word.removeprefix(LONG))
        if session.machine.files.real(path).is_symlink():
            # For a link to a folder, even a folder that no longer exists, remove the link and keep its target.
            session.machine.files.delete(path)
            continue
        if not session.machine.files.is_directory(path):
            return ProgramResult(2, "", "The system cannot find the file specified.\r\n")
        if session.machine.files.listing(path) and not recursive:
            return ProgramResult(145, "", "The directory is not empty.\r\n")
        if used := _used_below(session, path):
            trees.delete_others(session.machine.files, path, used)
            why = "The process cannot access the file because it is being used by another process."
            return ProgramResult(_SHARING_VIOLATION, "", "".join(f"{each} - {why}\r\n" for each in used))
        session.machine.files.delete(path)
    return ProgramResult()


def _used_below(session: Session, path: str) -> list[str]:
    """Return the files in and below a folder that cannot be deleted because other processes use them."""
    files = session.machine.files
    if not files.open.blocks_below(path):
        return []
    return [entry.path for entry in files.walk(path) if not entry.is_directory and files.open.blocks(entry.path, "d")]


def _mklink(session: Session, rest: str) -> ProgramResult:
    """Create a link (https://learn.microsoft.com/windows-server/administration/windows-commands/mklink)."""
    words = command_line.split(rest)
    switches = {word.casefold() for word in words if word.startswith("/")}
    paths = [session.absolute(word) for word in words if not word.startswith("/")]
    if len(paths) != 2 or switches - {"/d", "/j", "/h"}:
        return ProgramResult(1, "", "The syntax of the command is incorrect.\r\n")
    files = session.machine.files
    link, target = files.real(paths[0]), files.real(paths[1])
    if link.exists() or link.is_symlink():
        return ProgramResult(1, "", "Cannot create a file when that file already exists.\r\n")
    if not link.parent.is_dir():
        return ProgramResult(1, "", "The system cannot find the path specified.\r\n")
    files.guard.require_child(paths[0], folder=not switches)
    if "/h" in switches:
        link.hardlink_to(target)
    else:
        # Relative, so that it stays valid in a copy of the disk.
        link.symlink_to(os.path.relpath(target, link.parent), target_is_directory=bool(switches))
    if "/j" in switches:
        session.machine.part(Links).kinds[paths[0].casefold()] = "Junction"
    kind = "Junction" if "/j" in switches else "Hardlink" if "/h" in switches else "symbolic link"
    return ProgramResult(0, f"{kind} created for {paths[0]} <<===>> {paths[1]}\r\n")


def _is_in_folder(session: Session, path: str) -> bool:
    return session.machine.files.is_directory(path.rpartition("\\")[0] + "\\")


def _copy(session: Session, rest: str) -> ProgramResult:
    """Copy a file, or join files whose names are separated by `+`. Only the binary mode (/b) is modelled."""
    words = [word for word in command_line.split(rest) if not word.startswith("/")]
    sources = [session.absolute(part) for part in words[0].split("+")] if words else []
    files = session.machine.files
    if len(words) != 2 or not all(files.is_file(source) for source in sources):
        return ProgramResult(1, "", "The system cannot find the file specified.\r\n")
    target = session.absolute(words[1])
    if files.is_directory(target):
        target = target + "\\" + sources[0].rsplit("\\", 1)[-1]
    if not _is_in_folder(session, target):
        return ProgramResult(1, "        0 file(s) copied.\r\n", "The system cannot find the path specified.\r\n")
    if len(sources) == 1:
        files.copy(sources[0], target)
    else:
        files.write_bytes(target, b"".join(files.read_bytes(source) for source in sources))
    return ProgramResult(0, "        1 file(s) copied.\r\n")


def _move(session: Session, rest: str) -> ProgramResult:
    """Move one file, and replace any file at the destination. Within a volume, the file keeps its access list.

    See https://learn.microsoft.com/windows-server/administration/windows-commands/move and
    https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-movefileexw.
    """
    words = [word for word in command_line.split(rest) if not word.startswith("/")]
    if len(words) != 2:
        return ProgramResult(1, "", "The syntax of the command is incorrect.\r\n")
    source, target = (session.absolute(word) for word in words)
    files = session.machine.files
    if not files.is_file(source):
        return ProgramResult(1, "", "The system cannot find the file specified.\r\n")
    if files.is_directory(target):
        target = target + "\\" + source.rsplit("\\", 1)[-1]
    if not _is_in_folder(session, target):
        return ProgramResult(1, "", "The system cannot find the path specified.\r\n")
    files.move(source, target)
    return ProgramResult(0, "        1 file(s) moved.\r\n")


def _dir(session: Session, rest: str) -> ProgramResult:
    words = command_line.split(rest)
    path = session.absolute(next((word for word in words if not word.startswith("/")), "."))
    if not session.machine.files.is_directory(path):
        return ProgramResult(1, "", "File Not Found\r\n")
    entries = session.machine.files.listing(path)
    if any(word.casefold() == "/b" for word in words):
        return ProgramResult(0, "".join(f"{entry.name}\r\n" for entry in entries))
    lines = [" Volume in drive C has no label.", "", f" Directory of {path}", ""]
    for entry in entries:
        size = "<DIR>         " if entry.is_directory else f"{entry.size:>14,}"
        lines.append(f"{entry.modified:%m/%d/%Y  %I:%M %p}    {size} {entry.name}")
    return ProgramResult(0, "".join(f"{line}\r\n" for line in lines))


def _ver(session: Session, rest: str) -> ProgramResult:
    return ProgramResult(0, f"\r\nMicrosoft Windows [Version {session.machine.windows.full}]\r\n")


def _exit(session: Session, rest: str) -> ProgramResult:
    words = rest.split()
    batch = bool(words) and words[0].casefold() == "/b"
    code = words[-1] if words and words[-1].lstrip("-").isdigit() else None
    raise ExitSignal(None if code is None else int(code), batch=batch)


def _goto(session: Session, rest: str) -> ProgramResult:
    """Simulate `goto :eof`, which ends the batch file. No other label is modelled."""
    raise ExitSignal(None, batch=True)


def _nothing(session: Session, rest: str) -> ProgramResult:
    return ProgramResult()


COMMANDS: Mapping[str, Callable[[Session, str], ProgramResult]] = {
    "echo": _echo,
    "type": _type,
    "cd": _cd,
    "chdir": _cd,
    "set": _set,
    "mkdir": _mkdir,
    "md": _mkdir,
    "del": _del,
    "erase": _del,
    "rmdir": _rmdir,
    "rd": _rmdir,
    "copy": _copy,
    "move": _move,
    "mklink": _mklink,
    "dir": _dir,
    "ver": _ver,
    "exit": _exit,
    "goto": _goto,
    "rem": _nothing,
    "title": _nothing,
}
