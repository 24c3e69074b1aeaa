# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Show the diagnoses of all hosts as a table, a JSON document and an HTML page."""

from __future__ import annotations

import typing as t

import jinja2

from ..diagnosis.cluster_view import ClusterView, state_of
from ..values.text_table import text_table
from ..values.versions import DATA

SCHEMA_VERSION = 1
HEAD = ("HOST", "NODE", "IN THE CLUSTER", "CAUSE", "EVIDENCE")
_WIDEST = (24, 24, 18, 50)
_EFFECTS: t.Mapping[str, tuple[str, str]] = {
    "not_ready": ("the node is not Ready", "bad"),
    "pods": ("pods fail", "bad"),
    "risk": ("may disrupt pods", "warm"),
}
"""Maps each effect that a cause can have to its description and to its style on the HTML page."""
_NAMED = 8
"""Maximum number of hosts that are named for a cause; any further hosts are only counted."""
_NOT_DIAGNOSED = "not diagnosed"

Entry = t.Mapping[str, t.Any]


def entry(host: str, result: Entry | None, view: ClusterView, names: t.Iterable[str]) -> dict[str, t.Any]:
    """Return one host's entry of the JSON document.

    Args:
        host: the host.
        result: the registered result of node_diagnosis; None if the host was not diagnosed.
        view: what the cluster reports about its nodes. This is used only for a host that was not diagnosed.
        names: names that the host's node may have.
    """
    known = result or {}
    diagnosis = known.get("diagnosis")
    if diagnosis is not None:
        return {"result": "causes" if diagnosis["causes"] else "healthy", **diagnosis}
    message = " ".join(str(known.get("msg") or "an earlier step failed; see the run's output").split())
    for prefix in ("Task failed: ", "Action failed: ", f"{host}: "):
        message = message.removeprefix(prefix)
    failure = {"result": "unreachable" if known.get("unreachable") else "error", "message": message}
    name = next((one for one in names if view.node(one) is not None), "")
    return {**failure, **({"node_name": name, **state_of(view, name)} if name else {})}


def table(hosts: t.Mapping[str, Entry], *, width: int = 170) -> list[str]:
    """Return the lines of a table with a row for each cause of a host's problems, or one row for a host without causes.

    Args:
        hosts: maps each host to its entry of the JSON document.
        width: maximum line width; the last column is shortened, but keeps at least 60 characters.
    """
    rows = [row for host, one in hosts.items() for row in _rows(host, one)]
    return text_table([HEAD, *rows], width=width, widest=_WIDEST)


def fixes(hosts: t.Mapping[str, Entry]) -> list[str]:
    """Return a line for each cause that does not merely follow from another: its title, affected hosts and fix."""
    lines = []
    for cause in shared(hosts):
        names = cause["hosts"]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        lines.append(f"- {cause['title']} ({', '.join(names[:_NAMED])}{more}): {cause['fix']}")
    return lines


def shared(hosts: t.Mapping[str, Entry]) -> list[dict[str, t.Any]]:
    """Return each cause once, with the hosts that have it. Causes that only follow from another one are left out."""
    causes: dict[str, dict[str, t.Any]] = {}
    for host, one in hosts.items():
        for cause in one.get("causes") or ():
            if not cause["consequence_of"]:
                first = {name: cause[name] for name in ("cause", "title", "effect", "explanation", "fix", "source")}
                causes.setdefault(cause["cause"], {**first, "hosts": []})["hosts"].append(host)
    return list(causes.values())


def counts(hosts: t.Mapping[str, Entry]) -> dict[str, int]:
    """Return the number of hosts by result."""
    each = [one["result"] for one in hosts.values()]
    return {
        "healthy": each.count("healthy"),
        "causes": each.count("causes"),
        "not_diagnosed": each.count("error") + each.count("unreachable"),
    }


def total(hosts: t.Mapping[str, Entry]) -> str:
    """Return the summary of the diagnoses, which is printed below the table."""
    number = counts(hosts)
    nodes = f"{len(hosts)} node{'' if len(hosts) == 1 else 's'}"
    return (
        f"{nodes}: {number['healthy']} without a cause, {number['causes']} with causes, "
        f"{number['not_diagnosed']} {_NOT_DIAGNOSED}"
    )


def cluster_problem(hosts: t.Mapping[str, Entry]) -> str:
    """Return the reason why the cluster was not queried or did not answer.

    The string is empty if the cluster answered, or if the hosts' entries do not contain the reason.
    """
    unknown = [one["status_detail"] for one in hosts.values() if one.get("status") == "not asked"]
    return unknown[0] if unknown else ""


def document(hosts: t.Mapping[str, Entry], *, time: str) -> dict[str, t.Any]:
    """Return the JSON document with the diagnoses of all hosts.

    Args:
        hosts: maps each host to its entry of the document.
        time: the time of writing, in ISO 8601 format.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "time": time,
        "cluster_problem": cluster_problem(hosts),
        "counts": counts(hosts),
        "hosts": dict(hosts),
    }


def page(hosts: t.Mapping[str, Entry], *, written: str) -> str:
    """Return a self-contained HTML page with the diagnoses of all hosts.

    Args:
        hosts: maps each host to its entry of the JSON document.
        written: the time of writing, as text.
    """
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(DATA), autoescape=True)
    order = ("causes", "error", "unreachable", "healthy")
    return environment.get_template("doctor.html.j2").render(
        title="Node doctor",
        written=written,
        counts=counts(hosts),
        cluster_problem=cluster_problem(hosts),
        causes=shared(hosts),
        effects=_EFFECTS,
        hosts=sorted(hosts.items(), key=lambda pair: order.index(pair[1]["result"])),
    )


def problem(one: Entry) -> str:
    """Return why the node doctor's playbook fails for a host, or an empty string if it does not fail.

    Args:
        one: the host's entry.
    """
    if one["result"] in ("error", "unreachable"):
        return f"{_NOT_DIAGNOSED}: {one['message']}"
    if not one["causes"]:
        return ""
    first = one["causes"][0]
    evidence = f" ({'; '.join(first['evidence'])})" if first["evidence"] else ""
    more = len(one["causes"]) - 1
    others = f", and {more} more" if more else ""
    return f"{first['title']}{evidence}{others}. {first['fix']}"


def _rows(host: str, one: Entry) -> list[tuple[str, ...]]:
    if one["result"] in ("error", "unreachable"):
        return [(host, one.get("node_name", ""), one.get("status", ""), _NOT_DIAGNOSED, one["message"])]
    status = "unknown" if one["status"] == "not asked" else one["status"]
    if not one["causes"]:
        return [(host, one["node_name"], status, "", "no cause found")]
    return [
        (
            host if number == 0 else "",
            one["node_name"] if number == 0 else "",
            status if number == 0 else "",
            f"{'  ' if cause['consequence_of'] else ''}{cause['title']}",
            "; ".join(cause["evidence"]),
        )
        for number, cause in enumerate(one["causes"])
    ]
