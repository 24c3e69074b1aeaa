# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A rollout's report about nodes that succeeded, failed, or were not started."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.reports import rollout
from ansible_collections.winkube.node.plugins.plugin_utils.reports.patch import STATUSES, node_entry, table


def notes(stage: str, **more: t.Any) -> dict[str, t.Any]:
    start = {"node": "node-a", "work": True, "ours": False, "cordoned": False, "message": "", "found": TO_INSTALL}
    return {**start, "stage": stage, **more}


def result(status: str = "installed", **more: t.Any) -> dict[str, t.Any]:
    patch = {"name": "KB5048654", "status": status, "message": "0x800f0922", "build": "20348.2966", "seconds": 3.0}
    values = {"changed": True, "patches": [patch], "os_build_before": "20348.2849", "os_build_after": "20348.2966"}
    return {**values, "reboots": 1, **more}


TO_INSTALL = result("to_install", os_build_after="20348.2849", reboots=0)


def test_a_patched_node() -> None:
    entry = node_entry(notes("done", started=1000.0, finished=1090.0), result())
    assert entry == {
        "node": "node-a",
        "status": "patched",
        "message": "",
        "os_build_before": "20348.2849",
        "os_build_after": "20348.2966",
        "patches": [{"name": "KB5048654", "status": "installed", "message": "0x800f0922"}],
        "reboots": 1,
        "minutes": 1.5,
        "cordoned": False,
    }


@pytest.mark.parametrize(
    ("stage", "more", "last", "status"),
    [
        ("done", {}, result(changed=False), "up_to_date"),  # only uncordoned: an earlier run had patched it
        ("waiting", {}, TO_INSTALL, "not_started"),
        ("waiting", {"work": False}, result(changed=False), "up_to_date"),
        ("waiting", {"work": False, "ours": True}, result(changed=False), "not_started"),
        ("failed", {"message": "broken"}, result("failed"), "failed"),
        ("worked", {}, result(), "failed"),  # an error that no node caused ended the run
        ("begun", {}, TO_INSTALL, "failed"),
    ],
)
def test_statuses(stage: str, more: dict[str, t.Any], last: dict[str, t.Any], status: str) -> None:
    entry = node_entry(notes(stage, **more), last)
    assert entry["status"] == status
    assert bool(entry["message"]) == (status == "failed")


@pytest.mark.parametrize(("work", "status"), [(True, "to_patch"), (False, "up_to_date")])
def test_check_mode_lists_the_nodes_that_would_be_patched(work: bool, status: str) -> None:
    assert node_entry(notes("waiting", work=work), TO_INSTALL, check_mode=True)["status"] == status


def test_a_node_that_was_lost_keeps_what_was_seen_before() -> None:
    lost = {"unreachable": True, "msg": "node-a: no route"}
    entry = node_entry(notes("failed", message="node-a: no route", cordoned=True), lost)
    assert (entry["os_build_before"], entry["os_build_after"]) == ("20348.2849", "20348.2849")
    assert entry["patches"][0]["status"] == "to_install"
    assert entry["cordoned"]


@pytest.mark.parametrize("nothing", [None, {}])
def test_a_host_without_a_result_counts_as_failed(nothing: dict[str, t.Any] | None) -> None:
    assert node_entry(nothing, nothing)["status"] == "failed"


def test_the_table_has_a_row_with_a_reason_for_each_node() -> None:
    failed = node_entry(notes("failed", message="1 of 1 patches not installed\n…", cordoned=True), result("failed"))
    nodes = {
        "win-a": node_entry(notes("done", started=0.5, finished=600.5), result()),
        "win-b": failed | {"os_build_after": "20348.2849"},
        "win-c": node_entry(notes("failed", message="not drained\nmore"), None),
    }
    header, good, bad, undrained = table(nodes)
    assert header.split() == ["NODE", "OS", "BUILD", "PATCHES", "REBOOTS", "MINUTES", "STATUS"]
    assert good.split("  ") != bad.split("  ")
    assert "20348.2849 -> 20348.2966  1 installed" in good
    assert " 10.0 " in good
    assert good.endswith("patched")
    assert "failed, cordoned" in bad
    assert bad.endswith("KB5048654: 0x800f0922")
    assert undrained.endswith("not drained")
    assert rollout.counts(nodes, STATUSES) == dict.fromkeys(STATUSES, 0) | {"patched": 1, "failed": 2}


def test_long_texts_do_not_break_the_table() -> None:
    nodes = {"n" * 500: node_entry(notes("failed", message="x" * 5000), result())}
    assert all(len(line) <= 200 for line in table(nodes))


@pytest.mark.parametrize("status", ["failed", "not_offered", "not_applicable", "needs_reboot"])
def test_the_table_names_the_patch_that_is_not_installed(status: str) -> None:
    failed = node_entry(notes("failed", message="1 of 1 patches not installed"), result(status))
    assert table({"win": failed})[1].endswith("  KB5048654: 0x800f0922")


@pytest.mark.parametrize("status", ["installed", "up_to_date"])
def test_the_table_names_no_patch_that_is_well(status: str) -> None:
    failed = node_entry(notes("failed", message="the node is not Ready"), result(status))
    assert table({"win": failed})[1].endswith("  the node is not Ready")


@pytest.mark.parametrize(("seconds", "minutes"), [(100.0, 1.7), (3.0, 0.1), (2.9, 0.0), (-60.0, 0.0)])
def test_minutes_have_one_digit_after_the_point(seconds: float, minutes: float) -> None:
    assert node_entry(notes("done", started=1000.0, finished=1000.0 + seconds), result())["minutes"] == minutes
