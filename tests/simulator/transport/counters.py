# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a node's network has carried since the last reset."""

from __future__ import annotations

import threading
from collections import Counter

# connections: those that carried any of these; http_requests: all but control requests, so with the exchanges of NTLM;
# wsman_requests: those with an envelope of a logged-on user; pools: PSRP runspace pools opened; shells: WinRS
# shells opened; remote_commands: WinRS commands and PSRP pipelines that began; failed_logons: with complete and wrong
# credentials (Windows' event 4625); bytes: HTTP messages with headers.
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
    """Counters of one node, safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: Counter[str] = Counter()

    def add(self, **amounts: int) -> None:
        """Add amounts to counters named in NAMES."""
        with self._lock:
            self._values.update(amounts)

    def reset(self) -> None:
        """Set all to zero."""
        with self._lock:
            self._values.clear()

    def snapshot(self) -> dict[str, int]:
        """Return all counters, those at zero too."""
        with self._lock:
            return {name: self._values[name] for name in NAMES}
