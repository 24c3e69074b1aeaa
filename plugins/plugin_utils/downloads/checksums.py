# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read checksums in the formats that publishers and users write."""

from __future__ import annotations

import re

from ..values.errors import ResourceError

_LENGTHS = {"SHA256": 64, "SHA512": 128}


def checksum_in(content: str, name: str, algorithm: str) -> str | None:
    r"""Return a file's hash in lower case from the content of a checksum file, or None if the content has no such hash.

    The content is either a single hash, or lines of the form `HASH  NAME` (`*NAME` for binary files). The first line
    with the requested name is used. Only the part of a name after its last `/` or `\` matters. Case does not matter, as
    in Windows file names. The `@commit-file` verb uses the same rules (docs/wire.md).
    """
    line = re.compile(rf"[ \t]*([0-9a-fA-F]{{{_LENGTHS[algorithm]}}})(?:[ \t]+[*]?([^ \t].*?))?[ \t]*")
    # These are the only line endings that .NET recognizes.
    lines = [text for text in re.split(r"[\r\n]+", content.removeprefix("\ufeff")) if text.strip(" \t")]
    matches = [match for match in map(line.fullmatch, lines) if match]
    for match in matches:
        if match[2] and re.split(r"[\\/]", match[2])[-1].casefold() == name.casefold():
            return match[1].lower()
    return matches[0][1].lower() if len(lines) == 1 and matches and not matches[0][2] else None


def _is_hash(word: str, length: int) -> bool:
    return bool(re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", word))


def digest(algorithm: str, given: str) -> str:
    """Return a digest (`sha256:…`) without its prefix and in lower case.

    Raises:
        ResourceError: the digest is malformed.
    """
    bare = given.strip().removeprefix(f"{algorithm}:")
    length = _LENGTHS[algorithm.upper()]
    if not _is_hash(bare, length):
        raise ResourceError(algorithm, given, f"expected {length} hexadecimal digits")
    return bare.lower()
