# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Exceptions that mean that work on a node failed or cannot begin."""

from __future__ import annotations

from ..values.printable import printable
from ..wire.messages import Progress


class NodeError(Exception):
    """Work on a node failed or cannot begin. The message is safe to print, and usually names the node and the step."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class BatchLost(NodeError):
    """The process of a started batch ended without a result. Only a new observation shows which changes were made."""

    def __init__(self, message: str, progress: Progress | None) -> None:
        super().__init__(message)
        self.progress = progress
