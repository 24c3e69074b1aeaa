# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Draining nodes, or the reason for a failure, on a cluster of dictionaries without delays."""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.module_utils.api_error import ApiError
from ansible_collections.winkube.node.plugins.module_utils.cordon import ANNOTATION, CordonMark
from ansible_collections.winkube.node.plugins.module_utils.drain import CONFLICTS, DrainOptions, drain
from ansible_collections.winkube.node.plugins.module_utils.pods import Pod, pod_name
from ansible_collections.winkube.node.plugins.modules.nodes_uncordon import uncordon

pytestmark = pytest.mark.waits

MARK = CordonMark("patch_nodes", "controller", "2026-11-21T12:00:00Z")
BUDGET = ApiError(
    "Cannot evict pod as it would violate the pod's disruption budget.",
    429,
    {"DisruptionBudget": "The disruption budget guard needs 2 healthy pods and has 2 currently"},
)


class Cluster:
    """A cluster whose pods take two seconds to stop, and whose requests fail as configured."""

    def __init__(self) -> None:
        self.now = 0.0
        self.nodes: dict[str, dict[str, t.Any]] = {}
        self.listed: dict[str, dict[str, dict[str, t.Any]]] = {}
        self.ends: dict[str, float] = {}
        self.refusals: dict[str, list[ApiError]] = {}
        self.guards: list[t.Mapping[str, t.Any]] = []
        self.evictions: list[str] = []
        self.cordoned_at_eviction: list[int] = []
        self.conflicts = 0

    def add(self, node: str, *names: str, unschedulable: bool = False, **changes: t.Any) -> None:
        """Add a node with pods of a ReplicaSet."""
        self.nodes[node] = {
            "metadata": {"name": node, "resourceVersion": "1", "annotations": {}},
            "spec": {"unschedulable": unschedulable},
            "status": {"nodeInfo": {"bootID": "3"}},
        }
        owner = [{"kind": "ReplicaSet", "name": "set", "controller": True}]
        metadata = {"namespace": "default", "labels": {"app": "web"}, "ownerReferences": owner} | changes
        self.listed[node] = {
            f"default/{name}": {"metadata": {"name": name} | metadata, "spec": {}, "status": {"phase": "Running"}}
            for name in names
        }

    def node(self, name: str) -> dict[str, t.Any] | None:
        return self.nodes.get(name)

    def patch_node(self, name: str, body: t.Mapping[str, t.Any]) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise ApiError("the object has been modified", 409)
        self.nodes[name]["spec"].update(body["spec"])
        self.nodes[name]["metadata"]["annotations"].update(body["metadata"]["annotations"])

    def pods(self, node: str) -> list[Pod]:
        self._fail("list")
        self.listed[node] = {
            name: pod for name, pod in self.listed[node].items() if self.now < self.ends.get(name, self.now + 1)
        }
        return list(self.listed[node].values())

    def evict(self, pod: Pod, grace_period: int | None) -> None:
        name = pod_name(pod)
        self.cordoned_at_eviction.append(len(self.cordoned()))
        self._fail(name)
        self.evictions.append(name)
        self.ends[name] = self.now + 2
        t.cast("dict[str, t.Any]", pod["metadata"])["deletionTimestamp"] = "soon"

    def budgets(self, namespace: str) -> list[t.Mapping[str, t.Any]]:
        return self.guards

    def guard(self, *names: str) -> None:
        spec = {"selector": {"matchLabels": {"app": "web"}}}
        self.guards = [{"metadata": {"name": name}, "spec": spec} for name in names]

    def _fail(self, what: str) -> None:
        if self.refusals.get(what):
            raise self.refusals[what].pop(0)

    def drain(self, *names: str, **options: t.Any) -> dict[str, dict[str, t.Any]]:
        return drain(
            self,
            names or list(self.nodes),
            DrainOptions(**{"mark": MARK, "timeout": 60, **options}),
            clock=lambda: self.now,
            sleep=self._sleep,
        )

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def cordoned(self) -> list[str]:
        return [name for name, node in self.nodes.items() if node["spec"]["unschedulable"]]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_nodes_are_emptied_at_the_same_time(cluster: Cluster) -> None:
    for number in range(5):
        cluster.add(f"n{number}", f"a{number}", f"b{number}")
    results = cluster.drain()
    assert {one["status"] for one in results.values()} == {"drained"}
    assert cluster.cordoned() == list(cluster.nodes)
    assert all(one["ours"] and one["changed"] and not one["cordoned_before"] for one in results.values())
    assert results["n3"]["evicted"] == ["default/a3", "default/b3"]
    assert set(cluster.cordoned_at_eviction) == {5}, "a pod could move to a node that is drained next"
    assert cluster.now < 5, "one after the other would take five times two seconds"


