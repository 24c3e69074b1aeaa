# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the .NET methods of System.IO for a machine's files, with the exceptions that these methods throw.

PowerShell reports an exception of a .NET method with the category NotSpecified and the exception's name as the id.
https://learn.microsoft.com/dotnet/standard/io/handling-io-errors
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simulator.machine.files import DiskFullError
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError, NotModelled
from simulator.machine.rights import check
from simulator.machine.windows_paths import (
    LONG,
    MAX_FOLDER,
    is_illegal,
    is_on_share,
    is_rooted,
    is_too_long,
    normalise,
    parent,
    root,
)

IO = "System.IO.IOException"
DENIED = "System.UnauthorizedAccessException"
NO_FILE = "System.IO.FileNotFoundException"
NO_FOLDER = "System.IO.DirectoryNotFoundException"
ARGUMENT = "System.ArgumentException"
_DENIED = "Access to the path is denied."
_NO_PART = "Could not find a part of the path."


def exception(kind: str, message: str) -> CmdletError:
    """Return an exception of a .NET method as PowerShell reports it."""
    return CmdletError("NotSpecified", kind.rsplit(".", 1)[-1], message, kind)


def denied(path: str) -> CmdletError:
    """Return the exception for a path to which access is denied, or for a folder that is opened as a file."""
    return exception(DENIED, f"Access to the path '{path}' is denied.")


def used(path: str = "") -> CmdletError:
    """Return the exception for a file that is in use.

    If `path` is empty, the message names no file. This is the case for .NET methods with two paths.
    """
    named = f" '{path}'" if path else ""
    return exception(IO, f"The process cannot access the file{named} because it is being used by another process.")


def too_long() -> CmdletError:
    """Return .NET Framework's exception for a path that is too long."""
    return exception("System.IO.PathTooLongException", "The specified path, file name, or both are too long.")


@contextmanager
def as_exceptions(path: str) -> Iterator[None]:
    """Convert exceptions of the machine's file system into .NET exceptions."""
    try:
        yield
    except DiskFullError as error:
        raise exception(IO, str(error.strerror)) from None
    except FileNotFoundError:
        raise exception(NO_FILE, f"Could not find file '{path}'.") from None
    except NotADirectoryError:
        raise exception(NO_FOLDER, f"Could not find a part of the path '{path}'.") from None
    except (PermissionError, IsADirectoryError):
        raise denied(path) from None
    except OSError as error:
        raise exception(IO, error.strerror or str(error)) from None
    except ValueError as error:
        raise exception(ARGUMENT, str(error)) from None


def exists(machine: Machine, path: str) -> bool:
    """Return whether File.Exists or Directory.Exists returns true for a path.

    Both return false for an invalid path, and for an item whose attributes the caller is not allowed to read.
    """
    return _is_name(machine, path) and machine.files.exists(path) and machine.files.guard.sees(path)


def is_directory(machine: Machine, path: str) -> bool:
    """Simulate Directory.Exists."""
    return _is_name(machine, path) and machine.files.is_directory(path) and machine.files.guard.sees(path)


def is_file(machine: Machine, path: str) -> bool:
    """Simulate File.Exists."""
    return _is_name(machine, path) and machine.files.is_file(path) and machine.files.guard.sees(path)


def _is_name(machine: Machine, path: str) -> bool:
    _require_drive(path)
    return bool(path.strip()) and not is_illegal(path) and not _is_too_long(machine, path)


def _require_drive(path: str) -> None:
    """Reject paths on network shares. The rights and firewall rules for access to them are not modelled."""
    if is_on_share(path):
        raise NotModelled(f"files on shares: {path}")


def _is_too_long(machine: Machine, path: str) -> bool:
    return not machine.windows.is_core and is_too_long(path)


