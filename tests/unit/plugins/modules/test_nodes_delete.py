# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Deleting nodes, with an API over HTTP: only those at the expected addresses."""

from __future__ import annotations

import typing as t

import pytest
from unit.fake_cluster import FakeCluster, add_node, run_module

from ansible_collections.winkube.node.plugins.module_utils import node_changes
from ansible_collections.winkube.node.plugins.modules import nodes_delete

NODE = "api/v1/nodes/a"
DELETED = {"changed": True, "msg": "", "failed": False}
MISSING = {"changed": False, "msg": "", "failed": False}


def at(cluster: FakeCluster, *addresses: str) -> None:
    status = {"addresses": [{"type": "InternalIP", "address": address} for address in addresses]}
    add_node(cluster, "a", status=status)


def delete(cluster: FakeCluster, *addresses: str, **options: t.Any) -> dict[str, t.Any]:
    return run_module(nodes_delete, cluster, addresses={"a": list(addresses)}, **options)


def test_a_node_is_deleted_once(cluster: FakeCluster) -> None:
    at(cluster, "10.0.0.1", "10.0.0.2")
    assert delete(cluster, "10.0.0.2", check_mode=True) == {"changed": True, "nodes": {"a": DELETED}}
    assert NODE in cluster.objects
    assert delete(cluster, "10.0.0.2", "first") == {"changed": True, "nodes": {"a": DELETED}}
    assert NODE not in cluster.objects
    assert cluster.asked[-1].body["preconditions"] == {"uid": "uid of a"}
    assert delete(cluster, "10.0.0.2") == {"changed": False, "nodes": {"a": MISSING}}


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        (("10.0.0.9",), "a: the node was not deleted: expected a node with one of the addresses 10.0.0.1, first, got"),
        ((), "got one with no address"),
        # The kubelet of another machine with this name also reports the name.
        (("10.0.0.9", "a"), "got one with 10.0.0.9, a"),
    ],
)
def test_the_node_of_another_machine_stays(cluster: FakeCluster, addresses: tuple[str, ...], message: str) -> None:
    at(cluster, *addresses)
    result = delete(cluster, "10.0.0.1", "first", *(("A",) if "a" in addresses else ()))
    assert (result["failed"], NODE in cluster.objects) == (True, True)
    assert message in result["msg"]


def test_addresses_that_are_no_list_are_refused(cluster: FakeCluster) -> None:
    at(cluster, "10.0.0.1")
    result = run_module(nodes_delete, cluster, addresses={"a": "10.0.0.1"})
    assert result["msg"] == "addresses: a: expected a list of addresses, got '10.0.0.1'"
    assert NODE in cluster.objects


def test_a_failure_is_tried_again_while_there_is_time(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_changes, "POLL_SECONDS", 0.001)
    at(cluster, "10.0.0.1")
    cluster.fail("DELETE", NODE, 503)
    assert delete(cluster, "10.0.0.1")["changed"] is True
    at(cluster, "10.0.0.1")
    cluster.fail("DELETE", NODE, 409, {"message": "another object has this name"})
    assert delete(cluster, "10.0.0.1", timeout=0)["msg"] == "a: another object has this name"


def test_a_missing_right_is_reported_at_once(cluster: FakeCluster) -> None:
    at(cluster, "10.0.0.1")
    cluster.fail("DELETE", NODE, 403, {"message": "nodes is forbidden"})
    assert delete(cluster, "10.0.0.1")["msg"] == "a: nodes is forbidden"
