# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""When a node counts as ready: only after a new report of its kubelet, and with its HostProcess DaemonSets."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.module_utils.api_error import ApiError
from ansible_collections.winkube.node.plugins.modules import nodes_ready
from ansible_collections.winkube.node.plugins.modules.nodes_ready import describe, describe_nodes


class Api:
    """A cluster with one node, which has a pod of one HostProcess DaemonSet."""

    def __init__(
        self,
        *,
        boot_id: str = "2",
        ready: str = "True",
        container: str = "new",
        pod_ready: str = "True",
        version: str = "v1.37.1",
    ):
        condition = {"type": "Ready", "status": ready, "message": "kubelet is posting ready status"}
        addresses = [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "10.0.0.5"}]
        status = {"conditions": [condition], "addresses": addresses}
        status["nodeInfo"] = {"bootID": boot_id, "kubeletVersion": version}
        self.node = {"metadata": {"name": "n"}, "spec": {"podCIDR": "10.0.0.0/24"}, "status": status}
        self.read: list[str] = []
        self.daemon_sets: dict[str, t.Any] = {}
        owner = {"kind": "DaemonSet", "name": "flannel", "controller": True}
        self.pod = {
            "metadata": {"namespace": "kube-flannel", "name": "f-1", "ownerReferences": [owner]},
            "spec": {"securityContext": {"windowsOptions": {"hostProcess": True}}},
            "status": {
                "conditions": [{"type": "Ready", "status": pod_ready}],
                "containerStatuses": [{"containerID": f"containerd://{container}"}],
            },
        }

    def nodes(self) -> list[dict[str, t.Any]]:
        return [self.node]

    def pods(self, node: str) -> list[dict[str, t.Any]]:
        return [self.pod]

    def daemon_set(self, place: str) -> dict[str, t.Any] | None:
        self.read.append(place)
        return self.daemon_sets.get(place)


BEFORE = {"n": {"boot_id": "1", "host_process": {"kube-flannel/flannel": ["containerd://old"]}}}


def state(
    api: Api, *, host_process: bool = True, before: t.Mapping[str, t.Any] = BEFORE, version: str = ""
) -> dict[str, t.Any]:
    versions = {"n": version} if version else {}
    params = {"nodes": ["n"], "host_process": host_process, "before": before, "versions": versions, "daemon_sets": {}}
    return describe_nodes(params, t.cast("t.Any", api))["n"]


class Sets(Api):
    """A cluster whose node has pods of DaemonSets, given as (DaemonSet, node, whether the pod is ready)."""

    def __init__(self, *pods: tuple[str, str, bool], ready: str = "True") -> None:
        super().__init__(ready=ready)
        self.listed: list[str] = []
        self.found = [
            {
                "metadata": {
                    "namespace": name.partition("/")[0],
                    "name": f"{name.partition('/')[2]}-{index}",
                    "ownerReferences": [{"kind": "DaemonSet", "name": name.partition("/")[2], "controller": True}],
                },
                "spec": {"nodeName": node},
                "status": {"conditions": [{"type": "Ready", "status": str(is_ready)}]},
            }
            for index, (name, node, is_ready) in enumerate(pods)
        ]

    def namespaced_pods(self, namespace: str) -> list[dict[str, t.Any]]:
        self.listed.append(namespace)
        return [one for one in self.found if one["metadata"]["namespace"] == namespace]


PROXY, FLANNEL = "kube-system/kube-proxy-windows", "kube-flannel/flannel-windows"


@pytest.mark.parametrize(
    ("pods", "reason"),
    [
        ([(PROXY, "n", True), (FLANNEL, "n", True), (FLANNEL, "other", False)], ""),
        ([(PROXY, "n", True)], f"DaemonSet {FLANNEL} has no pod on this node"),
        ([(PROXY, "n", True), (FLANNEL, "other", True)], f"DaemonSet {FLANNEL} has no pod on this node"),
        ([(PROXY, "n", False), (FLANNEL, "n", True)], "pod kube-system/kube-proxy-windows-0 is not ready"),
        # The pod of an earlier template is ending, and its successor is ready.
        ([(PROXY, "n", False), (PROXY, "n", True), (FLANNEL, "n", True)], ""),
    ],
)
def test_a_node_is_ready_with_a_ready_pod_of_each_of_its_daemon_sets(
    pods: list[tuple[str, str, bool]], reason: str
) -> None:
    api = Sets(*pods)
    params = {
        "nodes": ["n"],
        "host_process": False,
        "before": {},
        "versions": {},
        "daemon_sets": {"n": [PROXY, FLANNEL]},
    }
    found = describe_nodes(params, t.cast("t.Any", api))["n"]
    assert (found["ready"], found["reason"]) == (not reason, reason)
    assert api.listed == ["kube-flannel", "kube-system"]


