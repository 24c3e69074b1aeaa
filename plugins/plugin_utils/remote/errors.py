# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Errors of a node."""

from __future__ import annotations

from ..values.printable import printable
from ..wire.messages import Progress


class NodeError(Exception):
    """A step failed on a node; the message names the node and the step, and is safe to print."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class BatchLost(NodeError):
    """The process of a started batch died, so its effects must be observed again."""

    def __init__(self, message: str, progress: Progress | None) -> None:
        super().__init__(message)
        self.progress = progress
