# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Show the objects of the Host Networking Service (HNS) on all hosts as one table (no I/O)."""

from __future__ import annotations

import re
import typing as t

from ..hns.facts.node_facts import NO_HNS
from ..values.text_table import text_table

HEAD = ("NODE", "KIND", "NAME", "ADDRESS", "NETWORK", "STATE", "OWNER OR DETAIL")
_WIDEST = (24, 11, 36, 26, 16, 12)
"""Maximum width of each column except the last, which is limited by the table's width."""
_KINDS = {"endpoints": "endpoints", "policy_lists": "policy lists", "namespaces": "namespaces"}
_ORDER = {"stale": 0, "stopped": 1, "unknown": 2, "in use": 3, "host": 4, "remote": 5}
_UNNAMED = re.compile(r"containerd has namespaces that were not queried: ")

Row = tuple[str, str, str, str, str, str, str]


def rows(node: str, facts: t.Mapping[str, t.Any] | None, *, message: str = "", summary: bool = False) -> list[Row]:
    """Return the table rows of one host.

    Args:
        node: name of the host.
        facts: the value `hns` in the result of hns_info; None if hns_info failed.
        message: why hns_info failed.
        summary: whether to return a row for each combination of kind, network and state instead of for each object.
    """
    if facts is None:
        return [(node, "", "", "", "", "error", _reason(node, message))]
    table_rows: list[Row] = []
    if not facts["answers"]:
        state = "none" if facts["problem"] == NO_HNS else "no answer"
        table_rows.append((node, "hns", "", "", "", state, facts["problem"]))
    if facts["interrupted_cleanup"]:
        table_rows.append((node, "cleanup", "", "", "", "interrupted", "the next hns_cleanup repairs what it left"))
    runtime = facts["runtime"]
    asked = "asked" if runtime["asked"] else "in doubt"
    why = _UNNAMED.sub("namespaces not listed: ", runtime["problem"])
    table_rows.append((node, "runtime", ", ".join(runtime["names"]), "", "", asked, why))
    table_rows += [
        (node, "service", item["name"], "", "", item["status"].lower(), item["start_mode"])
        for item in facts["services"]
    ]
    table_rows += [
        (
            node,
            "network",
            item["name"],
            ", ".join(item["subnets"]),
            item["type"],
            "external" if item["external"] else "",
            "from a CNI" if item["from_cni"] else "not from a CNI",
        )
        for item in facts["networks"]
    ]
    objects = _summary(node, facts) if summary else _objects(node, facts)
    table_rows += objects
    pools = facts["port_pools"]
    if pools:
        table_rows.append((node, "ports", f"{len(pools)} reserved", ", ".join(pools), "", "", ""))
    table_rows += [(node, "file", "", "", "", "", path) for path in facts["state_files"]]
    table_rows += [
        (node, "static", item["alias"], ", ".join(f"{one}/{length}" for one, length in item["addresses"]), "", "", "")
        for item in facts["static_uplinks"]
    ]
    return table_rows


def _reason(node: str, message: str) -> str:
    """Return the reason for a failure, without the words that the table already shows."""
    text = " ".join(message.split())
    for known in ("Task failed: ", "Action failed: ", f"{node}: "):
        text = text.removeprefix(known)
    return text


def _objects(node: str, facts: t.Mapping[str, t.Any]) -> list[Row]:
    """Return a row for each endpoint, policy list and namespace, with the stale objects of each kind first."""
    object_rows: list[Row] = [
        (node, "endpoint", _short(item["name"]), item["address"], item["network"], item["state"], _owner(item))
        for item in facts["endpoints"]
    ]
    addresses = {item["id"]: item["address"] for item in facts["endpoints"]}
    object_rows += [
        (
            node,
            "policy list",
            item["name"] or item["id"],
            ", ".join(addresses.get(one, "gone") for one in item["endpoints"]),
            "",
            item["state"],
            "",
        )
        for item in facts["policy_lists"]
    ]
    object_rows += [
        (node, "namespace", item["id"], "", "", item["state"], _owner(item)) for item in facts["namespaces"]
    ]
    kinds = ("endpoint", "policy list", "namespace")
    return sorted(object_rows, key=lambda row: (kinds.index(row[1]), _ORDER.get(row[5], 9), row[4], row[2]))


