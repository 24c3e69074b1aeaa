# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Open the files that a bundle server offers, and parse the Range header of requests."""

from __future__ import annotations

import errno
import os
import pathlib
import re
import typing as t


class BusyError(Exception):
    """A file cannot be opened because no file descriptor is left."""


class Files:
    """The files that nodes may download. A file that has changed since the server started is not served.

    Args:
        directory: the bundle's folder.
        files: maps the path of each file below the folder to its size in bytes and its SHA-256.
    """

    def __init__(self, directory: str, files: t.Mapping[str, tuple[int, str]]) -> None:
        self._directory = pathlib.Path(directory)
        self._files = dict(files)
        self._seen = {path: self._mark(path) for path in self._files}

    def sha256(self, path: str) -> str:
        """Return the SHA-256 of a file."""
        return self._files[path][1]

    def open(self, path: str) -> t.BinaryIO | None:
        """Open a file that nodes may download.

        Returns:
            The file, or None if the bundle's index has no such file, or if the file cannot be opened, differs in size
            from the index, or has changed since the server started.

        Raises:
            BusyError: no file descriptor is left.
        """
        if path not in self._files:
            return None
        try:
            file = (self._directory / path).open("rb")
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise BusyError from error
            return None
        now = os.fstat(file.fileno())
        if (now.st_ino, now.st_size, now.st_mtime_ns) != self._seen[path] or now.st_size != self._files[path][0]:
            file.close()
            return None
        return file

    def _mark(self, path: str) -> tuple[int, int, int]:
        try:
            now = (self._directory / path).stat()
        except OSError:
            return (0, -1, 0)
        return (now.st_ino, now.st_size, now.st_mtime_ns)


def requested_range(header: str | None, size: int) -> range | None:
    """Return the byte range that a Range header requests (RFC 9110, section 14.1.2), or None for the whole file.

    If the requested range cannot be satisfied, the returned range is empty.
    """
    match = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", (header or "").strip(), re.ASCII)
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        length = int(match[2])
        return range(max(0, size - length), size) if length else range(size, size)
    start = int(match[1])
    stop = min(size, int(match[2]) + 1) if match[2] else size
    if match[2] and int(match[2]) < start:
        return None
    return range(start, stop) if start < size else range(size, size)
