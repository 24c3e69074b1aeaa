# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Processes that take minutes in a real cluster: silent nodes, evictions, clean-up. In memory, the times are short."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from simulator_tests.cluster.node_client import (
    MERGE,
    Client,
    admin_client,
    bootstrap_token,
    node_client,
    node_object,
    run_pod,
    set_ready,
)
from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster, start_cluster
from simulator.cluster.memory.controllers import garbage

pytestmark = pytest.mark.waits

UNREACHABLE = "node.kubernetes.io/unreachable"


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatedCluster]:
    """Start a cluster with a grace period of four seconds, because on a busy machine heartbeats may be late."""
    with start_cluster("memory", node_grace_period=4.0, pod_cidr="10.9.0.0/22", service_cidr="10.50.0.0/16") as running:
        yield running


@pytest.fixture(scope="module")
def admin(cluster: SimulatedCluster, tmp_path_factory: pytest.TempPathFactory) -> Client:
    return admin_client(cluster, tmp_path_factory.mktemp("admin"))


@pytest.fixture
def node(cluster: SimulatedCluster, admin: Client, tmp_path: Path) -> Iterator[tuple[str, Client]]:
    """Yield the name and the client of a Ready node that posts its status only once."""
    name = f"win-{uuid.uuid4().hex[:6]}"
    client = node_client(cluster, bootstrap_token(admin), name, tmp_path)
    assert client.request("POST", "/api/v1/nodes", node_object(name, ready=True))[0] == 201
    yield name, client
    admin.request("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def keepalive(cluster: SimulatedCluster, admin: Client, tmp_path: Path) -> Iterator[str]:
    """Yield the name of another node, which stays Ready."""
    name, done = f"alive-{uuid.uuid4().hex[:6]}", threading.Event()
    client = node_client(cluster, bootstrap_token(admin), name, tmp_path)
    client.request("POST", "/api/v1/nodes", node_object(name, ready=True))
    lease: dict[str, Any] = {"metadata": {"name": name}, "spec": {"holderIdentity": name}}
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    client.request("POST", path, lease)

    def renew() -> None:
        for beat in range(1000):
            time = f"2026-01-01T00:{beat // 60:02}:{beat % 60:02}.000000Z"
            client.request("PATCH", f"{path}/{name}", {"spec": {"renewTime": time}}, MERGE)
            if done.wait(0.3):
                return

    thread = threading.Thread(target=renew)
    thread.start()
    yield name
    done.set()
    thread.join()
    admin.request("DELETE", f"/api/v1/nodes/{name}")


def ready(admin: Client, name: str) -> dict[str, str]:
    found = admin.get(f"/api/v1/nodes/{name}")["status"]["conditions"]
    return next(one for one in found if one["type"] == "Ready")


def taints(admin: Client, name: str) -> set[tuple[str, str]]:
    return {(one["key"], one["effect"]) for one in admin.get(f"/api/v1/nodes/{name}")["spec"].get("taints", [])}


def pod_on(admin: Client, node: str, name: str, **spec: Any) -> str:
    """Create a pod on a node; return its path."""
    path = "/api/v1/namespaces/default/pods"
    body = {"containers": [{"name": "a", "image": "example.invalid/a:1"}], "nodeName": node} | spec
    code, answer = admin.request("POST", path, {"metadata": {"name": name}, "spec": body})
    assert code == 201, answer
    return f"{path}/{name}"


def test_a_silent_node_becomes_unknown_loses_pods_and_recovers(
    admin: Client, node: tuple[str, Client], keepalive: str
) -> None:
    name, client = node

    def speaks() -> bool:
        set_ready(client, name)
        return bool(ready(admin, name)["status"] == "True")

    # On a busy machine, the grace period of the node may already have passed.
    wait_for(speaks, "the node is Ready")
    path = pod_on(admin, name, "on-silent", tolerations=[{"operator": "Exists"}])
    run_pod(client, admin.get(path))
    short = [{"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}]
    leaves = pod_on(admin, name, "leaves", tolerations=short)
    stays = pod_on(admin, name, "stays")  # default of the admission plugin: 300 seconds
    seconds = {one["key"]: one["tolerationSeconds"] for one in admin.get(stays)["spec"]["tolerations"]}
    assert seconds == {"node.kubernetes.io/not-ready": 300, UNREACHABLE: 300}
    wait_for(lambda: ready(admin, name)["status"] == "Unknown", "the node is Unknown")
    assert ready(admin, name)["reason"] == "NodeStatusUnknown"
    assert ready(admin, name)["message"] == "Kubelet stopped posting node status."
    both = {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    wait_for(lambda: taints(admin, name) == both, "the taints of a silent node")

    def pod_ready() -> str:
        return next(one["status"] for one in admin.get(path)["status"]["conditions"] if one["type"] == "Ready")

    wait_for(lambda: pod_ready() == "False", "its pods are not ready")
    assert ready(admin, keepalive)["status"] == "True", "a lease alone keeps a node Ready"
    wait_for(lambda: admin.get(leaves)["metadata"].get("deletionTimestamp"), "the pod is deleted")
    for pod in (path, stays):
        assert not admin.get(pod)["metadata"].get("deletionTimestamp")
    set_ready(client, name)
    wait_for(lambda: taints(admin, name) == set(), "the taints go when it speaks again")
    admin.request("DELETE", path, {"gracePeriodSeconds": 0})


def test_objects_of_a_deleted_node_are_removed(
    admin: Client, node: tuple[str, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage, "_ORPHAN_SECONDS", 0.5)
    name, client = node
    uid = admin.get(f"/api/v1/nodes/{name}")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    lease = {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": {"holderIdentity": name}}
    assert client.request("POST", leases, lease)[0] == 201
    path = pod_on(admin, name, "orphan")
    admin.request("DELETE", f"/api/v1/nodes/{name}")
    wait_for(lambda: admin.request("GET", f"{leases}/{name}")[0] == 404, "the lease goes with its owner")
    wait_for(lambda: admin.request("GET", path)[0] == 404, "the pod goes, though no kubelet confirms it")


def test_pod_cidrs_are_distinct_and_used_again(cluster: SimulatedCluster, admin: Client, tmp_path: Path) -> None:
    names = [f"cidr-{number}" for number in range(4)]
    for name in names:
        admin.request("POST", "/api/v1/nodes", node_object(name))

    def cidrs() -> set[str]:
        found = admin.get("/api/v1/nodes")["items"]
        return {one["spec"].get("podCIDR", "") for one in found if one["metadata"]["name"] in names}

    everything = {f"10.9.{number}.0/24" for number in range(4)}
    wait_for(lambda: cidrs() == everything, "each node has one of the four")
    admin.request("POST", "/api/v1/nodes", node_object("cidr-late"))
    freed = admin.get("/api/v1/nodes/cidr-2")["spec"]["podCIDR"]
    assert "podCIDR" not in admin.get("/api/v1/nodes/cidr-late")["spec"]
    admin.request("DELETE", "/api/v1/nodes/cidr-2")
    wait_for(lambda: admin.get("/api/v1/nodes/cidr-late")["spec"].get("podCIDR") == freed, "it gets what is free")
    for name in (*names, "cidr-late"):
        admin.request("DELETE", f"/api/v1/nodes/{name}")


def test_the_cluster_knows_its_networks(admin: Client) -> None:
    data = admin.get("/api/v1/namespaces/kube-system/configmaps/kubeadm-config")["data"]["ClusterConfiguration"]
    networking = yaml.safe_load(data)["networking"]
    assert networking == {"dnsDomain": "cluster.local", "podSubnet": "10.9.0.0/22", "serviceSubnet": "10.50.0.0/16"}
    assert admin.get("/api/v1/namespaces/kube-system/services/kube-dns")["spec"]["clusterIP"] == "10.50.0.10"
    service = {"metadata": {"name": "new"}, "spec": {"ports": [{"port": 80}]}}
    code, made = admin.request("POST", "/api/v1/namespaces/default/services", service)
    assert (code, made["spec"]["clusterIP"].startswith("10.50.0.")) == (201, True)
    assert made["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]


@pytest.fixture
def two_nodes(tmp_path: Path) -> Iterator[Client]:
    """Yield the administrator of a cluster with two nodes that stay Ready without heartbeats."""
    with start_cluster("memory", node_grace_period=3600.0) as running:
        admin = admin_client(running, tmp_path)
        for name in ("win-a", "win-b"):
            client = node_client(running, bootstrap_token(admin), name, tmp_path)
            assert client.request("POST", "/api/v1/nodes", node_object(name, ready=True))[0] == 201
        yield admin


def test_a_daemon_set_replaces_outdated_pods_one_by_one(two_nodes: Client) -> None:
    admin = two_nodes
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    spec = {"containers": [{"name": "a", "image": "example.invalid/a:1"}], "tolerations": [{"operator": "Exists"}]}
    template = {"metadata": {"labels": {"app": "roll"}}, "spec": spec | {"terminationGracePeriodSeconds": 0}}
    body = {"metadata": {"name": "roll"}, "spec": {"selector": {"matchLabels": {"app": "roll"}}, "template": template}}
    code, answer = admin.request("POST", path, body)
    assert code == 201, answer
    pods = "/api/v1/namespaces/default/pods?labelSelector=app%3Droll"

    def running(image: str) -> list[dict[str, Any]]:
        found = [one for one in admin.get(pods)["items"] if not one["metadata"].get("deletionTimestamp")]
        for one in found:
            if one["spec"].get("nodeName") and one["status"]["phase"] == "Pending":
                run_pod(admin, one)
        return [one for one in found if one["spec"]["containers"][0]["image"].endswith(image)]

    wait_for(lambda: len(running("a:1")) == 2, "one pod per node")
    # `running` starts pods. A pod without a node is started by a later call.
    wait_for(lambda: running("a:1") and admin.get(f"{path}/roll")["status"]["numberReady"] == 2, "both ready")
    for change in ({"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}, {"template": {"spec": {"containers": [{"name": "a", "image": "example.invalid/a:2"}]}}}):  # fmt: skip  # noqa: E501
        admin.request("PATCH", f"{path}/roll", {"spec": change}, MERGE)
    wait_for(
        lambda: "updatedNumberScheduled" not in admin.get(f"{path}/roll")["status"],
        "the daemon set counts no updated pods",
    )
    assert len(running("a:1")) == 2, "OnDelete replaces nothing by itself"
    first = running("a:1")[0]["metadata"]["name"]
    admin.request("DELETE", f"/api/v1/namespaces/default/pods/{first}")
    wait_for(lambda: (len(running("a:1")), len(running("a:2"))) == (1, 1), "the deleted one is new")
    admin.request("PATCH", f"{path}/roll", {"spec": {"updateStrategy": {"type": "RollingUpdate"}}}, MERGE)
    wait_for(lambda: len(running("a:2")) == 2, "the other one follows")


def test_nothing_is_left_of_a_cluster_that_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(threading.enumerate())
    with start_cluster("memory") as running:
        client = Client(running)
        assert client.get("/version")["major"] == "1"
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []
    wait_for(lambda: set(threading.enumerate()) <= before, "its threads have ended")
    with pytest.raises(OSError, match="refused"):
        client.get("/version")


def test_a_service_gets_a_port_of_every_node(admin: Client) -> None:
    path = "/api/v1/namespaces/default/services"

    def service(name: str, *ports: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": list(ports)}}

    plain, requested = {"name": "a", "port": 80}, {"name": "b", "port": 81, "nodePort": 30000}
    for name, ports in (("first", [plain, requested]), ("second", [plain])):
        code, made = admin.request("POST", path, service(name, *ports))
        assert code == 201, made
    listed = admin.get(path)["items"]
    given = [port["nodePort"] for one in listed for port in one["spec"]["ports"] if "nodePort" in port]
    assert sorted(given) == [30000, 30001, 30002]
    assert {one["spec"].get("externalTrafficPolicy") for one in listed if one["spec"]["type"] == "ClusterIP"} == {None}
