# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate faults of a node's connections and shells.

A fault happens immediately, or at the n-th WSMan request after the fault was set.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

KINDS: Mapping[str, str] = {
    "before": "the connection breaks before the request is processed",
    "after": "the request is processed, and the connection breaks before the response",
    "during": "the request is processed, half of the response is sent, then the connection breaks",
    "silence": "the request is not processed, and the connection breaks after `seconds`",
    "silence_after": "the request is processed without a response, and the connection breaks after `seconds`",
    "shell_gone": "all shells end, then the request is processed",
    "link_down": "the request is not processed, and the link is down for `seconds`",
    "slow": "the request is processed `seconds` late",
    "call": "the callback is called, and the request is processed",
}
DEFAULT_SECONDS = {"silence": 120.0, "silence_after": 120.0, "link_down": 3.0, "slow": 1.0}
REQUEST_NEVER = 0


@dataclass(frozen=True)
class TransportFault:
    """A pending fault.

    Args:
        kind: one of KINDS.
        request: the request that the fault affects, counted from 1 after the fault is set. With 0 (only for
            `link_down` and `shell_gone`), the fault happens immediately, without a request.
        action: count only requests with this WSMan verb (Create, Command, Send, Receive, Signal, Delete).
        count: the number of consecutive requests that the fault affects.
        seconds: the duration of a silence, an outage or a delay. 0 stands for the default of the kind.
        callback: a function that the connection's thread calls when the fault happens. JSON data cannot set it.
    """

    kind: str
    request: int = 1
    action: str | None = None
    count: int = 1
    seconds: float = 0.0
    callback: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"expected one of the fault kinds {', '.join(KINDS)}, got {self.kind!r}")
        if self.request < 0 or self.count < 1 or self.seconds < 0:
            raise ValueError(f"expected request >= 0, seconds >= 0 and count >= 1, got {self}")
        if self.request == REQUEST_NEVER and self.kind not in ("link_down", "shell_gone"):
            raise ValueError(f"expected request >= 1 for a fault of kind {self.kind}, got {self.request}")
        if self.seconds == 0.0:
            object.__setattr__(self, "seconds", DEFAULT_SECONDS.get(self.kind, 0.0))

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> TransportFault:
        """Parse the fault in a POST /simulator/faults request.

        Raises:
            ValueError: a key or the kind is unknown, or a value is invalid or has the wrong type.
        """
        known: dict[str, type | tuple[type, ...]] = {
            "kind": str,
            "request": int,
            "action": str,
            "count": int,
            "seconds": (int, float),
        }
        for key, value in data.items():
            if key not in known or not isinstance(value, known[key]) or isinstance(value, bool):
                raise ValueError(
                    f"expected only the keys {', '.join(known)} with values of the correct type, got {key}={value!r}"
                )
        return cls(**data)  # type: ignore[arg-type]


class FaultPlan:
    """The pending faults of a node. The object is thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[TransportFault] = []
        # Ends delayed responses, so that a stopped node does not keep threads for two minutes.
        self.released = threading.Event()

    def add(self, fault: TransportFault) -> None:
        """Add a fault. Requests before this call do not count."""
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        """Remove all faults, and end all delays in progress."""
        with self._lock:
            self._faults.clear()
        self.release()

    def release(self) -> None:
        """End all delays in progress."""
        with self._lock:
            released, self.released = self.released, threading.Event()
        released.set()

    def pending(self) -> list[dict[str, object]]:
        """Return the pending faults, for GET /simulator/status."""
        with self._lock:
            return [
                {"kind": fault.kind, "request": fault.request, "action": fault.action, "count": fault.count}
                for fault in self._faults
            ]

    def next(self, verb: str) -> TransportFault | None:
        """Count a request, and return the first fault that affects it, or None if no fault does.

        If the fault has a callback, call it.
        """
        hit: TransportFault | None = None
        left: list[TransportFault] = []
        with self._lock:
            for fault in self._faults:
                if fault.action is not None and fault.action.lower() != verb.lower():
                    left.append(fault)
                elif fault.request > 1:
                    left.append(replace(fault, request=fault.request - 1))
                else:
                    hit = hit or fault
                    if fault.count > 1:
                        left.append(replace(fault, count=fault.count - 1))
            self._faults = left
        if hit is not None and hit.callback is not None:
            hit.callback()
        return hit