def test_pods_of_daemon_sets_are_not_listed_before_the_node_is_ready() -> None:
    api = Sets((PROXY, "n", False), ready="False")
    params = {"nodes": ["n"], "host_process": False, "before": {}, "versions": {}, "daemon_sets": {"n": [PROXY]}}
    assert not describe_nodes(params, t.cast("t.Any", api))["n"]["ready"]
    assert api.listed == []


def expected(condition: str, *, pod_cidr: bool = False, overlay_address: bool = False) -> dict[str, t.Any]:
    return {"condition": condition, "pod_cidr": pod_cidr, "overlay_address": overlay_address}


def test_a_node_that_is_ready_again() -> None:
    assert state(Api()) == {
        "registered": True,
        "ready": True,
        "pod_cidr": "10.0.0.0/24",
        "internal_ip": "10.0.0.5",
        "overlay_address": "",
        "reason": "",
    }


@pytest.mark.parametrize(
    ("reported", "version", "reason"),
    [
        ("v1.37.1", "1.37.1", ""),
        ("v1.37.1", "", ""),
        ("v1.36.3", "1.37.1", "expected the kubelet 1.37.1, got 1.36.3"),
        ("", "1.37.1", "expected the kubelet 1.37.1, got no version"),
        ("v1.37.1\x1b[2J", "1.37.1", "expected the kubelet 1.37.1, got 1.37.1\\x1b[2J"),
    ],
)
def test_a_node_is_ready_when_its_kubelet_has_the_expected_version(reported: str, version: str, reason: str) -> None:
    found = state(Api(version=reported), version=version)
    assert (found["ready"], found["reason"]) == (not reason, reason)


def test_messages_of_a_kubelet_are_safe_to_print() -> None:
    api = Api(ready="False")
    api.node["status"]["conditions"][0]["message"] = "runtime \x1b]52;c;cm0=\x07 down"  # type: ignore[index]
    assert state(api)["reason"] == "runtime \\x1b]52;c;cm0=\\x07 down"


def test_a_node_that_the_cloud_provider_has_not_initialized_is_not_ready() -> None:
    api = Api()
    taint = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
    api.node["spec"]["taints"] = [{"key": "os", "effect": "NoSchedule"}, taint]  # type: ignore[index]
    found = state(api)
    assert (found["registered"], found["ready"]) == (True, False)
    assert found["reason"].startswith("the cloud provider has not initialized the node (taint node.cloudprovider")
    api.node["spec"]["taints"].pop()  # type: ignore[index]
    assert state(api)["ready"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"boot_id": "1"}, "the kubelet has not reported since the reboot"),
        ({"ready": "False"}, "kubelet is posting ready status"),
        ({"container": "old"}, "the kubelet has not reported DaemonSet kube-flannel/flannel since the reboot"),
        ({"pod_ready": "False"}, "pod kube-flannel/f-1 is not ready"),
    ],
)
def test_a_node_that_has_not_rebooted_yet(changes: dict[str, str], reason: str) -> None:
    found = state(Api(**changes))
    assert (found["ready"], found["reason"]) == (False, reason)


def test_without_a_reboot_nothing_has_to_be_new() -> None:
    assert state(Api(boot_id="1", container="old"), before={})["ready"]


def test_a_set_whose_pod_is_missing_is_waited_for() -> None:
    gone = {"n": {"boot_id": "1", "host_process": {"kube-system/kube-proxy": ["containerd://old"]}}}
    api = Api()
    api.daemon_sets["kube-system/kube-proxy"] = {"spec": {"template": {"spec": {}}}}
    assert state(api, before=gone)["reason"] == "DaemonSet kube-system/kube-proxy has no pod on this node"


LABEL = "winkube.node/pod-network"