def test_an_empty_node_takes_no_time(cluster: Cluster) -> None:
    cluster.add("n")
    assert cluster.drain()["n"]["status"] == "drained"
    assert cluster.now == 0


def test_a_refused_eviction_is_tried_again(cluster: Cluster) -> None:
    cluster.add("n", "a", "b")
    cluster.refusals["default/a"] = [BUDGET] * 3
    result = cluster.drain()["n"]
    assert (result["status"], result["msg"]) == ("drained", "")
    assert result["evicted"] == ["default/b", "default/a"]


def test_the_servers_retry_after_is_respected(cluster: Cluster) -> None:
    cluster.add("n", "a")
    cluster.refusals["default/a"] = [ApiError("still being processed", 429, BUDGET.causes, retry_after=10)]
    assert cluster.drain()["n"]["status"] == "drained"
    assert cluster.now >= 10


def test_a_budget_that_never_gives_way_is_named_with_its_pod(cluster: Cluster) -> None:
    cluster.add("n", "a", "b")
    cluster.guard("guard")
    cluster.refusals["default/a"] = [BUDGET] * 1000
    result = cluster.drain(timeout=30)["n"]
    assert result["status"] == "timeout"
    assert result["msg"] == (
        "n: not drained after 30 seconds: pod default/a: PodDisruptionBudget guard allows no eviction (The disruption "
        "budget guard needs 2 healthy pods and has 2 currently)"
    )
    assert result["evicted"] == ["default/b"]
    assert cluster.cordoned() == ["n"]


def test_a_pod_that_does_not_stop_is_named(cluster: Cluster) -> None:
    cluster.add("n", "a", deletionTimestamp="long ago")
    result = cluster.drain(timeout=30)["n"]
    assert result["msg"] == "n: not drained after 30 seconds: pod default/a: it is still stopping"
    assert cluster.evictions == []


def test_two_budgets_for_a_pod_are_a_mistake_that_no_time_heals(cluster: Cluster) -> None:
    cluster.add("n", "a")
    cluster.guard("one", "two")
    cluster.refusals["default/a"] = [ApiError("This pod has more than one PodDisruptionBudget", 500)] * 1000
    result = cluster.drain()["n"]
    assert result["status"] == "failed"
    assert "PodDisruptionBudgets one, two select it" in result["msg"]
    assert cluster.now == 0


def test_a_pod_that_must_not_be_evicted_leaves_the_node_unchanged(cluster: Cluster) -> None:
    cluster.add("n", "a", ownerReferences=[])
    cluster.add("other", "b")
    results = cluster.drain()
    assert results["n"]["status"] == "refused"
    assert "pod default/a: it has no controller that would recreate it (force: true allows this)" in results["n"]["msg"]
    assert cluster.cordoned() == ["other"]
    assert cluster.evictions == ["default/b"]


def test_a_node_cordoned_by_another_user_does_not_belong_to_us(cluster: Cluster) -> None:
    cluster.add("n", "a", unschedulable=True)
    result = cluster.drain()["n"]
    assert (result["status"], result["ours"], result["cordoned_before"]) == ("drained", False, True)
    assert result["cordoned_by"] == "another client"
    assert ANNOTATION not in cluster.nodes["n"]["metadata"]["annotations"]


def test_a_node_cordoned_by_an_earlier_run_belongs_to_us(cluster: Cluster) -> None:
    cluster.add("n", "a", unschedulable=True)
    cluster.nodes["n"]["metadata"]["annotations"][ANNOTATION] = MARK._replace(since="yesterday").to_text()
    result = cluster.drain()["n"]
    assert (result["ours"], result["cordoned_by"]) == (True, "patch_nodes on controller since yesterday")


def test_a_node_that_changed_concurrently_is_read_again(cluster: Cluster) -> None:
    cluster.add("n")
    cluster.conflicts = 2
    assert cluster.drain()["n"]["ours"]


