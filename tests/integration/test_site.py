# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Plain servers become nodes of a cluster: the result of site.yml, and what plan.yml reports afterwards."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from integration.conftest import SiteFactory
from integration.limited_account import limited_kubeconfig
from integration.memory import AVAILABLE, measure
from integration.playbooks import (
    ROOT,
    PlayRun,
    Site,
    bootstrap_tokens,
    cluster_api,
    cluster_nodes,
    link_variables,
    node_name,
)
from integration.states import state_of
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.cluster.memory.api import ClusterApi
from simulator.cluster.memory.requests import ApiRequest, Response
from simulator.kubernetes_node.containerd import config as containerd_config
from simulator.kubernetes_node.kubeadm import real as kubeadm_real

pytestmark = pytest.mark.integration

HOSTS = {"win19": "2019", "win22": "2022", "win25": "2025"}
# The connection to each of them. All connection plugins, schemes and authentication methods are used.
LINKS = {
    "memory": {
        "win19": ("winrm", "https", "basic"),
        "win22": ("psrp", "http", "ntlm"),
        "win25": ("winrm", "http", "ntlm"),
    },
    "real": {
        "win19": ("psrp", "https", "basic"),
        "win22": ("winrm", "https", "ntlm"),
        "win25": ("psrp", "https", "ntlm"),
    },
}
# A kubelet may be older than the API server: kubernetes.io/releases/version-skew-policy/
VERSIONS = {"win19": "1.36.3", "win22": "1.37.1", "win25": "1.37.1"}
CONTAINERD = r"C:\Program Files\containerd"
LEFTOVERS = (r"C:\ProgramData\winkube\join.yaml", r"C:\etc\kubernetes\bootstrap-kubelet.conf")
STATE_KEY = r"HKLM:\SYSTEM\CurrentControlSet\Services\hns\State"
UPDATES = r"HKLM:\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU"
MEMORY_MB = 260
"""Measured: 223 to 232 MB in four processes.

A full garbage collection in a forked worker copies the pages of the objects that it shares with the parent: 10 to 20 MB
for each worker. Whether Python starts one before the worker ends depends on the number of objects in the parent, so a
small change may add or remove 30 MB: three workers needed 181 MB with, 146 MB without such collections.
"""
_OF_NODES = ("/api/v1/nodes", "/api/v1/pods", "/apis/certificates.k8s.io/v1/")


@pytest.fixture(scope="module")
def site(cluster_kind: str, kubeadm: None, start_site: SiteFactory) -> Site:
    """Return a site with three plain servers, and a cluster without nodes."""
    nodes = [{"name": name, "windows": windows} for name, windows in HOSTS.items()]
    site = start_site(*nodes, cluster={"kind": cluster_kind})
    site.host_variables = {
        host: link_variables(*link) | {"kubernetes_node_version": VERSIONS[host]}
        for host, link in LINKS[cluster_kind].items()
    }
    if cluster_kind == "real":
        assert site.world.cluster is not None
        # The account of the runs has exactly the documented rights.
        site.variables["kubeconfig"] = str(limited_kubeconfig(site.world.cluster, site.folder))
    return site


@pytest.fixture(scope="module")
def checked(site: Site) -> PlayRun:
    """Return a dry run on the plain servers."""
    before = {host: state_of(site.machine(host)) for host in HOSTS}
    run = site.run("site.yml", "--check").expect()
    assert {host: state_of(site.machine(host)) for host in HOSTS} == before
    assert not cluster_nodes(site)
    return run


@pytest.fixture(scope="module")
def own_tokens(site: Site) -> dict[str, str]:
    """Return the bootstrap tokens of the new cluster: `kubeadm init` creates one."""
    return bootstrap_tokens(site)


@pytest.fixture(scope="module")
def measured(site: Site, own_tokens: dict[str, str], checked: PlayRun) -> tuple[PlayRun, list[tuple[float, int]]]:
    """Return the first run, and the samples of its memory."""
    run, samples = measure(site, site.command("site.yml"))
    return run.expect(), samples


