# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files that this process keeps open on Windows, with the share modes of the recorded cases."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

ACCESS = {"r": 0x8000_0000, "w": 0x4000_0000, "d": 0x0001_0000}
"""GENERIC_READ, GENERIC_WRITE, DELETE (winnt.h)."""
SHARE = {"r": 1, "w": 2, "d": 4}
"""FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_SHARE_DELETE (winnt.h)."""
OPEN_EXISTING = 3
NORMAL = 0x80
INVALID = ctypes.c_void_p(-1).value


@contextmanager
def hold(path: str, access: str, share: str) -> Iterator[None]:
    """Keep a file open within the `with` block. This works only on Windows.

    Args:
        path: the file.
        access: letters of `rwd` (read, write, delete): what this process may do.
        share: the same letters: what other processes may do at the same time.

    Raises:
        OSError: Windows refused to open the file in this way.
    """
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined,unused-ignore]
    kernel.CreateFileW.restype = ctypes.c_void_p
    kernel.CloseHandle.argtypes = [ctypes.c_void_p]
    requested = sum(ACCESS[letter] for letter in access)
    handle = kernel.CreateFileW(
        ctypes.c_wchar_p(path),
        ctypes.c_uint32(requested),
        ctypes.c_uint32(sum(SHARE[letter] for letter in share)),
        None,
        ctypes.c_uint32(OPEN_EXISTING),
        ctypes.c_uint32(NORMAL),
        None,
    )
    if handle == INVALID:
        raise ctypes.WinError(ctypes.get_last_error())  # type: ignore[attr-defined,unused-ignore]
    try:
        yield
    finally:
        kernel.CloseHandle(handle)
