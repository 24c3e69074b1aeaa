# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""upgrade_nodes.yml: two nodes are upgraded by one minor version, then by two, while pods run on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes, link_variables, node_name
from integration.rollouts import cordoned_nodes, observed, report
from integration.test_patch_nodes import cordons, serving
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node.programs.versions import version_of

pytestmark = pytest.mark.integration

WINDOWS = {"n1": "2019", "n2": "2025"}
FIRST, SECOND, BETWEEN, LAST = "1.34.4", "1.35.4", "1.36.3", "1.37.1"
REPLICAS = 6
MOST_COMMANDS = 9
"""The budget for an upgrade of one node, draining included."""
UPGRADE_FOLDER = r"C:\Windows\winkube\upgrade"


def column(site: Site, name: str) -> dict[str, Any]:
    """Return one field of all nodes in the run's report."""
    return {host: entry[name] for host, entry in report(site, "upgrade").items()}


def versions(site: Site) -> dict[str, str]:
    """Return the version that each host's kubelet reported to the cluster."""
    nodes = cluster_nodes(site)
    return {host: nodes[node_name(host)]["version"].removeprefix("v") for host in WINDOWS}


def commands(site: Site) -> dict[str, int]:
    """Return the number of remote commands of the last run."""
    return {host: site.counters(host)["remote_commands"] for host in WINDOWS}


def deploy(site: Site) -> None:
    """Deploy pods of which only some may be unavailable at a time. The image has a variant for each Windows."""
    api, labels = cluster_api(site), {"app": "web"}
    pod = {
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "containers": [{"name": "web", "image": "registry.k8s.io/pause:3.10.2"}],
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template}
    client.AppsV1Api(api).create_namespaced_deployment("default", {"metadata": {"name": "web"}, "spec": spec})
    guard = {"maxUnavailable": 3, "selector": {"matchLabels": labels}}
    client.PolicyV1Api(api).create_namespaced_pod_disruption_budget(
        "default", {"metadata": {"name": "guard"}, "spec": guard}
    )
    wait_for(lambda: len(serving(api)) == REPLICAS, "all pods serve", 60)


def proxy_pods(site: Site) -> dict[str, str]:
    """Return the identity of kube-proxy's pod on each node."""
    pods = client.CoreV1Api(cluster_api(site)).list_namespaced_pod(
        "kube-system", label_selector="k8s-app=kube-proxy-windows"
    )
    return {pod.spec.node_name: pod.metadata.uid for pod in pods.items}


@dataclass
class Watch:
    """Observations during a run."""

    cordoned: list[set[str]] = field(default_factory=list)
    """Nodes that were cordoned, at each observation."""
    stopped_in_service: set[str] = field(default_factory=set)
    """Hosts whose kubelet did not run while their nodes accepted pods."""


@contextmanager
def watched(site: Site) -> Iterator[Watch]:
    """Watch kubelets and nodes during a context."""
    watch = Watch()

    def hosts_without_a_kubelet() -> set[str]:
        kubelets = {host: site.machine(host).services.get("kubelet") for host in WINDOWS}
        return {host for host, kubelet in kubelets.items() if kubelet is None or kubelet.state != "Running"}

    def observe(stopped: set[str], nodes: list[Any]) -> None:
        cordoned = cordoned_nodes(nodes)
        watch.cordoned.append(cordoned)
        watch.stopped_in_service |= {host for host in stopped if node_name(host) not in cordoned}

    with observed(site, hosts_without_a_kubelet, observe):
        yield watch


@pytest.fixture(scope="module")
def site(start_site: SiteFactory, cluster_kind: str) -> Site:
    """Return a cluster of 1.37 with two nodes of 1.34, and pods on them."""
    found = start_site(
        *({"name": host, "windows": windows} for host, windows in WINDOWS.items()),
        cluster={"kind": cluster_kind, "version": LAST},
        kube_version=FIRST,
    )
    found.host_variables["n2"] = link_variables("winrm")
    found.run("site.yml", "--forks", "2").expect()
    assert versions(found) == dict.fromkeys(WINDOWS, FIRST)
    deploy(found)
    return found


