# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Copy text files of any size without their secrets, in constant memory."""

from __future__ import annotations

import typing as t

from .names import is_open
from .private_keys import LONGEST_KEY, open_key

LONGEST_LINE = 1024 * 1024
"""Maximum length in bytes of lines that are always copied. Longer lines may be omitted. They are not split, because
a secret could be split with them.
"""
_BLOCK = 1024 * 1024
_TAIL = 2048
"""How many characters at the end of a block are searched for a name whose value may be in the next block."""
_HEAD = 4096
"""How many bytes at the beginning of a file are read to detect its encoding."""


def redact_stream(source: t.BinaryIO, target: t.BinaryIO, redact: t.Callable[[str], str]) -> bool:
    """Copy text without its secrets.

    Text in UTF-16, which Windows PowerShell writes, is converted to UTF-8. In other text, bytes that are not valid
    UTF-8 are copied unchanged.

    Args:
        source: a file, positioned at its beginning.
        target: receives the copy.
        redact: returns the given lines without their secrets.

    Returns:
        Whether the source is text. If it is not, nothing is written.
    """
    head = source.read(min(_HEAD, _BLOCK))
    encoding = _encoding(head)
    if encoding is None:
        return False
    rest = ""
    for text in _blocks(source, encoding, head):
        text, rest = _settled(rest + text)
        target.write(redact(text).encode("utf-8", "surrogateescape"))
    target.write(redact(rest).encode("utf-8", "surrogateescape"))
    return True


def _settled(text: str) -> tuple[str, str]:
    """Split off the end of a text if it may be an incomplete private key or secret value, and return both parts."""
    start = open_key(text)
    if start >= 0:
        return text[:start], text[start:]
    cut = len(text)
    while cut > 0 and is_open(text[max(0, cut - _TAIL) : cut]):
        cut = text.rfind("\n", 0, cut - 1) + 1
        if len(text) - cut > LONGEST_KEY:
            return text, ""
    return text[:cut], text[cut:]


def _encoding(head: bytes) -> str | None:
    """Detect the encoding of a file from its first bytes. Return None if the file is not text."""
    if head[:2] == b"\xff\xfe":
        return "utf-16-le"
    if head[:2] == b"\xfe\xff":
        return "utf-16-be"
    if b"\0" not in head:
        return "utf-8"
    # UTF-16 without a byte order mark, as in the end of a longer file: in English text, every second byte is zero.
    odd, even = head[1::2], head[::2]
    if odd.count(0) > 0.8 * len(odd) and even.count(0) < 0.2 * len(even):
        return "utf-16-le"
    return None


def _blocks(source: t.BinaryIO, encoding: str, rest: bytes) -> t.Iterator[str]:
    """Yield the text of a file in blocks of whole lines.

    Args:
        source: the file.
        encoding: its encoding.
        rest: the beginning of the file, which has already been read.
    """
    newline = "\n".encode(encoding)
    while data := source.read(_BLOCK):
        data = rest + data
        end = _after(data, newline, data.rfind)
        if end == 0 and len(data) > LONGEST_LINE:
            rest = _skip_line(source, newline)
            yield f"[a line of more than {LONGEST_LINE} bytes was left out]\n"
            continue
        rest = data[end:]
        yield _decode(data[:end], encoding)
    yield _decode(rest, encoding)


def _skip_line(source: t.BinaryIO, newline: bytes) -> bytes:
    """Read up to the end of the current line, and return any bytes that were read beyond its line ending."""
    while data := source.read(_BLOCK):
        end = _after(data, newline, data.find)
        if end:
            return data[end:]
    return b""


def _after(data: bytes, newline: bytes, find: t.Callable[..., int]) -> int:
    """Return the position after the first or last line ending, or 0 if there is none.

    Args:
        data: the bytes to search.
        newline: the encoded line ending.
        find: `data.find` for the first line ending, `data.rfind` for the last one.
    """
    width, position = len(newline), find(newline)
    # In UTF-16, bytes of two adjacent characters may look like a line end.
    while position >= 0 and position % width:
        position = find(newline, position + 1) if find == data.find else find(newline, 0, position + width - 1)
    return position + width if position >= 0 else 0


def _decode(data: bytes, encoding: str) -> str:
    if encoding == "utf-8":
        return data.decode("utf-8", "surrogateescape")
    return data.decode(encoding, "replace").removeprefix("\ufeff")
