# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine becomes a node: discovery, TLS bootstrap, registration, and what makes it Ready."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node.registry.server import SimulatedRegistry

from .conftest import CONFIG_V2, Admin, Node

pytestmark = pytest.mark.waits


def test_a_join_makes_a_node_that_is_ready_with_containerd_and_cni(node: Node, cluster: Admin) -> None:
    node.install_kubernetes()
    node.install_cni()
    node.join_configuration(cluster.cluster, cluster.token())

    result = node.join()

    assert result.exit_code == 0, result.stderr
    assert "This node has joined the cluster" in result.stdout
    cluster.wait_ready(node.name, "True", "kubelet is posting ready status")
    found = cluster.client.get(f"/api/v1/nodes/{node.name}")
    assert found["metadata"]["labels"]["kubernetes.io/os"] == "windows"
    assert found["metadata"]["labels"]["node.kubernetes.io/windows-build"] == "10.0.20348"
    info = found["status"]["nodeInfo"]
    assert (info["kubeletVersion"], info["containerRuntimeVersion"]) == ("v1.37.1", "containerd://2.4.2")
    assert info["kernelVersion"] == node.machine.windows.full
    files = node.machine.files
    assert files.exists(r"C:\etc\kubernetes\pki\ca.crt")
    assert not files.exists(r"C:\etc\kubernetes\bootstrap-kubelet.conf")
    settings = yaml.safe_load(files.read_text(r"C:\var\lib\kubelet\config.yaml"))
    assert settings["resolvConf"] == ""
    assert settings["authentication"]["x509"]["clientCAFile"] == r"C:\etc\kubernetes\pki\ca.crt"
    assert settings["staticPodPath"] == r"C:\etc\kubernetes\manifests"
    assert settings["containerRuntimeEndpoint"] == "npipe:////./pipe/containerd-containerd"
    instance = yaml.safe_load(files.read_text(r"C:\var\lib\kubelet\instance-config.yaml"))
    assert instance["containerRuntimeEndpoint"] == "npipe:////./pipe/containerd-containerd"
    assert (
        cluster.client.get(f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node.name}")["spec"][
            "holderIdentity"
        ]
        == node.name
    )


def test_every_kubeadm_joins(make_node: Callable[..., Node], registry: SimulatedRegistry, cluster: Admin) -> None:
    """They join at the same time, because a real kubeadm waits for a second."""
    versions = ("1.30.4", "1.33.2", "1.34.4", "1.36.3", "1.36.0")
    nodes = [make_node(kubernetes=version, containerd="1.7.35") for version in versions]
    for node in nodes:
        node.mirror(registry)
        node.start_containerd()
        node.install_kubernetes()
        node.install_cni()
        node.join_configuration(cluster.cluster, cluster.token())

    with ThreadPoolExecutor(len(nodes)) as pool:
        results = list(pool.map(Node.join, nodes))

    for node, result in zip(nodes, results, strict=True):
        assert result.exit_code == 0, (node.kubernetes, result.stderr)
        cluster.wait_ready(node.name, "True")
        flags = node.machine.files.read_text(r"C:\var\lib\kubelet\kubeadm-flags.env")
        old = node.kubernetes < "1.34"
        flag = "--container-runtime-endpoint=npipe:////./pipe/containerd-containerd"
        assert (flag in flags) is old, (node.kubernetes, flags)
        annotation = cluster.client.get(f"/api/v1/nodes/{node.name}")["metadata"]["annotations"].get(
            "kubeadm.alpha.kubernetes.io/cri-socket"
        )
        assert annotation == ("npipe:////./pipe/containerd-containerd" if old else None), node.kubernetes


def joined(node: Node, cluster: Admin) -> None:
    node.install_kubernetes()
    node.join_configuration(cluster.cluster, cluster.token())
    result = node.join()
    assert result.exit_code == 0, result.stderr


@pytest.mark.usefixtures("simulated_kubeadm")
def test_not_ready_without_a_runtime(node: Node, cluster: Admin) -> None:
    node.install_cni()
    joined(node, cluster)
    cluster.wait_ready(node.name, "True")
    node.machine.services.configure("kubelet", DependOnService=None)

    node.machine.services.stop("containerd", force=True)

    cluster.wait_ready(node.name, "False", "container runtime is down")
    node.machine.services.start("containerd")
    cluster.wait_ready(node.name, "True")


