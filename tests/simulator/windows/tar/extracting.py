# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Extract archives as bsdtar does, including its rejection of unsafe entries."""

from __future__ import annotations

import os
import re
import shutil
from typing import IO, TYPE_CHECKING

from simulator.machine.files import DiskFullError
from simulator.machine.objects import Invocation, ProcessEndedError
from simulator.machine.rights import check
from simulator.machine.rights.guard import AccessDeniedError
from simulator.windows.tar.arguments import TarArguments
from simulator.windows.tar.reading import ArchiveEntry

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# Characters that Windows does not allow in names. bsdtar replaces them with _.
_FORBIDDEN = re.compile(r'[:*?"<>|]')
_CHUNK = 1 << 20


class Refused(Exception):
    """Raised if an entry cannot be extracted. bsdtar prints the error's text, and goes on with the next entry."""


class Extractor:
    """Extracts the entries of an archive to a folder on the node."""

    def __init__(self, machine: Machine, run: Invocation, arguments: TarArguments, folder: str) -> None:
        self._machine = machine
        self._run = run
        self._arguments = arguments
        self._folder = folder
        self.warnings: list[str] = []
        self.printed = b""

    def place(self, name: str) -> str | None:
        """Return the path of an entry below the target folder, or an empty string for the folder itself.

        If --strip-components removes the whole name, return None.

        Raises:
            Refused: the name contains `..`, and -P is not set.
        """
        text = _stripped(name.replace("\\", "/"), self._arguments.strip)
        if text is None:
            return None
        if "P" not in self._arguments.flags:
            stripped = re.sub(r"^(?://[?.]/)?(?:[A-Za-z]:)?/*", "", text)
            if stripped != text:
                what = "drive letter" if re.match(r"[A-Za-z]:", text) else "'/'"
                warning = f"Removing leading {what} from member names"
                self.warnings += [warning] if warning not in self.warnings else []
                text = stripped
            if ".." in text.split("/"):
                raise Refused(f"{name}: Path contains '..'")
        parts = [part for part in text.split("/") if part not in ("", ".")]
        return "\\".join(_FORBIDDEN.sub("_", part) for part in parts)

    def extract(self, entry: ArchiveEntry, content: IO[bytes] | None) -> None:
        """Write one entry of the archive to the target folder.

        Raises:
            Refused: the path of the entry is not allowed, or the entry cannot be written.
            ProcessEndedError: the simulated process was stopped.
        """
        if self._run.stop.is_set():
            raise ProcessEndedError
        if "O" in self._arguments.flags:
            self.printed += content.read() if content else b""
            return
        place = self.place(entry.name)
        if not place:
            return
        try:
            self._unpack(entry, content, f"{self._folder.rstrip(chr(92))}\\{place}")
        except AccessDeniedError as error:
            raise Refused(f"{entry.name}: Can't create '{error.path}': Permission denied") from error

    def _unpack(self, entry: ArchiveEntry, content: IO[bytes] | None, path: str) -> None:
        files = self._machine.files
        if entry.kind == "folder":
            if files.is_file(path):
                files.delete(path)
            files.make_directory(path)
            return
        if files.is_file(path):
            if "k" in self._arguments.flags:
                return
            if self._machine.processes.executing(path) or files.open.blocks(path, "d"):
                raise Refused(f"{entry.name}: Can't unlink already-existing object: Permission denied")
            files.delete(path)
        elif files.is_directory(path):
            raise Refused(f"{entry.name}: Can't replace existing directory with non-directory: File exists")
        files.make_directory(path.rpartition("\\")[0] + "\\")
        if entry.kind in ("link", "hard link"):
            self._link(entry, path)
        elif content is not None:
            self._write(entry, content, path)

    def _write(self, entry: ArchiveEntry, content: IO[bytes], path: str) -> None:
        self._machine.files.require_write(path)
        real = self._machine.files.real(path)
        # libarchive's CreateFileW uses no sharing:
        # https://github.com/libarchive/libarchive/blob/master/libarchive/archive_write_disk_windows.c
        with self._machine.files.open.hold(path, "w", "", "tar.exe"), real.open("wb") as file:
            while data := content.read(_CHUNK):
                if self._run.stop.is_set():
                    raise ProcessEndedError
                try:
                    self._machine.files.append(file, data, self._folder[0].upper())
                except DiskFullError as error:
                    raise Refused(f"{entry.name}: Write failed: No space left on device") from error
        if "m" not in self._arguments.flags:
            os.utime(real, (entry.modified, entry.modified))
        self._machine.files.written(path)

    def _link(self, entry: ArchiveEntry, path: str) -> None:
        """Create a link as a copy of its target, which must exist in the folder to which the archive is extracted."""
        base = entry.name.rpartition("/")[0] if entry.kind == "link" else ""
        target = self.place(f"{base}/{entry.target}".lstrip("/"))
        source = f"{self._folder.rstrip(chr(92))}\\{target}"
        if target is None or not self._machine.files.exists(source):
            raise Refused(f"{entry.name}: Can't create '{path}': No such file or directory")
        self._machine.files.require(source, check.READ_DATA)
        self._machine.files.require_write(path)
        real = self._machine.files.real(source)
        if real.is_dir():
            shutil.copytree(real, self._machine.files.real(path), dirs_exist_ok=True)
        else:
            shutil.copyfile(real, self._machine.files.real(path))


def _stripped(name: str, elements: int) -> str | None:
    """Return a path without the given number of leading elements, or None if nothing is left.

    As in libarchive's tar/util.c, `.` counts as an element.
    """
    rest = name
    for _ in range(elements):
        _, slash, rest = rest.partition("/")
        if not slash:
            return None
    return rest.lstrip("/") or None if elements else name
