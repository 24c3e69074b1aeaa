# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The error for a value that is not acceptable."""

from __future__ import annotations

from .shown import shown


class ResourceError(Exception):
    """A value is not acceptable; the message has its place, the value, and what would be accepted."""

    def __init__(self, where: str, value: object, accepted: str) -> None:
        super().__init__(f"{where}: {shown(value)} is not accepted; {accepted}")
        self.where = where
        self.value = value
        self.accepted = accepted
