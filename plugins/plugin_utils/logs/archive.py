# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The archive that is kept of a node: what came from it under its real names, without secrets, and what it told.

Everything is copied in pieces: memory does not grow with the archive.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import io
import json
import shutil
import tarfile
import tempfile
import time
import typing as t
import zlib

from .redaction import Redaction

_IN_MEMORY = 4 * 1024 * 1024
"""Bytes of one file that are kept in memory before they go into a temporary file."""
_COPY = 1024 * 1024


class ArchiveError(Exception):
    """What came from the node is no archive."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kept:
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
    documents: t.Callable[[Kept], t.Mapping[str, t.Any]],
    redaction: Redaction,
) -> Kept:
    """Writes the archive of a node.

    Parameters:
        source: the archive that came from the node, a tar.gz.
        target: a tar.gz is written there.
        folder: the one folder that all is in.
        members: names in the source and in the target; what is not named is left out, whatever else came.
        documents: told what was kept, gives further files: texts, or plain data that becomes JSON, by name.
        redaction: blanks secrets in all texts and data. Event logs (.evtx) stay as they are.

    Raises:
        ArchiveError: the source is damaged.
    """
    sizes: dict[str, int] = {}
    not_texts: list[str] = []
    with _damage_told(), tarfile.open(fileobj=target, mode="w|gz", format=tarfile.PAX_FORMAT) as archive:
        for member, content in _read(source):
            name = members.get(member.name.removeprefix("./"))
            if name is None:
                continue
            with tempfile.SpooledTemporaryFile(_IN_MEMORY) as clean:
                if name.endswith(".evtx"):
                    shutil.copyfileobj(content, clean, _COPY)
                elif not _blank(content, clean, redaction):
                    not_texts.append(name)
                    continue
                sizes[name] = _add(archive, f"{folder}/{name}", clean, member.mtime)
        kept = Kept(members=sizes, not_texts=tuple(not_texts))
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
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ArchiveError(f"the archive that came is damaged: {error}") from error


def document_text(document: t.Any) -> str:
    """A document as it is written: a text as it is, anything else as JSON."""
    return document if isinstance(document, str) else json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _read(source: t.BinaryIO) -> t.Iterator[tuple[tarfile.TarInfo, t.IO[bytes]]]:
    """The files of an archive, one after the other."""
    # tarfile's own decompression gives up to a thousand times of what it reads at once.
    with gzip.GzipFile(fileobj=source) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
        for member in archive:
            # Links and devices are nothing that we put there.
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member, content
            archive.members = []  # type: ignore[attr-defined]  # it would keep them all


def _blank(content: t.IO[bytes], clean: t.Any, redaction: Redaction) -> bool:
    """Copies a text without its secrets; it is read twice, which a stream cannot be."""
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as raw:
        shutil.copyfileobj(content, raw, _COPY)
        raw.seek(0)
        return redaction.stream(t.cast("t.BinaryIO", raw), clean)


def _add(archive: tarfile.TarFile, name: str, content: t.Any, modified: float) -> int:
    """Adds a file that was written to its end."""
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = content.tell(), int(modified), 0o600
    content.seek(0)
    archive.addfile(info, content)
    return info.size
