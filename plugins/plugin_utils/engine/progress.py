# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What people are told while a long batch runs: at which change it is, and how far its files have come."""

from __future__ import annotations

import typing as t

from ..wire.messages import Progress, RunningCall
from .disk_space import amount
from .planned import Planned


class ProgressReporter:
    """Tells of one node; never the same line twice in a row.

    Args:
        name: the node's.
        say: shows a line; None: nobody listens.
    """

    def __init__(self, name: str, say: t.Callable[[str], None] | None) -> None:
        self._name = name
        self._say = say
        self._last = ""
        self._growing: dict[str, str] = {}
        """Calls whose files grew when it was asked last, and the names of what they fetch."""
        self.sizes: t.Mapping[str, int | None] = {}
        """Bytes that a resource writes in the end, by its title, as far as they are known."""

    def tell(self, progress: Progress, changes: t.Sequence[Planned]) -> None:
        """Says how far a batch is.

        Args:
            progress: as the node told it.
            changes: those of the batch.
        """
        if self._say is None:
            return
        line = self._files(progress.running, changes) or self._change(progress.id, changes)
        if line is not None and line != self._last:
            self._last = line
            self._say(f"{self._name}: {line}")

    def _change(self, call_id: str, changes: t.Sequence[Planned]) -> str | None:
        for number, planned in enumerate(changes, start=1):
            if call_id.startswith(planned.prefix):
                return f"{number}/{len(changes)} {planned.resource.title}"
        return None

    def _files(self, running: t.Sequence[RunningCall], changes: t.Sequence[Planned]) -> str | None:
        """Each file that grows, and which grow no more: `kubernetes 1.37.1 45 of 120 MB, containerd 2.3.7 ended`."""
        parts: list[str] = []
        growing: dict[str, str] = {}
        for call in running:
            planned = _of(call.id, changes)
            if planned is None or call.size is None:
                continue
            growing[call.id] = planned.resource.name
            parts.append(f"{planned.resource.name} {_share(call.size, self.sizes.get(planned.resource.title))}")
        parts += [f"{name} ended" for call_id, name in self._growing.items() if call_id not in growing]
        self._growing = growing
        return ", ".join(parts) or None


def _of(call_id: str, changes: t.Sequence[Planned]) -> Planned | None:
    return next((planned for planned in changes if call_id.startswith(planned.prefix)), None)


def _share(size: int, whole: int | None) -> str:
    """`45 of 120 MB`, `850 KB of 2.3 GB`, or `45 MB` where the whole is unknown, or was said to be less."""
    if not whole or whole < size:
        return amount(size)
    now, then = amount(size), amount(whole)
    number, dummy, unit = now.partition(" ")
    return f"{number if then.endswith(f' {unit}') else now} of {then}"
