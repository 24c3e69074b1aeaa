# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Nodes with Docker: Mirantis' build joined end to end on a bridge; no change of runtime.

test_network_matrix.py has a node with the other publisher's build, on an overlay, next to nodes with containerd.
"""

from __future__ import annotations

from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import Site, cluster_api, cluster_nodes, node_name
from integration.states import state_of
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.machine.services import Service

pytestmark = pytest.mark.integration

SECRETS = {"kube-flannel/flannel-windows": "flannel", "kube-system/kube-proxy-windows": "kube-proxy"}
PRIVATE = "(A;;FA;;;SY)(A;;FA;;;BA)"
DAEMON = r"C:\ProgramData\docker\config\daemon.json"
FIRST, SECOND = 12, 3
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


# test_reset_nodes.py resets nodes that join again.
@pytest.mark.variant
@pytest.mark.xdist_group("test_docker_runtime-moby")
def test_a_node_is_switched_after_its_reset_only(start_site: SiteFactory) -> None:
    site = start_site({"name": "moby", "windows": "2022", "link_drop_seconds": 0.5}, cluster={"kind": "memory"})
    site.host_variables["moby"] = docker_variables(site, container_runtime="moby")
    site.run("site.yml").expect()
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
def test_mirantis_build_on_a_bridge(start_site: SiteFactory) -> None:
    site = start_site({"name": "docker", "windows": "2022"}, cluster={"kind": "memory"})
    assert site.world.artifacts is not None
    archive = "download.docker.com/win/static/stable/x86_64/docker-25.0.14.zip"
    url = f"{site.world.artifacts.url}/{archive}"
    site.variables |= docker_variables(site, container_runtime="docker", docker_url=url)
    site.run("site.yml").expect()
    assert site.counters("docker")["remote_commands"] <= FIRST

    node = cluster_nodes(site)[node_name("docker")]
    assert (node["ready"], node["runtime"]) == (True, "docker://25.0.14")
    found = services(site, "docker")
    assert found["kube-proxy"].dependencies == ["kubelet"]
    assert found["flanneld"].dependencies == ["kube-proxy"]
    assert {service.state for service in found.values()} == {"Running"}
    status: Any = site.node("docker").status()
    (network,) = [item for item in status["hns"]["networks"] if item["name"] == "cbr0"]
    assert (network["type"], network["subnet"]) == ("L2Bridge", node["pod_cidr"])
    # No node of the cluster runs containerd, so it would have nothing to run.
    assert client.AppsV1Api(cluster_api(site)).list_namespaced_daemon_set("kube-flannel").items == []

    run = site.run("site.yml").expect()
    assert run.recap["docker"]["changed"] == 0
    assert site.counters("docker")["remote_commands"] <= SECOND
