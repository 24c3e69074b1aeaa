# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Provide the parts that the reports of all rollouts (patches, upgrades, replacements) have in common (no I/O)."""

from __future__ import annotations

import collections
import typing as t

STOPPED = (
    "The rollout stopped early: more nodes failed than node_maintenance_max_failed allows, a check between two rings "
    "failed, or the maintenance windows were closed."
)


def minutes(record: t.Mapping[str, t.Any]) -> float:
    """Return how long the work on a node took, in minutes, or 0 if the work has not ended.

    Args:
        record: the record that the node_maintenance role keeps about the node.
    """
    seconds = float(record.get("finished") or 0) - float(record.get("started") or 0)
    return round(max(0.0, seconds) / 60, 1) if record.get("finished") else 0.0


def minutes_cell(entry: t.Mapping[str, t.Any]) -> str:
    """Return the text for the MINUTES column, or an empty string if the number of minutes is 0."""
    return f"{entry['minutes']:.1f}" if entry["minutes"] else ""


def status_cell(entry: t.Mapping[str, t.Any]) -> str:
    """Return the text for the STATUS column, which shows the node's status and whether the node is cordoned."""
    return str(entry["status"]) + (", cordoned" if entry["cordoned"] else "")


def counts(nodes: t.Mapping[str, t.Mapping[str, t.Any]], statuses: t.Sequence[str]) -> dict[str, int]:
    """Return the number of nodes by status.

    Args:
        nodes: maps each host to its entry in the report.
        statuses: the statuses to count.
    """
    by_status = collections.Counter(entry["status"] for entry in nodes.values())
    return {status: by_status[status] for status in statuses}


def summary(numbers: t.Mapping[str, int]) -> list[str]:
    """Return the lines below a rollout's table: the number of nodes by status, and whether the rollout stopped early.

    Args:
        numbers: result of `counts`.
    """
    line = ", ".join(f"{number} {status}" for status, number in numbers.items() if number)
    return [line, STOPPED] if numbers["not_started"] else [line]
