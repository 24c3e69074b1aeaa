# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a drift check found, as a document for monitors: plan.json, described by docs/plan.schema.json. Pure."""

from __future__ import annotations

import typing as t

SCHEMA_VERSION = 1
"""Raised when a reader of plan.json would have to change: a field goes, or means something else."""
STATUSES = ("in_sync", "drift", "error")
_FIELDS = ("type", "name", "action", "why", "disturbs", "disturbance")


def node_entry(
    result: t.Mapping[str, t.Any] | None, before: t.Sequence[t.Mapping[str, t.Any] | None] = ()
) -> dict[str, t.Any]:
    """Return one node's entry of plan.json.

    Args:
        result: What node_state returned in check mode; None where the node was not compared.
        before: Results of earlier steps, in order; the first that failed or found problems is the reason.
    """
    if not result:
        return _not_compared(before)
    if result.get("unreachable") or result.get("failed"):
        return {"status": "error", "message": str(result.get("msg") or "unknown")}
    if not result.get("changes") and not result.get("changed"):
        return {"status": "in_sync"}
    changes = result.get("changes") or ()
    return {
        "status": "drift",
        "drift": [{key: change[key] for key in _FIELDS if key in change} for change in changes],
    }


def _not_compared(before: t.Sequence[t.Mapping[str, t.Any] | None]) -> dict[str, t.Any]:
    for step in before:
        if step and step.get("problems"):
            problems = [str(problem) for problem in step["problems"]]
            count = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
            return {"status": "error", "message": f"{count} in its variables, see above", "problems": problems}
        if step and (step.get("failed") or step.get("unreachable")):
            return {"status": "error", "message": str(step.get("msg") or "unknown")}
    return {"status": "error", "message": "an earlier step failed; see the run's output"}


def document(nodes: t.Mapping[str, t.Mapping[str, t.Any]], *, time: str, join_compared: bool) -> dict[str, t.Any]:
    """Return plan.json as a whole.

    Args:
        nodes: Entries by node.
        time: When the nodes were compared, in UTC.
        join_compared: Whether what a node gets from its cluster was compared; without a kubeconfig it is not.
    """
    return {"schema_version": SCHEMA_VERSION, "time": time, "join_compared": join_compared, "nodes": nodes}


def counts(nodes: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, int]:
    """Return how many nodes have each status."""
    return {status: sum(1 for entry in nodes.values() if entry["status"] == status) for status in STATUSES}
