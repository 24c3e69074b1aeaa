# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Show the plan and the result of an upgrade as tables, and as a JSON document for monitoring systems (no I/O)."""

from __future__ import annotations

import dataclasses
import typing as t

from ..values.text_table import text_table
from . import rollout

STATUSES = ("upgraded", "to_upgrade", "up_to_date", "failed", "not_started", "not_a_node")
_PLAN = ("NODE", "NOW", "THEN", "STEPS")
_HEADER = (*_PLAN, "REBOOT", "MINUTES", "STATUS", "")
_WIDEST = (60,) * (len(_HEADER) - 1)
"""Maximum width of each column except the last, in characters."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostResults:
    """The registered results of one host's tasks. The result of a task that the host did not reach is empty."""

    plan: t.Mapping[str, t.Any] | None
    """The plan for the upgrade. Empty if the machine has not joined a cluster; None if the host failed earlier."""
    record: t.Mapping[str, t.Any]
    """The record that the node_maintenance role keeps about the node."""
    staged: t.Mapping[str, t.Any]
    """The result of the task that makes the changes that do not disrupt pods."""
    converged: t.Mapping[str, t.Any]
    """The result of the task that changes the drained node."""
    patches: t.Mapping[str, t.Any]
    """The last result of patch_install."""


def node_entry(results: HostResults, *, check_mode: bool) -> dict[str, t.Any]:
    """Return one node's entry in upgrade.json.

    Args:
        results: the results of the host's tasks.
        check_mode: whether the run was in check mode, so that it planned changes but made none.
    """
    record, plan = results.record, results.plan or {}
    status, message = _status(results, check_mode=check_mode)
    return {
        "node": str(record.get("node") or ""),
        "status": status,
        "message": message,
        "before": str(plan.get("before") or ""),
        "after": str(plan.get("after") or ""),
        "steps": list(plan.get("steps") or ()),
        "reboot": _reboot(results, status),
        "changes": [_change(one) for one in (results.staged.get("deferred") or ())],
        "minutes": rollout.minutes(record),
        "cordoned": bool(record.get("cordoned")),
    }


def _change(change: t.Mapping[str, t.Any]) -> dict[str, str]:
    return {key: str(change.get(key) or "") for key in ("type", "name", "why", "disruption")}


def _status(results: HostResults, *, check_mode: bool) -> tuple[str, str]:
    record = results.record
    stage = record.get("stage")
    if stage == "done":
        return "upgraded", ""
    if stage == "waiting":
        if not (record.get("work") or record.get("ours")):
            return "up_to_date", ""
        return ("to_upgrade" if check_mode else "not_started"), ""
    if results.plan is not None and not results.plan:
        return "not_a_node", ""
    return "failed", str(record.get("message") or "an earlier step failed; see the run's output")


def _reboot(results: HostResults, status: str) -> str:
    """Return whether the node will reboot (`yes`, `no` or `maybe`) or, after the node's turn, whether it rebooted."""
    if status not in ("to_upgrade", "not_started"):
        return "yes" if results.converged.get("rebooted") or int(results.patches.get("reboots") or 0) else "no"
    disruptions = {str(one.get("disruption")) for one in results.staged.get("deferred") or ()}
    if results.staged.get("reboot_required") or "reboots the node" in disruptions:
        return "yes"
    return "maybe" if results.patches.get("changed") or "may reboot the node" in disruptions else "no"


def plan_table(plans: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[str]:
    """Return the lines of a table with the upgrade steps of each node, which is printed at the beginning of a run.

    Args:
        plans: maps each host to its plan, which is empty if the machine has not joined a cluster.
    """
    rows = [(host, *_versions(plan)) for host, plan in plans.items() if plan]
    return text_table([_PLAN, *rows]) if rows else []


def table(nodes: t.Mapping[str, t.Mapping[str, t.Any]], width: int = 200) -> list[str]:
    """Return the lines of a table with a row for each node.

    Args:
        nodes: maps each host to its entry in upgrade.json.
        width: maximum line width; the last column, the message, is shortened.
    """
    rows = [_HEADER, *(_row(host, entry) for host, entry in nodes.items())]
    return text_table(rows, width=width, widest=_WIDEST)


def _versions(entry: t.Mapping[str, t.Any]) -> tuple[str, str, str]:
    steps = entry["steps"]
    return str(entry["before"]), str(entry["after"]), " -> ".join(steps) if steps else "none"


def _row(host: str, entry: t.Mapping[str, t.Any]) -> tuple[str, ...]:
    minutes, status = rollout.minutes_cell(entry), rollout.status_cell(entry)
    message = str(entry["message"]).partition("\n")[0].rstrip()
    return (host, *_versions(entry), str(entry["reboot"]), minutes, status, message)
