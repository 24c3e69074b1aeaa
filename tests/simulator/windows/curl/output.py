# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The destination of a curl transfer: standard output, a file on the node, or nowhere."""

from __future__ import annotations

import contextlib
import os
from typing import IO, TYPE_CHECKING
from urllib.parse import SplitResult

from simulator.machine.files import DiskFullError
from simulator.machine.windows_paths import normalise
from simulator.windows.curl import errors
from simulator.windows.curl.errors import CurlError, CurlUsageError
from simulator.windows.curl.options import OperationOptions

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

SHARED = "rw"
"""The access that other processes have to a file while curl writes to it: reading and writing."""


def path_of(
    config: OperationOptions, output: str | None, url: SplitResult, directory: str, *, modern: bool
) -> str | None:
    """Return the path of a transfer's output file. None means standard output; an empty string discards the data.

    Args:
        modern: whether to word errors as curl 8.0 and later do.

    Raises:
        CurlUsageError: no file name can be derived from the URL.
    """
    if output is None and not config.flag("remote-name-all"):
        return None
    name = output or url.path.rpartition("/")[2]
    if not name:
        text = "Remote filename has no length" if modern else "Remote file name has no length!"
        raise CurlUsageError(text, code=errors.WRITE_ERROR, hint=not modern)
    if name == "-":
        return None
    if name.casefold() in ("nul", "/dev/null"):
        return ""
    folder = config.values.get("output-dir")
    whole = f"{folder}\\{name}" if folder and ":" not in name else name
    return normalise(whole if ":" in whole or whole.startswith(("\\", "/")) else f"{directory}\\{whole}")


class TransferOutput:
    """The receiver of one transfer's data.

    A file is created when the first data arrives, or at the end of a transfer without data.

    Args:
        path: the path of the output file, as `path_of` returns it.
        append: whether to append to an existing file.
        modern: whether to word errors as curl 8.0 and later do.
    """

    def __init__(
        self, machine: Machine, path: str | None, config: OperationOptions, *, append: bool, modern: bool
    ) -> None:
        self._machine = machine
        self._config = config
        self._append = append
        self._modern = modern
        self._file: IO[bytes] | None = None
        self._handles = contextlib.ExitStack()
        self.path = path
        self.printed = b""
        self.written = 0
        self.kept = self._size() if append else 0

    def _size(self) -> int:
        if not self.path or not self._machine.files.is_file(self.path):
            return 0
        return self._machine.files.real(self.path).stat().st_size

    def write(self, data: bytes) -> None:
        """Write received data to the destination.

        Raises:
            CurlError: exit code 23 if writing fails.
        """
        if self.path is None:
            self.printed += data
        elif self.path:
            if self._file is None:
                self._file = self._open(len(data))
            try:
                self._machine.files.append(self._file, data, self.path[0].upper())
            except DiskFullError as error:
                raise self._failed(len(data)) from error
        self.written += len(data)

    def _failed(self, size: int) -> CurlError:
        text = "Failure writing output to destination" if self._modern else f"Failed writing body (0 != {size})"
        return CurlError(errors.WRITE_ERROR, text)

    def _open(self, size: int) -> IO[bytes]:
        assert self.path
        files = self._machine.files
        parent = self.path.rpartition("\\")[0]
        # fopen of Microsoft's C library shares reading and writing:
        # https://learn.microsoft.com/cpp/c-runtime-library/reference/fsopen-wfsopen
        if self._machine.processes.executing(self.path) or files.open.blocks(self.path, "w", SHARED):
            raise self._failed(size)
        try:
            if self._config.flag("create-dirs"):
                files.make_directory(parent + "\\")
            files.require_write(self.path)
            file = files.real(self.path).open("ab" if self._append else "wb")
        except OSError as error:
            raise self._failed(size) from error
        self._handles.enter_context(files.open.hold(self.path, "w", SHARED, "curl.exe"))
        return file

    def restart(self) -> None:
        """Discard the data that this transfer has written, so that the transfer can be retried."""
        self.close()
        self.printed = b""
        if self.written and self.path and self._size() > self.kept:
            os.truncate(self._machine.files.real(self.path), self.kept)
        self.written = 0

    def finish(self) -> None:
        """Complete a successful transfer. Even if no data has arrived, the output file exists afterwards.

        Raises:
            CurlError: exit code 23 if the file cannot be opened.
        """
        if self.path and self._file is None:
            self._file = self._open(0)
        self.close()

    def remove(self) -> None:
        """Delete the output file, as --remove-on-error requires after a failure."""
        self.close()
        if self.path and self._machine.files.is_file(self.path):
            self._machine.files.delete(self.path)

    def close(self) -> None:
        """Close the output file."""
        if self._file is not None:
            self._file.close()
            self._file = None
            if self.path:
                self._machine.files.written(self.path)
        self._handles.close()
