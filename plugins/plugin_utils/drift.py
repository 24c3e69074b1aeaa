# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a drift check found, as a table for people and a document for monitors. Pure.

Private to the collection.
"""

from __future__ import annotations

import typing as t


def node_entry(
    result: t.Mapping[str, t.Any] | None, before: t.Sequence[t.Mapping[str, t.Any] | None] = ()
) -> dict[str, t.Any]:
    """One node's entry of plan.json.

    Args:
        result: what node_state returned in check mode; None where the node never got so far.
        before: results of earlier steps, in order; the first that failed is why it did not.
    """
    if not result:
        failed = next((step for step in before if step and (step.get("failed") or step.get("unreachable"))), {})
        return {"status": "error", "message": str(failed.get("msg") or "an earlier step failed; see the run's output")}
    if result.get("unreachable") or result.get("failed"):
        return {"status": "error", "message": str(result.get("msg") or "unknown")}
    if not result.get("changes") and not result.get("changed"):
        return {"status": "in_sync"}
    drift = [
        {key: change[key] for key in ("type", "name", "action", "why", "disturbs")}
        for change in result.get("changes") or ()
    ]
    return {"status": "drift", "drift": drift}


def table(nodes: t.Mapping[str, t.Mapping[str, t.Any]], width: int = 150) -> list[str]:
    """Lines of a table: a row for each thing that differs, one for a node that does not.

    Args:
        nodes: entries of plan.json by node.
        width: longest line; the last column is cut.
    """
    rows = [("NODE", "STATUS", "DISTURBS", "RESOURCE", "WHAT DIFFERS")]
    for name, entry in nodes.items():
        if entry["status"] == "drift":
            for item in entry["drift"]:
                disturbs = "pods" if item["disturbs"] else ""
                rows.append((name, "drift", disturbs, f"{item['type']} {item['name']}", item["why"]))
        else:
            rows.append((name, entry["status"], "", "", " ".join((entry.get("message") or "").split())))
    widths = [min(max(len(row[column]) for row in rows), 70) for column in range(4)]
    lines = []
    for row in rows:
        cells = [cell[:size].ljust(size) for cell, size in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[4]]).rstrip()[:width])
    return lines
