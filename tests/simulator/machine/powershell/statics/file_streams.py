# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Open files and hash algorithms as objects: FileStream, StreamReader, FileInfo, SHA1 and similar classes.

Sources: https://learn.microsoft.com/dotnet/api/system.io.filestream,
https://learn.microsoft.com/dotnet/api/system.security.cryptography.hashalgorithm
"""

from __future__ import annotations

import hashlib
import io
import ntpath
import uuid
from typing import TYPE_CHECKING

from simulator.machine.files import DiskFullError
from simulator.machine.objects import NotModelled, PSObject
from simulator.machine.powershell.running.errors import method_failure
from simulator.machine.powershell.statics.numbers import octets
from simulator.machine.powershell.types.arithmetic import integer
from simulator.machine.powershell.types.kinds import Byte, byte_array

if TYPE_CHECKING:
    from simulator.machine.session import Session

IO_ERROR = "System.IO.IOException"


class FileStream(PSObject):
    """An open file. Written data reaches the disk when the file is flushed or closed."""

    def __init__(self, session: Session, path: str, data: bytes, *, writable: bool) -> None:
        super().__init__("System.IO.FileStream", {"Name": path})
        self._session, self._path, self._writable = session, path, writable
        self._data = bytearray(data)
        self._at = 0
        self._open = True
        methods = (self.Read, self.Write, self.Flush, self.Close, self.Dispose)
        self.properties |= {method.__name__: method for method in methods}
        self._note()

    def rest(self) -> bytes:
        """Read and return the remaining bytes."""
        self._usable("ComputeHash", 1)
        found = bytes(self._data[self._at :])
        self._at = len(self._data)
        self._note()
        return found

    def _note(self) -> None:
        if self._open:
            self.properties |= {"Length": len(self._data), "Position": self._at}
        self.properties |= {"CanRead": self._open and not self._writable, "CanWrite": self._open and self._writable}

    def _usable(self, name: str, count: int, *, write: bool = False) -> None:
        if not self._open:
            raise method_failure(name, count, "System.ObjectDisposedException", "Cannot access a closed file.")
        if write and not self._writable:
            raise method_failure(name, count, "System.NotSupportedException", "Stream does not support writing.")

    def Read(self, buffer: object, offset: object, count: object) -> object:  # noqa: N802
        """Read bytes from the file into a part of an array, and return the number of bytes read."""
        self._usable("Read", 3)
        if self._writable or not isinstance(buffer, list) or len(buffer) < integer(offset) + integer(count):
            raise NotModelled("FileStream.Read() with these arguments")
        found = self._data[self._at : self._at + integer(count)]
        start = integer(offset)
        buffer[start : start + len(found)] = [Byte(byte) for byte in found]
        self._at += len(found)
        self._note()
        return len(found)

    def Write(self, buffer: object, offset: object, count: object) -> object:  # noqa: N802
        """Write the given part of a byte array to the file."""
        self._usable("Write", 3, write=True)
        data = octets(buffer)
        start, size = integer(offset), integer(count)
        if not 0 <= start <= start + size <= len(data):
            why = "Offset and length were out of bounds for the array or count is greater than the number of elements."
            raise method_failure("Write", 3, "System.ArgumentException", why)
        self._data[self._at : self._at + size] = data[start : start + size]
        self._at += size
        self._note()
        return None

    def Flush(self) -> object:  # noqa: N802
        """Write all data to the disk."""
        self._usable("Flush", 0)
        if self._writable:
            try:
                self._session.machine.files.write_bytes(self._path, bytes(self._data))
            except DiskFullError as error:
                raise method_failure("Flush", 0, IO_ERROR, str(error.strerror)) from None
        return None

    def Close(self) -> object:  # noqa: N802
        """Flush and close the file. A second call has no effect."""
        if self._open:
            self.Flush()
            self._open = False
            self.properties |= {"Length": None, "Position": None}
            self._note()
        return None

    def Dispose(self) -> object:  # noqa: N802
        """Close the file."""
        return self.Close()


class StreamReader(PSObject):
    """A StreamReader, which reads a file's text line by line or as a whole."""

    def __init__(self, text: str) -> None:
        super().__init__("System.IO.StreamReader", {})
        self._text: io.StringIO | None = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"), newline="\n")
        self._whole = text
        self._begun = False
        methods = (self.ReadLine, self.ReadToEnd, self.Close, self.Dispose)
        self.properties |= {method.__name__: method for method in methods}
        self._note()

    def _note(self) -> None:
        if self._text is not None:
            self.properties["EndOfStream"] = self._text.tell() >= len(self._text.getvalue())

    def _usable(self, name: str) -> io.StringIO:
        if self._text is None:
            raise method_failure(name, 0, "System.ObjectDisposedException", "Cannot read from a closed TextReader.")
        return self._text

    def ReadLine(self) -> object:  # noqa: N802
        """Return the next line, or null at the end."""
        line = self._usable("ReadLine").readline()
        self._begun = True
        self._note()
        return line.removesuffix("\n") if line else None

    def ReadToEnd(self) -> object:  # noqa: N802
        """Return the remaining text."""
        text = self._usable("ReadToEnd")
        found = text.read() if self._begun else self._whole
        text.seek(0, io.SEEK_END)
        self._note()
        return found

    def Close(self) -> object:  # noqa: N802
        """Close the file."""
        self._text = None
        return None

    def Dispose(self) -> object:  # noqa: N802
        """Close the file."""
        return self.Close()