@pytest.mark.usefixtures("simulated_kubeadm")
def test_not_ready_without_a_cni_configuration(node: Node, cluster: Admin) -> None:
    node.install_cni()
    node.machine.files.delete(r"C:\etc\cni\net.d\10-flannel.conf")

    joined(node, cluster)

    message = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:"
    message += "Network plugin returns error: "
    cluster.wait_ready(node.name, "False", message + "cni plugin not initialized")


@pytest.mark.usefixtures("simulated_kubeadm")
def test_not_ready_without_the_plugins_executable(node: Node, cluster: Admin) -> None:
    node.install_cni()
    node.machine.files.delete(r"C:\opt\cni\bin\flannel.exe")

    joined(node, cluster)

    cluster.wait_ready(node.name, "False", r'failed to find plugin "flannel" in path [C:\opt\cni\bin]')


@pytest.mark.usefixtures("simulated_kubeadm")
@pytest.mark.parametrize("key", ["conf_dir", "bin_dir"])
def test_a_node_is_not_ready_if_containerd_reads_another_cni_folder(
    make_node: Callable[..., Node], registry: SimulatedRegistry, cluster: Admin, key: str
) -> None:
    node = make_node()
    node.mirror(registry)
    place = {"conf_dir": r"'C:\etc\cni\net.d'", "bin_dir": r"'C:\opt\cni\bin'"}[key]
    node.start_containerd(CONFIG_V2.replace(f"{key} = {place}", rf"{key} = 'C:\elsewhere'"))
    node.install_cni()

    joined(node, cluster)

    cluster.wait_ready(
        node.name, "False", "cni plugin not initialized" if key == "conf_dir" else r"in path [C:\elsewhere]"
    )


def test_a_wrong_ca_hash_is_refused(node: Node, cluster: Admin) -> None:
    node.install_kubernetes()
    node.join_configuration(cluster.cluster, cluster.token(), caCertHashes=["sha256:" + "0" * 64])

    result = node.join()

    assert result.exit_code == 1
    assert "cluster CA found in cluster-info ConfigMap is invalid: none of the public keys" in result.stderr
    assert not node.machine.files.exists(r"C:\etc\kubernetes\kubelet.conf")


def discovered_by_file(node: Node, cluster: Admin, path: str, server: str) -> None:
    r"""Write C:\join.yaml, which refers to a kubeconfig for discovery, and C:\discovery.conf.

    Args:
        node: the machine.
        cluster: the cluster that it joins.
        path: the path of the kubeconfig in C:\join.yaml.
        server: the URL of the API server in C:\discovery.conf.
    """
    authority = base64.b64encode(cluster.cluster.ca_certificate.encode()).decode()
    entry = {"name": "", "cluster": {"server": server, "certificate-authority-data": authority}}
    node.write(r"C:\discovery.conf", json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [entry]}))
    node.join_configuration(cluster.cluster, cluster.token())
    document = json.loads(node.machine.files.read_text(r"C:\join.yaml"))
    token = document["discovery"].pop("bootstrapToken")["token"]
    document["discovery"] |= {"file": {"kubeConfigPath": path}, "tlsBootstrapToken": token}
    node.write(r"C:\join.yaml", json.dumps(document))


@pytest.mark.parametrize("kubernetes", ["1.37.1", "1.36.0"])
def test_discovery_by_file_finds_the_cluster(make_node: Callable[..., Node], cluster: Admin, kubernetes: str) -> None:
    node = make_node(kubernetes=kubernetes)
    node.start_containerd()
    node.install_kubernetes()
    server = cluster.cluster.server
    discovered_by_file(node, cluster, "/discovery.conf", server)
    path = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
    kubeconfig = cluster.client.get(path)["data"]["kubeconfig"]
    # No server has this address (RFC 5737).
    cluster.client.patch(path, {"data": {"kubeconfig": kubeconfig.replace(server, "https://192.0.2.1:6443")}})
    try:
        result = node.join()
    finally:
        cluster.client.patch(path, {"data": {"kubeconfig": kubeconfig}})

    assert result.exit_code == 0, result.stderr
    assert f"server: {server}\n" in node.machine.files.read_text(r"C:\etc\kubernetes\kubelet.conf")


