# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whole runs on a cluster in memory: the outcome of each check, and what is left behind."""

from __future__ import annotations

import collections
import typing as t

import pytest
from unit.network_check_cluster import CheckedCluster, node

from ansible_collections.winkube.node.plugins.module_utils.api_error import ApiError
from ansible_collections.winkube.node.plugins.module_utils.network_check import nodes as participants
from ansible_collections.winkube.node.plugins.module_utils.network_check import run as network_run
from ansible_collections.winkube.node.plugins.module_utils.network_check.connections import Settings, Tools
from ansible_collections.winkube.node.plugins.module_utils.network_check.leftovers import RunMark
from ansible_collections.winkube.node.plugins.module_utils.network_check.objects import Images
from ansible_collections.winkube.node.plugins.module_utils.network_check.plan import Outcome

URL = "https://registry.k8s.io"
IMAGES = Images("agnhost-win", "agnhost", [{"operator": "Exists"}])
REFUSED = ApiError("forbidden: no", 403)


def cluster_of(windows: int = 2, linux: int = 1) -> CheckedCluster:
    """Return a cluster whose network works and enforces policies on all nodes."""
    names = [node(f"win{number}") for number in range(windows)]
    cluster = CheckedCluster(*names, *(node(f"lin{number}", "linux") for number in range(linux)))
    cluster.daemon_sets = {"calico-node", "calico-node-windows", "kube-proxy"}
    cluster.network.enforcing = {"windows", "linux"}
    return cluster


def connected(host: str, port: int, seconds: float) -> str:
    """Connect from the controller, which always succeeds."""
    return ""


def run(cluster: CheckedCluster, **more: t.Any) -> network_run.RunResult:
    chosen = participants.choose(map(participants.describe, cluster.nodes()), (), 0, 3)
    settings = Settings(**{"images": IMAGES, "outbound_url": URL, "dns_domain": "cluster.local", **more})
    tools = Tools(cluster.clock, cluster.sleep, connected)
    return network_run.run(cluster, chosen, settings, tools, token="aa", mark=RunMark("here", 1, 2.0))


def rows(result: network_run.RunResult, status: str = "") -> set[tuple[str, str, str]]:
    return {
        (one.check.kind, one.check.source, one.check.target) for one in result.outcomes if status in ("", one.status)
    }


def details(result: network_run.RunResult, kind: str) -> dict[str, str]:
    return {one.check.target: one.detail for one in result.outcomes if one.check.kind == kind}


def counted(result: network_run.RunResult) -> dict[str, int]:
    return dict(collections.Counter(one.status for one in result.outcomes))


def test_a_network_that_works_passes_every_check() -> None:
    cluster = cluster_of()
    result = run(cluster)
    assert rows(result, "passed") == rows(result)
    assert rows(result) == {
        ("pod_to_pod", "win0", "win0"),
        ("pod_to_pod", "win1", "win1"),
        ("pod_to_pod", "lin0", "lin0"),
        ("pod_to_pod", "win0", "win1"),
        ("pod_to_pod", "win1", "win0"),
        ("pod_to_pod", "win0", "lin0"),
        ("pod_to_pod", "win1", "lin0"),
        ("pod_to_pod", "lin0", "win0"),
        ("pod_to_pod", "lin0", "win1"),
        ("service_ip", "win0", "win1"),
        ("service_dns", "win0", "win1"),
        ("service_ip", "win0", "lin0"),
        ("service_dns", "win0", "lin0"),
        ("service_ip", "win1", "win0"),
        ("service_dns", "win1", "win0"),
        ("service_ip", "win1", "lin0"),
        ("service_dns", "win1", "lin0"),
        ("service_ip", "lin0", "win0"),
        ("service_dns", "lin0", "win0"),
        ("node_port", "lin0", "win0"),
        ("node_port", "lin0", "win1"),
        ("node_port", "win0", "lin0"),
        ("outbound", "win0", URL),
        ("outbound", "win1", URL),
        ("outbound", "lin0", URL),
        ("network_policy", "win1", "win0"),
        ("network_policy", "win0", "win1"),
        ("network_policy", "win0", "lin0"),
    }
    assert (result.namespace, result.removed) == ("winkube-network-check-aa", True)
    assert cluster.namespaces_ == {}
    assert {one.attempts for one in result.outcomes} == {1}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"broken": {("win0", "lin0")}}, {("pod_to_pod", "win0", "lin0"), ("service_ip", "win0", "lin0"),
                                          ("service_dns", "win0", "lin0"), ("node_port", "lin0", "win0"),
                                          ("node_port", "win0", "lin0")}),
        ({"without_dns": {"win1"}}, {("service_dns", "win1", "win0"), ("service_dns", "win1", "lin0"),
                                     ("outbound", "win1", URL)}),
        ({"without_node_port": {"win0"}}, {("node_port", "lin0", "win0")}),
        ({"outside": set()}, {("outbound", "win0", URL), ("outbound", "win1", URL), ("outbound", "lin0", URL)}),
        ({"enforcing": {"linux"}}, {("network_policy", "win0", "win1"), ("network_policy", "win1", "win0")}),
    ],
)  # fmt: skip
def test_what_is_broken_fails_and_nothing_else(fault: dict[str, t.Any], expected: set[tuple[str, str, str]]) -> None:
    cluster = cluster_of()
    for name, value in fault.items():
        setattr(cluster.network, name, value)
    result = run(cluster)
    assert rows(result, "failed") == expected
    assert {one.attempts for one in result.outcomes if one.status == "failed"} == {3}
    # The same connection without the policy has to work, or the policy cannot be checked.
    assert all(kind == "network_policy" for kind, _source, _target in rows(result, "not_run"))
    assert cluster.namespaces_ == {}