def require_legal(machine: Machine, path: str) -> None:
    """Reject paths that are invalid on Windows, and paths on network shares.

    Raises:
        CmdletError: the path is invalid, or it is on a network share, which is not modelled.
    """
    _require_drive(path)
    if not path or "\0" in path:
        raise exception(ARGUMENT, "The path is not of a legal form.")
    if _is_too_long(machine, path):
        raise too_long()
    if is_illegal(path):
        message = f"The filename, directory name, or volume label syntax is incorrect. : '{path}'"
        raise exception(IO, message)


def open_to_read(machine: Machine, path: str, share: str = "rwd") -> Path:
    """Return the host path of a file that the caller is going to open for reading.

    Args:
        share: the operations that the caller allows other processes to perform (see `OpenFiles`). File.OpenRead allows
            only reading (`r`).

    Raises:
        CmdletError: .NET cannot open the file.
    """
    require_legal(machine, path)
    if machine.files.is_directory(path):
        raise denied(path)
    if not machine.files.is_file(path):
        if not machine.files.is_directory(parent(path)):
            raise exception(NO_FOLDER, f"Could not find a part of the path '{path}'.")
        raise exception(NO_FILE, f"Could not find file '{path}'.")
    with as_exceptions(path):
        machine.files.require(path, check.READ_DATA)
    _require_clean(machine, path)
    if machine.files.open.blocks(path, "r", share):
        raise used(path)
    return machine.files.real(path)


def write(machine: Machine, path: str, data: bytes) -> None:
    """Write a file's entire contents, as with FileMode.Create and FileShare.None.

    Raises:
        CmdletError: the .NET method fails.
    """
    require_legal(machine, path)
    if machine.files.is_directory(path):
        raise denied(path)
    if not machine.files.is_directory(parent(path)):
        raise exception(NO_FOLDER, f"Could not find a part of the path '{path}'.")
    with as_exceptions(path):
        machine.files.require(path, check.WRITE_DATA)
    if machine.files.open.blocks(path, "w", ""):
        raise used(path)
    with as_exceptions(path):
        machine.files.write_bytes(path, data)


def create_directory(machine: Machine, path: str, sddl: str | None = None) -> None:
    """Simulate Directory.CreateDirectory: create a folder and its parents.

    Raises:
        CmdletError: the .NET method fails.
    """
    require_legal(machine, path)
    if not machine.files.drive_exists(path):
        raise exception(NO_FOLDER, f"Could not find a part of the path '{path}'.")
    if machine.files.is_file(path):
        mark = "'" if machine.windows.is_core else '"'  # .NET Framework uses double quotes here
        message = f"Cannot create {mark}{path}{mark} because a file or directory with the same name already exists."
        raise exception(IO, message)
    if not machine.files.is_directory(path):
        _require_folder(machine, path)
        with as_exceptions(path):
            machine.files.make_directory(path, sddl)


def _require_folder(machine: Machine, *paths: str) -> None:
    """Reject paths that are too long for .NET Framework's methods on folders.

    Raises:
        CmdletError: the path is too long.
    """
    for path in paths:
        if not machine.windows.is_core and not path.startswith(LONG) and len(path) >= MAX_FOLDER:
            raise too_long()


def add_parent(machine: Machine, path: str) -> None:
    """Create the parent folder of a path.

    Raises:
        CmdletError: the .NET method fails.
    """
    if not path or not is_rooted(path):
        raise exception(ARGUMENT, "The path is not of a legal form.")
    create_directory(machine, parent(path))


def delete(machine: Machine, path: str) -> None:
    """Simulate File.Delete. It is not an error if the file does not exist.

    Raises:
        CmdletError: the .NET method fails.
    """
    require_legal(machine, path)
    if machine.files.is_directory(path):
        raise denied(path)
    if not machine.files.is_file(path):
        return
    if not machine.files.guard.may_delete(path):
        raise denied(path)
    if machine.files.open.blocks(path, "d"):
        raise used(path)
    if machine.processes.executing(path):
        raise denied(path)
    with as_exceptions(path):
        machine.files.delete(path)