def test_a_drive_is_taken_for_the_scheme_of_a_url(make_node: Callable[..., Node], cluster: Admin) -> None:
    node = make_node(kubernetes="1.36.0")
    node.start_containerd()
    node.install_kubernetes()
    discovered_by_file(node, cluster, r"C:\discovery.conf", cluster.cluster.server)

    result = node.join()

    assert result.exit_code != 0
    assert "if a URL is used, the scheme must be https" in result.stderr


@pytest.mark.parametrize("kubernetes", ["1.37.1", "1.36.0"])
def test_an_unknown_token_is_refused(make_node: Callable[..., Node], cluster: Admin, kubernetes: str) -> None:
    node = make_node(kubernetes=kubernetes)
    node.start_containerd()
    node.install_kubernetes()
    node.join_configuration(cluster.cluster, "zzzzzz.0123456789abcdef", discovery_timeout="1s")

    result = node.join()

    assert result.exit_code == 1
    assert 'could not find a JWS signature in the cluster-info ConfigMap for token ID "zzzzzz"' in result.stderr


def test_a_forged_token_is_refused(make_node: Callable[..., Node], cluster: Admin) -> None:
    node = make_node(kubernetes="1.36.0")
    node.start_containerd()
    node.install_kubernetes()
    token = cluster.token()
    node.join_configuration(cluster.cluster, token[:7] + "0" * 16, discovery_timeout="1s")

    result = node.join()

    assert result.exit_code == 1
    assert "can't trust this API Server" in result.stderr or "could not find a JWS signature" in result.stderr


def test_a_second_join_is_refused(node: Node, cluster: Admin) -> None:
    node.install_cni()
    joined(node, cluster)

    result = node.join()

    assert result.exit_code == 2
    assert (
        r"[ERROR FileAvailable--etc-kubernetes-kubelet.conf]: \etc\kubernetes\kubelet.conf already exists"
        in result.stderr
    )
    assert "[ERROR Port-10250]: Port 10250 is in use" in result.stderr


def test_reset_undoes_a_join(node: Node, cluster: Admin) -> None:
    node.install_cni()
    joined(node, cluster)

    result = node.run(r"C:\k\kubeadm.exe", "reset", "--force")

    assert result.exit_code == 0, result.stderr
    assert not node.machine.files.exists(r"C:\etc\kubernetes\kubelet.conf")
    service = node.machine.services.get("kubelet")
    assert service is not None
    assert service.state == "Stopped"
    cluster.client.delete(f"/api/v1/nodes/{node.name}")
    node.join_configuration(cluster.cluster, cluster.token())
    assert node.join().exit_code == 0


@pytest.mark.usefixtures("simulated_kubeadm")
def test_a_deleted_node_stays_away_until_its_kubelet_restarts(node: Node, cluster: Admin) -> None:
    node.install_cni()
    joined(node, cluster)
    cluster.wait_ready(node.name, "True")
    path = f"/api/v1/nodes/{node.name}"
    cluster.client.delete(path)
    # The kubelet has a change to report, but its Node object does not exist.
    node.machine.services.configure("kubelet", DependOnService=None)
    node.machine.services.stop("containerd", force=True)
    time.sleep(0.5)  # five times watch_seconds
    assert cluster.client.find(path) is None
    node.machine.services.start("containerd")
    node.machine.services.stop("kubelet", force=True)
    node.machine.services.start("kubelet")
    cluster.wait_ready(node.name, "True")


@pytest.mark.usefixtures("simulated_kubeadm")
def test_a_joined_node_is_ready_again_after_a_reboot(node: Node, cluster: Admin) -> None:
    node.install_cni()
    joined(node, cluster)
    cluster.wait_ready(node.name, "True")
    before = cluster.client.get(f"/api/v1/nodes/{node.name}")["status"]["nodeInfo"]["bootID"]

    node.machine.power.reset()

    def came_back() -> bool:
        found = cluster.client.get(f"/api/v1/nodes/{node.name}")["status"]["nodeInfo"]["bootID"]
        return bool(found != before)

    wait_for(came_back, "the kubelet reports the new boot")
    cluster.wait_ready(node.name, "True")
