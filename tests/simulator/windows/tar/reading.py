# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read tar and zip archives. One class represents the entries of both formats."""

from __future__ import annotations

import datetime
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

Kind = Literal["file", "folder", "link", "hard link"]


class TarArchiveError(Exception):
    """Raised if an archive cannot be opened, or if damage is found while its entries are read."""


@dataclass(frozen=True)
class ArchiveEntry:
    """An entry of an archive. `target` is empty unless the entry is a link. `modified` is in seconds since 1970."""

    name: str
    kind: Kind
    size: int
    modified: float
    mode: int
    target: str = ""


Item = tuple[ArchiveEntry, IO[bytes] | None]


@contextmanager
def opened(path: Path) -> Iterator[Iterator[Item]]:
    """Open an archive, and yield its entries with their contents.

    Raises:
        TarArchiveError: the file is not an archive, or is damaged. The entries before the damage are yielded.
    """
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield _zip_items(archive)
        else:
            with tarfile.open(path, "r:*") as archive:
                yield _tar_items(archive)
    except (tarfile.ReadError, zipfile.BadZipFile) as error:
        raise TarArchiveError("Error opening archive: Unrecognized archive format") from error
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        raise TarArchiveError("Error opening archive: Truncated input file") from error


def _tar_items(archive: tarfile.TarFile) -> Iterator[Item]:
    try:
        for member in archive:
            kind: Kind = (
                "folder" if member.isdir() else "link" if member.issym() else "hard link" if member.islnk() else "file"
            )
            entry = ArchiveEntry(member.name, kind, member.size, member.mtime, member.mode, member.linkname)
            yield entry, archive.extractfile(member) if member.isfile() else None
    except (EOFError, zlib.error, lzma.LZMAError, tarfile.ReadError) as error:
        raise TarArchiveError("Truncated tar archive") from error


def _zip_items(archive: zipfile.ZipFile) -> Iterator[Item]:
    for member in archive.infolist():
        modified = datetime.datetime(*member.date_time, tzinfo=datetime.UTC).timestamp()
        kind: Kind = "folder" if member.is_dir() else "file"
        entry = ArchiveEntry(member.filename, kind, member.file_size, modified, 0o755 if member.is_dir() else 0o644)
        try:
            yield entry, None if member.is_dir() else archive.open(member)
        except (zipfile.BadZipFile, zlib.error) as error:
            raise TarArchiveError(f"{member.filename}: ZIP bad CRC") from error


def selects(pattern: str, name: str, *, anchored: bool = True) -> bool:
    """Return whether a pattern selects an entry, as libarchive's archive_pathmatch does.

    A pattern must match up to the end of the entry's path, or of the path of a folder above the entry. A leading `./`
    in the pattern or the name is ignored, and `*` also matches `/`.

    Args:
        anchored: whether the pattern must match from the start of the path. Patterns of --exclude may start at any
            element of the path.
    """
    requested, shown = _plain(pattern), _plain(name)
    parts = re.split(r"(\[[^\]]+\]|\*|\?)", requested)
    text = "".join(
        ".*" if part == "*" else "." if part == "?" else part if part.startswith("[") else re.escape(part)
        for part in parts
    )
    head = "" if anchored else "(?:.*/)?"
    return re.fullmatch(f"{head}{text}(?:/.*)?", shown, re.DOTALL) is not None


def _plain(path: str) -> str:
    return re.sub(r"^(?:\./+)+", "", path.replace("\\", "/")).rstrip("/")
