# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Print the report of a rollout, and write it to a file on the controller."""

from __future__ import annotations

import pathlib
import typing as t

from ..reports import files, rollout
from ..values.terminal import show


def publish(
    nodes: t.Mapping[str, t.Mapping[str, t.Any]], table: t.Sequence[str], statuses: t.Sequence[str], path: str
) -> dict[str, t.Any]:
    """Print the table and the summary of a report, and write its entries to a JSON file.

    Args:
        nodes: the report's entry for each host.
        table: the lines of the table.
        statuses: all statuses that a host can have, in the order of the summary.
        path: the path of the JSON file.

    Returns:
        The result of the task.
    """
    counts = rollout.counts(nodes, statuses)
    for line in (*table, *rollout.summary(counts)):
        show(line)
    files.write_json(pathlib.Path(path), {"nodes": nodes})
    return {"changed": False, "nodes": nodes, "path": path, "counts": counts}