def _summary(node: str, facts: t.Mapping[str, t.Any]) -> list[Row]:
    counts: dict[tuple[str, str, str], int] = {}
    for kind, name in (("endpoint", "endpoints"), ("policy list", "policy_lists"), ("namespace", "namespaces")):
        for item in facts[name]:
            key = (kind, item.get("network", ""), item["state"])
            counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts.items(), key=lambda pair: (pair[0][0], pair[0][1], _ORDER.get(pair[0][2], 9)))
    return [
        (node, kind, _counted(count, f"{kind}s"), "", network, state, "") for (kind, network, state), count in ordered
    ]


def _short(name: str) -> str:
    """Return the name of an endpoint with its container ID shortened to the usual length."""
    head, sign, tail = name.partition("_")
    return f"{head[:12]}{sign}{tail}" if len(head) == 64 else name


def _owner(item: t.Mapping[str, t.Any]) -> str:
    owner = str(item["owner"])
    if item.get("note"):
        return str(item["note"])
    return f"{owner[:12]}, which is gone" if item["state"] == "stale" and owner else owner


def table(all_rows: t.Sequence[Row], width: int = 170) -> list[str]:
    """Return the lines of the table of HNS objects.

    Args:
        all_rows: the rows of all hosts.
        width: maximum line width; the last column is shortened, but keeps at least 60 characters.
    """
    return text_table([HEAD, *all_rows], width=width, widest=_WIDEST)


_NAMES = 8
"""Maximum number of nodes that the line below the table names for each reason. Further nodes are only counted."""


def totals(nodes: t.Mapping[str, t.Mapping[str, t.Any] | None]) -> str:
    """Return the line below the table: the numbers of nodes and stale objects, and the nodes that need attention.

    Args:
        nodes: maps each host to the value `hns` in its result of hns_info, or to None if hns_info failed.
    """
    groups: dict[str, list[str]] = {}
    objects: dict[str, int] = {}
    for node, facts in nodes.items():
        if facts is None:
            groups.setdefault("failed", []).append(node)
            continue
        if not facts["answers"]:
            groups.setdefault("without HNS" if facts["problem"] == NO_HNS else "HNS does not answer", []).append(node)
        elif not facts["runtime"]["asked"]:
            groups.setdefault("runtime in doubt", []).append(node)
        stale = {kind: sum(1 for item in facts[kind] if item["state"] == "stale") for kind in _KINDS}
        if any(stale.values()):
            groups.setdefault("with stale objects", []).append(node)
        objects = {kind: objects.get(kind, 0) + count for kind, count in stale.items()}
    stale_counts = ", ".join(_counted(count, _KINDS[kind]) for kind, count in objects.items() if count)
    parts = [_counted(len(nodes), "nodes"), f"stale: {stale_counts or 'nothing'}"]
    for name in ("with stale objects", "HNS does not answer", "runtime in doubt", "without HNS", "failed"):
        if hosts := groups.get(name):
            more = f" and {len(hosts) - _NAMES} more" if len(hosts) > _NAMES else ""
            parts.append(f"{name}: {', '.join(hosts[:_NAMES])}{more}")
    return "; ".join(parts)


def _counted(count: int, things: str) -> str:
    return f"{count} {things[:-1] if count == 1 else things}"


def counts(nodes: t.Mapping[str, t.Mapping[str, t.Any] | None]) -> dict[str, int]:
    """Return the numbers of hosts whose HNS responded, hosts on which hns_info failed, and stale objects."""
    known = [facts for facts in nodes.values() if facts is not None]
    objects = [item for facts in known for name in ("endpoints", "policy_lists", "namespaces") for item in facts[name]]
    return {
        "answered": sum(1 for facts in known if facts["answers"]),
        "errors": len(nodes) - len(known),
        "stale": sum(1 for item in objects if item["state"] == "stale"),
    }
