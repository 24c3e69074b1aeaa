# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Checksums as publishers and users write them.

Private to the collection.
"""

from __future__ import annotations

import re

from ._base import ResourceError

_LENGTHS = {"SHA256": 64, "SHA512": 128}


def checksum_in(content: str, name: str, algorithm: str) -> str | None:
    """The hash that a checksum file gives for a name: a bare hash, or lines `HASH  NAME` (`*NAME` for binary)."""
    length = _LENGTHS[algorithm]
    lines = [line.split() for line in content.lstrip("\ufeff").splitlines() if line.strip()]
    for words in lines:
        if len(words) >= 2 and _is_hash(words[0], length) and _base_name(words[1]) == name:
            return words[0].lower()
    bare = [words[0] for words in lines if len(words) == 1 and _is_hash(words[0], length)]
    return bare[0].lower() if len(bare) == 1 == len(lines) else None


def _base_name(name: str) -> str:
    return re.split(r"[\\/]", name.lstrip("*"))[-1]


def _is_hash(word: str, length: int) -> bool:
    return bool(re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", word))


def digest(algorithm: str, given: str) -> str:
    """A digest as users write it (`sha256:…`), bare and in lower case.

    Raises:
        ResourceError: it is none.
    """
    bare = given.strip().removeprefix(f"{algorithm}:")
    length = _LENGTHS[algorithm.upper()]
    if not _is_hash(bare, length):
        raise ResourceError(algorithm, given, f"wanted {length} hexadecimal digits")
    return bare.lower()