def test_a_policy_is_not_checked_where_the_connection_fails_anyway() -> None:
    cluster = cluster_of(1, 1)
    cluster.network.broken = {("lin0", "win0")}
    result = run(cluster)
    assert rows(result, "not_run") == {("network_policy", "lin0", "win0")}
    assert details(result, "network_policy")["win0"] == "the same connection without a network policy fails"


def test_a_connection_that_fails_at_first_is_tried_again() -> None:
    cluster = cluster_of(1, 0)
    cluster.network.hiccups = 1
    result = run(cluster, policy="skip")
    assert rows(result, "failed") == set()
    assert sorted(one.attempts for one in result.outcomes if one.status == "passed") == [1, 2]


def test_containers_that_never_end_are_no_evidence() -> None:
    cluster = cluster_of()
    cluster.network.silent = {"win0", "win1"}
    result = run(cluster)
    silent = {one for one in rows(result) if one[1].startswith("win")}
    assert rows(result, "failed") == set()
    assert rows(result, "not_run") >= silent
    ran = [one for one in result.outcomes if one.check.kind == "pod_to_pod" and one.status == "not_run"]
    assert {one.detail for one in ran} == {"the probe started, but reported no result within 65 seconds"}


def test_a_node_without_images_is_no_evidence() -> None:
    cluster = cluster_of()
    cluster.network.no_image = {"win1"}
    result = run(cluster)
    concerned = {one for one in rows(result) if one[0] == "pod_to_pod" and "win1" in one[1:]}
    assert rows(result, "not_run") >= concerned
    assert rows(result, "failed") == set()
    why = details(result, "pod_to_pod")["win1"]
    assert "the server pod on win1 is not running: not ready after 600 seconds: ErrImagePull: failed to pull" in why


@pytest.mark.parametrize(
    ("engines", "enforcing", "absent"),
    [(set(), set(), {"windows", "linux"}), ({"canal"}, {"linux"}, {"windows"})],
)
def test_policies_that_no_program_enforces_are_not_applicable(
    engines: set[str], enforcing: set[str], absent: set[str]
) -> None:
    cluster = cluster_of()
    cluster.daemon_sets, cluster.network.enforcing = engines, enforcing
    result = run(cluster)
    without = [one for one in result.outcomes if one.status == "not_applicable"]
    assert {one.check.target_os for one in without} == absent
    assert all("no program that enforces network policies" in one.detail for one in without)
    assert rows(result, "failed") == set()
    assert counted(run(cluster_of(), policy="skip"))["not_applicable"] == 1


def test_a_server_that_stops_is_not_a_blocked_connection() -> None:
    cluster = cluster_of()
    create = cluster.create_policy

    def stop_one(namespace: str, body: t.Mapping[str, t.Any]) -> None:
        create(namespace, body)
        stopped = next(one for one in cluster.pods_.values() if "netexec" in str(one) and "win1" in str(one))
        del cluster.pods_[stopped["metadata"]["name"]]

    cluster.create_policy = stop_one  # type: ignore[method-assign]
    result = run(cluster)
    assert rows(result, "not_run") == {("network_policy", "win0", "win1")}
    assert details(result, "network_policy")["win1"] == "the server pod on win1 stopped during the check"


def test_a_policy_that_must_be_enforced_fails_where_it_is_not() -> None:
    cluster = cluster_of()
    cluster.daemon_sets, cluster.network.enforcing = set(), set()
    result = run(cluster, policy="expected")
    assert {one[0] for one in rows(result, "failed")} == {"network_policy"}
    assert details(result, "network_policy")["win0"] == "expected the network policy to block the connection"


@pytest.mark.parametrize(("windows", "linux"), [(1, 0), (1, 1), (3, 0)])
def test_what_a_cluster_has_no_nodes_for_is_not_applicable(windows: int, linux: int) -> None:
    result = run(cluster_of(windows, linux), outbound_url="")
    reasons = [one.detail for one in result.outcomes if one.status == "not_applicable"]
    assert any("only one Windows node" in one for one in reasons) == (windows == 1)
    assert any("no Ready Linux node" in one for one in reasons) == (linux == 0)
    assert any("no URL" in one for one in reasons)
    assert rows(result, "failed") == rows(result, "not_run") == set()


