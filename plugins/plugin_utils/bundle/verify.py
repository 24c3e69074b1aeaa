# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Verify that a bundle contains exactly the files that its signed index lists."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import pathlib
import typing as t

from ..remote.upload import sha256
from ..values.errors import refusal
from . import index as bundle_index
from . import keys
from .index import BundleError, IndexEntry, IndexStamp

_THREADS = 4
_SHOWN = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bundle:
    """A bundle that has a valid signature and contains exactly the files that its index lists."""

    directory: pathlib.Path
    entries: t.Mapping[str, IndexEntry]
    """Index entries by path."""
    stamp: IndexStamp = dataclasses.field(default_factory=IndexStamp)
    """The serial number of the index and the time of its signature."""

    def file(self, path: str) -> pathlib.Path:
        """Return the full path on the controller of one of the bundle's files."""
        return self.directory / path


def read_index(directory: pathlib.Path, public: str) -> tuple[dict[str, IndexEntry], IndexStamp]:
    """Return the entries of a bundle's signed index by path, and the stamp of the index (serial number and time).

    Args:
        directory: the bundle's folder.
        public: the public key, or the path of its file.

    Raises:
        BundleError: the public key is invalid or does not verify the signature of the index, or the index or the
            signature is missing, unreadable or malformed.
    """
    key = keys.public_key(public)
    index, signature = directory / bundle_index.INDEX, directory / bundle_index.SIGNATURE
    expected = "expected a folder that bundle.yml created"
    if not directory.is_dir():
        raise BundleError(refusal("bundle_dir", str(directory), expected, "There is no such folder."))
    if not index.is_file():
        raise BundleError(refusal("bundle_dir", str(directory), expected, f"It has no {index.name}."))
    if not signature.is_file():
        raise BundleError(refusal("bundle_dir", str(directory), expected, f"It has no {signature.name}."))
    try:
        data, proof = index.read_bytes(), signature.read_bytes()
    except OSError as error:
        raise BundleError(f"bundle_dir {directory}: {error.filename}: {error.strerror}") from error
    if not keys.is_signed(key, data, proof):
        raise BundleError(
            f"bundle_dir {directory}: expected a signature of the index by bundle_public_key in {signature.name}, got "
            "a different one: the index was changed, or a different key signed it"
        )
    try:
        return bundle_index.load(data), bundle_index.load_stamp(data)
    except BundleError as error:
        raise BundleError(
            f"bundle_dir {directory}: {index.name}: {error}. Build the bundle again with bundle.yml"
        ) from None


def verify(directory: str, public: str) -> Bundle:
    """Verify a whole bundle: the index by its signature, and each file by the index.

    Raises:
        BundleError: `read_index` rejects the index, or a file is missing, changed, or not in the index.
    """
    # Use the real path, so that a later change of a symbolic link has no effect.
    folder = pathlib.Path(directory).expanduser().resolve()
    entries, stamp = read_index(folder, public)
    present = files(folder)
    problems = [f"{path} is missing" for path in sorted(set(entries) - set(present))]
    problems += [f"{path} is not in the index" for path in sorted(set(present) - set(entries))]
    if not problems:
        with concurrent.futures.ThreadPoolExecutor(_THREADS) as pool:
            results = pool.map(lambda entry: file_problem(folder, entry), entries.values())
            problems = [text for text in results if text]
    if problems:
        more = f", and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise BundleError(
            f"bundle_dir {folder}: its files differ from the signed index: {'; '.join(problems[:_SHOWN])}{more}"
        )
    return Bundle(directory=folder, entries=entries, stamp=stamp)


def files(directory: pathlib.Path) -> list[str]:
    """Return the paths of a bundle's files and symbolic links, except its index, signature and unfinished files."""
    paths = []
    for root, folders, names in os.walk(directory):
        here = pathlib.Path(root)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [name for name in folders if name not in links]
        if here == directory:
            folders[:] = [name for name in folders if name != bundle_index.WORK]
            names = [name for name in names if name not in (bundle_index.INDEX, bundle_index.SIGNATURE)]
        paths += [(here / name).relative_to(directory).as_posix() for name in (*names, *links)]
    return paths


def file_problem(directory: pathlib.Path, entry: IndexEntry) -> str:
    """Return how a file differs from its index entry, or an empty string if it does not."""
    path = directory / entry.path
    try:
        if path.is_symlink() or not path.is_file():
            return f"{entry.path} is not a file"
        size = path.stat().st_size
        if size != entry.size:
            return f"{entry.path}: expected {entry.size} bytes, got {size}"
        actual = sha256(path)
    except OSError as error:
        return f"{entry.path} cannot be read: {error.strerror}"
    return "" if actual == entry.sha256 else f"{entry.path}: expected SHA-256 {entry.sha256}, got {actual}"
