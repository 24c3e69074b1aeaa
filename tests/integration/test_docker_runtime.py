# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Nodes with Docker: both publishers' builds joined end to end, next to one with containerd; no change of runtime."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.joined_nodes import wait_for
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes, node_name
from integration.power_cuts import started_after_a_power_cut
from integration.states import state_of
from kubernetes import client

from simulator.machine.services import Service

pytestmark = pytest.mark.integration

SECRETS = {"kube-flannel/flannel-windows": "flannel", "kube-system/kube-proxy-windows": "kube-proxy"}
PRIVATE = "(A;;FA;;;SY)(A;;FA;;;BA)"
PROXY = "http://robot:Pr0xy-Secret@192.0.2.1:3128"
DAEMON = r"C:\ProgramData\docker\config\daemon.json"
LABEL = "winkube.node/network-runs-as"
FIRST, SECOND, DRIFT = 12, 3, 1
"""The largest number of remote commands, as with containerd."""


def docker_variables(site: Site, **more: object) -> dict[str, object]:
    """Return the variables of a host with Docker that gets everything from the site's own servers."""
    registry = site.world.registry
    assert registry is not None
    return {
        # Docker only supports mirrors for Docker Hub.
        "container_runtime_registries": {},
        "container_runtime_sandbox_image": f"{registry.address}:{registry.port}/pause:3.10.2",
        **more,
    }


def services(site: Site, host: str) -> dict[str, Service]:
    """Return the services of a node with Docker, by name."""
    found = {
        name: site.machine(host).services.get(name)
        for name in ("docker", "cri-dockerd", "kubelet", "kube-proxy", "flanneld")
    }
    return {name: service for name, service in found.items() if service is not None}


def pods_on(site: Site, host: str) -> dict[str, str]:
    """Return the phases of the pods on a node, by name without the suffix from DaemonSets."""
    found = client.CoreV1Api(cluster_api(site)).list_pod_for_all_namespaces(
        field_selector=f"spec.nodeName={node_name(host)}"
    )
    return {
        pod.metadata.labels.get("app") or pod.metadata.labels.get("k8s-app") or "": pod.status.phase
        for pod in found.items
    }


def tokens(site: Site) -> dict[str, str]:
    """Return the tokens of the services' accounts, by NAMESPACE/NAME."""
    core = client.CoreV1Api(cluster_api(site))
    found = {}
    for secret in SECRETS:
        namespace, _, name = secret.partition("/")
        found[secret] = str(core.read_namespaced_secret(name, namespace).data["token"])
    return found


@pytest.fixture(scope="module")
def mixed(start_site: SiteFactory) -> tuple[Site, PlayRun]:
    """Return a cluster with a node with Docker's own build (the first host) and one with containerd."""
    site = start_site(
        {"name": "moby", "windows": "2022", "link_drop_seconds": 0.5},
        {"name": "other", "windows": "2022", "link_drop_seconds": 0.5},
        cluster={"kind": "memory"},
    )
    # No server listens there, so everything that should bypass the proxy and does not will fail.
    assert site.world.registry is not None
    proxies = {"http_proxy": PROXY, "https_proxy": PROXY, "no_proxy": f"{site.world.registry.address},.example.org"}
    site.host_variables["moby"] = docker_variables(site, container_runtime="moby", **proxies)
    run = site.run("site.yml").expect()
    site.counted["first"] = {"moby": site.counters("moby")}
    return site, run


@pytest.mark.xdist_group("test_docker_runtime-moby")
def test_a_cluster_of_both_runtimes(mixed: tuple[Site, PlayRun]) -> None:
    site, _ = mixed
    nodes = cluster_nodes(site)
    assert {name: node["ready"] for name, node in nodes.items()} == {node_name("moby"): True, node_name("other"): True}
    assert nodes[node_name("moby")]["runtime"] == "docker://29.2.1"
    assert nodes[node_name("moby")]["labels"][LABEL] == "service"
    assert LABEL not in nodes[node_name("other")]["labels"]
    # Docker cannot run HostProcess containers, so none is scheduled there.
    wait_for(
        lambda: pods_on(site, "other") == {"flannel-windows": "Running", "kube-proxy-windows": "Running"},
        "its pods run",
        30,
    )
    assert pods_on(site, "moby") == {}
    assert site.machine("other").services.get("flanneld") is None
    assert site.counted["first"]["moby"]["remote_commands"] <= FIRST


