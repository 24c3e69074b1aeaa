# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Actions that report on all hosts of a play: the complete result, the output, and the files."""

from __future__ import annotations

import datetime
import json
import types
import typing as t
from pathlib import Path

import pytest
from unit.action_run import run, variables_of

from ansible_collections.winkube.node.plugins.action import (
    drift_report,
    hns_report,
    known_tags,
    logs_index,
    network_report,
    patch_report,
    preflight_report,
)
from ansible_collections.winkube.node.plugins.plugin_utils.actions import rollout_report
from ansible_collections.winkube.node.plugins.plugin_utils.logs import page
from ansible_collections.winkube.node.plugins.plugin_utils.reports import rollout
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

NOW = datetime.datetime(2026, 11, 22, 12, 5, 59, tzinfo=datetime.UTC)
CHANGE = {"type": "File", "name": "C:\\a", "action": "update", "why": "content differs"}


class Frozen(datetime.datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
        assert tz is datetime.UTC
        return NOW


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the lines that an action prints."""
    lines: list[str] = []
    for action in (drift_report, hns_report, network_report, preflight_report, rollout_report):
        monkeypatch.setattr(action, "show", lines.append)
    clock = types.SimpleNamespace(datetime=Frozen, UTC=datetime.UTC)
    for action in (drift_report, logs_index, network_report):
        monkeypatch.setattr(action, "datetime", clock)
    return lines


def hosts(name: str, **results: t.Any) -> dict[str, t.Any]:
    """Return the variables of hosts with these results."""
    return variables_of({host: {name: result} for host, result in results.items()})


def test_the_drift_of_all_hosts_is_shown_and_written(shown: list[str], tmp_path: Path) -> None:
    path = tmp_path / "new" / "plan.json"
    steps = {
        "same": {"plan": {"changed": False}},
        "other": {"plan": {"changed": True, "changes": [CHANGE]}},
        "away": {"first": {"failed": True, "msg": "no cluster"}, "second": {"failed": True, "msg": "never told"}},
    }
    options = {"path": str(path), "results_var": "plan", "earlier_vars": ["first", "second"]}
    nodes = {
        "same": {"status": "in_sync"},
        "other": {"status": "drift", "drift": [CHANGE]},
        "away": {"status": "error", "message": "no cluster"},
    }
    expected = {"changed": False, "nodes": nodes, "path": str(path), "in_sync": 1, "drift": 1, "error": 1}
    expected["cluster_findings"] = []
    assert run(drift_report, options, variables_of(steps)) == expected
    assert shown == [
        "NODE   STATUS   RESOURCE   WHAT DIFFERS",
        "same   in_sync",
        "other  drift    File C:\\a  content differs",
        "away   error               no cluster",
        "",
        "Differences are normal before site.yml has run. Exit status 2: something differs or could not be compared.",
    ]
    document = {
        "schema_version": 1,
        "time": "2026-11-22T12:05:59Z",
        "join_compared": True,
        "cluster_findings": [],
        "nodes": nodes,
    }
    assert json.loads(path.read_text(encoding="utf-8")) == document
    assert path.read_text(encoding="utf-8").startswith('{\n  "schema_version": 1,\n')
    assert [one.name for one in path.parent.iterdir()] == ["plan.json"]


def test_a_drift_check_without_a_cluster_reports_it(shown: list[str], tmp_path: Path) -> None:
    options = {"path": str(tmp_path / "plan.json"), "results_var": "plan", "join_compared": False}
    run(drift_report, options, hosts("plan", a={"changed": False}))
    assert shown == [
        "NODE  STATUS   RESOURCE  WHAT DIFFERS",
        "a     in_sync",
        "",
        "Settings from the cluster were not compared: set kubeconfig, or KUBECONFIG in the environment.",
    ]
    assert json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["join_compared"] is False


HNS = {
    "answers": True,
    "problem": "",
    "interrupted_cleanup": False,
    "runtime": {"asked": True, "names": ["containerd"], "problem": ""},
    "services": [{"name": "hns", "status": "Running", "start_mode": "Manual"}],
    "networks": [
        {"name": "cbr0", "subnets": ["10.0.0.0/24"], "type": "L2Bridge", "external": True, "from_cni": True},
        {"name": "nat", "subnets": ["a", "b"], "type": "nat", "external": False, "from_cni": False},
    ],
    "endpoints": [
        {"id": "e1", "name": "x", "address": "10.0.0.5", "network": "cbr0", "state": "stale", "owner": "c" * 64},
        {"id": "e2", "name": "b" * 64 + "_cbr0", "address": "10.0.0.6", "network": "cbr0", "state": "in use",
         "owner": "default/web"},
        {"id": "e3", "name": "h", "address": "10.0.0.2", "network": "cbr0", "state": "remote", "owner": "",
         "note": "a note"},
    ],
    "policy_lists": [
        {"id": "p1", "name": "", "endpoints": ["e1", "gone"], "state": "stale"},
        {"id": "p2", "name": "vip", "endpoints": [], "state": "unknown"},
    ],
    "namespaces": [{"id": "n1", "state": "stopped", "owner": "default/old"}],
    "port_pools": ["50000-50063"],
    "state_files": ["C:\\ProgramData\\state"],
    "static_uplinks": [{"alias": "Ethernet", "addresses": [["192.0.2.1", 24], ["192.0.2.9", 24]]}],
}  # fmt: skip


def test_hns_of_all_hosts_is_one_table(shown: list[str]) -> None:
    failed = {"failed": True, "msg": "Task failed: off: no route"}
    other = {
        **HNS,
        "answers": False,
        "problem": "HNS did not respond to Get-HnsEndpoint",
        "interrupted_cleanup": True,
        "runtime": {"asked": False, "names": [], "problem": "containerd has namespaces that were not queried: team"},
        **{name: [] for name in ("services", "networks", "endpoints", "policy_lists", "namespaces", "port_pools")},
        "state_files": [],
        "static_uplinks": [],
    }
    variables = hosts("found", a={"hns": HNS}, b={"hns": other}, off=failed, x=None)
    found = run(hns_report, {"results_var": "found"}, variables)
    assert [" ".join(line.split()) for line in found["table"]] == [
        "NODE KIND NAME ADDRESS NETWORK STATE OWNER OR DETAIL",
        "a runtime containerd asked",
        "a service hns running Manual",
        "a network cbr0 10.0.0.0/24 L2Bridge external from a CNI",
        "a network nat a, b nat not from a CNI",
        "a endpoint x 10.0.0.5 cbr0 stale cccccccccccc, which is gone",
        "a endpoint bbbbbbbbbbbb_cbr0 10.0.0.6 cbr0 in use default/web",
        "a endpoint h 10.0.0.2 cbr0 remote a note",
        "a policy list p1 10.0.0.5, gone stale",
        "a policy list vip unknown",
        "a namespace n1 stopped default/old",
        "a ports 1 reserved 50000-50063",
        "a file C:\\ProgramData\\state",
        "a static Ethernet 192.0.2.1/24, 192.0.2.9/24",
        "b hns no answer HNS did not respond to Get-HnsEndpoint",
        "b cleanup interrupted the next hns_cleanup repairs what it left",
        "b runtime in doubt namespaces not listed: team",
        "off error no route",
        "x error an earlier step failed; see the run's output",
    ]
    total = "4 nodes; stale: 1 endpoint, 1 policy list; with stale objects: a; HNS does not answer: b; failed: off, x"
    expected = {"changed": False, "table": found["table"], "total": total, "answered": 1, "errors": 2, "stale": 2}
    assert found == expected
    assert shown == [*found["table"], "", total]


def test_a_summary_of_hns_counts_by_kind_network_and_state(shown: list[str]) -> None:
    found = run(hns_report, {"results_var": "found", "summary": True}, hosts("found", a={"hns": HNS}))
    assert [" ".join(line.split()) for line in found["table"]] == [
        "NODE KIND NAME ADDRESS NETWORK STATE OWNER OR DETAIL",
        "a runtime containerd asked",
        "a service hns running Manual",
        "a network cbr0 10.0.0.0/24 L2Bridge external from a CNI",
        "a network nat a, b nat not from a CNI",
        "a endpoint 1 endpoint cbr0 stale",
        "a endpoint 1 endpoint cbr0 in use",
        "a endpoint 1 endpoint cbr0 remote",
        "a namespace 1 namespace stopped",
        "a policy list 1 policy list stale",
        "a policy list 1 policy list unknown",
        "a ports 1 reserved 50000-50063",
        "a file C:\\ProgramData\\state",
        "a static Ethernet 192.0.2.1/24, 192.0.2.9/24",
    ]


LOGS = {
    "whole": {"archive": "/logs/whole.tar.gz", "size": 1, "files": 1},
    "part": {"archive": "/logs/part.tar.gz", "size": 1, "files": 1, "problems": ["one"]},
    "broken": {"failed": True, "msg": "why"},
    "away": {"unreachable": True, "msg": "why"},
    "none": None,
}


@pytest.mark.parametrize("check_mode", [False, True])
def test_the_index_of_logs_has_a_row_for_each_host(shown: list[str], tmp_path: Path, check_mode: bool) -> None:
    directory = tmp_path / "logs"
    options = {"directory": str(directory), "results_var": "logs", "since": "2 days"}
    nodes = [page.entry(host, result, str(directory)) for host, result in LOGS.items()]
    assert run(logs_index, options, hosts("logs", **LOGS), check_mode=check_mode) == {
        "changed": not check_mode,
        "path": str(directory / "index.html"),
        "nodes": nodes,
        "counts": {"complete": 1, "partial": 1, "failed": 1, "unreachable": 1, "skipped": 1},
    }
    assert directory.exists() is not check_mode
    if not check_mode:
        text = (directory / "index.html").read_text(encoding="utf-8")
        assert text == page.page(nodes, written="Collected 2026-11-22 12:05 UTC", since="2 days")


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    options = {"directory": str(tmp_path / "file"), "results_var": "logs"}
    with pytest.raises(ResourceError, match=r"directory: expected a writable folder .*, got '.*/file'"):
        run(logs_index, options, hosts("logs", a=None))


def patched(**more: t.Any) -> dict[str, t.Any]:
    """Return the entry of a node in patch.json."""
    entry = {"node": "n", "status": "patched", "message": "", "os_build_before": "", "os_build_after": ""}
    return {**entry, "patches": [], "reboots": 0, "minutes": 0.0, "cordoned": False, **more}


def test_a_rollout_of_patches_is_shown_and_written(shown: list[str], tmp_path: Path) -> None:
    path = tmp_path / "patch.json"
    variables = variables_of(
        {
            "a": {"notes": {"node": "n", "stage": "done"}, "result": {"changed": True}},
            "b": {"notes": {"node": "n", "stage": "waiting", "work": True}},
            "c": {"notes": {"node": "n", "stage": "drain", "message": "no room"}},
        }
    )
    nodes = {"a": patched(), "b": patched(status="not_started"), "c": patched(status="failed", message="no room")}
    counts = {"patched": 1, "to_patch": 0, "up_to_date": 0, "failed": 1, "not_started": 1}
    options = {"path": str(path), "notes_var": "notes", "results_var": "result"}
    expected = {"changed": False, "nodes": nodes, "path": str(path), "counts": counts}
    assert run(patch_report, options, variables) == expected
    assert json.loads(path.read_text(encoding="utf-8")) == {"nodes": nodes}
    assert [" ".join(line.split()) for line in shown] == [
        "NODE OS BUILD PATCHES REBOOTS MINUTES STATUS",
        "a patched",
        "b not_started",
        "c failed no room",
        "1 patched, 1 failed, 1 not_started",
        rollout.STOPPED,
    ]


@pytest.mark.parametrize(
    ("stages", "check_mode", "summary"),
    [
        (("done", "drain"), False, "1 patched, 1 failed"),
        (("waiting", "waiting"), True, "2 to_patch"),
    ],
)
def test_a_rollout_that_continued_prints_no_more_messages(
    shown: list[str], tmp_path: Path, stages: tuple[str, ...], check_mode: bool, summary: str
) -> None:
    """These variables are the ones that the roles of the playbook register."""
    variables = variables_of(
        {
            f"host{number}": {
                "node_maintenance_state": {"stage": stage, "work": True},
                "windows_patches_result": {"changed": True},
            }
            for number, stage in enumerate(stages)
        }
    )
    run(patch_report, {"path": str(tmp_path / "patch.json")}, variables, check_mode=check_mode)
    assert shown[-1] == summary


def test_problems_of_many_hosts_are_shown_once_and_are_a_failure(shown: list[str]) -> None:
    variables = hosts("found", a={"problems": ["p", "q"]}, b={"problems": ["p"]}, c={"problems": []}, d=None)
    assert run(preflight_report, {"results_var": "found"}, variables) == {
        "changed": False,
        "failed": True,
        "msg": "no node was touched, because of 2 problems in the variables of a, b; they are listed above",
    }
    assert shown == ["- a, b: p", "- a: q"]
    shown.clear()
    assert run(preflight_report, {"results_var": "found"}, hosts("found", a={}, b=None)) == {"changed": False}
    assert shown == []


@pytest.mark.parametrize(
    ("tags", "skipped", "message"),
    [
        ([], [], ""),
        (["one", "all", "tagged"], ["two", "always", "untagged", "never"], ""),
        (["tow"], [], "--tags: expected a tag of play.yml (one, two), got 'tow'; did you mean two?"),
        (["one"], ["zzz"], "--skip-tags: expected a tag of play.yml (one, two), got 'zzz'"),
        (
            ["x"],
            ["y", "y"],
            (
                "--tags: expected a tag of play.yml (one, two), got 'x'\n"
                "--skip-tags: expected a tag of play.yml (one, two), got 'y'\n"
                "--skip-tags: expected a tag of play.yml (one, two), got 'y'"
            ),
        ),
    ],
)
def test_unknown_tags_are_refused(tmp_path: Path, tags: list[str], skipped: list[str], message: str) -> None:
    playbook = tmp_path / "play.yml"
    playbook.write_text("- hosts: all\n  tags: [one, always]\n  tasks:\n    - tags: two\n", encoding="utf-8")
    variables = {"ansible_run_tags": tags, "ansible_skip_tags": skipped}
    expected = {"changed": False, "failed": True, "msg": message} if message else {"changed": False}
    assert run(known_tags, {}, variables, path=f"{playbook}:12") == expected
    # The tags may be those of the playbook that imports it.
    assert run(known_tags, {}, variables, path=f"{playbook}:12", included=str(playbook)) == {"changed": False}
    playbook.write_text("- hosts: all\n", encoding="utf-8")
    if tags == ["x"]:
        found = run(known_tags, {}, {"ansible_run_tags": tags}, path=f"{playbook}:12")
        assert found["msg"] == "--tags: expected no tags, because play.yml has none, got 'x'"


NETWORK: dict[str, t.Any] = {
    "results": [
        {"check": "pod_to_pod", "from": "win1", "from_os": "windows", "to": "lin1", "to_os": "linux",
         "answered_by": "", "address": "10.0.0.5:8080", "status": "failed", "detail": "the connection was refused",
         "attempts": 3},
    ],
    "namespace": "n",
    "removed": True,
    "interrupted": [],
    "windows_nodes": 1,
    "windows_nodes_total": 1,
    "linux_nodes": 1,
}  # fmt: skip


def test_a_network_check_is_shown_and_written(shown: list[str], tmp_path: Path) -> None:
    path, html = tmp_path / "new" / "network.json", tmp_path / "network.html"
    options = {"result": NETWORK, "path": str(path), "page": str(html)}
    found = run(network_report, options, {})
    assert shown == [
        "CHECK       FROM  TO    STATUS  DETAIL",
        "pod to pod  win1  lin1  failed  10.0.0.5:8080  the connection was refused; 3 attempts",
        "",
        "1 check on 1 of 1 Windows node and 1 Linux node: 1 failed, 0 not run, 0 passed, 0 not applicable",
        "The pod network has not passed: 1 check failed",
    ]
    assert found["problem"] == "1 check failed"
    assert found["counts"] == {"failed": 1, "not_run": 0, "passed": 0, "not_applicable": 0}
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["time"], document["ok"], document["results"]) == (
        "2026-11-22T12:05:59Z",
        False,
        NETWORK["results"],
    )
    assert "Checked 2026-11-22 12:05 UTC" in html.read_text(encoding="utf-8")


def test_a_network_check_in_check_mode_writes_nothing(shown: list[str], tmp_path: Path) -> None:
    options = {"result": NETWORK, "path": str(tmp_path / "a"), "page": str(tmp_path / "b")}
    run(network_report, options, {}, check_mode=True)
    assert shown
    assert list(tmp_path.iterdir()) == []


def test_a_network_report_needs_a_result_and_a_file(shown: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    options = {"result": {}, "path": str(tmp_path / "a"), "page": str(tmp_path / "b")}
    with pytest.raises(ResourceError, match="expected the registered result of network_check"):
        run(network_report, options, {})
    with pytest.raises(ResourceError, match="page: expected the path of a file that can be written"):
        run(network_report, {**options, "result": NETWORK, "page": str(tmp_path / "file" / "b")}, {})
