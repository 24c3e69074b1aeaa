# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Show the result of a patch rollout as a table, and as a JSON document for monitoring systems (no I/O)."""

from __future__ import annotations

import collections
import typing as t

from ..values.text_table import text_table
from . import rollout

STATUSES = ("patched", "to_patch", "up_to_date", "failed", "not_started")
_HEADER = ("NODE", "OS BUILD", "PATCHES", "REBOOTS", "MINUTES", "STATUS", "")
_NOT_WELL = ("failed", "not_offered", "not_applicable", "needs_reboot")
"""Statuses of a patch that make patch_install fail. `needs_reboot` has this effect only if reboots were allowed."""
_WIDEST = (60,) * (len(_HEADER) - 1)
"""Maximum width of each column except the last, in characters."""


def node_entry(
    notes: t.Mapping[str, t.Any] | None, result: t.Mapping[str, t.Any] | None, *, check_mode: bool = False
) -> dict[str, t.Any]:
    """Return one node's entry in patch.json.

    Args:
        notes: the record that the node_maintenance role keeps (`node_maintenance_state`), or None if the host failed
            before patch_install ran in check mode. The field `found` contains the result in check mode.
        result: the last result of patch_install. If the host's turn never came, this is the result in check mode.
        check_mode: whether the run only checked, and installed nothing.
    """
    notes = notes or {}
    checked = notes.get("found") or {}
    result = result or checked
    before = str(checked.get("os_build_before") or result.get("os_build_before") or "")
    status, message = _status(notes, result)
    if check_mode and status == "not_started":
        status = "to_patch"
    return {
        "node": str(notes.get("node") or ""),
        "status": status,
        "message": message,
        "os_build_before": before,
        "os_build_after": str(result.get("os_build_after") or before),
        "patches": [
            {key: str(patch.get(key) or "") for key in ("name", "status", "message")}
            for patch in result.get("patches") or checked.get("patches") or ()
        ],
        "reboots": int(result.get("reboots") or 0),
        "minutes": rollout.minutes(notes),
        "cordoned": bool(notes.get("cordoned")),
    }


def _status(notes: t.Mapping[str, t.Any], result: t.Mapping[str, t.Any]) -> tuple[str, str]:
    """Return a node's status in the rollout, and a message if the node failed."""
    stage = notes.get("stage")
    if stage == "done":
        return ("patched" if result.get("changed") else "up_to_date"), ""
    if stage == "waiting":
        waits = notes.get("work") or notes.get("ours")
        return ("not_started", "") if waits else ("up_to_date", "")
    return "failed", str(notes.get("message") or "an earlier step failed; see the run's output")


def table(nodes: t.Mapping[str, t.Mapping[str, t.Any]], width: int = 200) -> list[str]:
    """Return the lines of a table with a row for each node.

    Args:
        nodes: maps each host to its entry in patch.json.
        width: maximum line width; the last column, the message, is shortened.
    """
    rows = [_HEADER, *(_row(host, entry) for host, entry in nodes.items())]
    return text_table(rows, width=width, widest=_WIDEST)


def _row(host: str, entry: t.Mapping[str, t.Any]) -> tuple[str, ...]:
    build = " -> ".join(dict.fromkeys(filter(None, (entry["os_build_before"], entry["os_build_after"]))))
    number = collections.Counter(patch["status"] for patch in entry["patches"])
    patches = ", ".join(f"{count} {status}" for status, count in sorted(number.items()))
    return (
        host,
        build,
        patches,
        str(entry["reboots"] or ""),
        rollout.minutes_cell(entry),
        rollout.status_cell(entry),
        _why(entry),
    )


def _why(entry: t.Mapping[str, t.Any]) -> str:
    """Return the reason for a node's failure in one line, preferably the message of a patch that failed.

    If the node has not failed, return an empty string.
    """
    if entry["status"] != "failed":
        return ""
    bad = next((patch for patch in entry["patches"] if patch["status"] in _NOT_WELL and patch["message"]), None)
    text = f"{bad['name']}: {bad['message']}" if bad else entry["message"]
    return str(text).partition("\n")[0].rstrip()
