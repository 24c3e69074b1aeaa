# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What must wait until a live node is drained, what must not be done to it, and which name it may have."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import live_nodes, node_names

PROOF: dict[str, t.Any] = {
    "self_named": True,
    "approved": False,
    "node_addresses": ["10.0.0.1"],
    "host_addresses": ["10.0.0.2", "one"],
}


@pytest.mark.parametrize(
    ("joined", "known", "expected"),
    [(True, True, True), (True, None, True), (True, False, False), (False, True, False), (False, None, False)],
)
def test_live_nodes(joined: bool, known: bool | None, expected: bool) -> None:
    assert live_nodes.is_live(joined=joined, known=known) is expected


@pytest.mark.parametrize(
    ("kubelet", "expected", "accepted"),
    [("1.34.4", "1.34.9", True), ("", "1.34.4", True), ("1.34.4", "1.35.0", False), ("1.3.4", "1.34.4", False)],
)
def test_minor_versions(kubelet: str, expected: str, accepted: bool) -> None:
    found = live_nodes.version_problem("one", "win1", kubelet, expected)
    assert bool(found) is not accepted
    if not accepted:
        minor = kubelet.rpartition(".")[0]
        assert f"expected a release of {minor}, got {expected}. one is the live node win1" in found


def test_the_first_task_that_did_not_reach_the_node() -> None:
    reached, silent = {"unreachable": False, "msg": "x"}, {"unreachable": True}
    assert live_nodes.first_unreachable([{}, reached]) == ""
    assert live_nodes.first_unreachable([reached, {"unreachable": True, "msg": "timeout"}, silent]) == "timeout"
    assert live_nodes.first_unreachable([silent]) == "the node is unreachable"


@pytest.mark.parametrize(("given", "expected"), [("Named", "Named"), ("", "win-1")])
def test_the_name_of_a_node(given: str, expected: str) -> None:
    assert node_names.node_name(given, "WIN-1") == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, False),
        ({"self_named": False}, True),
        ({"approved": True}, True),
        ({"node_addresses": ["10.0.0.2"]}, True),
        ({"node_addresses": ["one"]}, True),
        ({"node_addresses": []}, False),
    ],
)
def test_a_name_that_is_proven(more: dict[str, t.Any], expected: bool) -> None:
    assert node_names.is_proven(**{**PROOF, **more}) is expected


@pytest.mark.parametrize(
    ("reported", "os", "expected"),
    [
        ("", "windows", ""),
        ("", "", ""),
        ("taken", "windows", "taken"),
        ("taken", "linux", "taken"),
        (
            "",
            "linux",
            "the cluster has a node win1 with linux; delete that node, or set another kubernetes_node_hostname",
        ),
    ],
)
def test_a_name_of_another_node(reported: str, os: str, expected: str) -> None:
    assert node_names.name_problem(reported, "win1", os) == expected


def test_flannel_stays_while_others_need_it() -> None:
    assert node_names.removal_problem("one", "flannel", "none", []) == ""
    found = node_names.removal_problem("one", "flannel", "none", ["two", "three"])
    assert "got none" in found
    assert "two, three may need it" in found


def test_windows_nodes_of_other_runs() -> None:
    nodes = {"a": {"os": "windows"}, "b": {"os": "windows"}, "c": {"os": "linux"}}
    assert node_names.other_windows_nodes(nodes, {"b"}) == ["a"]
