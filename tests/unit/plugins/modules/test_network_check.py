# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module network_check with an API over HTTP, whose kubelets report what agnhost experiences."""

from __future__ import annotations

import os
import platform
import signal
import socket
import subprocess
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.fake_cluster import Asked, Document, FakeCluster, run_module
from unit.network_check_cluster import node
from unit.pod_network import PodNetwork

from ansible_collections.winkube.node.plugins.module_utils.network_check.plan import KINDS
from ansible_collections.winkube.node.plugins.modules import network_check

NAMESPACES = "api/v1/namespaces"
QUICK = {"pod_timeout": 5, "attempts": 1, "result_timeout": 1, "connect_timeout": 1, "cleanup_timeout": 5}
LABELS = {"app.kubernetes.io/managed-by": "winkube.node", "winkube.node/purpose": "network-check"}


class NetworkCluster(FakeCluster):
    """A cluster with nodes, kubelets, and a pod network."""

    def __init__(self, folder: Path) -> None:
        self.network = PodNetwork(
            lambda: self._of("pods"), lambda: self._of("services"), lambda: self._of("nodes"),
            lambda: self._of("networkpolicies"),
        )  # fmt: skip
        super().__init__(folder)

    def _of(self, kind: str) -> list[Document]:
        return [one for path, one in self.objects.items() if path.rpartition("/")[0].endswith(f"/{kind}")]

    def _get(self, asked: Asked) -> tuple[int, t.Any]:
        if asked.path.endswith("/pods"):
            for pod in self._of("pods"):
                if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                    pod["status"] = self.network.status(pod)
        return super()._get(asked)

    def _post(self, asked: Asked) -> tuple[int, t.Any]:
        if asked.path.endswith(("/pods", "/services")):
            namespace = asked.path.split("/")[3]
            asked.body["metadata"] |= {"namespace": namespace, "uid": "u"}
        if asked.path.endswith("/services"):
            number = len(self._of("services"))
            asked.body["spec"]["clusterIP"] = f"10.96.0.{number + 10}"
            asked.body["spec"]["ports"][0]["nodePort"] = 30000 + number
        return super()._post(asked)

    def _delete(self, asked: Asked) -> tuple[int, t.Any]:
        answered = super()._delete(asked)
        if asked.path.startswith(f"{NAMESPACES}/") and asked.path.count("/") == 3:
            inside = f"/namespaces/{asked.path.rpartition('/')[2]}/"
            for path in [path for path in self.objects if inside in path]:
                del self.objects[path]
        return answered


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[NetworkCluster]:
    found = NetworkCluster(tmp_path)
    for one in (node("win0"), node("win1"), node("lin0", "linux")):
        found.add(f"api/v1/nodes/{one['metadata']['name']}", **one)
    yield found
    found.close()


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Restore the handlers of signals, which the module sets for its process."""
    numbers = network_check.SIGNALS
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def promptness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_check.time, "sleep", lambda _seconds: None)


def run(cluster: NetworkCluster, **options: t.Any) -> Document:
    return run_module(network_check, cluster, **{**QUICK, **options})


def statuses(found: Document) -> set[str]:
    return {one["status"] for one in found["results"]}


def test_a_network_that_works_passes_and_nothing_is_left(cluster: NetworkCluster) -> None:
    before = set(cluster.objects)
    cluster.add("apis/apps/v1/namespaces/calico-system/daemonsets/calico-node-windows", spec={"template": {"spec": {}}})
    cluster.add("apis/apps/v1/namespaces/calico-system/daemonsets/calico-node", spec={"template": {"spec": {}}})
    cluster.network.enforcing = {"windows", "linux"}
    found = run(cluster)
    assert not found.get("failed"), found
    assert statuses(found) == {"passed"}
    assert {one["check"] for one in found["results"]} == set(KINDS)
    assert (found["changed"], found["removed"], found["interrupted"]) == (False, True, [])
    assert (found["windows_nodes"], found["windows_nodes_total"], found["linux_nodes"]) == (2, 2, 1)
    assert found["namespace"].startswith("winkube-network-check-")
    assert {path for path in cluster.objects if "daemonsets" not in path} == before
    created = next(one.body for one in cluster.asked if one.path == NAMESPACES)
    assert created["metadata"]["labels"].items() >= LABELS.items()


def test_what_fails_is_returned_and_does_not_fail_the_task(cluster: NetworkCluster) -> None:
    cluster.network.broken = {("win0", "lin0")}
    found = run(cluster, network_policy="skip")
    assert not found.get("failed")
    failed = [one for one in found["results"] if one["status"] == "failed"]
    assert {"check": "pod_to_pod", "from": "win0", "from_os": "windows", "to": "lin0", "to_os": "linux",
            "answered_by": "", "status": "failed", "detail": "no response within 1 seconds",
            "attempts": 1}.items() <= failed[0].items()  # fmt: skip


def test_missing_permissions_are_reported_before_anything_is_created(cluster: NetworkCluster) -> None:
    cluster.denied = lambda spec: spec["resourceAttributes"]["resource"] in ("pods", "networkpolicies")
    found = run(cluster)
    assert found["failed"] is True
    assert "lacks permissions that this run needs" in found["msg"]
    assert "run pods that connect to each other" in found["msg"]
    assert "networkpolicies" in found["msg"]
    assert [one.path for one in cluster.asked if not one.path.endswith("accessreviews")] == []


def test_check_mode_creates_nothing(cluster: NetworkCluster) -> None:
    found = run_module(network_check, cluster, check_mode=True)
    assert statuses(found) == {"not_run"} | {"not_applicable"} & statuses(found)
    assert len(found["results"]) > 20
    assert found["namespace"] == ""
    assert [one.path for one in cluster.asked if not one.path.endswith("accessreviews")] == []


def test_namespaces_of_interrupted_runs_are_deleted(cluster: NetworkCluster) -> None:
    gone = 4_194_304  # larger than any process id of Linux
    here = network_check.this_machine()
    assert here.startswith(f"{platform.node()} pid:[")
    marks = {
        "ended": f'{{"on": "{here}", "process": {gone}, "until": 99999999999}}',
        "late": '{"on": "elsewhere", "process": 1, "until": 1}',
        "live": f'{{"on": "{here}", "process": {os.getpid()}, "until": 99999999999}}',
        "other container": f'{{"on": "{platform.node()} pid:[1]", "process": {gone}, "until": 99999999999}}',
        "other": '{"on": "elsewhere", "process": 1, "until": 99999999999}',
    }
    for name, mark in marks.items():
        metadata = {"labels": LABELS, "annotations": {"winkube.node/network-check": mark}}
        cluster.add(f"{NAMESPACES}/{name}", metadata=metadata)
    cluster.add(f"{NAMESPACES}/kube-system")
    found = run(cluster)
    assert sorted(found["interrupted"]) == ["ended", "late"]
    assert {path.rpartition("/")[2] for path in cluster.objects if path.count("/") == 3 and NAMESPACES in path} == {
        "live", "other", "other container", "kube-system"
    }  # fmt: skip
    warning = "other network checks may still be running, so their namespaces are kept: live, other container, other"
    assert found["warnings"] == [warning]


def test_a_cluster_without_windows_nodes_is_refused(cluster: NetworkCluster) -> None:
    for name in ("win0", "win1"):
        del cluster.objects[f"api/v1/nodes/{name}"]
    found = run(cluster)
    assert found["failed"] is True
    assert "expected at least one Windows node, got none" in found["msg"]


def test_a_bad_option_is_refused_before_the_cluster_is_contacted(cluster: NetworkCluster) -> None:
    found = run(cluster, parallel=0)
    assert found["msg"] == "parallel: expected a number of at least 1, got 0"
    assert cluster.asked == []


@pytest.mark.parametrize(
    ("configuration", "given", "domain"),
    [
        ("networking:\n  dnsDomain: corp.example\n  podSubnet: x\n", None, "corp.example"),
        ('networking:\n  dnsDomain: "corp.example"\n', None, "corp.example"),
        ("dnsDomain: no\n", None, "cluster.local"),
        ("networking:\n  dnsDomain: corp.example\n", "own.example", "own.example"),
    ],
)
def test_names_of_services_end_with_the_dns_domain(
    cluster: NetworkCluster, configuration: str, given: str | None, domain: str
) -> None:
    cluster.add(f"{NAMESPACES}/kube-system/configmaps/kubeadm-config", data={"ClusterConfiguration": configuration})
    found = run(cluster, network_policy="skip", **({"dns_domain": given} if given else {}))
    named = [one["address"] for one in found["results"] if one["check"] == "service_dns"]
    assert {address.partition(".svc.")[2] for address in named} == {f"{domain}:8080"}


def test_an_api_server_that_fails_is_one_clear_message(cluster: NetworkCluster) -> None:
    cluster.fail("POST", NAMESPACES, 500, {"message": "etcd is full"})
    found = run(cluster)
    assert found["failed"] is True
    assert found["msg"] == f"a request to the API server {cluster.url} failed: 500 Internal Server Error"


@pytest.mark.parametrize("number", network_check.SIGNALS)
def test_a_termination_signal_ends_the_module_orderly(cluster: NetworkCluster, number: signal.Signals) -> None:
    run(cluster, network_policy="skip")
    with pytest.raises(SystemExit):
        signal.raise_signal(number)
    # Ansible sends more than one signal; the removal of the namespace goes on.
    for other in network_check.SIGNALS:
        signal.raise_signal(other)


def test_the_controller_connects() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert network_check.connect("127.0.0.1", port, 1.0) == ""
    assert network_check.connect("127.0.0.1", port, 1.0) == "the connection was refused"
    assert network_check.connect("no-such-host.invalid", port, 1.0).startswith("the connection failed: ")


def test_processes_of_this_machine() -> None:
    assert network_check.runs(os.getpid())
    assert network_check.runs(1)
    assert not network_check.runs(4_194_304)
    with subprocess.Popen(["true"]) as ended:
        # It has ended, but its parent has not collected it yet.
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert not network_check.runs(ended.pid)