@pytest.mark.parametrize("labels", [{}, {LABEL: "flannel"}])
def test_a_set_that_no_longer_selects_the_node_is_not_waited_for(labels: dict[str, str]) -> None:
    # The network changed in the same drain: flannel's DaemonSet is gone, and Calico's stays for other nodes.
    sets = {name: ["containerd://old"] for name in ("kube-flannel/former", "kube-system/calico-node-windows")}
    api = Api()
    api.node["metadata"]["labels"] = labels
    term = {"matchExpressions": [{"key": LABEL, "operator": "In", "values": ["calico"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    spec = {"affinity": {"nodeAffinity": required}}
    api.daemon_sets["kube-system/calico-node-windows"] = {"spec": {"template": {"spec": spec}}}
    assert state(api, before={"n": {"boot_id": "1", "host_process": sets}})["ready"]
    api.node["metadata"]["labels"] = {LABEL: "calico"}
    assert not state(api, before={"n": {"boot_id": "1", "host_process": sets}})["ready"]


def test_sets_with_a_pod_are_not_read() -> None:
    api = Api()
    assert state(api)["ready"]
    assert api.read == []


def test_pods_are_inspected_only_on_request() -> None:
    assert state(Api(pod_ready="False"), host_process=False, before={})["ready"]


@pytest.mark.parametrize(
    ("spec", "phase", "has_pods"),
    [
        ({}, "Running", True),
        ({}, "Pending", True),
        ({"hostNetwork": True}, "Running", False),
        ({}, "Succeeded", False),
        ({}, "Failed", False),
    ],
)
def test_pods_with_a_network_of_their_own(spec: dict[str, t.Any], phase: str, has_pods: bool) -> None:
    api = Api()
    api.pod |= {"spec": spec, "status": {"phase": phase}}
    assert nodes_ready.has_pods(t.cast("t.Any", api), "n") is has_pods


@pytest.mark.parametrize("status", [403, 500])
def test_an_account_that_may_not_list_pods(status: int) -> None:
    class Limited(Api):
        def pods(self, node: str) -> list[dict[str, t.Any]]:
            raise ApiError("no", status)

    api = t.cast("t.Any", Limited())
    if status == nodes_ready.FORBIDDEN:
        assert nodes_ready.has_pods(api, "n")
    else:
        with pytest.raises(ApiError):
            nodes_ready.has_pods(api, "n")


def test_a_node_that_is_not_in_the_cluster() -> None:
    assert describe(None)["reason"] == "the node is not registered"


class End(Exception):
    """The end of the module, with its result."""


@pytest.mark.parametrize("required", [True, False])
def test_one_missing_node_need_not_fail_all(monkeypatch: pytest.MonkeyPatch, required: bool) -> None:
    """One of many nodes has a wrong name: its own host must fail, and not the one that runs the task."""
    params = {"nodes": ["n", "no-such-node"], "host_process": False, "before": {}, "condition": "registered"}
    params |= {"pods": False, "versions": {}, "daemon_sets": {}}
    params |= {"pod_cidr": False, "overlay_address": False, "timeout": 0, "required": required}

    class Fake:
        check_mode = False

        def __init__(self, **_: t.Any) -> None:
            self.params = params

        def exit_json(self, **result: t.Any) -> None:
            raise End({"failed": False, **result})

        def fail_json(self, **result: t.Any) -> None:
            raise End({"failed": True, **result})

    monkeypatch.setattr(nodes_ready, "AnsibleModule", Fake)
    monkeypatch.setattr(nodes_ready, "Cluster", lambda _: None)
    monkeypatch.setattr(nodes_ready, "NodeApi", lambda _: Api())
    with pytest.raises(End) as end:
        nodes_ready.main()
    result = end.value.args[0]
    assert result["failed"] is required
    assert result["waiting"] == ["no-such-node"]
    assert result["nodes"]["n"]["registered"]


@pytest.mark.parametrize(
    ("cidr", "pod_cidr", "arrived"), [("", True, False), ("", False, True), ("10.0.0.0/24", True, True)]
)
@pytest.mark.parametrize("condition", ["registered", "ready"])
def test_a_node_may_have_to_have_its_pods_subnet(cidr: str, pod_cidr: bool, arrived: bool, condition: str) -> None:
    api = Api()
    api.node["spec"] = {"podCIDR": cidr} if cidr else {}
    assert nodes_ready.is_done(state(api), expected(condition, pod_cidr=pod_cidr)) is arrived


@pytest.mark.parametrize("condition", ["registered", "ready"])
def test_a_node_may_have_to_have_an_address_in_the_overlay(condition: str) -> None:
    api = Api()
    assert not nodes_ready.is_done(state(api), expected(condition, overlay_address=True))
    api.node["metadata"]["annotations"] = {"projectcalico.org/IPv4VXLANTunnelAddr": "10.233.90.65"}
    assert state(api)["overlay_address"] == "10.233.90.65"
    assert nodes_ready.is_done(state(api), expected(condition, overlay_address=True))


@pytest.mark.parametrize("condition", ["registered", "ready"])
def test_a_node_that_is_not_there_yet(condition: str) -> None:
    assert not nodes_ready.is_done(describe(None), expected(condition))
    assert nodes_ready.is_done(state(Api(ready="False")), expected(condition)) is (condition == "registered")