@pytest.mark.parametrize("status", [0, 429, 500, 503])
def test_a_short_outage_of_the_api_server_is_not_a_failure(cluster: Cluster, status: int) -> None:
    cluster.add("n", "a")
    cluster.refusals = {"list": [ApiError("away", status)] * 4, "default/a": [ApiError("away", status)] * 2}
    assert cluster.drain()["n"]["status"] == "drained"


def test_a_long_outage_of_the_api_server_is_a_failure(cluster: Cluster) -> None:
    cluster.add("n", "a")
    cluster.refusals["list"] = [ApiError("the API server cannot be reached: refused")] * 1000
    assert cluster.drain(timeout=20)["n"]["msg"] == (
        "n: not drained after 20 seconds: the API server cannot be reached: refused"
    )


def test_a_request_that_is_not_allowed_is_not_repeated(cluster: Cluster) -> None:
    cluster.add("n", "a")
    cluster.refusals["default/a"] = [ApiError("pods/eviction is forbidden", 403)]
    result = cluster.drain()["n"]
    assert result["msg"] == "n: pod default/a cannot be evicted: pods/eviction is forbidden"
    assert cluster.now == 0


def test_pods_of_a_terminating_namespace_are_waited_for(cluster: Cluster) -> None:
    cluster.add("n", "a")
    terminating = ApiError("the namespace is being terminated", 403, {"NamespaceTerminating": "it is"})
    cluster.refusals["default/a"] = [terminating] * 3
    assert cluster.drain()["n"]["status"] == "drained"


def test_a_name_that_the_cluster_does_not_know(cluster: Cluster) -> None:
    cluster.add("n")
    assert cluster.drain("nn")["nn"]["msg"] == "nn: the cluster has no node of this name"
    assert cluster.cordoned() == []


def test_a_dry_run_changes_nothing_and_reports_obstacles(cluster: Cluster) -> None:
    cluster.add("n", "a")
    cluster.add("naked", "b", ownerReferences=[])
    results = cluster.drain(dry=True)
    assert (results["n"]["status"], results["n"]["changed"]) == ("checked", True)
    assert results["naked"]["status"] == "refused"
    assert (cluster.cordoned(), cluster.evictions) == ([], [])


class Killed(BaseException):
    """The controller was killed."""


class Mortal(Cluster):
    """A cluster whose client is killed at a request: before the cluster gets it, or before the response arrives."""

    def __init__(self, request: int, *, after: bool) -> None:
        super().__init__()
        self.request, self.after, self.requests = request, after, 0

    def _ask(self, ask: t.Callable[[], t.Any]) -> t.Any:
        self.requests += 1
        if self.requests == self.request and not self.after:
            raise Killed
        answer = ask()
        if self.requests == self.request:
            raise Killed
        return answer

    def node(self, name: str) -> dict[str, t.Any] | None:
        return t.cast("dict[str, t.Any] | None", self._ask(lambda: super(Mortal, self).node(name)))

    def patch_node(self, name: str, body: t.Mapping[str, t.Any]) -> None:
        self._ask(lambda: super(Mortal, self).patch_node(name, body))

    def pods(self, node: str) -> list[Pod]:
        return t.cast("list[Pod]", self._ask(lambda: super(Mortal, self).pods(node)))

    def evict(self, pod: Pod, grace_period: int | None) -> None:
        self._ask(lambda: super(Mortal, self).evict(pod, grace_period))

    def roll(self) -> None:
        """Take all nodes out of service and put them back, like patch_nodes.yml."""
        results = self.drain()
        assert {one["status"] for one in results.values()} == {"drained"}
        for name in self.nodes:
            uncordon(t.cast("t.Any", self), name, MARK.by, False)


def of_two_kinds(request: int = 0, *, after: bool = False) -> Mortal:
    cluster = Mortal(request, after=after)
    cluster.add("ours", "a", "b")
    cluster.add("theirs", "c", unschedulable=True)
    return cluster


