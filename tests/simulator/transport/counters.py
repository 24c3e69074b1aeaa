# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Counters of a node's network traffic since the last reset."""

from __future__ import annotations

import threading
from collections import Counter

NAMES = (
    "connections",  # connections with at least one counted request
    "http_requests",  # all requests except control requests, including the additional ones of NTLM
    "wsman_requests",  # requests of a logged-on user with an envelope
    "pools",  # opened PSRP runspace pools
    "shells",  # opened WinRS shells
    "remote_commands",  # started WinRS commands and PSRP pipelines
    "failed_logons",  # logons with complete but wrong credentials (Windows' event 4625)
    "bytes_in",  # requests with their headers
    "bytes_out",  # responses with their headers
)


class Counters:
    """The counters of one node. The object is thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: Counter[str] = Counter()

    def add(self, **amounts: int) -> None:
        """Add amounts to counters. The names of the counters must be in NAMES."""
        with self._lock:
            self._values.update(amounts)

    def reset(self) -> None:
        """Set all counters to zero."""
        with self._lock:
            self._values.clear()

    def snapshot(self) -> dict[str, int]:
        """Return all counters, including counters at zero."""
        with self._lock:
            return {name: self._values[name] for name in NAMES}
