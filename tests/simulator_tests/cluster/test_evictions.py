# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Evictions with PodDisruptionBudgets, and the nodes of the replacement pods; the same on both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from simulator_tests.cluster.node_client import STRATEGIC, Client
from simulator_tests.cluster.small_kubelet import SmallKubelet
from simulator_tests.waiting import wait_for

pytestmark = pytest.mark.waits

LABELS = {"app": "web"}


class Workload:
    """Pods in a namespace with two nodes of its own, and budgets for the pods."""

    def __init__(self, admin: Client, kubelet: SmallKubelet, namespace: str) -> None:
        self.admin, self.kubelet, self.namespace = admin, kubelet, namespace
        self.nodes = [f"{namespace}-a", f"{namespace}-b"]
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"

    def spec(self) -> dict[str, Any]:
        return {
            "nodeSelector": {"example.org/test": self.namespace},
            "containers": [{"name": "a", "image": "example.invalid/a:1"}],
        }

    def deploy(self, replicas: int) -> None:
        template = {"metadata": {"labels": LABELS}, "spec": self.spec()}
        spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments"
        code, body = self.admin.request("POST", path, {"metadata": {"name": "web"}, "spec": spec})
        assert code == 201, body

    def guard(self, name: str = "guard", **spec: Any) -> None:
        path = f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"
        body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": LABELS}} | spec}
        code, answer = self.admin.request("POST", path, body)
        assert code == 201, answer

    def pod(self, name: str, **spec: Any) -> dict[str, Any]:
        body = {"metadata": {"name": name, "labels": LABELS}, "spec": self.spec() | spec}
        code, answer = self.admin.request("POST", self.pods_path, body)
        assert code == 201, answer
        return answer

    def pods(self, node: str = "") -> list[dict[str, Any]]:
        found = self.admin.get(self.pods_path)["items"]
        return [one for one in found if node in ("", one["spec"].get("nodeName"))]

    def ready(self, number: int) -> None:
        wait_for(lambda: sum(is_ready(one) for one in self.pods()) == number, f"{number} pods are ready")

    def budget(self, **expected: int) -> None:
        path = f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets/guard"

        def status() -> dict[str, int]:
            found = self.admin.get(path).get("status", {})
            return {key: found.get(key, 0) for key in expected}

        wait_for(lambda: status() == expected, f"{expected}, not {status()}")

    def cordon(self, node: str) -> None:
        assert (
            self.admin.request("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}}, STRATEGIC)[0] == 200
        )

    def evict(self, pod: str, **options: Any) -> tuple[int, dict[str, Any]]:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": self.namespace},
            "deleteOptions": options,
        }
        return self.admin.request("POST", f"{self.pods_path}/{pod}/eviction", body)


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@pytest.fixture
def workload(admin: Client, namespace: str) -> Iterator[Workload]:
    nodes = [f"{namespace}-a", f"{namespace}-b"]
    with SmallKubelet(admin, nodes, {"example.org/test": namespace}) as kubelet:
        yield Workload(admin, kubelet, namespace)


def test_evicted_pods_restart_on_other_nodes_and_the_budget_allows_evictions_again(workload: Workload) -> None:
    workload.guard(minAvailable=2)
    workload.cordon(workload.nodes[1])
    workload.deploy(3)
    workload.ready(3)
    workload.budget(disruptionsAllowed=1, currentHealthy=3, desiredHealthy=2, expectedPods=3)
    workload.admin.request("PATCH", f"/api/v1/nodes/{workload.nodes[1]}", {"spec": {"unschedulable": None}}, STRATEGIC)
    workload.cordon(workload.nodes[0])
    first, second, third = [one["metadata"]["name"] for one in workload.pods()]
    workload.kubelet.ready = False
    assert workload.evict(first)[0] == 201
    workload.budget(disruptionsAllowed=0, currentHealthy=2)
    code, refusal = workload.evict(second)
    assert (code, refusal["reason"]) == (429, "TooManyRequests")
    workload.kubelet.ready = True
    workload.budget(disruptionsAllowed=1, currentHealthy=3)
    assert workload.evict(second)[0] == 201
    wait_for(lambda: workload.evict(third)[0] == 201, "the third one may go too")
    wait_for(lambda: len(workload.pods(workload.nodes[1])) == 3, "all are on the other node")
    workload.ready(3)


@pytest.mark.parametrize(
    ("spec", "healthy", "allowed"),
    [
        ({"maxUnavailable": 1}, 4, 1),
        ({"maxUnavailable": "30%"}, 3, 2),  # of five, rounded up
        ({"minAvailable": "50%"}, 3, 2),  # rounded up
        ({"maxUnavailable": 0}, 5, 0),
        ({"minAvailable": 9}, 9, 0),
    ],
)
def test_the_evictions_that_a_budget_allows(
    workload: Workload, spec: dict[str, Any], healthy: int, allowed: int
) -> None:
    workload.guard(**spec)
    workload.deploy(5)
    workload.ready(5)
    workload.budget(disruptionsAllowed=allowed, currentHealthy=5, desiredHealthy=healthy, expectedPods=5)


def test_two_budgets_for_a_pod_are_refused(workload: Workload) -> None:
    workload.guard("one", minAvailable=0)
    workload.guard("two", minAvailable=0)
    workload.pod("both")
    workload.ready(1)
    code, body = workload.evict("both")
    assert code == 500
    assert "This pod has more than one PodDisruptionBudget" in body["message"]


def test_an_eviction_applies_to_the_pod_with_the_given_uid(workload: Workload) -> None:
    uid = workload.pod("a")["metadata"]["uid"]
    workload.ready(1)
    code, body = workload.evict("a", preconditions={"uid": "another"})
    assert (code, body["reason"]) == (409, "Conflict")
    assert workload.evict("a", preconditions={"uid": uid})[0] == 201
    assert workload.evict("nobody")[0] == 404


def test_a_dry_run_takes_nothing_of_the_budget(workload: Workload) -> None:
    workload.guard(minAvailable=1)
    for name in ("a", "b"):
        workload.pod(name)
    workload.ready(2)
    workload.budget(disruptionsAllowed=1)
    assert workload.evict("a", dryRun=["All"])[0] == 201
    assert workload.evict("b", dryRun=["All"])[0] == 201
    assert not [one for one in workload.pods() if one["metadata"].get("deletionTimestamp")]
    workload.budget(disruptionsAllowed=1)


def test_pods_that_are_not_healthy(workload: Workload) -> None:
    """They may be evicted if enough other pods are healthy, or if the budget always allows it."""
    workload.guard(minAvailable=1)
    workload.pod("healthy")
    workload.ready(1)
    workload.kubelet.ready = False
    workload.pod("sick")
    path = f"{workload.pods_path}/sick"
    wait_for(lambda: workload.admin.get(path)["spec"].get("nodeName"), "it is bound")
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    assert workload.admin.request("PATCH", f"{path}/status", {"status": running}, STRATEGIC)[0] == 200
    workload.budget(disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1)
    assert workload.evict("healthy")[0] == 429
    assert workload.evict("sick")[0] == 201