@pytest.mark.parametrize("after", [False, True])
def test_the_next_run_repairs_a_controllers_crash_at_any_request(after: bool) -> None:
    unhurt = of_two_kinds()
    unhurt.roll()
    for request in range(1, unhurt.requests + 1):
        cluster = of_two_kinds(request, after=after)
        with pytest.raises(Killed):
            cluster.roll()
        cluster.roll()
        assert cluster.cordoned() == ["theirs"], request
        assert [node["metadata"]["annotations"].get(ANNOTATION) for node in cluster.nodes.values()] == [None, None]
        assert sorted(set(cluster.evictions)) == ["default/a", "default/b", "default/c"]
    assert unhurt.requests > 8


@pytest.mark.parametrize(("status", "expected"), [("Unknown", "drained"), ("False", "drained"), ("True", "timeout")])
def test_pods_of_an_unresponsive_node_are_evicted_and_not_waited_for(status: str, expected: str) -> None:
    cluster = Cluster()
    cluster.add("n1", "a")
    cluster.nodes["n1"]["status"]["conditions"] = [{"type": "Ready", "status": status}]
    # Nothing ends it.
    cluster.ends["default/a"] = 10_000.0
    evict = cluster.evict

    def never_ends(pod: Pod, grace_period: int | None) -> None:
        evict(pod, grace_period)
        cluster.ends["default/a"] = 10_000.0

    cluster.evict = never_ends  # type: ignore[method-assign]
    found = cluster.drain(timeout=30)["n1"]
    assert found["status"] == expected
    assert cluster.evictions == ["default/a"]
    assert ("default/a" in found["ignored"]) is (expected == "drained")


def test_a_node_that_keeps_changing_is_not_drained_before_it_is_cordoned(cluster: Cluster) -> None:
    cluster.add("n", "a")
    cluster.conflicts = CONFLICTS
    result = cluster.drain()["n"]
    assert (result["status"], result["ours"]) == ("drained", True)
    assert cluster.cordoned_at_eviction == [1]


class Busy(Cluster):
    """A cluster in which another client changes a node between the first read and the first patch."""

    def __init__(self) -> None:
        super().__init__()
        self.patched: list[str] = []

    def node(self, name: str) -> dict[str, t.Any] | None:
        return copy.deepcopy(self.nodes.get(name))

    def patch_node(self, name: str, body: t.Mapping[str, t.Any]) -> None:
        self.patched.append(body["metadata"]["resourceVersion"])
        if len(self.patched) == 1:
            self.nodes[name]["metadata"]["resourceVersion"] = "2"
            raise ApiError("the object has been modified", 409)
        super().patch_node(name, body)


def test_the_second_patch_is_based_on_the_current_node() -> None:
    cluster = Busy()
    cluster.add("n")
    assert cluster.drain()["n"]["ours"]
    assert cluster.patched == ["1", "2"]


def test_a_refusal_states_that_nothing_was_evicted_only_if_true(cluster: Cluster) -> None:
    cluster.add("n", "a", ownerReferences=[])
    assert cluster.drain()["n"]["msg"].startswith("n: nothing was evicted: pod default/a: ")
    cluster.add("late", "b")
    evict = cluster.evict

    def evict_while_another_comes(pod: Pod, grace_period: int | None) -> None:
        evict(pod, grace_period)
        bare = {"metadata": {"namespace": "default", "name": "c"}, "spec": {}, "status": {"phase": "Running"}}
        cluster.listed["late"]["default/c"] = bare

    cluster.evict = evict_while_another_comes  # type: ignore[method-assign]
    result = cluster.drain("late")["late"]
    assert (result["status"], result["evicted"]) == ("refused", ["default/b"])
    assert result["msg"].startswith("late: pod default/c: it has no controller that would recreate it")


def test_the_result_contains_the_boot_id(cluster: Cluster) -> None:
    cluster.add("n", "a")
    cluster.listed["n"]["kube-flannel/f"] = {
        "metadata": {
            "namespace": "kube-flannel",
            "name": "f",
            "ownerReferences": [{"kind": "DaemonSet", "name": "flannel", "controller": True}],
        },
        "spec": {"securityContext": {"windowsOptions": {"hostProcess": True}}},
        "status": {"phase": "Running", "containerStatuses": [{"containerID": "containerd://1"}]},
    }
    result = cluster.drain()["n"]
    assert result["status"] == "drained"
    assert result["boot_id"] == "3"
    assert result["host_process"] == {"kube-flannel/flannel": ["containerd://1"]}
