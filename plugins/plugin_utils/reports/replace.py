# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Show the plan and the result of replacing nodes as tables, and as a JSON document for monitoring (no I/O)."""

from __future__ import annotations

import dataclasses
import typing as t

from ..values.text_table import text_table
from . import rollout

STATUSES = ("replaced", "to_replace", "up_to_date", "failed", "not_started", "not_a_node")
_PLAN = ("NODE", "NEW", "BEGUN", "")
_HEADER = ("NODE", "NEW", "ADDRESS", "OLD MACHINE", "MINUTES", "STATUS", "")
_WIDEST = (60,) * (len(_HEADER) - 1)
"""Maximum width of each column except the last, in characters."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReplacementResults:
    """The results of the tasks on an old machine and on the machine that replaces it. Missing results are empty."""

    plan: t.Mapping[str, t.Any]
    """The plan for replacing the old machine."""
    record: t.Mapping[str, t.Any]
    """The record that the node_maintenance role keeps about the old machine."""
    new_record: t.Mapping[str, t.Any]
    """The record that the node_maintenance role keeps about the new machine."""
    address: str
    """Address of the new machine; empty if it was not created."""


def node_entry(results: ReplacementResults, *, check_mode: bool) -> dict[str, t.Any]:
    """Return one node's entry in replace.json.

    Args:
        results: the results of the tasks on both machines.
        check_mode: whether the run only planned the replacement.
    """
    status, message = _status(results, check_mode=check_mode)
    replaces = results.plan.get("status") == "replace"
    return {
        "node": str(results.plan.get("node") or results.record.get("node") or ""),
        "status": status,
        "message": message,
        "new": str(results.plan.get("new") or ""),
        "address": results.address,
        "new_ready": results.new_record.get("stage") == "done",
        "old": str(results.plan.get("old") or results.plan.get("action") or "") if replaces else "",
        "minutes": round(rollout.minutes(results.record) + rollout.minutes(results.new_record), 1),
        "cordoned": bool(results.record.get("cordoned")),
    }


def _status(results: ReplacementResults, *, check_mode: bool) -> tuple[str, str]:
    record, planned = results.record, str(results.plan.get("status") or "")
    stage = record.get("stage")
    if planned == "not_a_node":
        return "not_a_node", ""
    if stage == "failed" or not planned or not stage:
        return "failed", str(record.get("message") or "an earlier step failed; see the run's output")
    if stage == "done":
        return "replaced", ""
    if planned == "up_to_date":
        return "up_to_date", ""
    new_stage = results.new_record.get("stage", "waiting")
    if new_stage == "failed":
        return "failed", f"the new machine: {results.new_record.get('message') or 'an earlier step failed'}"
    if stage != "waiting" or new_stage != "waiting":
        return "failed", "the run ended early; see its output"
    return ("to_replace" if check_mode else "not_started"), ""


def inventory(nodes: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Return the hosts to `add` to the inventory, with their variables, and the names of the hosts to `remove` from it.

    Args:
        nodes: maps each host to its entry in replace.json.
    """
    ready = [entry for entry in nodes.values() if entry["new_ready"]]
    return {
        "add": {
            entry["new"]: {"ansible_host": entry["address"], "kubernetes_node_hostname": entry["new"]}
            for entry in ready
        },
        "remove": [host for host, entry in nodes.items() if entry["status"] == "replaced"],
    }


def inventory_lines(changes: t.Mapping[str, t.Any]) -> list[str]:
    """Return the lines that show users how to change their inventory, or an empty list if the inventory stays as it is.

    Args:
        changes: result of `inventory`.
    """
    lines = []
    if changes["add"]:
        lines.append("Add these hosts to your inventory, in the groups of the hosts that they replace:")
        lines += [
            f"  {name} ansible_host={about['ansible_host']} kubernetes_node_hostname={name}"
            for name, about in changes["add"].items()
        ]
    if changes["remove"]:
        lines.append(f"Remove these hosts from your inventory: {', '.join(changes['remove'])}")
    return lines


def plan_table(plans: t.Mapping[str, t.Mapping[str, t.Any]], problems: t.Mapping[str, str]) -> list[str]:
    """Return the lines of a table with the nodes to replace, which is printed before the first node is replaced.

    Args:
        plans: maps each host to its plan, which is empty if the host failed before the plan was made.
        problems: maps each host that cannot be replaced to the reason.
    """
    rows = [
        (host, str(plan["new"]), "yes" if plan["begun"] else "no", problems.get(host, "").partition("\n")[0])
        for host, plan in plans.items()
        if plan.get("status") == "replace"
    ]
    return text_table([_PLAN, *rows]) if rows else ["No node to replace was found; nothing is replaced."]


def table(nodes: t.Mapping[str, t.Mapping[str, t.Any]], width: int = 200) -> list[str]:
    """Return the lines of a table with a row for each node.

    Args:
        nodes: maps each host to its entry in replace.json.
        width: maximum line width; the last column, the message, is shortened.
    """
    return text_table([_HEADER, *(_row(host, entry) for host, entry in nodes.items())], width=width, widest=_WIDEST)


def _row(host: str, entry: t.Mapping[str, t.Any]) -> tuple[str, ...]:
    message = str(entry["message"]).partition("\n")[0].rstrip()
    cells = tuple(str(entry[name]) for name in ("new", "address", "old"))
    return (host, *cells, rollout.minutes_cell(entry), rollout.status_cell(entry), message)