@pytest.fixture(scope="module")
def first(site: Site, measured: tuple[PlayRun, list[tuple[float, int]]]) -> PlayRun:
    """Return the first run, with the counters of the nodes' networks in `Site.counted`."""
    site.counted["first"] = {host: site.counters(host) for host in HOSTS}
    return measured[0]


@pytest.fixture(scope="module")
def second(site: Site, first: PlayRun) -> PlayRun:
    """Return the second run."""
    with asked_of_nodes() as asked:
        run = site.run("site.yml").expect()
    site.counted["second"] = {host: site.counters(host) for host in HOSTS}
    site.counted["asked"] = {"second": asked}
    return run


@contextmanager
def asked_of_nodes() -> Iterator[Counter[str]]:
    """Count the administrator's requests to the cluster in memory for nodes, their pods and their certificates."""
    asked: Counter[str] = Counter()
    handle = ClusterApi.handle

    def counting(api: ClusterApi, request: ApiRequest) -> Response:
        if request.user.name == "kubernetes-super-admin" and request.path.startswith(_OF_NODES):
            asked[f"{request.method} {request.path}"] += 1
        return handle(api, request)

    with mock.patch.object(ClusterApi, "handle", counting):
        yield asked


def test_a_dry_run_reports_what_would_change(site: Site, checked: PlayRun) -> None:
    for host in HOSTS:
        assert {"WindowsFeature Containers", "Service kubelet", f"ComputerName {node_name(host)}"} <= set(
            checked.changes(host)
        )
    # It is not done once for each host.
    assert checked.output.count("kubernetes_node_sha256") == 1


def test_the_nodes_are_ready(site: Site, first: PlayRun) -> None:
    nodes = cluster_nodes(site)
    assert {name: node["ready"] for name, node in nodes.items()} == {node_name(host): True for host in HOSTS}
    builds = {"2019": "10.0.17763", "2022": "10.0.20348", "2025": "10.0.26100"}
    for host, windows in HOSTS.items():
        node = nodes[node_name(host)]
        assert node["labels"]["kubernetes.io/os"] == "windows"
        assert node["labels"]["node.kubernetes.io/windows-build"] == builds[windows]
        assert node["version"] == f"v{VERSIONS[host]}"
        assert node["runtime"] == "containerd://2.3.7"


def test_the_run_approved_the_nodes_and_its_tokens_are_gone(
    site: Site, own_tokens: dict[str, str], first: PlayRun
) -> None:
    assert bootstrap_tokens(site) == own_tokens
    requests = client.CertificatesV1Api(cluster_api(site)).list_certificate_signing_request().items
    approved = [one for one in requests if one.spec.username.startswith("system:bootstrap:")]
    assert [[condition.reason for condition in one.status.conditions] for one in approved] == [
        ["ApprovedByWinkube"] for _ in HOSTS
    ]


@pytest.mark.parametrize("host", HOSTS)
def test_services_run_as_they_should(site: Site, first: PlayRun, host: str) -> None:
    services = site.machine(host).services
    containerd, kubelet = services.get("containerd"), services.get("kubelet")
    assert containerd is not None and kubelet is not None  # noqa: PT018 - one fact: both are there
    assert (containerd.state, containerd.start_mode) == ("Running", "Automatic")
    assert (kubelet.state, kubelet.start_mode, kubelet.dependencies) == ("Running", "Automatic", ["containerd"])
    # Flags from kubeadm for the kubelet are in its command line, so that they survive restarts.
    left = site.machine(host).files.read_text(r"C:\var\lib\kubelet\kubeadm-flags.env").partition("=")[2].strip(' "\r\n')
    # A real kubeadm of Linux writes --hostname-override. The simulated one of Windows may write nothing.
    assert left or kubeadm_real.find(VERSIONS[host]) is None
    assert all(flag in kubelet.argv for flag in left.split())


