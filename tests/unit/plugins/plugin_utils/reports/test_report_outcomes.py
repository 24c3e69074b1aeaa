# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tables and summaries of many hosts, line by line."""

from __future__ import annotations

import typing as t
from pathlib import Path

from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.reports import (
    drift,
    drift_table,
    files,
    hns,
    problems,
    run,
)


def change(name: str, kind: str = "File", why: str = "differs", **more: object) -> dict[str, t.Any]:
    return {"type": kind, "name": name, "action": "update", "why": why, "seconds": 1, **more}


LONG = "C:\\" + "\\".join(["folder"] * 14)
RESULTS: dict[str, t.Any] = {
    "in sync": {"changed": False},
    "changed, and nothing named": {"changed": True},
    "named, and not changed": {"changed": False, "changes": [change("C:\\a")]},
    "two alike": {"changed": True, "changes": [change("C:\\k\\a"), change("C:\\k\\b")]},
    "three alike": {"changed": True, "changes": [change(f"C:\\k\\{name}") for name in "abc"]},
    "three for other reasons": {"changed": True, "changes": [change(f"C:\\k\\{name}", why=name) for name in "abc"]},
    "three URLs": {"changed": True, "changes": [change(f"/k/{name}", "X") for name in "abc"]},
    "three words": {"changed": True, "changes": [change(f"k {name}", "X") for name in "abc"]},
    "disrupts pods": {"changed": True, "changes": [change("a", disrupts=True)]},
    "disrupts a service": {"changed": True, "changes": [change("a", disrupts=True, disruption="restarts hns")]},
    "disrupts nothing": {"changed": True, "changes": [change("a", disrupts=False, disruption="restarts hns")]},
    "long names": {"changed": True, "changes": [change(f"{LONG}\\{number}\\x.txt") for number in range(2)]},
    "names that differ in the middle": {
        "changed": True,
        "changes": [change(f"C:\\{'a' * 40}{number}{'b' * 60}") for number in range(2)],
    },
    "a long reason": {"changed": True, "changes": [change("a", why="why " * 50)]},
    "failed": {"failed": True, "msg": "first line\n  second line"},
    "unreachable": {"unreachable": True, "changed": True},
}


def test_tables_of_drift() -> None:
    found: dict[str, object] = {}
    for name, result in RESULTS.items():
        nodes = {"node": drift.node_entry(result)}
        found[name] = drift_table.table(nodes)
    every = {f"node{number}": drift.node_entry(result) for number, result in enumerate(RESULTS.values())}
    found["all"] = drift_table.table(every)
    found["narrow"] = drift_table.table(every, 80)
    found["not joined"] = drift_table.table({"a": {"status": "in_sync"}}, join_compared=False)
    found["counts"] = drift.counts(every)
    for before in ([{"problems": ["p"]}], [{"problems": ["p", "q"]}], [{"failed": True}], [None, {"failed": False}]):
        found[f"before: {before}"] = drift.node_entry(None, before)
    outcomes.check("reports/drift", found)


def test_problems_of_many_hosts() -> None:
    found: dict[str, object] = {}
    for count in (1, 2, 3, 8, 9, 10):
        for affected in sorted({1, count - 1, count} - {0}):
            hosts = {f"h{number}": ["p", "p"] if number < affected else [] for number in range(count)}
            found[f"{affected} of {count}"] = [*problems.lines(hosts), problems.summary(hosts)]
    two = {"a": ["p", "q"], "b": ["q", "r"], "c": []}
    found["several"] = [*problems.lines(two), problems.summary(two)]
    outcomes.check("reports/problems", found)


def row(*cells: str) -> hns.Row:
    return t.cast("hns.Row", cells + ("",) * (7 - len(cells)))


def test_the_table_of_hns_cuts_what_is_too_wide() -> None:
    wide = row("n" * 30, "k" * 12, "m" * 40, "a" * 30, "w" * 20, "s" * 13, "o" * 99)
    found: dict[str, object] = {
        "narrow": hns.table([row("a", "endpoint", "b")]),
        "wide": hns.table([wide, row("a")]),
        "at 100": hns.table([wide], 100),
        "nobody": hns.totals({}),
        "eight": hns.totals({f"h{number}": None for number in range(8)}),
        "nine": hns.totals({f"h{number}": None for number in range(9)}),
        "a failure": hns.rows("h", None, message="Task failed: Action failed: h: look:\n  no route"),
    }
    outcomes.check("reports/hns", found)


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    files.write_json(path, {"a": ["é"]})
    assert path.read_text(encoding="utf-8") == '{\n  "a": [\n    "\\u00e9"\n  ]\n}\n'
    files.write_text(path, "é")
    assert path.read_bytes() == "é".encode()
    assert [one.name for one in path.parent.iterdir()] == ["b.json"]


def task(**more: t.Any) -> run.Task:
    usual = {"name": "t", "status": "ok", "seconds": 1.26, "changed": False, "remote_commands": 0, "rebooted": False}
    return run.Task(**{**usual, "message": "", "changes": [], **more})


def test_the_summary_of_a_run() -> None:
    changes = [{"type": "File", "name": "a", "action": "create", "why": "w"}] * 2
    nodes = {
        "b": [task(), task(changed=True), task(changed=True, changes=changes), task(remote_commands=2)],
        "a": [task(status="failed", message="m"), task(status="ignored"), task(status="unreachable", rebooted=True)],
        "c": [],
    }
    one = run.Run(playbook="site.yml", seconds=3.5, nodes=nodes)
    assert run.Run.from_document(one.to_document()) == one
    outcomes.check("reports/run", {row["node"]: row for row in one.summary()})
