# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write the index of a bundle and its signature, and recover them if a run was killed while it wrote them.

Two files cannot be replaced in one step. So both files are first written to the working folder. Then the index is moved
to its final place, and then the signature. At all times, the working folder and the final places together contain an
index with its valid signature. Runs that use a bundle accept only the two files at their final places (`verify.py`).
"""

from __future__ import annotations

import contextlib
import datetime
import pathlib
import typing as t

from . import index, keys, verify
from .index import INDEX, SIGNATURE, WORK, BundleError, IndexEntry

if t.TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def write(directory: pathlib.Path, key: Ed25519PrivateKey, entries: t.Iterable[IndexEntry]) -> bool:
    """Write the index and its signature, unless the existing index has the same entries and is signed with this key.

    Args:
        directory: the bundle's folder, which contains the working folder.
        key: the signing key.
        entries: all entries of the bundle.

    Returns:
        Whether the files were written.

    Raises:
        OSError: a file cannot be written.
    """
    by_path = {entry.path: entry for entry in entries}
    final, parts = _pair(directory), _parts(directory)
    before = index.IndexStamp()
    old, proof = (_content(path) for path in final)
    if old and keys.is_signed(key.public_key(), old, proof):
        with contextlib.suppress(BundleError):
            before = index.load_stamp(old)
            if before.serial and index.load(old) == by_path:
                return False
    data = index.dump(by_path.values(), before.after(datetime.datetime.now(datetime.UTC)))
    proof = keys.sign(key, data)
    for part, content in zip(parts, (data, proof), strict=True):
        part.write_bytes(content)
    _move(parts, final)
    return True


def read(directory: pathlib.Path, key: Ed25519PrivateKey, *, settle: bool) -> dict[str, IndexEntry]:
    """Return the entries of the index that was signed last.

    This works even if the run that signed it was killed before it moved the files to their final places.

    Args:
        directory: the bundle's folder.
        key: the signing key.
        settle: whether to move the index and its signature to their final places.

    Returns:
        The entries by path, or an empty dict if there is no index.

    Raises:
        BundleError: no index has a valid signature by this key, or the index is malformed.
        OSError: a file cannot be read or moved.
    """
    final, parts = _pair(directory), _parts(directory)
    # Both working files are complete only if a run was killed before it renamed them; then they are the newest.
    for pair in (parts, final, (final[0], parts[1]), (parts[0], final[1])):
        data, proof = (_content(path) for path in pair)
        if data and keys.is_signed(key.public_key(), data, proof):
            break
    else:
        if not final[0].exists():
            return {}
        # This call raises an exception with the reason.
        return verify.read_index(directory, keys.public_pem(key.public_key()).decode())[0]
    if settle:
        _move(pair, final)
    try:
        return index.load(data)
    except BundleError as error:
        raise BundleError(f"bundle_dir {directory}: {INDEX}: {error}") from None


def _pair(directory: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    return directory / INDEX, directory / SIGNATURE


def _parts(directory: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    work = directory / WORK
    return work / f"{INDEX}.part", work / f"{SIGNATURE}.part"


def _move(sources: tuple[pathlib.Path, pathlib.Path], final: tuple[pathlib.Path, pathlib.Path]) -> None:
    """Move the index to its final place, and then its signature, which is useless without the index."""
    for source, target in zip(sources, final, strict=True):
        if source != target:
            source.replace(target)


def _content(path: pathlib.Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
