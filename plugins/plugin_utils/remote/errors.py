# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a node could not do."""

from __future__ import annotations

from ..values.printable import printable
from ..wire.messages import Progress


class NodeError(Exception):
    """The node could not do what was asked; the text names node and step, and is safe to print."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class BatchLost(NodeError):
    """A batch was claimed and then its process died: what it did must be observed anew."""

    def __init__(self, message: str, progress: Progress | None) -> None:
        super().__init__(message)
        self.progress = progress
