# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reject plans that need downloads if the node is not allowed to download anything (no I/O)."""

from __future__ import annotations

import typing as t

from .planned import Planned


def refusal(changes: t.Iterable[Planned], *, begun: bool = False) -> str | None:
    """Return an error message that lists what the node would have to download, or None if it needs no downloads.

    Args:
        changes: the plan.
        begun: whether the run has already made changes.
    """
    lacking = [_shown(planned) for planned in changes if planned.change.downloads]
    if not lacking:
        return None
    return (
        "expected a node that needs no downloads (artifact_offline), got one that would download "
        f"{'; '.join(lacking)}.{'' if begun else ' Nothing was changed.'} Add these to the node's image or cache, or "
        "allow downloads"
    )


def _shown(planned: Planned) -> str:
    where = "" if planned.resource.no_log else f" ({planned.change.downloads})"
    return f"{planned.resource.title}{where}: {planned.why}"