@pytest.fixture(scope="module")
def refused(site: Site) -> PlayRun:
    """Return a run in which no host can be upgraded as its variables say."""
    for host, version in {"n1": LAST, "n2": "1.33.9"}.items():
        site.host_variables[host] = {**site.host_variables.get(host, {}), "kubernetes_node_version": version}
    run = site.run("upgrade_nodes.yml", variables={"allow_unsupported_versions": True})
    site.counted["refused"] = {host: site.counters(host) for host in WINDOWS}
    for host in WINDOWS:
        del site.host_variables[host]["kubernetes_node_version"]
    return run


def test_what_kubernetes_does_not_support_is_refused_before_any_node_is_changed(site: Site, refused: PlayRun) -> None:
    refused.expect(2)
    # At most three minor versions older than the API server.
    assert "Version Skew Policy" in refused.output
    assert "1.33.9" in refused.output
    assert versions(site) == dict.fromkeys(WINDOWS, FIRST)
    assert [site.counted["refused"][host]["remote_commands"] for host in WINDOWS] == [0, 0]


@pytest.fixture(scope="module")
def incomplete(site: Site, refused: PlayRun) -> PlayRun:
    """Return a run that lacks the versions between the old one and the new one."""
    variables = {"kube_version": LAST, "node_upgrade_versions": [BETWEEN]}
    run = site.run("upgrade_nodes.yml", "--limit", "n1", variables=variables)
    site.counted["incomplete"] = {"n1": site.counters("n1")}
    return run


def test_a_missing_version_between_is_named_before_any_node_is_changed(site: Site, incomplete: PlayRun) -> None:
    incomplete.expect(2)
    message = incomplete.messages("n1")
    for text in ("node_upgrade_versions", "expected a release of 1.35, got 1.36.3", f"{FIRST} to {LAST}"):
        assert text in message
    assert versions(site) == dict.fromkeys(WINDOWS, FIRST)
    assert site.counted["incomplete"]["n1"]["remote_commands"] == 1


@pytest.fixture(scope="module")
def planned(site: Site, incomplete: PlayRun) -> PlayRun:
    """Return a dry run."""
    run = site.run("upgrade_nodes.yml", "--check", variables={"kube_version": SECOND})
    site.counted["planned"] = {host: site.counters(host) for host in WINDOWS}
    return run


def test_a_dry_run_shows_the_plan_and_changes_nothing(site: Site, planned: PlayRun) -> None:
    planned.expect()
    rows = {tuple(line.split()) for line in planned.output.splitlines() if line.startswith(tuple(WINDOWS))}
    for host in WINDOWS:
        assert (host, FIRST, SECOND, SECOND, "no", "to_upgrade") in rows
    assert versions(site) == dict.fromkeys(WINDOWS, FIRST)
    assert cordons(site) == {}
    for host in WINDOWS:
        assert site.counted["planned"][host]["remote_commands"] == 2
        assert version_of(site.machine(host), r"C:\k\kubelet.exe") == FIRST


@pytest.fixture(scope="module")
def by_one(site: Site, planned: PlayRun) -> tuple[PlayRun, Watch]:
    """Return an upgrade by one minor version."""
    site.counted["proxies"] = {"before": dict.fromkeys(proxy_pods(site).values(), 0)}
    with watched(site) as watch:
        run = site.run("upgrade_nodes.yml", variables={"kube_version": SECOND})
    site.counted["by_one"] = {host: site.counters(host) for host in WINDOWS}
    return run, watch


def test_nodes_are_upgraded_by_one_minor_version(site: Site, by_one: tuple[PlayRun, Watch]) -> None:
    run, _watch = by_one
    run.expect()
    assert column(site, "status") == dict.fromkeys(WINDOWS, "upgraded")
    assert versions(site) == dict.fromkeys(WINDOWS, SECOND)
    for host in WINDOWS:
        for program in ("kubelet", "kubeadm", "kube-proxy"):
            assert version_of(site.machine(host), rf"C:\k\{program}.exe") == SECOND
    wait_for(lambda: len(serving(cluster_api(site))) == REPLICAS, "all pods serve again")


