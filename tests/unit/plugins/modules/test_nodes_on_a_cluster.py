# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cordoning, draining, uncordoning and waiting for nodes, with an API over HTTP."""

from __future__ import annotations

import base64
import re
import typing as t

import pytest
from unit.fake_cluster import Asked, FakeCluster, add_node, run_module

from ansible_collections.winkube.node.plugins.module_utils import node_changes
from ansible_collections.winkube.node.plugins.modules import (
    nodes_drain,
    nodes_ready,
    nodes_uncordon,
    service_account_tokens,
)

pytestmark = pytest.mark.waits


def pod(cluster: FakeCluster, name: str, host: str, **metadata: t.Any) -> None:
    owner = [{"kind": "ReplicaSet", "name": "web", "controller": True}]
    cluster.add(
        f"api/v1/namespaces/site/pods/{name}",
        metadata={"ownerReferences": owner, "labels": {"app": "web"}, **metadata},
        spec={"nodeName": host, "containers": []},
        status={"phase": "Running"},
    )


@pytest.mark.parametrize("option", [True, False])
def test_nodes_with_pods_are_reported_on_request(cluster: FakeCluster, option: bool) -> None:
    add_node(cluster, "a")
    add_node(cluster, "b")
    pod(cluster, "w1", "a")
    found = run_module(nodes_ready, cluster, nodes=["a", "b"], condition="registered", pods=option)["nodes"]
    assert {name: node.get("has_pods") for name, node in found.items()} == (
        {"a": True, "b": False} if option else {"a": None, "b": None}
    )


def test_a_node_is_cordoned_drained_and_uncordoned(cluster: FakeCluster) -> None:
    add_node(cluster, "a")
    pod(cluster, "w1", "a")
    pod(cluster, "w2", "b")
    options = {"nodes": ["a"], "owner": "patch_nodes"}
    dry = run_module(nodes_drain, cluster, check_mode=True, **options)
    assert (dry["changed"], cluster.asked) == (True, [])
    found = run_module(nodes_drain, cluster, grace_period=3, **options)
    assert (found["changed"], found["nodes"]["a"]["status"]) == (True, "drained")
    cordon, evict = cluster.asked
    note = cordon.body["metadata"]["annotations"]["winkube.node/cordoned"]
    assert re.fullmatch(r'{"by":"patch_nodes","on":".+","since":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}', note)
    metadata = {"resourceVersion": "7", "annotations": {"winkube.node/cordoned": note}}
    assert cordon == Asked("PATCH", "api/v1/nodes/a", {"metadata": metadata, "spec": {"unschedulable": True}})
    assert evict == Asked(
        "POST",
        "api/v1/namespaces/site/pods/w1/eviction",
        {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": "w1", "namespace": "site"},
            "deleteOptions": {"preconditions": {"uid": "uid of w1"}, "gracePeriodSeconds": 3},
        },
    )
    assert "api/v1/namespaces/site/pods/w2" in cluster.objects
    other = run_module(nodes_uncordon, cluster, nodes=["a"], owner="other")
    assert other["changed"] is False
    assert other["nodes"]["a"]["msg"].startswith("a: the node stays cordoned by patch_nodes on ")
    uncordoned = {"changed": True, "unschedulable": False, "msg": "", "failed": False}
    expected = {"changed": True, "nodes": {"a": uncordoned}}
    assert run_module(nodes_uncordon, cluster, check_mode=True, **options) == expected
    assert cluster.objects["api/v1/nodes/a"]["spec"]["unschedulable"] is True
    assert run_module(nodes_uncordon, cluster, **options) == expected
    assert "unschedulable" not in cluster.objects["api/v1/nodes/a"]["spec"]
    again = {"changed": False, "unschedulable": False, "msg": "", "failed": False}
    assert run_module(nodes_uncordon, cluster, **options) == {"changed": False, "nodes": {"a": again}}


def test_a_node_cordoned_by_another_user_stays_cordoned(cluster: FakeCluster) -> None:
    add_node(cluster, "a", spec={"unschedulable": True})
    found = run_module(nodes_uncordon, cluster, nodes=["a"], owner="patch_nodes")
    kept = {
        "changed": False,
        "unschedulable": True,
        "msg": "a: the node stays cordoned by another client",
        "failed": False,
    }
    assert found == {"changed": False, "nodes": {"a": kept}}
    lost = {"changed": False, "unschedulable": True, "failed": True, "msg": "b: the cluster has no node of this name"}
    assert run_module(nodes_uncordon, cluster, nodes=["a", "b"], owner="patch_nodes", timeout=0) == {
        "failed": True,
        "msg": "b: the cluster has no node of this name",
        "changed": False,
        "nodes": {"a": kept, "b": lost},
    }


