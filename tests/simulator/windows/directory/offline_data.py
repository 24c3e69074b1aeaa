# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The data of offline domain joins, written as `djoin /provision` writes it and read as Windows reads it.

The structures ODJ_PROVISION_DATA, ODJ_BLOB and ODJ_WIN7BLOB are described at
learn.microsoft.com/windows/win32/netmgmt/odj-idl. They are encoded as [MS-RPCE] 2.2.6 describes (type serialization
version 1), with the NDR of C706, chapter 14.
"""

from __future__ import annotations

import struct

from simulator.windows.directory.domain_directory import INVALID_PARAMETER, NetJoinError

_COMMON_HEADER = struct.pack("<BBHI", 1, 0x10, 8, 0xCCCCCCCC)
_WIN7_FORMAT = 1
_REFERENT = 0x00020000


class _NdrData:
    """NDR data: the fixed part of a structure, followed by what its pointers refer to."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._next = _REFERENT

    def number(self, value: int) -> None:
        self.align(4)
        self.data += struct.pack("<I", value)

    def pointer(self, *, null: bool = False) -> None:
        self.number(0 if null else self._next)
        self._next += 0 if null else 4

    def align(self, size: int) -> None:
        self.data += bytes(-len(self.data) % size)

    def string(self, text: str, *, terminated: bool = True) -> None:
        count = len(text) + terminated
        for value in (count, 0, count):
            self.number(value)
        self.data += text.encode("utf-16-le") + (b"\0\0" if terminated else b"")

    def serialized(self) -> bytes:
        self.align(8)
        return _COMMON_HEADER + struct.pack("<II", len(self.data), 0) + bytes(self.data)


def encode(domain: str, netbios: str, computer: str, password: str, controller: str) -> bytes:
    """Return the data with which a computer joins a domain without contacting a domain controller."""
    inner = _NdrData()
    inner.pointer()
    for _ in range(3):
        inner.pointer()
    names = (netbios, domain, domain)
    for name in names:
        inner.data += struct.pack("<HH", 2 * len(name), 2 * len(name) + 2)
        inner.pointer()
    inner.data += bytes(range(16))
    inner.pointer(null=True)
    for _ in range(2):
        inner.pointer()
    inner.number(1)
    inner.data += bytes(range(16))
    for _ in range(2):
        inner.pointer()
    inner.number(0xE000F3FD)
    for _ in range(2):
        inner.pointer()
    inner.number(0)
    for text in (domain, computer, password):
        inner.string(text)
    for name in names:
        inner.number(len(name) + 1)
        inner.number(0)
        inner.number(len(name))
        inner.data += name.encode("utf-16-le")
    site = "Default-First-Site-Name"
    for text in (f"\\\\{controller}", "\\\\10.0.0.1", domain, domain, site, site):
        inner.string(text)
    blob = inner.serialized()
    outer = _NdrData()
    outer.pointer()
    for value in (1, 1):
        outer.number(value)
    outer.pointer()
    for value in (1, _WIN7_FORMAT, len(blob)):
        outer.number(value)
    outer.pointer()
    outer.number(len(blob))
    outer.data += blob
    return outer.serialized()


def decode(data: bytes) -> tuple[str, str]:
    """Return the names of the domain and the computer from the data of an offline join.

    Raises:
        NetJoinError: the data is damaged.
    """
    start = data.find(_COMMON_HEADER, 1)
    try:
        if not data.startswith(_COMMON_HEADER) or start < 0:
            raise NetJoinError(INVALID_PARAMETER)
        # The fixed part of ODJ_WIN7BLOB with its pointer: 4 + 12 + 24 + 16 + 4 + 8 + 4 + 16 + 8 + 4 + 8 + 4 bytes.
        place = start + 16 + 112
        texts = []
        for _ in range(2):
            (count,) = struct.unpack_from("<I", data, place + 8)
            text = data[place + 12 : place + 12 + 2 * count]
            if len(text) != 2 * count or not count:
                raise NetJoinError(INVALID_PARAMETER)
            texts.append(text.decode("utf-16-le").rstrip("\0"))
            place += 12 + 2 * count + (-2 * count % 4)
    except (struct.error, UnicodeDecodeError):
        raise NetJoinError(INVALID_PARAMETER) from None
    return texts[0], texts[1]
