# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Faults of an artifact server: what goes wrong, for which paths, how often."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

KINDS: Mapping[str, str] = {
    "status": "answer with `status` (and Retry-After `retry_after` seconds, if set)",
    "cut": "close the connection after `at` bytes of the body; of the head, where `at` is negative (-1: after no byte)",
    "truncated": "send `at` bytes and say that this is all",
    "wrong": "send as many bytes as the file has, but others",
    "unsafe": "send an archive with `..` and absolute paths in it",
    "html": "answer 200 with a page of HTML, as a captive portal does",
    "slow": "send `rate` bytes per second",
    "silence": "accept the request and answer after `seconds`",
    "loop": "redirect to itself",
    "redirect": "redirect to `location`",
    "signature": "demand the query `sig=SIGNATURE` (`signature`), else 403",
    "no-range": "ignore Range and send the whole file",
}


@dataclass
class Fault:
    """One fault.

    Args:
        kind: one of `KINDS`.
        path: pattern of paths (`*` matches `/` too) as requested, e.g. `*/kubernetes-node-windows-amd64.tar.gz`.
            A registry's begin with the host that a mirror is asked for (`?ns=`), if any:
            `/registry.k8s.io/v2/pause/manifests/3.10.2`.
        times: how many requests it hits; 0: all.
        method: `GET` or `HEAD` only; empty: both.
    """

    kind: str
    path: str = "*"
    times: int = 0
    method: str = ""
    status: int = 503
    retry_after: int | None = None
    at: int = 0
    rate: int = 65536
    seconds: float = 5.0
    location: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no fault of kind {self.kind!r}; there are {', '.join(KINDS)}")

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Fault:
        """Make a fault of JSON data; raises ValueError for a key or kind that does not exist."""
        unknown = set(data) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"a fault has no {', '.join(sorted(unknown))}")
        return cls(**data)


class Faults:
    """The faults that are set now; safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[tuple[Fault, list[int]]] = []

    def add(self, fault: Fault) -> None:
        """Set a fault; the first one set that matches a request hits it."""
        with self._lock:
            self._faults.append((fault, [fault.times or -1]))

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._faults.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """Return the fault that hits this request, and count it."""
        with self._lock:
            for fault, left in self._faults:
                if left[0] and fault.method in ("", method) and fnmatch.fnmatchcase(path, fault.path):
                    left[0] -= 1
                    return fault
        return None
