# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Read which domain and which computer the data of an offline domain join (`djoin /provision`) is for.

Windows gives a machine the computer name in this data, so data for another machine would rename the node.

Sources: learn.microsoft.com/windows/win32/netmgmt/odj-idl describes the structures, and [MS-RPCE] 2.2.6 describes their
encoding (type serialization version 1, little endian, NDR).
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import struct

_COMMON_HEADER = struct.pack("<BBHI", 1, 0x10, 8, 0xCCCCCCCC)
_HEADERS = len(_COMMON_HEADER) + 8
_WIN7_FORMAT = 1
"""`ulODJFormat` of an ODJ_BLOB that contains an ODJ_WIN7BLOB."""
_MOST_BLOBS = 16
_LONGEST_NAME = 512
_NETBIOS = 15


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfflineJoinData:
    """The domain and the computer that are named in the data of an offline join, without the data's password."""

    domain: str
    """DNS name of the domain, or the name in `lpDomain` if the data has no DNS name. Empty if the data has a form that
    `read` does not know."""
    computer: str
    """Name of the computer; empty if the data has a form that `read` does not know."""

    def is_for(self, computer: str) -> bool:
        """Return whether the data is for the given computer, or has a form that does not show which computer it is for.

        Args:
            computer: the computer's name. Only its NetBIOS part (the first 15 characters) is compared.
        """
        return not self.computer or self.computer[:_NETBIOS].lower() == computer[:_NETBIOS].lower()


class _NdrReader:
    """A sequential reader of NDR data."""

    def __init__(self, data: bytes) -> None:
        if not data.startswith(_COMMON_HEADER):
            raise ValueError("the value does not begin with the header of serialized data")
        self._data = data[_HEADERS:]
        self._place = 0

    def number(self) -> int:
        """Return an aligned 32-bit integer. Pointers have the same form."""
        self._place += -self._place % 4
        return int.from_bytes(self.bytes(4), "little")

    def numbers(self, count: int) -> list[int]:
        return [self.number() for _index in range(count)]

    def bytes(self, count: int) -> bytes:
        taken = self._data[self._place : self._place + count]
        if len(taken) != count:
            raise ValueError("it is incomplete")
        self._place += count
        return taken

    def text(self, pointer: int) -> str:
        """Return the conformant and varying string to which a pointer refers; empty for a null pointer.

        Raises:
            ValueError: the string is malformed or incomplete.
        """
        if not pointer:
            return ""
        _maximum, offset, count = self.numbers(3)
        if offset or count > _LONGEST_NAME:
            raise ValueError("it contains a malformed name")
        return self.bytes(2 * count).decode("utf-16-le").rstrip("\0")


def read(text: str) -> OfflineJoinData:
    """Return the domain and the computer that the data of an offline join names.

    Args:
        text: the data in base64. A byte order mark, line breaks and the final NUL of djoin's file are ignored.

    Raises:
        ValueError: the text is not data of an offline join. The message states why, without quoting the text.
    """
    try:
        data = base64.b64decode(normalized(text), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("it is not base64") from None
    try:
        for form, blob in _blobs(_NdrReader(data)):
            if form == _WIN7_FORMAT:
                return _win7(_NdrReader(blob))
    except UnicodeDecodeError:
        raise ValueError("it contains a malformed name") from None
    return OfflineJoinData(domain="", computer="")


def normalized(text: str) -> str:
    """Return the base64 text of djoin's file, without the byte order mark, whitespace and the final NUL.

    Args:
        text: the content of the file as text.
    """
    return "".join(text.strip("\ufeff").replace("\0", "").split())


def _blobs(reader: _NdrReader) -> list[tuple[int, bytes]]:
    """Read ODJ_PROVISION_DATA, and return the format and the content of each ODJ_BLOB."""
    _pointer, version, count, _array, maximum = reader.numbers(5)
    if version != 1 or not 0 < count <= _MOST_BLOBS or maximum != count:
        raise ValueError("it is not the data of an offline join")
    heads = [reader.numbers(3) for _index in range(count)]
    return [(form, reader.bytes(reader.number()) if pointer else b"") for form, _size, pointer in heads]


def _win7(reader: _NdrReader) -> OfflineJoinData:
    """Return the names of the domain and the computer that an ODJ_WIN7BLOB contains."""
    _pointer, domain, computer, password = reader.numbers(4)
    # Name, DnsDomainName and DnsForestName: the lengths in one word, and a pointer.
    names = [reader.numbers(2)[1] for _index in range(3)]
    reader.bytes(16)  # DomainGuid
    reader.number()  # Sid
    # DOMAIN_CONTROLLER_INFOW
    reader.numbers(3)
    reader.bytes(16)
    reader.numbers(5)
    reader.number()  # Options
    texts = [reader.text(pointer) for pointer in (domain, computer, password)]
    dns_name = [reader.text(pointer) for pointer in names[:2]][1]
    return OfflineJoinData(domain=dns_name or texts[0], computer=texts[1])
