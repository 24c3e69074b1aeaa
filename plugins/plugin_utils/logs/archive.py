# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The archive that is kept of a node: what came from it under its real names, without secrets, and what it told.

Everything is copied in pieces: memory does not grow with the archive.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import io
import json
import pathlib
import re
import shutil
import tarfile
import tempfile
import time
import typing as t
import zlib

from ..values.redaction import Redaction

_IN_MEMORY = 4 * 1024 * 1024
"""Bytes of one file that are kept in memory before they go into a temporary file."""
_COPY = 1024 * 1024
_LATEST = 2**33 - 1
"""The latest time that tar can write in plain octal digits."""


_UNSAFE_NAME = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)|[\\:\x00-\x1f\x7f]")
"""In a name: an empty part, `.` or `..` (no leading `/` either), and what some system takes for a path or a drive."""


class ArchiveError(Exception):
    """What came from the node is no archive, or more than was asked for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArchiveContent:
    """What is in the archive."""

    members: t.Mapping[str, int]
    """Sizes in bytes, by name."""
    not_texts: tuple[str, ...]
    """Files that are no texts, which nothing can be blanked in: they were left out."""


def write(
    source: t.BinaryIO,
    target: t.BinaryIO,
    *,
    folder: str,
    members: t.Mapping[str, str],
    documents: t.Callable[[ArchiveContent], t.Mapping[str, t.Any]],
    redaction: Redaction,
    limit: int,
    temporary: pathlib.Path | None = None,
) -> ArchiveContent:
    """Writes the archive of a node.

    Args:
        source: the archive that came from the node, a tar.gz.
        target: a tar.gz is written there.
        folder: the one folder that all is in.
        members: names in the source and in the target; what is not named is left out, whatever else came.
        documents: told what was kept, gives further files: texts, or plain data that becomes JSON, by name.
        redaction: blanks secrets in all texts and data. Event logs (.evtx) stay as they are.
        limit: bytes that the source may have when it is decompressed; gzip packs a thousand times as much.
        temporary: the folder for what does not fit into memory; None: the system's.

    Raises:
        ArchiveError: the source is damaged, or too large; or a name is not safe to unpack.
    """
    sizes: dict[str, int] = {}
    not_texts: list[str] = []
    with _damage_told(), tarfile.open(fileobj=target, mode="w|gz", format=tarfile.PAX_FORMAT) as archive:
        for member, content in _read(source, limit):
            name = members.get(member.name.removeprefix("./"))
            if name is None:
                continue
            with tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(temporary) if temporary else None) as clean:
                if name.endswith(".evtx"):
                    shutil.copyfileobj(content, clean, _COPY)
                elif not redaction.stream(t.cast("t.BinaryIO", content), t.cast("t.BinaryIO", clean)):
                    not_texts.append(name)
                    continue
                sizes[name] = _add(archive, f"{folder}/{name}", clean, member.mtime)
        kept = ArchiveContent(members=sizes, not_texts=tuple(not_texts))
        for name, document in documents(kept).items():
            text = document_text(redaction.value(document))
            file = io.BytesIO()
            file.write(text.encode("utf-8", "surrogateescape"))
            _add(archive, f"{folder}/{name}", file, time.time())
    return kept


@contextlib.contextmanager
def _damage_told() -> t.Iterator[None]:
    try:
        yield
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ArithmeticError, ValueError) as error:
        raise ArchiveError(f"the archive that came is damaged: {error}") from error


def document_text(document: t.Any) -> str:
    """A document as it is written: a text as it is, anything else as JSON."""
    return document if isinstance(document, str) else json.dumps(document, indent=2, ensure_ascii=False) + "\n"


class _Bounded(io.RawIOBase):
    """What a compressed stream has inside, up to a limit."""

    def __init__(self, plain: gzip.GzipFile, limit: int) -> None:
        self._plain, self._left, self._limit = plain, limit, limit

    def read(self, size: int = -1) -> bytes:
        data = self._plain.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise ArchiveError(
                f"expected {self._limit} bytes at most in the archive, as much as was selected; got more"
            )
        return data


def _read(source: t.BinaryIO, limit: int) -> t.Iterator[tuple[tarfile.TarInfo, t.IO[bytes]]]:
    """The files of an archive, one after the other."""
    # tarfile's own decompression gives up to a thousand times of what it reads at once.
    with gzip.GzipFile(fileobj=source) as plain:
        bounded = t.cast("t.IO[bytes]", _Bounded(plain, limit))
        with tarfile.open(fileobj=bounded, mode="r|") as archive:
            for member in archive:
                # Links and devices are nothing that we put there, nor files with holes: those are filled from nothing.
                content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
                if content is not None:
                    yield member, content
                archive.members = []  # type: ignore[attr-defined]  # it would keep them all


def _add(archive: tarfile.TarFile, name: str, content: t.Any, modified: float) -> int:
    """Adds a file that was written to its end.

    Raises:
        ArchiveError: whoever unpacks the archive could find the file elsewhere than below the folder.
    """
    if _UNSAFE_NAME.search(name):
        raise ArchiveError(f"{name!r} is not a safe name for a file in an archive")
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = content.tell(), int(min(max(modified, 0), _LATEST)), 0o600
    content.seek(0)
    archive.addfile(info, content)
    return info.size