@pytest.mark.parametrize("host", HOSTS)
def test_containerd_takes_its_configuration_without_a_warning(site: Site, first: PlayRun, host: str) -> None:
    text = site.machine(host).files.read_text(rf"{CONTAINERD}\config.toml")
    config = containerd_config.load(text, "2.3.7", "config.toml")
    assert config.warnings == []
    assert config.version == 4
    assert config.cni_conf_dir == r"C:\etc\cni\net.d"


@pytest.mark.parametrize("host", HOSTS)
def test_windows_is_set_up(site: Site, first: PlayRun, host: str) -> None:
    status: Any = site.node(host).status()
    assert status["hostname"] == node_name(host)
    assert not status["pending_reboot"]
    # The name and the features share one reboot.
    assert status["boots"] == 2
    assert status["features"]["Containers"] == "Installed"
    assert status["firewall"]["kubelet-in-tcp"]["local_port"] == ["10250"]
    assert r"C:\Program Files\containerd" in status["defender"]["ExclusionPath"]
    path = status["environment"]["Path"].split(";")
    assert {rf"{CONTAINERD}\bin", rf"{CONTAINERD}\crictl", r"C:\k"} <= set(path)
    assert len(path) == len(set(path))
    assert site.machine(host).registry.data(UPDATES, "NoAutoUpdate") == 1
    images = {image["name"] for image in status["container_images"]}
    assert "registry.k8s.io/pause:3.10.2" in images


@pytest.mark.parametrize("host", HOSTS)
def test_registry_switches_are_those_of_the_windows_version(site: Site, first: PlayRun, host: str) -> None:
    data = json.loads((ROOT / "plugins/plugin_utils/data/windows-registry-fixes.json").read_text(encoding="utf-8"))
    fixes = [entry for entry in data["entries"] if entry["os"] in ("*", HOSTS[host])]
    registry = site.machine(host).registry
    wrong = [entry for entry in fixes if registry.data(entry["path"], entry["name"]) != entry["value"]]
    assert fixes
    assert wrong == []


def running(site: Site, host: str) -> set[str]:
    """Return the names of the running containers."""
    containers: Any = site.node(host).status()["containers"]
    return {item["name"] for item in containers if item["state"] == "RUNNING"}


@pytest.mark.parametrize("host", HOSTS)
def test_the_network_was_created_by_flannels_pod(site: Site, first: PlayRun, host: str) -> None:
    status: Any = site.node(host).status()
    (network,) = [item for item in status["hns"]["networks"] if item["name"] == "cbr0"]
    assert network["type"] == "L2Bridge"
    assert network["subnet"] == cluster_nodes(site)[node_name(host)]["pod_cidr"]
    # A node is Ready after flannel has started. kube-proxy may start a moment later.
    wait_for(lambda: {"kube-flannel", "kube-proxy"} <= running(site, host), "both pods run", 60)
    folder = r"C:\etc\cni\net.d"
    (conf,) = [entry.path for entry in site.machine(host).files.listing(folder)]
    assert json.loads(site.machine(host).files.read_text(conf))["name"] == "cbr0"
    # The collection did not write it: it is not a resource, but was created by the pod.
    assert not [change for change in first.changes(host) if folder in change and "Directory" not in change]


def test_the_first_run_is_small(site: Site, first: PlayRun) -> None:
    for host, counters in site.counted["first"].items():
        assert counters["remote_commands"] <= 12, host
        assert counters["bytes_in"] <= 4_000_000, host
        # A query that is sent while the node goes down may not arrive. It was sent, but did not run.
        assert first.commands(host) <= counters["remote_commands"] + 1, host


