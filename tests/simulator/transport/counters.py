# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Counters of a node's network traffic since the last reset."""

from __future__ import annotations

import threading
from collections import Counter

# connections: those that carried any of the following; http_requests: all except control requests, which includes those
# of NTLM; wsman_requests: those with an envelope from a logged-on user; pools: opened PSRP runspace pools; shells:
# opened WinRS shells; remote_commands: started WinRS commands and PSRP pipelines; failed_logons: those with complete
# and wrong credentials (Windows' event 4625); bytes: HTTP messages with headers.
NAMES = (
    "connections",
    "http_requests",
    "wsman_requests",
    "pools",
    "shells",
    "remote_commands",
    "failed_logons",
    "bytes_in",
    "bytes_out",
)


class Counters:
    """The counters of one node. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: Counter[str] = Counter()

    def add(self, **amounts: int) -> None:
        """Add values to the counters with these names of NAMES."""
        with self._lock:
            self._values.update(amounts)

    def reset(self) -> None:
        """Set all counters to zero."""
        with self._lock:
            self._values.clear()

    def snapshot(self) -> dict[str, int]:
        """Return all counters, including those at zero."""
        with self._lock:
            return {name: self._values[name] for name in NAMES}
