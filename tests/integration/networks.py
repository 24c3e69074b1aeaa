# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Loopback networks that no other test, worker, or test run on this machine uses."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

# Locks of networks. They are held until the process ends.
_LOCKS: list[IO[str]] = []


def free_network() -> str:
    """Return the first three parts of an unused network's addresses, such as `127.70.1`.

    Raises:
        LookupError: all networks are in use.
    """
    # The same folder for all processes of this host, whatever their TMPDIR is.
    folder = Path("/tmp/winkube-test-networks")
    folder.mkdir(exist_ok=True)
    for number in range(70 * 256, 90 * 256):
        network = f"127.{number // 256}.{number % 256}"
        lock = (folder / network).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        _LOCKS.append(lock)
        return network
    raise LookupError("all networks from 127.70.0 to 127.89.255 are in use")
