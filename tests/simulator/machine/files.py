# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A Windows file system in a folder of the host: drive letters, case-insensitive names, access lists, disk space."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PureWindowsPath
from typing import IO

from simulator.machine import access_lists
from simulator.machine.access_lists import AccessLists, SecurityDescriptor
from simulator.machine.open_files import OpenFiles
from simulator.machine.real_files import below, link_target, total_size
from simulator.machine.rights import check, trees
from simulator.machine.rights.acting import Acting
from simulator.machine.rights.guard import AccessDeniedError, Guard
from simulator.machine.windows_paths import ancestry, normalise

GIGABYTE = 1 << 30
# The number of seconds after which a drive is measured again.
MEASURED_FOR = 5.0


class DiskFullError(OSError):
    """ERROR_DISK_FULL: there is not enough space on the disk."""

    def __init__(self) -> None:
        super().__init__(28, "There is not enough space on the disk.")


@dataclass(frozen=True)
class FileEntry:
    """A file or folder. `path` is a Windows path, `size` is in bytes (0 for a folder), and `modified` is in UTC."""

    path: str
    name: str
    is_directory: bool
    size: int
    modified: datetime


class FileSystem:
    """The drives of one machine.

    Args:
        root: the folder on the host that contains the drives; its subfolder `c` is drive C:.
        capacity: the size of each drive in bytes.
        drives: the letters of the drives that exist.
        acting: the user whose access is checked; None disables access checks.
    """

    def __init__(
        self, root: Path, capacity: int, drives: tuple[str, ...] = ("C",), acting: Acting | None = None
    ) -> None:
        self._root = root
        self._capacity = capacity
        self._drives = {letter.upper() for letter in drives}
        self._access = AccessLists(self.is_directory)
        self.guard = Guard(self._access, acting, self.followed)
        self._lock = threading.RLock()
        self._reserved = 12 * GIGABYTE
        # The number of bytes by which drive C: has grown since the machine was set up.
        self._grown = 0
        # When drive C: was last measured, and its free bytes at that time minus those written since then.
        self._measured = (0.0, 0)
        self.open = OpenFiles()
        self.on_written: list[Callable[[str], None]] = []
        """Functions that `written` calls with the path of each written file."""
        self.on_move: list[Callable[[str, str], None]] = [self.open.moved]
        """Functions to call with the old and the new path of each renamed file or folder."""
        for letter in self._drives:
            (root / letter.lower()).mkdir(parents=True, exist_ok=True)

    @property
    def reserved(self) -> int:
        """The number of bytes on C: that Windows itself or a fault uses, in addition to the files on the drive."""
        return self._reserved

    @reserved.setter
    def reserved(self, value: int) -> None:
        self._reserved = value
        self._measured = (0.0, 0)

    def drive_exists(self, path: str) -> bool:
        """Return whether the path's drive exists."""
        return normalise(path)[0] in self._drives

    def real(self, path: str) -> Path:
        """Convert a Windows path to a path on the host. Raise FileNotFoundError if the drive does not exist."""
        normal = normalise(path)
        if normal[0] not in self._drives:
            raise FileNotFoundError(f"Cannot find drive. A drive with the name '{normal[0]}' does not exist.")
        names = [name for name in normal[3:].split("\\") if name]
        return below(self._root / normal[0].lower(), names)

    def followed(self, path: str) -> str:
        """Resolve all links in a path. Return the normalized path in lower case."""
        target = link_target(self._root, self.real(path))
        return self._key(self.windows(self._root / target) if target and target.parts else path)

    def windows(self, real: Path) -> str:
        """Convert a path on the host to a Windows path."""
        parts = real.relative_to(self._root).parts
        return parts[0].upper() + ":\\" + "\\".join(parts[1:])

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        return self.drive_exists(path) and self.real(path).exists()

    def is_directory(self, path: str) -> bool:
        """Return whether a folder exists."""
        return self.drive_exists(path) and self.real(path).is_dir()

    def is_file(self, path: str) -> bool:
        """Return whether a file exists."""
        return self.drive_exists(path) and self.real(path).is_file()

    def entry(self, path: str) -> FileEntry | None:
        """Return the entry at a path, with its name as capitalized on the disk, or None if the path does not exist."""
        if not self.exists(path):
            return None
        real = self.real(path)
        try:
            state = real.stat()
        except FileNotFoundError:  # deleted in the meantime, for example by a real containerd
            return None
        folder, full = real.is_dir(), self.windows(real)
        modified = datetime.fromtimestamp(state.st_mtime, UTC)
        return FileEntry(full, full if len(full) == 3 else real.name, folder, 0 if folder else state.st_size, modified)

    def read_bytes(self, path: str) -> bytes:
        """Return the contents of a file. Raise FileNotFoundError or AccessDeniedError on failure."""
        self.require(path, check.READ_DATA)
        return self.real(path).read_bytes()

    def read_text(self, path: str) -> str:
        """Return the contents of a text file: UTF-16 if the file has a UTF-16 byte-order mark, otherwise UTF-8."""
        data = self.read_bytes(path)
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16")
        return data.decode("utf-8-sig", errors="replace")

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file to an existing folder, or raise FileNotFoundError, AccessDeniedError or DiskFullError."""
        real = self.real(path)
        if not real.parent.is_dir():
            raise FileNotFoundError(f"Could not find a part of the path '{path}'.")
        if real.is_dir():
            raise AccessDeniedError(path)
        self.require_write(path)
        with self._lock:
            self.check_space(len(data) - (real.stat().st_size if real.exists() else 0))
            # Replaces the file with a new one: readers (and hard links of the image store) never see half a file.
            temporary = real.with_name(f".{real.name}.{threading.get_ident()}")
            temporary.write_bytes(data)
            temporary.replace(real)
        self.written(path)

    def written(self, path: str) -> None:
        """Call the functions in `on_written`. Code that writes files without `write_bytes` must call this method."""
        for listener in self.on_written:
            listener(normalise(path))

    def write_text(self, path: str, text: str) -> None:
        """Write a file as UTF-8 without a byte-order mark."""
        self.write_bytes(path, text.encode())

    def make_directory(self, path: str, sddl: str | None = None) -> None:
        """Create a folder and its missing parents. If `sddl` is given, it sets their owner and access list.

        https://learn.microsoft.com/dotnet/api/system.io.directory.createdirectory
        """
        missing = [place for place in ancestry(normalise(path)) if not self.exists(place)]
        if missing:
            self.guard.require_child(missing[0], folder=True)
        self.real(path).mkdir(parents=True, exist_ok=True)
        for place in missing:
            self.guard.made(self._key(place))
            if sddl:
                self._access.set(self._key(place), sddl)

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with its contents. Raise FileNotFoundError or AccessDeniedError on failure.

        If the acting user is not allowed to delete some of the contents, delete the rest, then raise AccessDeniedError.
        """
        real = self.real(path)
        if not real.exists() and not real.is_symlink():
            raise FileNotFoundError(f"Cannot find path '{path}' because it does not exist.")
        kept = trees.undeletable(self, path)
        if kept:
            trees.delete_others(self, path, kept)
            raise AccessDeniedError(kept[0])
        with self._lock:
            if real.is_dir() and not real.is_symlink():
                shutil.rmtree(real)
            else:
                real.unlink()
            self._access.deleted(self._key(path))
        self.open.deleted(path)

    def move(self, path: str, destination: str) -> None:
        """Move a file or folder, and replace any file at the destination. Raise a subclass of OSError on failure."""
        source, target = self.real(path), self.real(destination)
        self.guard.require_delete(path)
        if target.exists() and normalise(path).casefold() != normalise(destination).casefold():
            self.guard.require_delete(destination)
        self.guard.require_child(destination, folder=source.is_dir())
        before = self.descriptor(path)
        with self._lock:
            if target.exists() and source.is_file() and target.is_file():
                source.replace(target)
            else:
                shutil.move(source, target)
            self._access.moved(self._key(path), self._key(destination), before)
        for listener in self.on_move:
            listener(path, destination)

    def replace(self, path: str, destination: str) -> None:
        """Move a file. If a file exists at the destination, replace it, but keep its owner and access list.

        https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-replacefilew
        """
        if self.is_directory(destination):
            raise AccessDeniedError(destination)
        kept = None
        if self.exists(destination):
            # ReplaceFile opens both files for reading and deleting. Windows itself then sets the owner and access list.
            self.guard.require(destination, check.GENERIC_READ)
            self.guard.require(path, check.GENERIC_READ)
            kept = str(self.descriptor(destination))
        self.move(path, destination)
        if kept is not None:
            self._access.set(self._key(destination), kept)

    def copy(self, path: str, destination: str) -> None:
        """Copy a file, or a folder with its contents. Raise a subclass of OSError on failure."""
        source, target = self.real(path), self.real(destination)
        if not source.exists():
            raise FileNotFoundError(f"Cannot find path '{path}' because it does not exist.")
        trees.require_copy(self, path, destination)
        self.check_space(total_size(source))
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)

    def listing(self, path: str) -> list[FileEntry]:
        """Return the entries of a folder, sorted by name. Raise FileNotFoundError if the folder does not exist."""
        real = self.real(path)
        if not real.is_dir():
            raise FileNotFoundError(f"Cannot find path '{path}' because it does not exist.")
        self.require(path, check.LIST)
        entries = [self.entry(self.windows(child)) for child in real.iterdir()]
        return sorted((entry for entry in entries if entry), key=lambda entry: entry.name.casefold())

    def walk(self, path: str) -> list[FileEntry]:
        """Return a folder and everything below it, sorted by path, or an empty list if the folder does not exist."""
        if not self.is_directory(path):
            return []
        found: list[FileEntry] = []
        for folder, _, names in os.walk(self.real(path)):
            for place in [Path(folder, name) for name in names] + [Path(folder)]:
                entry = self.entry(self.windows(place))
                if entry:
                    found.append(entry)
        return sorted(found, key=lambda entry: entry.path.casefold())

    def descriptor(self, path: str) -> SecurityDescriptor:
        """Return the owner and access list of a file or folder, including inherited entries."""
        return self._access.descriptor(self._key(path))

    def sddl(self, path: str, enabled: Collection[str] = ()) -> str:
        """Return the owner and access list of a file or folder in SDDL, or raise AccessDeniedError.

        Args:
            enabled: the privileges that the calling program has enabled.
        """
        self.guard.require(path, check.READ_CONTROL, enabled)
        return str(self.descriptor(path))

    def set_sddl(self, path: str, sddl: str, enabled: Collection[str] = ()) -> None:
        """Set the owner and access list of a file or folder. A part that is missing from the SDDL does not change.

        Args:
            enabled: the privileges that the calling program has enabled.

        Raises:
            FileNotFoundError: the path does not exist.
            ValueError: the SDDL is invalid.
            AccessDeniedError, InvalidOwnerError: the acting user may not make this change.
        """
        if not self.exists(path):
            raise FileNotFoundError(f"Cannot find path '{path}' because it does not exist.")
        self.guard.require_change(path, sddl, enabled)
        self._access.set(self._key(path), sddl)

    def is_system_file(self, path: str) -> None:
        """Record that a file belongs to Windows, so that only TrustedInstaller is allowed to change it."""
        self._access.is_system_file(self._key(path))

    def require(self, path: str, rights: int) -> None:
        """Raise AccessDeniedError if a path exists and the acting user does not have the given rights on it."""
        if self.guard.token is not None and self.exists(path):
            self.guard.require(path, rights)

    def require_write(self, path: str) -> None:
        """Raise AccessDeniedError unless the acting user may write a file. Record the owner of a new file."""
        if self.guard.token is None:
            return
        if self.exists(path):
            self.guard.require(path, check.WRITE_DATA)
        else:
            self.guard.require_child(path, folder=False)
            self.guard.made(self._key(path))

    def link_on(self, path: str) -> str | None:
        """Return the first junction or symbolic link in a path, or None if the path contains none."""
        for place in ancestry(normalise(path)):
            if self.drive_exists(place) and self.real(place).is_symlink():
                return place
        return None

    def who_may_read(self, path: str) -> set[str]:
        """Return the accounts, except those in `access_lists.TRUSTED`, that may read a file or list a folder."""
        return access_lists.holders(self.descriptor(path), access_lists.READ)

    def who_may_write(self, path: str) -> set[str]:
        """Return the accounts, except those in `access_lists.TRUSTED`, that may change the item at a path.

        This includes accounts that may replace the item or a folder above it.
        """
        found = access_lists.holders(self.descriptor(path), access_lists.WRITE)
        above = PureWindowsPath(normalise(path)).parent
        while len(above.parts) > 1:
            found |= access_lists.holders(self.descriptor(str(above)), access_lists.REPLACE_CHILD)
            above = above.parent
        return found

    @property
    def capacity(self) -> int:
        """The size of each drive in bytes when the machine was set up."""
        return self._capacity

    def grow(self, size: int) -> None:
        """Change the size of drive C: by a number of bytes, which may be negative."""
        self._grown += size
        self._measured = (0.0, 0)

    def size(self, drive: str = "C") -> int:
        """Return the size of a drive in bytes."""
        return self._capacity + (self._grown if drive[:1].upper() == "C" else 0)

    def free_space(self, drive: str = "C") -> int:
        """Return the free space on a drive in bytes."""
        used = self.reserved if drive[:1].upper() == "C" else 0
        return max(0, self.size(drive) - used - total_size(self._root / drive[:1].lower()))

    def check_space(self, needed: int, drive: str = "C") -> None:
        """Raise DiskFullError if a drive has less free space than the number of bytes needed."""
        if needed <= 0:
            return
        # Measuring a drive is slow. While there is far more free space than needed, every few seconds is enough.
        with self._lock:
            moment, free = self._measured
            if drive == "C" and time.monotonic() - moment < MEASURED_FOR and needed < free // 2:
                self._measured = (moment, free - needed)
                return
            free = self.free_space(drive)
            if needed > free:
                raise DiskFullError
            if drive == "C":
                self._measured = (time.monotonic(), free - needed)

    def append(self, file: IO[bytes], data: bytes, drive: str = "C") -> None:
        """Write data to an open file. If the data does not fit on the drive, raise DiskFullError and write nothing.

        Only one write runs at a time, so that nothing else takes the space between the check and the write.
        """
        with self._lock:
            self.check_space(len(data), drive)
            file.write(data)
            # Make the data visible to programs that watch the file or measure the drive.
            file.flush()

    def copy_from(self, other: FileSystem) -> None:
        """Copy the files and access lists of another machine. Skip drives that this machine does not have."""
        for drive in (letter.lower() for letter in self._drives & other._drives):
            shutil.copytree(other._root / drive, self._root / drive, dirs_exist_ok=True, symlinks=True)
        self._access.copy_from(other._access)

    def _key(self, path: str) -> str:
        return normalise(path).casefold()
