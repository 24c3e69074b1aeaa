# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Add prefixes to the ids of calls, so that the calls of several owners can share a batch."""

from __future__ import annotations

import dataclasses
import typing as t

from .messages import Call

T = t.TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Scope:
    """The call ids of one owner, such as a resource, in a batch.

    Example:
        >>> scope = Scope("r0.")
        >>> scope.id("check"), scope.own("r0.check"), "r0.check" in scope
        ('r0.check', 'check', True)
        >>> scope.inner("files").id("0")
        'r0.files.0'
    """

    prefix: str
    """The prefix of the ids. It ends with a separator such as a dot, so that no owner's prefix is the beginning of
    another owner's prefix (`r1.` and `r10.`)."""

    def __contains__(self, call_id: str) -> bool:
        return call_id.startswith(self.prefix)

    def id(self, own: str) -> str:
        """Return the id of a call in the batch: the prefix and the id that the owner uses."""
        return self.prefix + own

    def own(self, call_id: str) -> str:
        """Return the id that the owner uses for a call, without the prefix that it has in the batch."""
        return call_id.removeprefix(self.prefix)

    def inner(self, name: str) -> Scope:
        """Return a scope inside this one: its prefix is this scope's prefix, the name and a dot."""
        return Scope(f"{self.prefix}{name}.")

    def call(self, call: Call) -> Call:
        """Return a copy of the owner's call with the prefix before its own id and before every other call id in it."""
        return call.prefixed(self.prefix)

    def results(self, calls: t.Mapping[str, T]) -> dict[str, T]:
        """Return the results of the owner's calls, keyed by the ids that the owner uses.

        Args:
            calls: the results of all calls of the batch, keyed by the ids with prefixes.
        """
        return {self.own(call_id): result for call_id, result in calls.items() if call_id in self}
