# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""List each finding of cluster_check about the Linux side of a cluster once, with the affected hosts (no I/O)."""

from __future__ import annotations

import typing as t

from ..values.text_table import text_table

FIELDS = ("outcome", "finding", "object", "value", "expected", "fix")
TITLE = "Findings on the Linux side of the cluster:"
_WHAT = {"refused": "runs are refused", "changed": "runs change it", "reported": "runs do not change it"}


def shared(results: t.Mapping[str, t.Mapping[str, t.Any] | None]) -> list[dict[str, t.Any]]:
    """Return each finding of all hosts once, in the order in which they were found.

    Args:
        results: maps each host to its result of cluster_check, or to None if the host was not compared.

    Returns:
        The fields of each finding, and the `hosts` that have it.
    """
    hosts: dict[tuple[str, ...], list[str]] = {}
    for host, result in results.items():
        for one in (result or {}).get("findings") or ():
            key = tuple(str(one[field]) for field in FIELDS)
            if host not in hosts.setdefault(key, []):
                hosts[key].append(host)
    return [{**dict(zip(FIELDS, key, strict=True)), "hosts": names} for key, names in hosts.items()]


def table(findings: t.Sequence[t.Mapping[str, t.Any]], total: int) -> list[str]:
    """Return the lines of a table of findings, or an empty list if there are no findings.

    The last column is never shortened, because it contains commands to copy.

    Args:
        findings: the result of `shared`.
        total: number of hosts in the play. The HOSTS column is left out if every finding concerns all hosts.
    """
    if not findings:
        return []
    names_hosts = any(len(one["hosts"]) < total for one in findings)
    header = ("OUTCOME", "FINDING", "OBJECT", "VALUE", "EXPECTED", "FIX")
    rows: list[tuple[str, ...]] = [("HOSTS", *header) if names_hosts else header]
    for one in findings:
        row = (_WHAT[one["outcome"]], *(str(one[field]) for field in FIELDS[1:]))
        rows.append((",".join(one["hosts"]), *row) if names_hosts else row)
    return [TITLE, *text_table(rows)]
