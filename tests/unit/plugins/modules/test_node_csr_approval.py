# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Waiting for approvals: the requests, the time limit, and when a token is deleted."""

from __future__ import annotations

import base64
import typing as t

import pytest
from simulator_tests.cluster.node_client import signing_request

from ansible_collections.winkube.node.plugins.module_utils.api_error import ApiError
from ansible_collections.winkube.node.plugins.modules.node_csr_approval import Approver, wait

TOKENS = {"win1": "aaaaaa", "win2": "bbbbbb"}


class Cluster:
    """A cluster that signs approved requests. Its nodes register when a test requests it."""

    def __init__(self) -> None:
        self.csrs: dict[str, dict[str, t.Any]] = {}
        self.known: dict[str, dict[str, t.Any]] = {}
        self.tokens = set(TOKENS.values())
        self.failures: list[ApiError] = []

    def ask(self, node: str, token_id: str) -> None:
        name = f"csr-{len(self.csrs)}"
        spec = signing_request(node)[1]["spec"] | {"username": f"system:bootstrap:{token_id}"}
        self.csrs[name] = {"metadata": {"name": name}, "spec": spec, "status": {}}

    def register(self, node: str, heartbeat: str = "1", ready: str = "False") -> None:
        condition = {"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat}
        self.known[node] = {"metadata": {"name": node, "uid": f"uid of {node}"}, "status": {"conditions": [condition]}}

    def requests(self) -> list[dict[str, t.Any]]:
        if self.failures:
            raise self.failures.pop(0)
        return list(self.csrs.values())

    def approve(self, request: t.Mapping[str, t.Any]) -> None:
        own = self.csrs[request["metadata"]["name"]]
        own["status"] = {"conditions": [{"type": "Approved"}], "certificate": base64.b64encode(b"x").decode()}

    def node(self, name: str) -> dict[str, t.Any] | None:
        return self.known.get(name)

    def nodes(self) -> list[dict[str, t.Any]]:
        return list(self.known.values())

    def delete_token(self, token_id: str, *, dry: bool = False) -> bool:
        found = token_id in self.tokens
        if not dry:
            self.tokens.discard(token_id)
        return found


class Clock:
    def __init__(self, *steps: t.Callable[[], None]) -> None:
        self.now, self.steps = 0.0, list(steps)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.steps:
            self.steps.pop(0)()


def run(cluster: Cluster, *steps: t.Callable[[], None], timeout: float = 100.0) -> tuple[dict[str, t.Any], float]:
    clock = Clock(*steps)
    approver = Approver(t.cast("t.Any", cluster), TOKENS)
    wait(approver, timeout, lambda: clock.now, clock.sleep)
    return approver.result(), clock.now


def test_the_approval_ends_when_all_nodes_have_registered() -> None:
    cluster = Cluster()
    result, _ = run(
        cluster,
        lambda: cluster.ask("win1", "aaaaaa"),
        lambda: cluster.ask("win2", "bbbbbb"),
        lambda: cluster.register("win2"),
        lambda: cluster.register("win1"),
    )
    assert result == {
        "changed": True,
        "approved": {"win1": "csr-0", "win2": "csr-1"},
        "registered": ["win2", "win1"],
        "refused": {},
    }
    assert cluster.tokens == set()


def test_a_token_stays_until_its_node_has_its_certificate() -> None:
    """A kubelet gets the certificate with its token, so an old node with its name must not be mistaken for it."""
    cluster = Cluster()
    cluster.register("win1", heartbeat="old")
    kept: list[set[str]] = []
    run(
        cluster,
        lambda: cluster.ask("win1", "aaaaaa"),
        lambda: None,
        lambda: kept.append(set(cluster.tokens)),
        lambda: cluster.register("win1", heartbeat="new"),
        lambda: None,
        lambda: kept.append(set(cluster.tokens)),
        cluster.tokens.clear,
    )
    assert kept == [{"aaaaaa", "bbbbbb"}, {"bbbbbb"}]


def test_the_approval_ends_when_the_tokens_are_deleted() -> None:
    cluster = Cluster()
    result, seconds = run(cluster, lambda: None, cluster.tokens.clear)
    assert seconds <= 3
    assert not result["changed"]


def test_the_approval_ends_at_its_timeout() -> None:
    dummy, seconds = run(Cluster(), timeout=5)
    assert seconds <= 6


def test_the_name_of_a_ready_node_is_not_assigned_again() -> None:
    cluster = Cluster()
    cluster.register("win1", ready="True")
    cluster.ask("win1", "aaaaaa")
    result, _ = run(cluster, timeout=2)
    assert "Ready node" in result["refused"]["win1"]
    assert not any(one["status"] for one in cluster.csrs.values())


def test_an_api_server_that_is_away_for_a_while() -> None:
    cluster = Cluster()
    cluster.ask("win1", "aaaaaa")
    cluster.failures = [ApiError("away"), ApiError("busy", 503)]
    result, _ = run(cluster, timeout=10)
    assert list(result["approved"]) == ["win1"]


def test_a_refusal_ends_the_approval() -> None:
    cluster = Cluster()
    cluster.failures = [ApiError("forbidden", 403)]
    with pytest.raises(ApiError, match="forbidden"):
        run(cluster)
