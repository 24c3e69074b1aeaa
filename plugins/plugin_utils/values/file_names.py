# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Derive safe names of files on the controller from host names (no I/O)."""

from __future__ import annotations

import hashlib
import re

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def host_file_name(host: str) -> str:
    """Return a safe file name for a host, whatever its inventory name. Different hosts get different names."""
    name = _UNSAFE.sub("_", host).lstrip(".")
    return name if name == host else f"{name}-{hashlib.sha256(host.encode()).hexdigest()[:8]}"
