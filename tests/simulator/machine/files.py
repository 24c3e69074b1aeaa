# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows' file system on a private folder: drive letters, names without case, access lists, disk space."""

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
from simulator.machine.access_lists import AccessLists, Descriptor
from simulator.machine.open_files import OpenFiles
from simulator.machine.real_files import child, link_target, total_size
from simulator.machine.rights import check, trees
from simulator.machine.rights.acting import Acting
from simulator.machine.rights.guard import AccessDeniedError, Guard
from simulator.machine.windows_paths import ancestry, normalise

GIGABYTE = 1 << 30
# Seconds for which a measured drive is believed.
MEASURED_FOR = 5.0


class DiskFullError(OSError):
    """ERROR_DISK_FULL: there is not enough space on the disk."""

    def __init__(self) -> None:
        super().__init__(28, "There is not enough space on the disk.")


@dataclass(frozen=True)
class Entry:
    """A file or folder. `path` is its Windows path, `size` in bytes (0 for a folder), `modified` in UTC."""

    path: str
    name: str
    is_directory: bool
    size: int
    modified: datetime


class Files:
    """The drives of one machine.

    Args:
        root: the private folder; drive C: is its subfolder `c`.
        capacity: size of each drive in bytes.
        drives: the drives that exist, as letters.
        acting: who acts, whom the access lists hold for; without it they hold for nobody.
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
        # By how much drive C: has grown since the machine was set up.
        self._grown = 0
        # When drive C: was last measured, and what was free then less what was written since.
        self._measured = (0.0, 0)
        self.open = OpenFiles()
        self.on_written: list[Callable[[str], None]] = []
        """Told of every file that somebody has written and closed."""
        self.on_move: list[Callable[[str, str], None]] = [self.open.moved]
        """Told of every file or folder that gets another name: its old and its new path."""
        for letter in self._drives:
            (root / letter.lower()).mkdir(parents=True, exist_ok=True)

    @property
    def reserved(self) -> int:
        """Bytes of C: that are taken by what is not on the folder: Windows itself, and what a fault takes away."""
        return self._reserved

    @reserved.setter
    def reserved(self, value: int) -> None:
        self._reserved = value
        self._measured = (0.0, 0)

    def drive_exists(self, path: str) -> bool:
        """Return whether the path's drive exists."""
        return normalise(path)[0] in self._drives

    def real(self, path: str) -> Path:
        """Return where a Windows path lies on this machine, whether it exists or not."""
        normal = normalise(path)
        if normal[0] not in self._drives:
            raise FileNotFoundError(f"Cannot find drive. A drive with the name '{normal[0]}' does not exist.")
        place = self._root / normal[0].lower()
        for part in normal[3:].split("\\"):
            if part:
                place = child(place, part)
        return place

    def followed(self, path: str) -> str:
        """Return the key of the place that a path leads to once the links on it are followed."""
        target = link_target(self._root, self.real(path))
        return self._key(self.windows(self._root / target) if target and target.parts else path)

    def windows(self, real: Path) -> str:
        """Return the Windows path of a place in the private folder."""
        parts = real.relative_to(self._root).parts
        return parts[0].upper() + ":\\" + "\\".join(parts[1:])

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder."""
        return self.drive_exists(path) and self.real(path).exists()

    def is_directory(self, path: str) -> bool:
        """Return whether there is a folder."""
        return self.drive_exists(path) and self.real(path).is_dir()

    def is_file(self, path: str) -> bool:
        """Return whether there is a file."""
        return self.drive_exists(path) and self.real(path).is_file()

    def entry(self, path: str) -> Entry | None:
        """Return what is there, with its name in its own case, or None."""
        if not self.exists(path):
            return None
        real = self.real(path)
        try:
            state = real.stat()
        except FileNotFoundError:  # deleted since, for example by a real containerd
            return None
        folder, full = real.is_dir(), self.windows(real)
        modified = datetime.fromtimestamp(state.st_mtime, UTC)
        return Entry(full, full if len(full) == 3 else real.name, folder, 0 if folder else state.st_size, modified)

    def read_bytes(self, path: str) -> bytes:
        """Return a file's content. Raises FileNotFoundError, AccessDeniedError."""
        self.require(path, check.READ_DATA)
        return self.real(path).read_bytes()

    def read_text(self, path: str) -> str:
        """Return a file's content as text: UTF-8, or UTF-16 where a byte-order mark says so."""
        data = self.read_bytes(path)
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16")
        return data.decode("utf-8-sig", errors="replace")

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file, over one that is there; its folder must exist.

        Raises: FileNotFoundError, AccessDeniedError, DiskFullError
        """
        real = self.real(path)
        if not real.parent.is_dir():
            raise FileNotFoundError(f"Could not find a part of the path '{path}'.")
        if real.is_dir():
            raise AccessDeniedError(path)
        self.require_write(path)
        with self._lock:
            self.check_space(len(data) - (real.stat().st_size if real.exists() else 0))
            # Beside and over: readers (and hard links of the images' store) never see half a file.
            aside = real.with_name(f".{real.name}.{threading.get_ident()}")
            aside.write_bytes(data)
            aside.replace(real)
        self.written(path)

    def written(self, path: str) -> None:
        """Tell that a file has been written and closed, past this class."""
        for told in self.on_written:
            told(normalise(path))

    def write_text(self, path: str, text: str) -> None:
        """Write a file as UTF-8 without a byte-order mark."""
        self.write_bytes(path, text.encode())

    def make_directory(self, path: str, sddl: str | None = None) -> None:
        """Make a folder and its parents; with SDDL, all that are made have that owner and list from the beginning.

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
        """Delete a file, or a folder with all that is in it. Raises FileNotFoundError, AccessDeniedError."""
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
        """Move a file or folder, over a file that is there. Raises FileNotFoundError, AccessDeniedError."""
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
        for told in self.on_move:
            told(path, destination)

    def replace(self, path: str, destination: str) -> None:
        """Move a file over another, which keeps its owner and list; or where nothing is. Raises PermissionError.

        https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-replacefilew
        """
        if self.is_directory(destination):
            raise AccessDeniedError(destination)
        kept = None
        if self.exists(destination):
            # Both are opened to be read and deleted; the list that goes on is written by the system.
            self.guard.require(destination, check.GENERIC_READ)
            self.guard.require(path, check.GENERIC_READ)
            kept = str(self.descriptor(destination))
        self.move(path, destination)
        if kept is not None:
            self._access.set(self._key(destination), kept)

    def copy(self, path: str, destination: str) -> None:
        """Copy a file or a folder with all that is in it. Raises FileNotFoundError, DiskFullError."""
        source, target = self.real(path), self.real(destination)
        if not source.exists():
            raise FileNotFoundError(f"Cannot find path '{path}' because it does not exist.")
        trees.require_copy(self, path, destination)
        self.check_space(total_size(source))
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)

    def listing(self, path: str) -> list[Entry]:
        """Return what is in a folder, by name. Raises FileNotFoundError."""
        real = self.real(path)
        if not real.is_dir():
            raise FileNotFoundError(f"Cannot find path '{path}' because it does not exist.")
        self.require(path, check.LIST)
        entries = [self.entry(self.windows(child)) for child in real.iterdir()]
        return sorted((entry for entry in entries if entry), key=lambda entry: entry.name.casefold())

    def walk(self, path: str) -> list[Entry]:
        """Return every file and folder below a folder; empty if there is none."""
        if not self.is_directory(path):
            return []
        found: list[Entry] = []
        for folder, _, names in os.walk(self.real(path)):
            for place in [Path(folder, name) for name in names] + [Path(folder)]:
                entry = self.entry(self.windows(place))
                if entry:
                    found.append(entry)
        return sorted(found, key=lambda entry: entry.path.casefold())

    def descriptor(self, path: str) -> Descriptor:
        """Return owner and access list of a file or folder, with the inherited entries."""
        return self._access.descriptor(self._key(path))

    def sddl(self, path: str, enabled: Collection[str] = ()) -> str:
        """Return owner and access list of a file or folder, in SDDL. Raises AccessDeniedError.

        Args:
            enabled: privileges that the program has enabled.
        """
        self.guard.require(path, check.READ_CONTROL, enabled)
        return str(self.descriptor(path))

    def set_sddl(self, path: str, sddl: str, enabled: Collection[str] = ()) -> None:
        """Set what the SDDL names, owner or access list, of a file or folder.

        Args:
            enabled: privileges that the program has enabled.

        Raises: FileNotFoundError, ValueError, AccessDeniedError, InvalidOwnerError
        """
        if not self.exists(path):
            raise FileNotFoundError(f"Cannot find path '{path}' because it does not exist.")
        self.guard.require_change(path, sddl, enabled)
        self._access.set(self._key(path), sddl)

    def is_system_file(self, path: str) -> None:
        """Note that a file is Windows' own, which only TrustedInstaller changes."""
        self._access.is_system_file(self._key(path))

    def require(self, path: str, rights: int) -> None:
        """Raise AccessDeniedError unless whoever acts has rights on what there is at a path."""
        if self.guard.token is not None and self.exists(path):
            self.guard.require(path, rights)

    def require_write(self, path: str) -> None:
        """Raise AccessDeniedError unless whoever acts may write a file; a new one will be his."""
        if self.guard.token is None:
            return
        if self.exists(path):
            self.guard.require(path, check.WRITE_DATA)
        else:
            self.guard.require_child(path, folder=False)
            self.guard.made(self._key(path))

    def link_on(self, path: str) -> str | None:
        """Return the first junction or symbolic link on a path; None where there is none."""
        for place in ancestry(normalise(path)):
            if self.drive_exists(place) and self.real(place).is_symlink():
                return place
        return None

    def who_may_read(self, path: str) -> set[str]:
        """Return who may read a file or list a folder, beside SYSTEM, Administrators and TrustedInstaller."""
        return access_lists.holders(self.descriptor(path), access_lists.READ)

    def who_may_write(self, path: str) -> set[str]:
        """Return who may change what lies at a path, beside SYSTEM, Administrators and TrustedInstaller.

        Those, too, who may put something else into its place, or into that of a folder above it.
        """
        found = access_lists.holders(self.descriptor(path), access_lists.WRITE)
        above = PureWindowsPath(normalise(path)).parent
        while len(above.parts) > 1:
            found |= access_lists.holders(self.descriptor(str(above)), access_lists.REPLACE_CHILD)
            above = above.parent
        return found

    @property
    def capacity(self) -> int:
        """Size of a drive in bytes when the machine was set up."""
        return self._capacity

    def grow(self, size: int) -> None:
        """Make drive C: larger (or smaller) by some bytes."""
        self._grown += size
        self._measured = (0.0, 0)

    def size(self, drive: str = "C") -> int:
        """Return the size of a drive in bytes."""
        return self._capacity + (self._grown if drive[:1].upper() == "C" else 0)

    def free_space(self, drive: str = "C") -> int:
        """Return the free bytes of a drive."""
        used = self.reserved if drive[:1].upper() == "C" else 0
        return max(0, self.size(drive) - used - total_size(self._root / drive[:1].lower()))

    def check_space(self, needed: int, drive: str = "C") -> None:
        """Raise DiskFullError unless that many bytes, which are about to be written, are free."""
        if needed <= 0:
            return
        # To measure a drive takes time: while there is far more than is needed, a look every few seconds will do.
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
        """Write to a file that is open, as far as the drive has room. Raises DiskFullError.

        One at a time: nobody else takes the room between the look at it and the write.
        """
        with self._lock:
            self.check_space(len(data), drive)
            file.write(data)
            # Whoever watches the file, or measures the drive, sees it.
            file.flush()

    def copy_from(self, other: Files) -> None:
        """Become a copy of another machine's drives."""
        for drive in (letter.lower() for letter in self._drives & other._drives):
            shutil.copytree(other._root / drive, self._root / drive, dirs_exist_ok=True, symlinks=True)
        self._access.copy_from(other._access)

    def _key(self, path: str) -> str:
        return normalise(path).casefold()
