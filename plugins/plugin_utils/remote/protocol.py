# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Define the interface through which all packages use a Windows node. `node.Node` implements this interface."""

from __future__ import annotations

import typing as t

from ..wire.messages import Batch, Call, Observation, Progress
from .timeouts import Timeouts


class RemoteNode(t.Protocol):
    """A Windows node that can be observed, changed and rebooted."""

    name: str
    timeouts: Timeouts
    """Time limits; a caller may replace them at any time."""
    on_progress: t.Callable[[Progress], None] | None

    @property
    def remote_commands(self) -> int:
        """Number of commands that were sent to the node."""

    def observe(self, calls: t.Sequence[Call], *, step: str = ..., private: bool = ...) -> Observation:
        """Run calls that change nothing; they are repeated after a connection failure."""

    def run(
        self, batch: Batch, *, step: str = ..., private: bool = ..., system: bool = ..., may_reboot: bool = ...
    ) -> Observation:
        """Run a batch that changes something, at most once."""

    def wait(self, key: str, *, step: str) -> Observation:
        """Wait for a batch that an earlier run left running."""

    def start(self, batch: Batch, *, step: str) -> str:
        """Start a detached batch at most once without waiting for it, and return its key."""

    def peek(self, key: str, *, step: str, seconds: float, asked: t.Sequence[Call] = ...) -> Observation:
        """Wait for a limited time for a batch that was left running, and return its observation."""

    def forget(self, keys: t.Iterable[str]) -> None:
        """Make the next `observe`, `run` or `start` delete the results of the batches with the given keys."""

    def start_job(
        self, name: str, arguments: t.Mapping[str, t.Any], key: str, *, step: str
    ) -> t.Mapping[str, t.Any] | None:
        """Start another collection's action as SYSTEM, detached from the connection."""

    def run_module(self, name: str, arguments: t.Mapping[str, t.Any], *, step: str) -> t.Mapping[str, t.Any] | None:
        """Run another collection's module once, and return its result, or None if the connection failed."""

    def put(self, local: str, remote: str, *, step: str) -> None:
        """Upload a file from the controller to the node."""

    def fetch(self, path: str, size: int, sha256: str, target: t.BinaryIO) -> int:
        """Write the content of a file on the node to `target`, check its hash, and return the number of pieces."""

    def reboot(self, *, step: str = ..., ordered: bool | None = ..., boot: str = ...) -> None:
        """Wait until the node has rebooted and can be used; request the reboot if no batch has done so."""
