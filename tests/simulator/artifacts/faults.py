# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Faults of an artifact server or a container registry: their kind, the affected paths, and how often they occur.

A registry supports the kinds that `SimulatedRegistry.fault` lists.
"""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

KINDS: Mapping[str, str] = {
    "status": "respond with `status` (and Retry-After `retry_after` seconds, if set)",
    "cut": "close the connection after `at` bytes of the body, or in the head if `at` is negative (-1: at its start)",
    "truncated": "send `at` bytes as if they were the whole file",
    "wrong": "send other bytes with the same length as the file",
    "unsafe": "send an archive with `..` and absolute paths in it",
    "html": "respond with 200 and an HTML page, as a captive portal does",
    "slow": "send `rate` bytes per second",
    "silence": "accept the request and respond after `seconds`",
    "loop": "redirect to the requested URL",
    "redirect": "redirect to `location`",
    "signature": "require the query `sig=SIGNATURE` (`signature`), else respond with 403",
    "no-range": "ignore Range and send the whole file",
}


@dataclass
class ArtifactFault:
    """One fault.

    Args:
        kind: one of `KINDS`.
        path: a pattern of requested paths (`*` also matches `/`), such as `*/kubernetes-node-*.tar.gz`. If a
            request to a registry has `?ns=HOST`, the path begins with this host:
            `/registry.k8s.io/v2/pause/manifests/3.10.2`.
        times: the number of requests that the fault affects. 0 means all requests.
        method: `GET` or `HEAD`. An empty string means both methods.
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
            raise ValueError(f"expected one of the fault kinds {', '.join(KINDS)}, got {self.kind!r}")

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ArtifactFault:
        """Read a fault from JSON data.

        Raises:
            ValueError: a key or the kind is unknown.
            TypeError: the kind is missing.
        """
        unknown = set(data) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"unknown keys in a fault: {', '.join(sorted(unknown))}")
        return cls(**data)


class Faults:
    """The current faults, which several threads can use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[tuple[ArtifactFault, list[int]]] = []

    def add(self, fault: ArtifactFault) -> None:
        """Add a fault; if several faults match a request, the first of them applies."""
        with self._lock:
            self._faults.append((fault, [fault.times or -1]))

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._faults.clear()

    def take(self, method: str, path: str) -> ArtifactFault | None:
        """Return the first fault that applies to a request, or None if none applies.

        The request counts as one of the fault's `times`.
        """
        with self._lock:
            for fault, left in self._faults:
                if left[0] and fault.method in ("", method) and fnmatch.fnmatchcase(path, fault.path):
                    left[0] -= 1
                    return fault
        return None
