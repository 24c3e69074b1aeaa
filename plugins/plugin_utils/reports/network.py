# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Show the results of a check of the pod network as a table, a JSON document and an HTML page."""

from __future__ import annotations

import typing as t

import jinja2

from ..values.text_table import text_table
from ..values.versions import DATA

SCHEMA_VERSION = 1
HEAD = ("CHECK", "FROM", "TO", "STATUS", "DETAIL")
TITLES: t.Mapping[str, str] = {
    "pod_to_pod": "pod to pod",
    "service_ip": "service by IP",
    "service_dns": "service by name",
    "node_port": "NodePort",
    "outbound": "outbound",
    "network_policy": "network policy",
}
_STATUSES: t.Mapping[str, tuple[str, str]] = {
    "failed": ("failed", "bad"),
    "not_run": ("not run", "warm"),
    "passed": ("passed", "good"),
    "not_applicable": ("not applicable", "soft"),
}
"""Maps each status to its description and to its style on the HTML page. Rows are sorted by status in this order."""
_WIDEST = (15, 36, 36, 14)
_REASONS = 5
"""Maximum number of reasons for `not run` that are listed below the table. Further reasons are only counted."""

Entry = t.Mapping[str, t.Any]


def ordered(results: t.Iterable[Entry]) -> list[Entry]:
    """Return the results, sorted by status (failures first), check and node."""
    kinds, statuses = list(TITLES), list(_STATUSES)
    return sorted(
        results,
        key=lambda one: (statuses.index(one["status"]), kinds.index(one["check"]), one["from"], one["to"]),
    )


def counts(results: t.Iterable[Entry]) -> dict[str, int]:
    """Return the number of results by status."""
    each = [one["status"] for one in results]
    return {status: each.count(status) for status in _STATUSES}


def table(results: t.Iterable[Entry], *, summary: bool = False, width: int = 170) -> list[str]:
    """Return the lines of a table with a row for each result.

    Args:
        results: the value `results` in the result of network_check.
        summary: whether passed results with the same check and operating systems share one row, which shows the
            number of connections.
        width: maximum line width; the last column is shortened, but keeps at least 60 characters.
    """
    rows = _summary_rows(ordered(results)) if summary else [_row(one) for one in ordered(results)]
    return text_table([HEAD, *rows], width=width, widest=_WIDEST)


def totals(result: Entry) -> list[str]:
    """Return the lines below the table: the number of checks with each status, and why checks did not run.

    Args:
        result: the result of network_check.
    """
    results = result["results"]
    numbers = ", ".join(f"{count} {_STATUSES[status][0]}" for status, count in counts(results).items())
    windows, every = result["windows_nodes"], result["windows_nodes_total"]
    nodes = f"{windows} of {_counted(every, 'Windows node')} and {_counted(result['linux_nodes'], 'Linux node')}"
    lines = [f"{_counted(len(results), 'check')} on {nodes}: {numbers}"]
    reasons: dict[str, int] = {}
    for one in results:
        if one["status"] == "not_run":
            reasons[one["detail"]] = reasons.get(one["detail"], 0) + 1
    frequent = sorted(reasons.items(), key=lambda pair: -pair[1])
    lines += [f"not run ({count}): {reason}" for reason, count in frequent[:_REASONS]]
    if len(frequent) > _REASONS:
        lines.append(f"not run: {len(frequent) - _REASONS} more reasons in the report")
    return lines


def problem(result: Entry, *, allow_not_run: bool) -> str:
    """Return why the network check fails, or an empty string if it passes.

    Args:
        result: the result of network_check.
        allow_not_run: whether checks that did not run are accepted.
    """
    number = counts(result["results"])
    problems = []
    if number["failed"]:
        problems.append(f"{_counted(number['failed'], 'check')} failed")
    if number["not_run"] and not allow_not_run:
        problems.append(f"{_counted(number['not_run'], 'check')} did not run")
    if not number["passed"] and not problems:
        problems.append("no check passed")
    if not result["removed"]:
        name = result["namespace"]
        problems.append(f"the namespace {name} still exists; delete it with `kubectl delete namespace {name}`")
    return "; ".join(problems)


def document(result: Entry, *, time: str, allow_not_run: bool) -> dict[str, t.Any]:
    """Return the JSON document with the results of the network check.

    Args:
        result: the result of network_check.
        time: the time of writing, in ISO 8601 format.
        allow_not_run: whether checks that did not run are accepted.
    """
    names = ("namespace", "removed", "interrupted", "windows_nodes", "windows_nodes_total", "linux_nodes")
    why = problem(result, allow_not_run=allow_not_run)
    return {
        "schema_version": SCHEMA_VERSION,
        "time": time,
        "ok": not why,
        "problem": why,
        "counts": counts(result["results"]),
        **{name: result[name] for name in names},
        "results": ordered(result["results"]),
    }


def page(result: Entry, *, written: str, allow_not_run: bool) -> str:
    """Return a self-contained HTML page with the results of the network check.

    Args:
        result: the result of network_check.
        written: the time of writing, as text.
        allow_not_run: whether checks that did not run are accepted.
    """
    results = ordered(result["results"])
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(DATA), autoescape=True)
    number = counts(results)
    return environment.get_template("network.html.j2").render(
        title="Pod network",
        written=written,
        result=result,
        problem=problem(result, allow_not_run=allow_not_run),
        counts=[(_STATUSES[status], count) for status, count in number.items()],
        matrix=_matrix(results),
        statuses=_STATUSES,
        titles=TITLES,
        groups=[(status, [one for one in results if one["status"] == status]) for status in _STATUSES],
    )


def _row(one: Entry) -> tuple[str, ...]:
    return (TITLES[one["check"]], one["from"], one["to"], _STATUSES[one["status"]][0], _detail(one))


def _detail(one: Entry) -> str:
    """Return the reason for a check's status, with the address to which the pod connected."""
    parts = [one["detail"]]
    if one["answered_by"]:
        parts.append(f"service of a pod on {one['answered_by']}")
    if one["attempts"] > 1 and one["status"] != "not_run":
        parts.append(f"{one['attempts']} attempts")
    text = "; ".join(filter(None, parts))
    return f"{one['address']}  {text}".strip() if one["address"] else text


def _summary_rows(results: t.Sequence[Entry]) -> list[tuple[str, ...]]:
    rows, groups = [], dict[tuple[str, str, str], int]()
    for one in results:
        if one["status"] == "passed":
            key = (one["check"], one["from_os"] or one["from"], one["to_os"] or one["to"])
            groups[key] = groups.get(key, 0) + 1
        else:
            rows.append(_row(one))
    passed = _STATUSES["passed"][0]
    return [
        *rows,
        *((TITLES[kind], source, target, passed, f"{count}") for (kind, source, target), count in groups.items()),
    ]


def _matrix(results: t.Sequence[Entry]) -> list[dict[str, t.Any]]:
    """Return a row for each check and pair of operating systems, with the number of results for each status."""
    lines: dict[tuple[str, str, str], dict[str, int]] = {}
    for one in results:
        outside = "outside" if one["check"] == "outbound" else "any"
        key = (one["check"], one["from_os"] or one["from"] or "any", one["to_os"] or outside)
        numbers = lines.setdefault(key, dict.fromkeys(_STATUSES, 0))
        numbers[one["status"]] += 1
    kinds = list(TITLES)
    return [
        {"title": TITLES[kind], "from": source, "to": target, "numbers": numbers}
        for (kind, source, target), numbers in sorted(
            lines.items(), key=lambda pair: (kinds.index(pair[0][0]), pair[0])
        )
    ]


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
