# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which nodes take part, and which connections are planned."""

from __future__ import annotations

import collections
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.network_check_cluster import node

from ansible_collections.winkube.node.plugins.module_utils.network_check import nodes, plan, policy_engines
from ansible_collections.winkube.node.plugins.module_utils.network_check.nodes import CheckedNode, Participants

URL = "https://mirror.example:8443/path"
CONTROL_PLANE = {"node-role.kubernetes.io/control-plane": ""}


def participants(windows: int, linux: int) -> Participants:
    members = [CheckedNode(f"win{number}", "windows", f"192.0.2.{number}") for number in range(windows)]
    others = [CheckedNode(f"lin{number}", "linux", f"198.51.100.{number}") for number in range(linux)]
    return Participants(members, others, [], windows)


@given(st.integers(1, 60), st.integers(0, 5), st.booleans())
def test_every_node_is_the_source_and_target_of_every_kind(windows: int, linux: int, outside: bool) -> None:
    found = plan.plan(participants(windows, linux), URL if outside else "")
    names = {f"win{number}" for number in range(windows)} | {f"lin{number}" for number in range(linux)}
    between = [one for one in found.checks if one.kind == plan.POD_TO_POD and one.source != one.target]
    assert len(set(found.checks)) == len(found.checks)
    assert {one.target for one in found.checks if one.kind == plan.POD_TO_POD} == names
    if len(names) > 1:
        assert {one.target for one in between} == {one.source for one in between} == names
        assert {one.target for one in plan.policy_checks(found.checks)} == names
    if linux:
        for number in range(windows):
            own = [one for one in between if f"win{number}" in (one.source, one.target)]
            assert {(one.source_os, one.target_os) for one in own} >= {("windows", "linux"), ("linux", "windows")}
    assert {one.source for one in found.checks if one.kind == plan.OUTBOUND} == (names if outside else set())
    # The work grows with the number of nodes, not with its square.
    assert len(found.checks) <= 10 * (windows + linux) + 2 * windows
    assert len(found.backends) <= 2 * plan.BACKENDS


@given(st.integers(1, 40), st.integers(0, 4))
def test_no_connection_is_one_that_windows_does_not_support(windows: int, linux: int) -> None:
    for one in plan.plan(participants(windows, linux), "", from_controller=True).checks:
        if one.kind == plan.NODE_PORT:
            assert one.target not in (one.source, one.backend)
        if one.kind in (plan.SERVICE_IP, plan.SERVICE_DNS):
            assert one.source != one.server


def test_node_ports_are_reached_through_every_node_and_answered_elsewhere() -> None:
    checks = [one for one in plan.plan(participants(3, 2), "").checks if one.kind == plan.NODE_PORT]
    assert [(one.source_os, one.target, one.backend[:3]) for one in checks] == [
        ("linux", "win0", "lin"),
        ("linux", "win1", "lin"),
        ("linux", "win2", "lin"),
        ("linux", "lin0", "win"),
        ("linux", "lin1", "win"),
    ]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example", ("a.example", 443)),
        ("http://a.example/x", ("a.example", 80)),
        ("https://[2001:db8::1]:8443/", ("2001:db8::1", 8443)),
    ],
)
def test_a_url_has_a_host_and_a_port(url: str, expected: tuple[str, int]) -> None:
    assert plan.host_and_port(url) == expected


@pytest.mark.parametrize("url", ["a.example", "ftp://a.example", "https://", "https://a:b"])
def test_another_text_is_refused(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - urllib has messages of its own
        plan.host_and_port(url)


@given(st.integers(1, 300), st.integers(0, 400))
def test_a_sample_is_spread_over_all_nodes(total: int, count: int) -> None:
    everyone = participants(total, 0).windows
    chosen = nodes.sample(everyone, count)
    assert len(chosen) == (min(count, total) or total)
    assert len(set(chosen)) == len(chosen)
    places = [everyone.index(one) for one in chosen]
    distances = collections.Counter(right - left for left, right in itertools.pairwise(places))
    assert max(distances, default=1) - min(distances, default=1) <= 1


def test_nodes_that_cannot_run_pods_are_reported() -> None:
    away = {"metadata": {"name": "new", "labels": {"kubernetes.io/os": "windows"}}}
    nameless = {"metadata": {"name": "bare"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    known = [
        node("ok"),
        node("down", ready=False),
        away,
        nameless,
        node("lin", "linux"),
        node("off", "linux", ready=False),
    ]
    found = nodes.choose(map(nodes.describe, known), (), 0, 3)
    assert [one.name for one in found.windows] == ["ok"]
    assert [one.name for one in found.linux] == ["lin"]
    assert {one.name: one.problem for one in found.unusable} == {
        "down": "the node is not Ready: no CNI",
        "new": "the node is not Ready: its kubelet has not reported yet",
    }
    assert found.windows_total == 3
    outcomes = plan.plan(found, "").outcomes
    assert {(one.check.source, one.status) for one in outcomes} >= {("down", "not_run"), ("new", "not_run")}


def test_only_named_nodes_are_checked() -> None:
    known = [node("a"), node("b"), node("lin", "linux")]
    found = nodes.choose(map(nodes.describe, known), ["b", "c", "lin", "b"], 1, 0)
    assert [one.name for one in found.windows] == ["b"]
    assert {one.name: one.problem for one in found.unusable} == {
        "c": "the cluster has no node of this name",
        "lin": "expected a Windows node, got linux",
    }


def test_workers_come_before_control_plane_nodes() -> None:
    known = [node("a", "linux", **CONTROL_PLANE), node("b", "linux"), node("c", "linux"), node("w")]

    def linux(count: int) -> list[str]:
        return [one.name for one in nodes.choose(map(nodes.describe, known), (), 0, count).linux]

    assert (linux(1), linux(2), linux(3), linux(0)) == (["b"], ["b", "c"], ["b", "c", "a"], ["b", "c", "a"])


@pytest.mark.parametrize(
    ("system", "daemon_sets", "enforced"),
    [
        ("windows", {"calico-node"}, False),
        ("windows", {"calico-node-windows"}, True),
        ("windows", {"canal", "canal-node"}, False),
        ("linux", {"canal"}, True),
        ("linux", {"kube-flannel-ds", "kube-proxy"}, False),
    ],
)
def test_programs_that_enforce_policies(system: str, daemon_sets: set[str], enforced: bool) -> None:
    assert (policy_engines.missing_engine(system, daemon_sets) == "") is enforced
