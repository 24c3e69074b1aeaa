# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The complete result of nodes_info for a cluster over HTTP, and what an account with fewer rights gets."""

from __future__ import annotations

import base64
import typing as t
from pathlib import Path

import pytest
import yaml
from unit.fake_cluster import FakeCluster, add_node, run_module

from ansible_collections.winkube.node.plugins.modules import nodes_info

pytestmark = pytest.mark.waits

CA = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
OTHER_CA = CA.replace("YQ", "Yg")
READY = {"ready": "True", "reason": "", "since": "", "pressure": {}, "pending_pods": [], "sandbox_errors": []}


def announce(cluster: FakeCluster, text: str) -> None:
    cluster.add("api/v1/namespaces/kube-public/configmaps/cluster-info", data={"kubeconfig": text})


def kubeconfig(ca: str) -> str:
    data = base64.b64encode(ca.encode()).decode()
    return yaml.safe_dump({"clusters": [{"cluster": {"server": "https://x", "certificate-authority-data": data}}]})


def pod(cluster: FakeCluster, name: str, node: str, phase: str = "Pending", **status: t.Any) -> None:
    path = f"api/v1/namespaces/a/pods/{name}"
    cluster.add(path, spec={"nodeName": node, "containers": []}, status={"phase": phase, **status})


def event(cluster: FakeCluster, number: int, host: str, message: str, reason: str = "FailedCreatePodSandBox") -> None:
    time = f"2026-11-25T12:00:0{number}Z"
    path = f"api/v1/namespaces/a/events/e{number}"
    cluster.add(path, reason=reason, source={"host": host}, message=message, lastTimestamp=time)


def test_the_state_of_all_nodes(cluster: FakeCluster) -> None:
    add_node(cluster, "win1")
    conditions = [
        {"type": "DiskPressure", "status": "True", "message": "disk \x1b[31m is full"},
        {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no \x07 runtime",
         "lastTransitionTime": "2026-11-25T11:00:00Z"},
    ]  # fmt: skip
    add_node(cluster, "win2", status={"conditions": conditions})
    add_node(cluster, "new", status={})
    announce(cluster, kubeconfig(CA))
    waiting = [{"name": "x", "state": {"waiting": {"reason": "ErrImagePull", "message": "403"}}}]
    pod(cluster, "p1", "win2", containerStatuses=waiting)
    pod(cluster, "p2", "win2", message="Failed to create pod sandbox: \x1b[2J")
    pod(cluster, "p3", "win2")
    pod(cluster, "p4", "", message="not scheduled")
    pod(cluster, "p5", "win1", "Running")
    for number, text in enumerate(("old", "new", "old", "newest")):
        event(cluster, number, "win2", text)
    event(cluster, 9, "win1", "pulled", "Pulled")
    found = run_module(nodes_info, cluster)
    assert found == {
        "changed": False,
        "server": cluster.url,
        "authorities": [CA],
        "nodes": {
            "win1": READY,
            "win2": {
                "ready": "False",
                "reason": "KubeletNotReady: no \\x07 runtime",
                "since": "2026-11-25T11:00:00Z",
                "pressure": {"DiskPressure": "disk \\x1b[31m is full"},
                "pending_pods": [
                    "a/p1: 403",
                    "a/p2: Failed to create pod sandbox: \\x1b[2J",
                    "a/p3: no reason given",
                ],
                "sandbox_errors": ["newest", "old", "new"],
            },
            "new": READY | {"ready": ""},
        },
    }


def test_an_account_that_may_only_list_nodes(cluster: FakeCluster) -> None:
    add_node(cluster, "win1")
    for path in ("api/v1/pods", "api/v1/events", "api/v1/namespaces/kube-public/configmaps/cluster-info"):
        cluster.fail("GET", path, 403, {"message": "forbidden"})
    found = run_module(nodes_info, cluster)
    assert found["nodes"] == {"win1": READY}
    assert found["authorities"] == []


@pytest.mark.parametrize("path", ["api/v1/nodes", "api/v1/pods", "api/v1/events"])
def test_a_failing_api_server_is_an_error(cluster: FakeCluster, path: str) -> None:
    cluster.fail("GET", path, 500, {"message": "etcd"})
    found = run_module(nodes_info, cluster)
    assert found["failed"]
    assert "a request to the API server" in found["msg"]


@pytest.mark.parametrize("text", ["", "certificate-authority-data: '%%%'", "certificate-authority-data: /w==", "{"])
def test_an_announced_ca_that_is_malformed_is_left_out(cluster: FakeCluster, text: str) -> None:
    announce(cluster, text)
    assert run_module(nodes_info, cluster)["authorities"] == []


def test_the_ca_of_the_kubeconfig_counts_too(cluster: FakeCluster, tmp_path: Path) -> None:
    announce(cluster, kubeconfig(CA))
    file = tmp_path / "ca.pem"
    file.write_text(OTHER_CA, encoding="utf-8")
    assert run_module(nodes_info, cluster, ca_cert=str(file))["authorities"] == [CA, OTHER_CA]


def test_lists_are_limited(cluster: FakeCluster) -> None:
    add_node(cluster, "win1")
    for number in range(12):
        pod(cluster, f"p{number:02}", "win1")
    for number in range(5):
        event(cluster, number, "win1", f"error {number}")
    found = run_module(nodes_info, cluster)["nodes"]["win1"]
    assert len(found["pending_pods"]) == nodes_info.MOST_PODS
    assert found["sandbox_errors"] == ["error 4", "error 3", "error 2"]
