# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create plan.json, the document with the result of a drift check, for monitoring systems (no I/O).

The schema of plan.json is docs/plan.schema.json.
"""

from __future__ import annotations

import typing as t

SCHEMA_VERSION = 1
"""Version of the format of plan.json. It increases when a change breaks programs that read the file, for example
when a field is removed or changes its meaning."""
STATUSES = ("in_sync", "drift", "error")
_FIELDS = ("type", "name", "action", "why", "disrupts", "disruption")


def node_entry(
    result: t.Mapping[str, t.Any] | None, before: t.Sequence[t.Mapping[str, t.Any] | None] = ()
) -> dict[str, t.Any]:
    """Return one node's entry of plan.json.

    Args:
        result: the result of node_state in check mode; None if the node was not compared.
        before: results of the earlier steps, in the order in which these ran. If the node was not compared, the entry's
            message comes from the first step that failed or found problems.
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
            return {"status": "error", "message": f"{count} in the node's variables, see above", "problems": problems}
        if step and (step.get("failed") or step.get("unreachable")):
            return {"status": "error", "message": str(step.get("msg") or "unknown")}
    return {"status": "error", "message": "an earlier step failed; see the run's output"}


def document(
    nodes: t.Mapping[str, t.Mapping[str, t.Any]],
    *,
    time: str,
    join_compared: bool,
    findings: t.Sequence[t.Mapping[str, t.Any]] = (),
) -> dict[str, t.Any]:
    """Return the content of plan.json.

    Args:
        nodes: maps each node to its entry of plan.json.
        time: time of the comparison (UTC).
        join_compared: whether the settings from the cluster were compared, which requires a kubeconfig.
        findings: the findings about the Linux side of the cluster (cluster_findings.shared).
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "time": time,
        "join_compared": join_compared,
        "cluster_findings": list(findings),
        "nodes": nodes,
    }


def counts(nodes: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, int]:
    """Return the number of nodes by status."""
    return {status: sum(1 for entry in nodes.values() if entry["status"] == status) for status in STATUSES}