def remove(machine: Machine, path: str) -> None:
    """Simulate Remove-Item -Recurse -Force on an existing item.

    Raises:
        CmdletError: the item is in use, or cannot be deleted. The error is a .NET exception, not Remove-Item's own.
    """
    if machine.processes.executing(path):
        raise denied(path)
    if machine.files.open.blocks_removal(path):
        raise used(path)
    with as_exceptions(path):
        machine.files.delete(path)


def move_over(machine: Machine, path: str, destination: str) -> None:
    """Simulate File.Replace if the destination exists, and otherwise File.Move.

    File.Replace keeps the destination's owner and access list:
    https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-replacefilew

    The exceptions name no path, except if the source of File.Move is missing:
    https://referencesource.microsoft.com/#mscorlib/system/io/file.cs

    Raises:
        CmdletError: the .NET method fails.
    """
    require_legal(machine, destination)
    replaces = machine.files.is_file(destination)
    if not machine.files.is_file(path):
        if replaces and machine.files.is_directory(path):
            raise exception(DENIED, _DENIED)
        raise exception(NO_FILE, "Unable to find the specified file.") if replaces else _missing(path)
    _require_clean(machine, path)
    # ReplaceFile also reads the replacement, without sharing.
    if machine.files.open.blocks(path, "rd", "") if replaces else machine.files.open.blocks(path, "d"):
        raise used()
    if replaces and (machine.files.open.blocks(destination, "rd") or machine.processes.executing(destination)):
        raise exception(IO, "Unable to remove the file to be replaced.")
    if machine.files.is_directory(destination):
        raise exception(IO, "Cannot create a file when that file already exists.")
    if not machine.files.is_directory(parent(destination)):
        raise exception(NO_FOLDER, _NO_PART)
    try:
        with as_exceptions(path):
            machine.files.replace(path, destination)
    except CmdletError as error:
        # ReplaceFile and MoveFile do not report to which of the two paths access is denied.
        raise exception(DENIED, _DENIED) if error.exception_type == DENIED else error from None


def _require_clean(machine: Machine, path: str) -> None:
    """Reject files in which the antivirus has found malware (ERROR_VIRUS_INFECTED, 225)."""
    if machine.files.open.is_infected(path):
        message = "Operation did not complete successfully because the file contains a virus or potentially unwanted"
        raise exception(IO, f"{message} software.")


def _missing(path: str) -> CmdletError:
    return exception(NO_FILE, f"Could not find file '{path}'.")


def move(machine: Machine, path: str, destination: str) -> None:
    """Move a file or folder to a path that does not exist yet, as Directory.Move does.

    Most exceptions name no path: https://referencesource.microsoft.com/#mscorlib/system/io/directory.cs

    Raises:
        CmdletError: the .NET method fails.
    """
    files = machine.files
    require_legal(machine, destination)
    _require_folder(machine, path, destination)
    if _key(path) == _key(destination):
        raise exception(IO, "Source and destination path must be different.")
    if root(path) != root(destination):
        raise exception(IO, "Source and destination path must have identical roots. Move will not work across volumes.")
    if not files.exists(path):
        named = files.is_directory(parent(path))
        raise exception(NO_FOLDER, f"Could not find a part of the path '{path}'." if named else _NO_PART)
    if files.exists(destination):
        raise exception(IO, "Cannot create a file when that file already exists.")
    if files.is_directory(path) and _key(destination).startswith(_key(path) + "\\"):
        raise used()
    if not files.is_directory(parent(destination)):
        raise exception(NO_FOLDER, _NO_PART)
    if files.open.blocks(path, "d"):
        raise used()
    # For error 5, the exception differs from that of all other methods: "We can't change it for backcomp."
    refused = exception(IO, f"Access to the path '{path}' is denied.")
    # Error 5: https://github.com/isaacs/node-graceful-fs/blob/main/polyfills.js ("A/V software can lock the directory")
    if files.is_directory(path) and (files.open.blocks_below(path) or machine.processes.executing(path)):
        raise refused
    try:
        files.move(path, destination)
    except PermissionError:
        raise refused from None
    except OSError as error:
        with as_exceptions(path):
            raise error


def _key(path: str) -> str:
    return normalise(path).casefold()