@pytest.mark.xdist_group("test_docker_runtime-moby")
def test_services_run_one_after_the_other(mixed: tuple[Site, PlayRun]) -> None:
    site, _ = mixed
    found = services(site, "moby")
    assert {name: service.dependencies for name, service in found.items()} == {
        "docker": [],
        "cri-dockerd": ["docker"],
        "kubelet": ["cri-dockerd"],
        "kube-proxy": ["kubelet"],
        "flanneld": ["kube-proxy"],
    }
    assert {(service.state, service.start_mode) for service in found.values()} == {("Running", "Automatic")}
    dropin = site.machine("moby").files.read_text(r"C:\etc\kubernetes\kubelet.conf.d\50-windows.conf")
    assert "containerRuntimeEndpoint: npipe:////./pipe/cri-dockerd" in dropin
    status: Any = site.node("moby").status()
    assert r"C:\ProgramData\docker" in status["defender"]["ExclusionPath"]
    assert status["environment"]["CONTAINER_RUNTIME_ENDPOINT"] == "npipe:////./pipe/cri-dockerd"


@pytest.mark.xdist_group("test_docker_runtime-moby")
def test_services_start_in_the_same_order_after_a_power_cut(mixed: tuple[Site, PlayRun]) -> None:
    site, _ = mixed
    order = ["docker", "cri-dockerd", "kubelet", "kube-proxy", "flanneld"]
    assert started_after_a_power_cut(site.machine("moby"), order) == order


@pytest.mark.xdist_group("test_docker_runtime-moby")
def test_docker_has_the_proxies_of_the_site(mixed: tuple[Site, PlayRun]) -> None:
    site, run = mixed
    machine = site.machine("moby")
    proxies = json.loads(machine.files.read_text(DAEMON))["proxies"]
    assert (proxies["http-proxy"], proxies["https-proxy"]) == (PROXY, PROXY)
    excepted = set(proxies["no-proxy"].split(","))
    assert {site.world.registry.address, ".example.org", "localhost", ".svc"} <= excepted  # type: ignore[union-attr]
    assert machine.files.sddl(DAEMON).endswith(PRIVATE)
    assert "Pr0xy-Secret" not in run.output
    # It is only in dockerd's own file. Its service has no environment with the password.
    assert "Pr0xy-Secret" not in str(
        machine.registry.data(r"HKLM\SYSTEM\CurrentControlSet\Services\docker", "Environment")
    )


@pytest.mark.xdist_group("test_docker_runtime-moby")
def test_a_pod_gets_its_network(mixed: tuple[Site, PlayRun]) -> None:
    site, _ = mixed
    status: Any = site.node("moby").status()
    (network,) = [item for item in status["hns"]["networks"] if item["name"] == "cbr0"]
    assert (network["type"], network["subnet"]) == ("L2Bridge", cluster_nodes(site)[node_name("moby")]["pod_cidr"])
    image = str(site.host_variables["moby"]["container_runtime_sandbox_image"])
    spec = {
        "nodeName": node_name("moby"),
        "containers": [{"name": "app", "image": image}],
        "tolerations": [{"operator": "Exists"}],
    }
    core = client.CoreV1Api(cluster_api(site))
    core.create_namespaced_pod("default", {"metadata": {"name": "app", "labels": {"app": "app"}}, "spec": spec})
    wait_for(lambda: core.read_namespaced_pod("app", "default").status.phase == "Running", "the pod runs", 30)
    prefix = network["subnet"].rpartition(".")[0]
    assert core.read_namespaced_pod("app", "default").status.pod_ip.startswith(f"{prefix}.")
    # kube-proxy creates it.
    wait_for(lambda: site.node("moby").status()["hns"]["policies"], "services have load balancers", 30)
    core.delete_namespaced_pod("app", "default", grace_period_seconds=0)


@pytest.mark.xdist_group("test_docker_runtime-moby")
def test_tokens_are_for_the_services_only(mixed: tuple[Site, PlayRun]) -> None:
    site, run = mixed
    machine = site.machine("moby")
    secret = tokens(site)
    for name, account in SECRETS.items():
        path = rf"C:\etc\kubernetes\{account}.kubeconfig"
        token = json.loads(machine.files.read_text(path))["users"][0]["user"]["token"]
        assert token.encode() == base64.b64decode(secret[name])
        assert machine.files.sddl(path).endswith(PRIVATE)
        assert token not in run.output
        assert token not in json.dumps(run.report)


