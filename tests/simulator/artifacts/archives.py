# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create archives whose bytes depend only on their members, which are sorted and have a fixed date and no owner."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping

# 2026-01-01 00:00:00 UTC: a fixed moment after 1980, which zip requires.
MOMENT = 1767225600
_ZIP_DATE = (2026, 1, 1, 0, 0, 0)


def tar_gz(members: Mapping[str, bytes], *, top: str = "") -> bytes:
    """Return a .tar.gz archive like one that GNU tar makes from a folder: every folder has an entry before its files.

    Args:
        members: maps the path of each file in the archive (with `/`) to the contents of the file.
        top: the prefix of every path. It is `./` in an archive that `tar -C FOLDER .` makes.

    Returns:
        The bytes of the archive.
    """
    folders = {"/".join(path.split("/")[:depth]) for path in members for depth in range(1, path.count("/") + 1)} - {""}
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        if top:
            archive.addfile(_header("./", folder=True))
        for path in sorted({*folders, *members}):
            if path in members:
                archive.addfile(_header(top + path, size=len(members[path])), io.BytesIO(members[path]))
            else:
                archive.addfile(_header(top + path, folder=True))
    return gzip.compress(raw.getvalue(), compresslevel=1, mtime=MOMENT)


def _header(name: str, *, folder: bool = False, size: int = 0) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.mtime = MOMENT
    header.size = size
    header.type = tarfile.DIRTYPE if folder else tarfile.REGTYPE
    header.mode = 0o755
    return header


def zip_archive(members: Mapping[str, bytes]) -> bytes:
    """Return a .zip archive.

    Args:
        members: maps the path of each file in the archive (with `/`) to the contents of the file.

    Returns:
        The bytes of the archive.
    """
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(members):
            entry = zipfile.ZipInfo(path, _ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, members[path])
    return raw.getvalue()


def unsafe(name: str) -> bytes:
    """Return an archive with members whose paths lead out of the target folder.

    The extension of `name` determines the format of the archive.

    Raises:
        ValueError: the extension is not .zip, .tar.gz or .tgz.
    """
    members = dict.fromkeys(("../outside.txt", "/outside.txt", "C:/outside.txt", "inside.txt"), b"outside\n")
    if name.endswith(".zip"):
        return zip_archive(members)
    if name.endswith((".tar.gz", ".tgz")):
        return tar_gz(members)
    raise ValueError(f"expected a name that ends with .zip, .tar.gz or .tgz, got {name}")
