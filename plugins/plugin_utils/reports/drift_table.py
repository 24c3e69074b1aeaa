# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Show the result of a drift check as a table (no I/O)."""

from __future__ import annotations

import re
import typing as t

from ..values.text_table import shorten, text_table

_ALIKE = 3
"""Minimum number of similar differences that share a row."""
_LAST = re.compile(r"[\\/ ][^\\/ ]+$")
"""Matches the last separator in a resource's name and the text after it, such as the name of a file in a folder."""
_WIDEST = 70
NOT_JOINED = "Settings from the cluster were not compared: set kubeconfig, or KUBECONFIG in the environment."
NORMAL = "Differences are normal before site.yml has run. Exit status 2: something differs or could not be compared."

_Row = tuple[str, ...]


def table(nodes: t.Mapping[str, t.Mapping[str, t.Any]], width: int = 150, *, join_compared: bool = True) -> list[str]:
    """Return the lines of a table of differences. Similar differences of a node share a row.

    A node without differences has a row with its status.

    Args:
        nodes: maps each node to its entry of plan.json.
        width: maximum line width; the last column is shortened, but keeps at least 60 characters.
        join_compared: whether the settings from the cluster were compared. If not, a line below the table says so.
    """
    all_rows = [row for name, entry in nodes.items() for row in _rows(name, entry)]
    rows = [("NODE", "STATUS", "RESOURCE", "DISRUPTS", "WHAT DIFFERS"), *all_rows]
    if not any(row[3] for row in all_rows):
        rows = [(*row[:3], *row[4:]) for row in rows]
    full = [row[2] for row in rows]
    short = [shorten(text, _WIDEST) for text in full]
    # Names that differ only in the middle are shown in full.
    short = [text if short.count(text) == full.count(whole) else whole for text, whole in zip(short, full, strict=True)]
    rows = [(*row[:2], text, *row[3:]) for row, text in zip(rows, short, strict=True)]
    widest = (_WIDEST,) * (len(rows[0]) - 1)
    return [*text_table(rows, width=width, widest=widest, overflow=True), *_footer(nodes, join_compared)]


def _footer(nodes: t.Mapping[str, t.Mapping[str, t.Any]], join_compared: bool) -> list[str]:
    lines = [] if join_compared else [NOT_JOINED]
    if any(entry["status"] == "drift" for entry in nodes.values()):
        lines.append(NORMAL)
    return ["", *lines] if lines else []


def _rows(name: str, entry: t.Mapping[str, t.Any]) -> list[_Row]:
    if entry["status"] != "drift":
        return [(name, entry["status"], "", "", " ".join((entry.get("message") or "").split()))]
    if not entry["drift"]:
        return [(name, "drift", "", "", "")]
    groups: dict[tuple[str, ...], list[str]] = {}
    for item in entry["drift"]:
        pods = str(item.get("disruption") or "pods") if item.get("disrupts") else ""
        key = (item["type"], _LAST.sub("", item["name"]), pods, item["why"])
        groups.setdefault(key, []).append(item["name"])
    rows: list[_Row] = []
    for (kind, parent, pods, why), names in groups.items():
        if len(names) < _ALIKE:
            rows += [(name, "drift", f"{kind} {one}", pods, why) for one in names]
        else:
            separator = names[0][len(parent) : len(parent) + 1]
            rows.append((name, "drift", f"{len(names)} × {kind} {parent}{separator}*", pods, why))
    return rows