def test_a_conflict_is_tried_again_while_there_is_time(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_changes, "POLL_SECONDS", 0.001)
    mark = '{"by": "patch_nodes", "on": "me", "since": "now"}'
    add_node(cluster, "a", spec={"unschedulable": True}, metadata={"annotations": {"winkube.node/cordoned": mark}})
    cluster.fail("PATCH", "api/v1/nodes/a", 409)
    assert run_module(nodes_uncordon, cluster, nodes=["a"], owner="patch_nodes")["changed"] is True
    cluster.fail("GET", "api/v1/nodes/a", 409, {"message": "conflict"})
    found = run_module(nodes_uncordon, cluster, nodes=["a"], owner="patch_nodes", timeout=0)
    assert found["msg"] == "a: conflict"


def test_missing_rights_are_found_before_a_drain(cluster: FakeCluster) -> None:
    add_node(cluster, "a")
    cluster.denied = lambda spec: spec["resourceAttributes"].get("subresource") == "eviction"
    found = run_module(nodes_drain, cluster, nodes=["a"], owner="x", check_access=True)
    assert found["missing_access"] == ["create pods/eviction (to evict pods)"]
    assert [one for one in cluster.asked if "reviews" not in one.path] == []
    assert "failed" not in run_module(nodes_drain, cluster, nodes=["a"], owner="x")


def test_labels_are_returned(cluster: FakeCluster) -> None:
    labels = {"topology.kubernetes.io/zone": "b"}
    add_node(cluster, "a", metadata={"labels": labels})
    add_node(cluster, "b")
    found = run_module(nodes_drain, cluster, check_mode=True, nodes=["a", "b"], owner="x")
    assert {name: node["labels"] for name, node in found["nodes"].items()} == {"a": labels, "b": {}}


def test_nodes_are_waited_for(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes_ready, "POLL_SECONDS", 0.001)
    add_node(cluster, "a")
    state = {
        "registered": True,
        "ready": True,
        "pod_cidr": "10.0.1.0/24",
        "internal_ip": "192.0.2.5",
        "overlay_address": "",
        "reason": "",
    }
    assert run_module(nodes_ready, cluster, nodes=["a"], pod_cidr=True) == {
        "changed": False,
        "nodes": {"a": state},
        "waiting": [],
    }
    cluster.fail("GET", "api/v1/nodes", 503)
    assert run_module(nodes_ready, cluster, nodes=["a"])["waiting"] == []
    add_node(cluster, "b", spec={})
    missing = {"registered": False, "ready": False, "pod_cidr": "", "internal_ip": "", "overlay_address": ""}
    expected = {
        "changed": False,
        "nodes": {
            "a": state,
            "b": {**state, "pod_cidr": ""},
            "c": {**missing, "reason": "the node is not registered"},
        },
        "waiting": ["b", "c"],
    }
    options = {"nodes": ["a", "b", "c"], "pod_cidr": True, "timeout": 0}
    assert run_module(nodes_ready, cluster, required=False, **options) == expected
    assert run_module(nodes_ready, cluster, check_mode=True, **{**options, "timeout": 600}) == expected
    expected.pop("changed")
    assert run_module(nodes_ready, cluster, **options) == {
        **expected,
        "failed": True,
        "msg": "not ready after 0 seconds: b: no pod CIDR; c: the node is not registered",
    }
    cluster.fail("GET", "api/v1/nodes", 403, {"message": "you may not"})
    assert run_module(nodes_ready, cluster, **options) == {
        "failed": True,
        "msg": "you may not",
        "nodes": {},
        "waiting": ["a", "b", "c"],
    }
    found = run_module(nodes_ready, cluster, nodes=["c"], condition="registered", timeout=0)
    assert found["msg"] == "not registered after 0 seconds: c: the node is not registered"


def test_tokens_of_service_accounts_are_read(cluster: FakeCluster) -> None:
    data = {"token": base64.b64encode(b"the token").decode()}
    cluster.add("api/v1/namespaces/kube-flannel/secrets/flannel-windows", data=data)
    options = {"secrets": ["kube-flannel/flannel-windows", "kube-system/none"]}
    expected = {"changed": False, "tokens": {"kube-flannel/flannel-windows": "the token"}}
    assert run_module(service_account_tokens, cluster, **options) == expected