def test_nodes_are_out_of_service_while_their_kubelets_stop(by_one: tuple[PlayRun, Watch]) -> None:
    _run, watch = by_one
    assert watch.stopped_in_service == set()
    assert max(map(len, watch.cordoned)) == 1
    assert set().union(*watch.cordoned) == {node_name(host) for host in WINDOWS}
    assert watch.cordoned[-1] == set()


def test_an_upgrade_stays_within_its_remote_commands(site: Site, by_one: tuple[PlayRun, Watch]) -> None:
    # join_info, observe, stage and collect; when drained: kubeadm, observe, replace and collect, HNS.
    counts = {host: counters["remote_commands"] for host, counters in site.counted["by_one"].items()}
    assert counts == dict.fromkeys(WINDOWS, MOST_COMMANDS)


def test_the_kubelets_files_and_flags_are_those_of_the_new_version(site: Site, by_one: tuple[PlayRun, Watch]) -> None:
    for host in WINDOWS:
        machine = site.machine(host)
        kubelet = machine.services.get("kubelet")
        assert kubelet is not None
        # kubeadm 1.34 wrote this flag, which the kubelet of 1.35 does not have.
        assert not any("pod-infra-container-image" in word for word in kubelet.argv)
        assert "pod-infra-container-image" not in machine.files.read_text(r"C:\var\lib\kubelet\kubeadm-flags.env")
        assert machine.files.is_directory(r"C:\etc\kubernetes\tmp")


def test_kube_proxy_runs_in_the_new_version(site: Site, by_one: tuple[PlayRun, Watch]) -> None:
    now = proxy_pods(site)
    assert len(now) == len(WINDOWS)
    assert not set(now.values()) & set(site.counted["proxies"]["before"])


@pytest.fixture(scope="module")
def by_two(site: Site, by_one: tuple[PlayRun, Watch]) -> PlayRun:
    """Return an upgrade by two minor versions, the first of which the nodes keep in their cache."""
    site.variables["kube_node_versions"] = [BETWEEN]
    run = site.run("upgrade_nodes.yml", variables={"kube_version": LAST})
    site.counted["by_two"] = {host: site.counters(host) for host in WINDOWS}
    return run


def test_nodes_are_upgraded_by_two_minor_versions(site: Site, by_two: PlayRun) -> None:
    by_two.expect()
    assert column(site, "steps") == {host: [BETWEEN, LAST] for host in WINDOWS}
    assert versions(site) == dict.fromkeys(WINDOWS, LAST)
    assert cordons(site) == {}
    counts = {host: counters["remote_commands"] for host, counters in site.counted["by_two"].items()}
    assert max(counts.values()) <= MOST_COMMANDS
    # The steps are shown before the first node is touched.
    shown = by_two.output.index(f"{BETWEEN} -> {LAST}")
    assert shown < by_two.output.index("Download the new version")


def test_nothing_of_the_upgrade_is_left_on_the_nodes(site: Site, by_two: PlayRun) -> None:
    for host in WINDOWS:
        files = site.machine(host).files
        assert not files.exists(UPGRADE_FOLDER)
        assert [entry.path for entry in files.walk(r"C:\k") if entry.name.endswith(".old")] == []


@pytest.fixture(scope="module")
def again(site: Site, by_two: PlayRun) -> PlayRun:
    return site.run("upgrade_nodes.yml", variables={"kube_version": LAST})


def test_a_second_run_changes_nothing(site: Site, again: PlayRun) -> None:
    again.expect()
    assert {host: again.changes(host) for host in WINDOWS} == {host: [] for host in WINDOWS}
    assert column(site, "status") == dict.fromkeys(WINDOWS, "up_to_date")
    assert commands(site) == dict.fromkeys(WINDOWS, 2)


def test_site_has_nothing_to_do_afterwards(site: Site, again: PlayRun) -> None:
    site.variables["kube_version"] = LAST
    run, nodes = site.plan()
    assert run.exit_code == 0, run.output[-3000:]
    assert {host: entry["status"] for host, entry in nodes.items()} == dict.fromkeys(WINDOWS, "in_sync")
