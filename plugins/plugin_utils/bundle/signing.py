# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The index of a bundle and its signature, written and found again by who makes it, wherever a run was killed.

Two files cannot be replaced at once. Both are written whole into the working folder, then
the index takes its place, then the signature: at every moment some pair of the four verifies. Who uses a bundle accepts
the two final files only (`verify.py`).
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
    """Writes index and signature, unless they are there already.

    Args:
        directory: the bundle's folder, with its working folder.
        key: signs.
        entries: all of the bundle.

    Returns:
        Whether they were written.

    Raises:
        OSError: they cannot be.
    """
    wanted = {entry.path: entry for entry in entries}
    final, parts = _pair(directory), _parts(directory)
    before = index.IndexStamp()
    old, proof = (_content(path) for path in final)
    if old and keys.is_signed(key.public_key(), old, proof):
        with contextlib.suppress(BundleError):
            before = index.load_stamp(old)
            if before.serial and index.load(old) == wanted:
                return False
    data = index.dump(wanted.values(), before.after(datetime.datetime.now(datetime.UTC)))
    proof = keys.sign(key, data)
    for part, content in zip(parts, (data, proof), strict=True):
        part.write_bytes(content)
    _place(parts, final)
    return True


def read(directory: pathlib.Path, key: Ed25519PrivateKey, *, settle: bool) -> dict[str, IndexEntry]:
    """What an earlier run signed last, though it was killed between index and signature.

    Args:
        directory: the bundle's folder.
        key: signed it.
        settle: put the pair that verifies in its place.

    Returns:
        Entries by path; none where there never was an index.

    Raises:
        BundleError: no pair is signed by this key, or the index cannot be used.
        OSError: a file cannot be read or moved.
    """
    final, parts = _pair(directory), _parts(directory)
    # Both parts are whole only where a run was killed before their renaming: they are newer than what is in place.
    for pair in (parts, final, (final[0], parts[1]), (parts[0], final[1])):
        data, proof = (_content(path) for path in pair)
        if data and keys.is_signed(key.public_key(), data, proof):
            break
    else:
        if not final[0].exists():
            return {}
        # It says what is wrong.
        return verify.read_index(directory, keys.public_pem(key.public_key()).decode())[0]
    if settle:
        _place(pair, final)
    try:
        return index.load(data)
    except BundleError as error:
        raise BundleError(f"bundle_dir {directory}: {INDEX} cannot be used: {error}") from None


def _pair(directory: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    return directory / INDEX, directory / SIGNATURE


def _parts(directory: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    work = directory / WORK
    return work / f"{INDEX}.part", work / f"{SIGNATURE}.part"


def _place(found: tuple[pathlib.Path, pathlib.Path], final: tuple[pathlib.Path, pathlib.Path]) -> None:
    """The index first: a signature of what is not there yet would be worth nothing."""
    for source, target in zip(found, final, strict=True):
        if source != target:
            source.replace(target)


def _content(path: pathlib.Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
