# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Print progress while a long batch runs: the current changes, and how much of their files has been downloaded."""

from __future__ import annotations

import typing as t

from ..remote.session import NodeSession
from ..wire.messages import Progress, RunningCall
from .disk_space import amount
from .planned import Planned


class ProgressReporter:
    """A reporter that prints one node's progress and never prints the same line twice in a row.

    Args:
        session: the session with the node, which prints the lines.
    """

    def __init__(self, session: NodeSession) -> None:
        self._session = session
        self._last = ""
        self._growing: dict[str, str] = {}
        """Maps the id of each call whose file was growing at the last poll to the name of the call's resource."""
        self.sizes: t.Mapping[str, int | None] = {}
        """Maps each resource's title to the number of bytes that its change needs, or to None if unknown. See
        `Measurement.sizes`."""

    def report(self, progress: Progress, changes: t.Sequence[Planned]) -> None:
        """Print the progress of a batch.

        Args:
            progress: the progress that the node reported.
            changes: the changes of the batch.
        """
        if not self._session.shows_progress:
            return
        line = self._files(progress.running, changes) or self._change(progress.id, changes)
        if line is not None and line != self._last:
            self._last = line
            self._session.report_progress(line)

    def _change(self, call_id: str, changes: t.Sequence[Planned]) -> str | None:
        for number, planned in enumerate(changes, start=1):
            if call_id in planned.scope:
                return f"{number}/{len(changes)} {planned.resource.title}"
        return None

    def _files(self, running: t.Sequence[RunningCall], changes: t.Sequence[Planned]) -> str | None:
        """Return a line about the files that are being downloaded, or None if there are none.

        An example is `kubernetes 1.37.1 45 of 120 MB, containerd 2.3.7 ended`.
        """
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
    return next((planned for planned in changes if call_id in planned.scope), None)


def _share(size: int, whole: int | None) -> str:
    """Return how much of a total is done, such as `45 of 120 MB` or `850 KB of 2.3 GB`.

    If the total is unknown or smaller than `size`, return only the size, such as `45 MB`.
    """
    if not whole or whole < size:
        return amount(size)
    now, then = amount(size), amount(whole)
    number, dummy, unit = now.partition(" ")
    return f"{number if then.endswith(f' {unit}') else now} of {then}"