@pytest.mark.skipif(not AVAILABLE, reason="needs Linux' /proc/PID/smaps_rollup")
def test_the_controller_needs_little_memory(measured: tuple[PlayRun, list[tuple[float, int]]]) -> None:
    peak, processes = max(measured[1])
    assert max(count for _, count in measured[1]) > len(HOSTS), "measured too rarely"
    assert peak < MEMORY_MB, f"peak {peak:.0f} MB in {processes} processes"


def test_the_second_run_changes_nothing(site: Site, second: PlayRun) -> None:
    assert {host: counters["changed"] for host, counters in second.recap.items()} == dict.fromkeys(HOSTS, 0)
    for host, counters in site.counted["second"].items():
        assert second.changes(host) == []
        assert counters["remote_commands"] <= 3, host


def skipped(run: PlayRun, task: str) -> bool:
    """Return whether no host ran a task."""
    (message,) = re.findall(
        rf"^TASK \[[^\]]*{task}\][^\n]*\n(.*?)(?=^TASK |^PLAY )", run.output, re.MULTILINE | re.DOTALL
    )
    return "skipping:" in message and "ok:" not in message and "changed:" not in message


def test_the_second_run_asks_once_how_the_nodes_are(site: Site, second: PlayRun, cluster_kind: str) -> None:
    assert skipped(second, "Query the nodes in the cluster")
    assert skipped(second, "Wait until the nodes are Ready")
    if cluster_kind == "memory":
        assert site.counted["asked"]["second"] == {"GET /api/v1/nodes": 1}


def test_drift_is_found_and_repaired(site: Site, second: PlayRun) -> None:
    machine = site.machine("win22")
    config = machine.files.read_text(rf"{CONTAINERD}\config.toml")
    machine.files.write_text(rf"{CONTAINERD}\config.toml", config + "# by hand\n")
    machine.registry.set(STATE_KEY, "EnableCompartmentNamespace", 0, "DWord")
    machine.services.configure("containerd", Start=3)
    # The leftovers of a reboot during kubeadm.
    for path in LEFTOVERS:
        machine.files.write_text(path, "token: abcdef.0123456789abcdef\n")
    machine.services.stop("kubelet")
    # It is not reachable, but not off, because other tests count its boots.
    away = site.node("win25").server
    away.close_ports(forget_shells=False)

    run, nodes = site.plan()
    assert run.exit_code != 0
    assert nodes["win19"] == {"status": "in_sync"}
    assert nodes["win25"]["status"] == "error"
    assert nodes["win25"]["message"]
    assert nodes["win22"]["status"] == "drift"
    drift = {f"{item['type']} {item['name']}": item["why"] for item in nodes["win22"]["drift"]}
    assert set(drift) == {
        rf"File {CONTAINERD}\config.toml",
        rf"Registry {STATE_KEY}\EnableCompartmentNamespace",
        "Service containerd",
        "Service kubelet",
        *(f"File {path}" for path in LEFTOVERS),
    }
    assert drift["Service kubelet"] == "state is stopped, expected running"
    assert machine.registry.data(STATE_KEY, "EnableCompartmentNamespace") == 0, "plan.yml changed it"

    away.open_ports()
    run = site.run("site.yml", "--limit", "win22").expect()
    # It was changed while it was drained.
    assert not skipped(run, "Wait until the nodes and their HostProcess DaemonSets are ready")
    assert set(run.changes("win22")) == set(drift)
    assert machine.files.read_text(rf"{CONTAINERD}\config.toml") == config
    assert machine.registry.data(STATE_KEY, "EnableCompartmentNamespace") == 1
    for name in ("containerd", "kubelet"):
        service = machine.services.get(name)
        assert service is not None
        assert (service.start_mode, service.state) == ("Automatic", "Running")

    run, nodes = site.plan()
    run.expect()
    assert nodes == {host: {"status": "in_sync"} for host in HOSTS}
    assert {host: site.counters(host)["remote_commands"] for host in HOSTS} == dict.fromkeys(HOSTS, 1)
