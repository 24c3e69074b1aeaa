# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a run does in the cluster, and which nodes are awaited."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import node_join

NOTHING = dict.fromkeys(("read_only", "drains", "approves", "tokens", "rejoins", "services"), False)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["read", "join", "change_network"]),
        (
            {"approves": True, "tokens": True, "rejoins": True, "pods": ["flannel"]},
            ["read", "join", "tokens", "approve", "rejoin", "flannel", "change_network"],
        ),
        # kubeadm creates the tokens on a host of the control plane, and the approval deletes them.
        ({"approves": True}, ["read", "join", "delete_tokens", "approve", "change_network"]),
        ({"services": True, "drains": True}, ["read", "services_read", "drain", "join", "services", "change_network"]),
        ({**dict.fromkeys(NOTHING, True), "pods": ["flannel"]}, ["read", "services_read", "drain"]),
    ],
)
def test_the_purposes_of_a_run(given: dict[str, t.Any], expected: list[str]) -> None:
    assert node_join.purposes(**{**NOTHING, "pods": [], **given}) == expected


@pytest.mark.parametrize(
    ("skew", "limit", "text"),
    [
        (240.0, 240.0, ""),
        (1000.0, 0.0, ""),
        (-240.4, 240.0, "win1: its clock is 240 s behind the controller's; at most 240 s"),
        (600.5, 0.5, "win1: its clock is 600 s ahead of the controller's; at most 0.5 s (node_join_clock_skew_limit)"),
    ],
)
def test_a_clock_that_differs(skew: float, limit: float, text: str) -> None:
    found = node_join.clock_problem("win1", skew, limit)
    assert found.startswith(text)
    assert bool(found) is bool(text)


@pytest.mark.parametrize(
    ("tokens", "refused", "joined", "approvals", "expected"),
    [
        ({}, "", {}, "", ""),
        ({"failed": True, "msg": "no right"}, "", {}, "", "no right"),
        (
            {
                "failed": True,
                "msg": "One or more items failed",
                "results": [{"failed": True, "stderr": "no admin.conf, abcdef.0123456789abcdef\n"}],
            },
            "",
            {},
            "",
            "kubeadm token create: no admin.conf, ***",
        ),
        ({"failed": False}, "two keys", {}, "", "two keys"),
        ({}, "two keys", {"failed": True}, "no cluster", "two keys"),
        ({}, "", {"failed": True}, "no cluster", "no cluster"),
        # The join succeeded, whatever happened to the approval.
        ({}, "", {"failed": False}, "no cluster", ""),
    ],
)
def test_why_a_machine_could_not_join(
    tokens: dict[str, t.Any], refused: str, joined: dict[str, t.Any], approvals: str, expected: str
) -> None:
    assert node_join.join_problem(tokens, refused, joined, approvals) == expected


@pytest.mark.parametrize(
    ("untouched", "awaited", "expected"),
    [
        ([True, True], ["a", "b"], True),
        ([True, False], ["a"], False),
        ([True, True], ["a", "c"], False),
        ([True], ["unknown"], False),
        ([True], [], True),
        # A pod of its network is not ready.
        ([True], ["d"], False),
    ],
)
def test_nodes_that_stay_ready(untouched: list[bool], awaited: list[str], expected: bool) -> None:
    nodes: dict[str, dict[str, t.Any]] = {"a": {"ready": True}, "b": {"ready": True}, "c": {"ready": False}}
    nodes["a"]["network_pods"] = [{"ready": True}]
    nodes["d"] = {"ready": True, "network_pods": [{"ready": True}, {"ready": False}]}
    assert node_join.all_stay_ready(untouched, awaited, nodes) is expected
