# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The ways to authenticate, with an API server over TLS: the one in memory, and the real one."""

from __future__ import annotations

import base64
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.limited_account import limited_kubeconfig
from kubernetes import client, config
from unit.fake_cluster import run_module

from ansible_collections.winkube.node.plugins.modules import cluster_info, nodes_info, nodes_ready
from simulator.cluster import SimulatedCluster

pytestmark = [pytest.mark.integration, pytest.mark.waits]

Options = dict[str, Any]


@pytest.fixture(scope="module")
def ca_cert(cluster: SimulatedCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ca") / "ca.crt"
    path.write_text(cluster.ca_certificate, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def limited(cluster: SimulatedCluster, tmp_path_factory: pytest.TempPathFactory) -> Options:
    """The content of the kubeconfig of an account with the rights of docs/rbac.yaml; it has a token."""
    path = limited_kubeconfig(cluster, tmp_path_factory.mktemp("limited"))
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


class RefusingProxy(http.server.BaseHTTPRequestHandler):
    """A proxy that requires credentials from its clients."""

    def do_CONNECT(self) -> None:
        self.send_error(407)

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


@pytest.fixture
def proxy() -> Iterator[str]:
    """The address of a proxy that refuses every request."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), RefusingProxy) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def run(cluster: SimulatedCluster, **options: Any) -> Options:
    """Run a module that reads a node, which does not exist; return its result."""
    shim: Any = cluster
    return run_module(nodes_ready, shim, nodes=["none"], timeout=0, required=False, **options)


def allowed(cluster: SimulatedCluster, purpose: str, **options: Any) -> bool:
    """Return whether an account has all rights for a purpose."""
    shim: Any = cluster
    found = run_module(cluster_info, shim, purposes=[purpose], **options)
    assert "missing_access" in found or not found.get("failed"), found
    return "missing_access" not in found


def test_a_token_a_host_and_a_ca(cluster: SimulatedCluster, ca_cert: Path, limited: Options) -> None:
    token = limited["users"][0]["user"]["token"]
    options = {"kubeconfig": None, "host": cluster.server, "api_key": token}
    assert run(cluster, **options, ca_cert=str(ca_cert))["waiting"] == ["none"]
    assert run(cluster, **options, validate_certs=False)["waiting"] == ["none"]
    refused = run(cluster, **options)
    assert refused["failed"]
    assert refused["msg"].startswith(f"the API server {cluster.server} cannot be reached: ")
    assert "certificate" in refused["msg"].lower()
    other = run(cluster, **{**options, "api_key": "0ther"}, ca_cert=str(ca_cert))
    assert other["failed"]
    assert "Unauthorized" in other["msg"]


def test_client_certificates(cluster: SimulatedCluster, ca_cert: Path, tmp_path: Path) -> None:
    user = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))["users"][0]["user"]
    options: Options = {"kubeconfig": None, "host": cluster.server, "ca_cert": str(ca_cert)}
    for option, entry in (("client_cert", "client-certificate-data"), ("client_key", "client-key-data")):
        path = tmp_path / option
        path.write_bytes(base64.b64decode(user[entry]))
        options[option] = str(path)
    assert run(cluster, **options)["waiting"] == ["none"]


def test_a_kubeconfig_as_content(cluster: SimulatedCluster, limited: Options) -> None:
    assert run(cluster, kubeconfig=limited)["waiting"] == ["none"]
    assert allowed(cluster, "read", kubeconfig=limited)


def test_an_inline_kubeconfig_does_not_censor_ordinary_words_in_results(
    cluster: SimulatedCluster, limited: Options
) -> None:
    shim: Any = cluster
    found = run_module(cluster_info, shim, kubeconfig=limited)
    assert found == run_module(cluster_info, shim)
    assert found["kubernetes_version"] == f"v{cluster.version}"


def test_nodes_info_needs_only_the_documented_rights(cluster: SimulatedCluster, limited: Options) -> None:
    core = client.CoreV1Api(config.new_client_from_config(str(cluster.kubeconfig)))
    core.create_node({"metadata": {"name": "win1", "labels": {"kubernetes.io/os": "windows"}}})
    pod = {"metadata": {"name": "stuck"}, "spec": {"nodeName": "win1", "containers": [{"name": "a", "image": "b"}]}}
    core.create_namespaced_pod("default", pod)
    if cluster.kind == "real":
        involved = {"kind": "Pod", "namespace": "default", "name": "stuck"}
        event = {"reason": "FailedCreatePodSandBox", "message": "no \x1b match", "source": {"host": "win1"}}
        core.create_namespaced_event("default", {"metadata": {"name": "e"}, "involvedObject": involved, **event})
    shim: Any = cluster
    found = run_module(nodes_info, shim, kubeconfig=limited)
    assert cluster.ca_certificate in found["authorities"]
    node = found["nodes"]["win1"]
    assert (node["ready"], node["pending_pods"]) == ("", ["default/stuck: no reason given"])
    # The cluster in memory has no events.
    assert node["sandbox_errors"] == (["no \\x1b match"] if cluster.kind == "real" else [])


def test_a_proxy_that_refuses_is_named(cluster: SimulatedCluster, proxy: str) -> None:
    refused = run(cluster, proxy=f"http://me:s3cret@{proxy}")
    assert refused["msg"] == (
        f"the API server {cluster.server} cannot be reached: Tunnel connection failed: "
        f"407 Proxy Authentication Required (through the proxy http://***@{proxy})"
    )
    assert run(cluster, proxy=f"http://{proxy}", no_proxy="127.0.0.1")["waiting"] == ["none"]


def test_impersonation(cluster: SimulatedCluster) -> None:
    if cluster.kind == "memory":
        pytest.skip("the API server in memory does not support impersonation")
    assert allowed(cluster, "drain")
    assert not allowed(cluster, "drain", impersonate_user="somebody")
    groups = ["system:authenticated", "system:masters"]
    assert allowed(cluster, "drain", impersonate_user="somebody", impersonate_groups=groups)