@pytest.mark.xdist_group("test_docker_runtime-moby")
def test_the_second_run_changes_nothing(mixed: tuple[Site, PlayRun]) -> None:
    site, _ = mixed
    run = site.run("site.yml").expect()
    assert {host: counters["changed"] for host, counters in run.recap.items()} == {"moby": 0, "other": 0}
    assert run.changes("moby") == []
    assert site.counters("moby")["remote_commands"] <= SECOND
    run, nodes = site.plan()
    run.expect()
    assert nodes == {"moby": {"status": "in_sync"}, "other": {"status": "in_sync"}}
    assert site.counters("moby")["remote_commands"] == DRIFT


# test_reset_nodes.py resets nodes that join again.
@pytest.mark.variant
@pytest.mark.xdist_group("test_docker_runtime-moby")
def test_a_node_is_switched_after_its_reset_only(mixed: tuple[Site, PlayRun]) -> None:
    site, _ = mixed
    before = state_of(site.machine("moby"))
    run = site.run("site.yml", "--limit", "moby", variables={"container_runtime": "containerd"}).expect(2)
    assert "expected docker, which this node already uses in its cluster" in run.messages("moby")
    # The checks for whether it has joined, and for its state.
    assert site.counters("moby")["remote_commands"] == 2
    assert state_of(site.machine("moby")) == before

    machine = site.machine("moby")
    machine.programs.run("powershell.exe", ["-Command", "Stop-Service kubelet -Force"])
    reset = machine.programs.run(
        r"C:\k\kubeadm.exe", ["reset", "--force", "--cri-socket", "npipe:////./pipe/cri-dockerd"]
    )
    assert reset.exit_code == 0, reset.stderr
    # kubeadm refuses to join a node that is still Ready in the cluster.
    client.CoreV1Api(cluster_api(site)).delete_node(node_name("moby"))
    del site.host_variables["moby"]
    site.run("site.yml", "--limit", "moby").expect()
    wait_for(
        lambda: cluster_nodes(site)[node_name("moby")]["runtime"] == "containerd://2.3.7",
        "the node runs containerd",
        30,
    )
    running = {"flannel-windows": "Running", "kube-proxy-windows": "Running"}
    wait_for(lambda: pods_on(site, "moby") == running, "its pods run", 60)
    left = services(site, "moby")
    assert set(left) == {"docker", "cri-dockerd", "kubelet"}
    assert (left["cri-dockerd"].state, left["cri-dockerd"].start_mode) == ("Stopped", "Disabled")
    assert left["kubelet"].dependencies == ["containerd"]
    assert not [
        account for account in SECRETS.values() if machine.files.exists(rf"C:\etc\kubernetes\{account}.kubeconfig")
    ]


@pytest.mark.variant
@pytest.mark.xdist_group("test_docker_runtime-docker")
def test_mirantis_build_on_an_overlay(start_site: SiteFactory) -> None:
    site = start_site({"name": "docker", "windows": "2022"}, cluster={"kind": "memory"}, flannel_backend_type="vxlan")
    assert site.world.artifacts is not None
    archive = "download.docker.com/win/static/stable/x86_64/docker-25.0.14.zip"
    url = f"{site.world.artifacts.url}/{archive}"
    site.variables |= docker_variables(site, container_runtime="docker", docker_url=url)
    site.run("site.yml").expect()
    assert site.counters("docker")["remote_commands"] <= FIRST

    node = cluster_nodes(site)[node_name("docker")]
    assert (node["ready"], node["runtime"]) == (True, "docker://25.0.14")
    found = services(site, "docker")
    assert found["flanneld"].dependencies == ["kubelet"]
    assert found["kube-proxy"].dependencies == ["flanneld"]
    assert {service.state for service in found.values()} == {"Running"}
    status: Any = site.node("docker").status()
    (network,) = [item for item in status["hns"]["networks"] if item["name"] == "flannel.4096"]
    assert (network["type"], network["subnet"]) == ("Overlay", node["pod_cidr"])
    # No node of the cluster runs containerd, so it would have nothing to run.
    assert client.AppsV1Api(cluster_api(site)).list_namespaced_daemon_set("kube-flannel").items == []

    run = site.run("site.yml").expect()
    assert run.recap["docker"]["changed"] == 0
    assert site.counters("docker")["remote_commands"] <= SECOND
