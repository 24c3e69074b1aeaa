# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write the archive of a node's logs, with secrets redacted.

The archive contains the collected files and the state of the node. Files are copied in pieces, so memory use does not
grow with the archive.
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

from ...module_utils.redaction.texts import Redaction

_IN_MEMORY = 4 * 1024 * 1024
"""Maximum number of bytes of one file to keep in memory; a larger file is written to a temporary file."""
_COPY = 1024 * 1024
EVENT_LOGS = "event-logs/"
"""The archive's folder for exported event logs. These files are binary and are not redacted, but only event logs from
the collection's own list are exported. Event logs that a user selects by path are left out, like other binary files."""
_LATEST = 2**33 - 1
"""The latest time that tar can store in plain octal digits."""


_UNSAFE_NAME = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)|[\\:\x00-\x1f\x7f]")
"""Unsafe parts of a name: empty parts, `.`, `..`, a leading `/`, and characters that some systems treat specially."""


class ArchiveError(Exception):
    """An archive from the node that is damaged, too large, or not safe to unpack."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArchiveContent:
    """The collected files that a node's archive contains, and those that were left out."""

    members: t.Mapping[str, int]
    """The files' sizes in bytes, by name."""
    not_texts: tuple[str, ...]
    """Names of binary files, which were left out because they cannot be redacted."""


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
    """Write the archive of a node's logs, and return what it contains.

    Args:
        source: the tar.gz archive that the node sent.
        target: the file to which the new tar.gz archive is written.
        folder: the top folder in the new archive.
        members: maps the name of each member of the source to its name in the new archive. All other members of the
            source are left out.
        documents: function that receives the archive's content, and returns the contents of more files by name. Each
            of them is text, or data that is written as JSON.
        redaction: the redaction of secrets in text and data. Exported event logs (in EVENT_LOGS) are not changed.
        limit: maximum size of the decompressed source in bytes; gzip data can expand a thousandfold.
        temporary: folder for temporary files; if None, the system's folder is used.

    Raises:
        ArchiveError: the source is damaged or too large, or a name is not safe to unpack.
    """
    sizes: dict[str, int] = {}
    not_texts: list[str] = []
    with _report_damage(), tarfile.open(fileobj=target, mode="w|gz", format=tarfile.PAX_FORMAT) as archive:
        for member, content in _read(source, limit):
            name = members.get(member.name.removeprefix("./"))
            if name is None:
                continue
            with tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(temporary) if temporary else None) as clean:
                if name.startswith(EVENT_LOGS):
                    shutil.copyfileobj(content, clean, _COPY)
                elif name.casefold().endswith(".evtx") or not redaction.stream(
                    t.cast("t.BinaryIO", content), t.cast("t.BinaryIO", clean)
                ):
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
def _report_damage() -> t.Iterator[None]:
    try:
        yield
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ArithmeticError, ValueError) as error:
        raise ArchiveError(f"the archive from the node is damaged: {error}") from error


def document_text(document: t.Any) -> str:
    """Return a document as text. Text stays unchanged, and all other data becomes JSON."""
    return document if isinstance(document, str) else json.dumps(document, indent=2, ensure_ascii=False) + "\n"


class _Bounded(io.RawIOBase):
    """A decompressed stream that fails if it is longer than a limit."""

    def __init__(self, plain: gzip.GzipFile, limit: int) -> None:
        self._plain, self._left, self._limit = plain, limit, limit

    def read(self, size: int = -1) -> bytes:
        data = self._plain.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise ArchiveError(f"expected at most {self._limit} bytes in the archive of the selected logs, got more")
        return data


def _read(source: t.BinaryIO, limit: int) -> t.Iterator[tuple[tarfile.TarInfo, t.IO[bytes]]]:
    """Yield the regular files of an archive with their contents. Links, devices and sparse files are skipped."""
    # With tarfile's own decompression, one read may expand to a thousand times its size.
    with gzip.GzipFile(fileobj=source) as plain:
        bounded = t.cast("t.IO[bytes]", _Bounded(plain, limit))
        with tarfile.open(fileobj=bounded, mode="r|") as archive:
            for member in archive:
                # We never pack links, devices or sparse files; sparse files could expand to any size.
                content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
                if content is not None:
                    yield member, content
                archive.members = []  # type: ignore[attr-defined]  # tarfile would keep them all


def _add(archive: tarfile.TarFile, name: str, content: t.Any, modified: float) -> int:
    """Add a file to the archive, and return the file's size.

    Raises:
        ArchiveError: the file would be unpacked outside the folder.
    """
    if _UNSAFE_NAME.search(name):
        raise ArchiveError(f"expected a name that stays in the archive's folder, got {name!r}")
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = content.tell(), int(min(max(modified, 0), _LATEST)), 0o600
    content.seek(0)
    archive.addfile(info, content)
    return info.size
