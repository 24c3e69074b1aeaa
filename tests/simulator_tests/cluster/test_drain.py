# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The collection's drain and uncordon, with the official Python client, on both kinds of cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
from simulator_tests.cluster.node_client import Client
from simulator_tests.cluster.small_kubelet import SmallKubelet
from simulator_tests.waiting import wait_for

from ansible_collections.winkube.node.plugins.module_utils.api_error import ApiError
from ansible_collections.winkube.node.plugins.module_utils.cluster_client import Cluster as ClusterClient
from ansible_collections.winkube.node.plugins.module_utils.cordon import ANNOTATION, CordonMark
from ansible_collections.winkube.node.plugins.module_utils.drain import DrainOptions, drain
from ansible_collections.winkube.node.plugins.module_utils.node_api import NodeApi
from ansible_collections.winkube.node.plugins.modules.nodes_uncordon import uncordon
from simulator.cluster import SimulatedCluster

pytestmark = pytest.mark.waits

MARK = CordonMark("patch_nodes", "controller", "2026-11-21T12:00:00Z")


class Module:
    """The part of AnsibleModule that the client uses."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.no_log_values: set[str] = set()
        self.params = {"kubeconfig": str(cluster.kubeconfig), "context": None}

    def fail_json(self, **result: Any) -> NoReturn:
        raise AssertionError(result["msg"])


@pytest.fixture
def api(cluster: SimulatedCluster) -> NodeApi:
    return NodeApi(ClusterClient(Module(cluster)))


@pytest.fixture
def nodes(admin: Client, namespace: str) -> Iterator[list[str]]:
    """Yield two nodes on which only the pods of the namespace run."""
    names = [f"{namespace}-a", f"{namespace}-b"]
    # Pending pods of earlier tests would be scheduled on these nodes.
    for home in {pod["metadata"]["namespace"] for pod in admin.get("/api/v1/pods")["items"]}:
        if home.startswith("test-") and home != namespace:
            admin.request("DELETE", f"/api/v1/namespaces/{home}")
    with SmallKubelet(admin, names, {"example.org/test": namespace}):
        yield names


def deploy(admin: Client, namespace: str, replicas: int) -> None:
    """Create a Deployment, wait until its pods are ready, and protect them by a budget with maxUnavailable 1."""
    labels = {"app": "web"}
    pod = {"nodeSelector": {"example.org/test": namespace}, "containers": [{"name": "a", "image": "example.invalid/a"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    admin.request(
        "POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", {"metadata": {"name": "web"}, "spec": spec}
    )
    guard = {"metadata": {"name": "guard"}, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}}
    admin.request("POST", f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", guard)
    budget = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/guard"
    wait_for(lambda: admin.get(budget).get("status", {}).get("disruptionsAllowed"), "all are ready")


def places(admin: Client, namespace: str) -> list[str]:
    """Return the nodes of the pods that are not being deleted."""
    found = admin.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return [one["spec"]["nodeName"] for one in found if not one["metadata"].get("deletionTimestamp")]


def empty(api: NodeApi, *names: str, **options: Any) -> dict[str, dict[str, Any]]:
    chosen = DrainOptions(**{"mark": MARK, "timeout": 30, "retry": 0.2, **options})
    return drain(api, names, chosen, clock=time.monotonic, sleep=time.sleep, poll=0.1)


def test_a_guarded_workload_moves_and_moves_back(api: NodeApi, admin: Client, namespace: str, nodes: list[str]) -> None:
    deploy(admin, namespace, 4)
    here, there = nodes
    result = empty(api, here)[here]
    assert (result["status"], result["ours"]) == ("drained", True), result
    assert set(places(admin, namespace)) == {there}
    node = admin.get(f"/api/v1/nodes/{here}")
    assert node["spec"]["unschedulable"] is True
    assert "patch_nodes" in node["metadata"]["annotations"][ANNOTATION]

    # A run of another playbook does not take over the cordon.
    assert empty(api, here, mark=MARK._replace(by="upgrade_nodes"))[here]["ours"] is False
    assert uncordon(api, here, "upgrade_nodes", False)["unschedulable"] is True
    assert uncordon(api, here, "patch_nodes", False)["changed"] is True
    node = admin.get(f"/api/v1/nodes/{here}")
    assert not node["spec"].get("unschedulable")
    assert ANNOTATION not in node["metadata"].get("annotations", {})
    assert empty(api, there)[there]["status"] == "drained"
    assert set(places(admin, namespace)) == {here}


def test_a_budget_in_the_way_is_named(api: NodeApi, admin: Client, namespace: str, nodes: list[str]) -> None:
    deploy(admin, namespace, 4)
    # With both nodes cordoned, no node accepts the replacement of an evicted pod.
    results = empty(api, *nodes, timeout=2)
    assert "timeout" in [one["status"] for one in results.values()]
    message = "PodDisruptionBudget guard allows no eviction (The disruption budget guard needs 3 healthy pods and has 3"
    assert any(f"pod {namespace}/web-" in one["msg"] and message in one["msg"] for one in results.values()), results
    # Pods of controllers of earlier tests do not count.
    own = [name for one in results.values() for name in one["evicted"] if name.startswith(f"{namespace}/")]
    assert len(own) == 1


def test_a_pod_whose_eviction_is_refused_stays(api: NodeApi, admin: Client, namespace: str, nodes: list[str]) -> None:
    here = nodes[0]
    spec = {"nodeName": here, "containers": [{"name": "a", "image": "example.invalid/a"}], "volumes": [{"name": "d", "emptyDir": {}}]}  # fmt: skip  # noqa: E501
    pods = f"/api/v1/namespaces/{namespace}/pods"
    code, body = admin.request("POST", pods, {"metadata": {"name": "own"}, "spec": spec})
    assert code == 201, body
    result = empty(api, here)[here]
    assert result["status"] == "refused"
    assert f"pod {namespace}/own: it has emptyDir volumes" in result["msg"]
    assert not admin.get(f"/api/v1/nodes/{here}")["spec"].get("unschedulable")
    assert empty(api, here, force=True, delete_emptydir_data=True, grace_period=0)[here]["status"] == "drained"
    assert admin.request("GET", f"{pods}/own")[0] == 404


def test_an_unsuccessful_answer_is_reported(api: NodeApi, nodes: list[str]) -> None:
    assert api.node("nobody") is None
    with pytest.raises(ApiError) as error:
        api.patch_node(nodes[0], {"metadata": {"resourceVersion": "1"}, "spec": {"unschedulable": True}})
    assert error.value.status == 409
    assert error.value.is_temporary
    assert empty(api, "nobody")["nobody"]["msg"] == "nobody: the cluster has no node of this name"
