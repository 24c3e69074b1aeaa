# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who may read secrets on a simulated server at the moment when they are written."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from simulator.machine.machine import Machine

# A bootstrap token, and the beginning of a private key.
_SECRET = re.compile(rb"\b[a-z0-9]{6}\.[a-z0-9]{16}\b|PRIVATE KEY")
# The temporary name of a file that is being written: docs/wire.md.
_PART = re.compile(r"~[0-9a-f]{8}\.part$")


@contextlib.contextmanager
def secrets_written(machine: Machine) -> Iterator[dict[str, set[str]]]:
    """Collect the files that get a secret, with the accounts that had access (except SYSTEM and administrators)."""
    seen: dict[str, set[str]] = {}
    files = machine.files
    write = files.write_bytes

    def watched(path: str, data: bytes) -> None:
        write(path, data)
        if _SECRET.search(data):
            others = files.who_may_read(path) | files.who_may_write(path)
            seen.setdefault(_PART.sub("", path), set()).update(others)

    files.write_bytes = watched  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        files.write_bytes = write  # type: ignore[method-assign]