class HashAlgorithm(PSObject):
    """A hash algorithm, which hashes data as a whole or block by block."""

    def __init__(self, name: str) -> None:
        kind = "CryptoServiceProvider" if name in ("sha1", "md5") else "Managed"
        super().__init__(f"System.Security.Cryptography.{name.upper()}{kind}", {"Hash": None})
        self._name = name
        self._state = self._new()
        methods = (self.ComputeHash, self.TransformBlock, self.TransformFinalBlock, self.Dispose, self.Clear)
        self.properties |= {method.__name__: method for method in methods}

    def _new(self) -> hashlib._Hash:
        return hashlib.new(self._name, usedforsecurity=False)

    def _finish(self) -> object:
        self.properties["Hash"] = byte_array(self._state.digest())
        self._state = self._new()
        return self.properties["Hash"]

    def ComputeHash(self, data: object) -> object:  # noqa: N802
        """Return the hash of bytes, or of the remaining bytes of a stream."""
        self._state = self._new()
        self._state.update(data.rest() if isinstance(data, FileStream) else octets(data))
        return self._finish()

    def TransformBlock(self, data: object, offset: object, count: object, *_: object) -> object:  # noqa: N802
        """Hash a block, and return its length."""
        self._state.update(octets(data)[integer(offset) : integer(offset) + integer(count)])
        return integer(count)

    def TransformFinalBlock(self, data: object, offset: object, count: object) -> object:  # noqa: N802
        """Hash the last block, set the `Hash` property to the hash of all blocks, and return the last block."""
        block = octets(data)[integer(offset) : integer(offset) + integer(count)]
        self._state.update(block)
        self._finish()
        return byte_array(block)

    def Dispose(self) -> object:  # noqa: N802
        """Do nothing. In .NET, this method releases the object's resources."""
        return None

    def Clear(self) -> object:  # noqa: N802
        """Do nothing. In .NET, this method releases the object's resources."""
        return None


class MissingFile(PSObject):
    """A FileInfo for a file that does not exist. Properties and methods that need the file are not modelled."""

    def find(self, name: str) -> str | None:
        """Return a property's name as capitalized in the object, or None if the property is unknown.

        Raises:
            NotModelled: the member needs the file.
        """
        if name.casefold() in ("length", "lastwritetime", "creationtime", "attributes", "mode", "openread"):
            raise NotModelled(f"the member {name} of the FileInfo of a file that does not exist")
        return super().find(name)


def file_info(session: Session, path: str) -> PSObject:
    """Return a new FileInfo for a file, which need not exist."""
    from simulator.machine.core.item_objects import item
    from simulator.machine.core.paths import ProviderItem

    full = ntpath.normpath(session.absolute(path))
    files = session.machine.files
    if files.is_directory(full):
        raise NotModelled("a FileInfo for a folder")
    if files.is_file(full):
        found = item(session.machine, ProviderItem("FileSystem", full))
        found.properties["OpenRead"] = lambda: FileStream(session, full, files.read_bytes(full), writable=False)
        found.text = path
        return found
    name = ntpath.basename(full)
    properties: dict[str, object] = {"Name": name, "FullName": full, "Exists": False}
    properties |= {"Extension": ntpath.splitext(name)[1], "DirectoryName": ntpath.dirname(full)}
    return MissingFile("System.IO.FileInfo", properties, path)


def temporary_file(session: Session) -> str:
    """Create an empty file in the temporary folder, as Path.GetTempFileName does, and return its path."""
    folder = session.variable("TEMP") or "C:\\Windows\\TEMP"
    files = session.machine.files
    while files.exists(path := f"{folder}\\tmp{uuid.uuid4().hex[:4].upper()}.tmp"):
        continue
    files.write_bytes(path, b"")
    return path


def reader(session: Session, path: str) -> StreamReader:
    """Return a StreamReader for a file."""
    return StreamReader(session.machine.files.read_text(path))