def test_the_number_of_pods_at_a_time_is_limited() -> None:
    cluster = cluster_of(40, 3)
    result = run(cluster, parallel=7)
    assert rows(result, "passed") == rows(result)
    assert cluster.most == 7
    # The number of checks grows with the number of nodes.
    assert len(result.outcomes) < 11 * 43


def test_the_time_limit_ends_a_run() -> None:
    cluster = cluster_of()
    cluster.network.silent = {"win0", "win1", "lin0"}
    result = run(cluster, timeout=30)
    assert set(counted(result)) == {"not_run"}
    assert cluster.now < 60
    assert cluster.namespaces_ == {}


def test_nothing_is_left_after_an_error_of_the_api_server() -> None:
    cluster = cluster_of()
    cluster.failures = {"pods": [REFUSED]}
    result = run(cluster)
    assert set(counted(result)) == {"not_run"}
    assert {one.detail for one in result.outcomes} == {"a request to the API server failed: forbidden: no"}
    assert (result.removed, cluster.namespaces_) == (True, {})


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_nothing_is_left_after_an_interruption(error: BaseException) -> None:
    cluster = cluster_of()
    cluster.failures = {"pods": [error]}  # type: ignore[list-item]
    with pytest.raises(type(error)):
        run(cluster)
    assert cluster.namespaces_ == {}


def test_a_namespace_that_was_not_created_is_deleted_as_well() -> None:
    cluster = cluster_of()
    cluster.failures = {"create_namespace": [ApiError("timed out", 0)]}
    with pytest.raises(ApiError, match="timed out"):
        run(cluster)
    assert cluster.deleting == {"winkube-network-check-aa"}


def test_temporary_errors_are_no_result() -> None:
    cluster = cluster_of(1, 1)
    account = ApiError('pods "server-0" is forbidden: error looking up service account x/default: not found', 403)
    cluster.failures = {
        "create_pod": [account, ApiError("busy", 503), account],
        "pods": [ApiError("gone", 0), ApiError("busy", 500)],
        "delete_pod": [ApiError("busy", 503)],
        "delete_namespace": [ApiError("gone", 0)],
        "namespace_exists": [ApiError("gone", 0)],
    }
    result = run(cluster)
    assert set(counted(result)) <= {"passed", "not_applicable"}
    assert not any(cluster.failures.values())
    assert result.removed


def test_a_pod_that_is_refused_stops_only_its_own_checks() -> None:
    cluster = cluster_of(2, 0)
    cluster.failures = {"create_pod": [REFUSED], "create_service": [REFUSED]}
    result = run(cluster)
    assert "the pod cannot be created: forbidden: no" in details(result, "pod_to_pod")["win0"]
    assert ("pod_to_pod", "win0", "win1") in rows(result, "passed")
    assert rows(result, "failed") == set()


def test_a_policy_that_cannot_be_created_was_not_checked() -> None:
    cluster = cluster_of()
    cluster.failures = {"create_policy": [REFUSED]}
    result = run(cluster)
    assert {one[0] for one in rows(result, "not_run")} == {"network_policy"}
    assert "forbidden" in details(result, "network_policy")["win0"]


def test_a_namespace_that_stays_is_reported() -> None:
    cluster = cluster_of(1, 0)
    cluster.stuck = True
    result = run(cluster, cleanup_timeout=20)
    assert result.removed is False


def test_the_controller_connects_to_node_ports_on_request() -> None:
    cluster, tried = cluster_of(), list[tuple[str, int]]()

    def connect(host: str, port: int, seconds: float) -> str:
        tried.append((host, port))
        return "the connection was refused" if port == 30001 else ""

    chosen = participants.choose(map(participants.describe, cluster.nodes()), (), 0, 3)
    settings = Settings(IMAGES, "cluster.local", URL, from_controller=True, attempts=2)
    tools = Tools(cluster.clock, cluster.sleep, connect)
    result = network_run.run(cluster, chosen, settings, tools, token="aa", mark=RunMark("here", 1, 2.0))
    own = [one for one in result.outcomes if one.check.source == "controller"]
    assert len(own) == 3
    assert {one.check.target for one in own} == {"win0", "win1", "lin0"}
    assert {one.status for one in own if ":30001" in one.address} <= {"failed"}
    assert set(tried) == {(one.address.partition(":")[0], int(one.address.partition(":")[2])) for one in own}


def test_a_dry_run_lists_the_checks() -> None:
    cluster = cluster_of()
    chosen = participants.choose(map(participants.describe, cluster.nodes()), (), 0, 3)
    listed: list[Outcome] = network_run.dry_run(chosen, Settings(IMAGES, "cluster.local", URL))
    done = run(cluster).outcomes
    assert {one.check for one in listed} == {one.check for one in done}
    assert {one.status for one in listed} == {"not_run"}
