# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A real kubeadm joins both kinds of cluster; `--rootfs` keeps its files in a folder of the test."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from simulator_tests.cluster.node_client import (
    Client,
    admin_client,
    bootstrap_token,
    node_client,
    node_object,
)
from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster, start_cluster
from simulator.cluster.control_plane import assets_folder
from simulator.kubernetes_node.kubelet.health import MARKER, Answerer

pytestmark = [pytest.mark.waits, pytest.mark.control_plane]


@pytest.fixture(scope="module", autouse=True)
def healthz() -> Iterator[None]:
    """Answer kubeadm's health checks of the kubelet, together with other test processes that do the same."""
    if assets_folder() is None:
        pytest.skip("KUBEBUILDER_ASSETS is not the path of a folder with the programs of a control plane")
    ours, others = Answerer.start(), Answerer.start()
    assert ours is not None, "another program listens on 127.0.0.1:10248"
    assert others is not None
    yield
    ours.close()
    others.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder for kubeadm's `--rootfs`; a marker file next to it makes its kubelet healthy."""
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / MARKER.format(port=10248)).touch()
    return folder


def join_configuration(cluster: SimulatedCluster, node: str, token: str, api: str) -> str:
    timeouts = {"tlsBootstrap": "20s", "kubeletHealthCheck": "20s", "discovery": "20s"}
    discovery = {
        "bootstrapToken": {
            "apiServerEndpoint": cluster.server.removeprefix("https://"),
            "token": token,
            "caCertHashes": [cluster.ca_hash],
        }
    }
    config = {
        "apiVersion": f"kubeadm.k8s.io/{api}",
        "kind": "JoinConfiguration",
        "discovery": discovery | ({"timeout": "20s"} if api == "v1beta3" else {}),
        "nodeRegistration": {
            "name": node,
            "criSocket": "npipe:////./pipe/containerd-containerd",
            "ignorePreflightErrors": ["all"],
        },
    }
    return yaml.safe_dump(config | ({"timeouts": timeouts} if api == "v1beta4" else {}))


def kubelet(cluster: SimulatedCluster, admin: Client, node: str, root: Path) -> None:
    """Join as a kubelet does after kubeadm has written its bootstrap kubeconfig."""
    bootstrap = root / "etc/kubernetes/bootstrap-kubelet.conf"
    text = wait_for(lambda: bootstrap.exists() and bootstrap.read_text(), "bootstrap-kubelet.conf", 30)
    token = yaml.safe_load(text)["users"][0]["user"]["token"]
    client = node_client(cluster, token, node, root)
    code, body = client.request("POST", "/api/v1/nodes", node_object(node, ready=True))
    assert code == 201, body
    pem = base64.b64encode((root / f"{node}.pem").read_bytes()).decode()
    config = yaml.safe_load(text)
    config["users"][0]["user"] = {"client-certificate-data": pem, "client-key-data": pem}
    (root / "etc/kubernetes/kubelet.conf").write_text(yaml.safe_dump(config))


def join(cluster: SimulatedCluster, admin: Client, program: str, root: Path, api: str = "v1beta4") -> tuple[str, str]:
    """Join a node with a kubeadm; return the name of the node and the output of kubeadm."""
    assets = assets_folder()
    assert assets is not None
    node = f"win-{uuid.uuid4().hex[:8]}"
    token = bootstrap_token(admin)
    (root / "join.yaml").write_text(join_configuration(cluster, node, token, api))
    command = [str(assets / program), "join", "--rootfs", str(root), "--config", "/join.yaml", "-v", "1"]
    if os.geteuid() != 0:
        if not shutil.which("unshare"):
            pytest.skip("kubeadm --rootfs needs root or unshare")
        command = ["unshare", "-r", *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        kubelet(cluster, admin, node, root)
        printed, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, printed
    return node, printed


def test_kubeadm_joins_a_node(cluster: SimulatedCluster, admin: Client, root: Path) -> None:
    node, printed = join(cluster, admin, "kubeadm", root)
    assert "This node has joined the cluster" in printed
    found = admin.get(f"/api/v1/nodes/{node}")
    wait_for(lambda: admin.get(f"/api/v1/nodes/{node}")["spec"].get("podCIDR"), "a pod CIDR")
    assert found["metadata"]["labels"]["kubernetes.io/os"] == "windows"
    config = yaml.safe_load((root / "var/lib/kubelet/config.yaml").read_text())
    assert config["clusterDNS"] == ["10.96.0.10"]
    assert (root / "etc/kubernetes/pki/ca.crt").read_text().strip() == cluster.ca_certificate.strip()


def test_kubeadm_refuses_a_wrong_token(cluster: SimulatedCluster, root: Path) -> None:
    assets = assets_folder()
    assert assets is not None
    text = join_configuration(cluster, "win-none", "abcdef.0123456789abcdef", "v1beta4").replace("20s", "1s")
    (root / "join.yaml").write_text(text)
    command = [str(assets / "kubeadm"), "join", "--rootfs", str(root), "--config", "/join.yaml"]
    command = command if os.geteuid() == 0 else ["unshare", "-r", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert 'could not find a JWS signature in the cluster-info ConfigMap for token ID "abcdef"' in done.stderr


@pytest.mark.parametrize(
    ("version", "api"), [("1.30.4", "v1beta3"), ("1.34.4", "v1beta4"), ("1.35.4", "v1beta4"), ("1.36.3", "v1beta4")]
)
def test_older_kubeadms_join_a_cluster_in_memory_of_their_version(version: str, api: str, root: Path) -> None:
    assets = assets_folder()
    if assets is None or not (assets / f"kubeadm-{version}").exists():
        pytest.skip(f"KUBEBUILDER_ASSETS holds no kubeadm-{version}")
    with start_cluster("memory", version=version) as cluster:
        admin = admin_client(cluster, root.parent)
        _, printed = join(cluster, admin, f"kubeadm-{version}", root, api)
    assert "This node has joined the cluster" in printed
