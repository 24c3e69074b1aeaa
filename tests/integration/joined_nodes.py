# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Nodes of a cluster without a run of site.yml: programs and services are put on simulated machines that then join.

This is what tests of live nodes need, in a tenth of the time: containerd, kubelet, flannel as a HostProcess DaemonSet.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from integration.playbooks import Site, cluster_api
from kubernetes import client
from simulator_tests.kubernetes_node import manifests
from simulator_tests.waiting import wait_for

from simulator.machine.executables import make
from simulator.machine.machine import ENVIRONMENT, Machine

CONTAINERD, KUBERNETES = "2.4.2", "1.37.1"
CONFIGURATION = r"C:\join.yaml"
"""The file with kubeadm's configuration that a join leaves behind."""
_PIPE = "npipe:////./pipe/containerd-containerd"
_PROGRAMS = {
    r"C:\containerd\containerd.exe": ("containerd", CONTAINERD),
    r"C:\containerd\ctr.exe": ("ctr", CONTAINERD),
    r"C:\containerd\crictl.exe": ("crictl", "1.37.0"),
    r"C:\k\kubelet.exe": ("kubelet", KUBERNETES),
    r"C:\k\kubeadm.exe": ("kubeadm", KUBERNETES),
    r"C:\opt\flannel\flanneld.exe": ("flanneld", "0.28.9"),
    **{
        rf"C:\opt\cni\bin\{name}.exe": (name, "1.9.0")
        for name in ("flannel", "win-bridge", "win-overlay", "host-local")
    },
}
_CONTAINERD_CONFIG = r"""version = 2
[plugins.'io.containerd.grpc.v1.cri']
  sandbox_image = 'registry.k8s.io/pause:3.10.2'
  [plugins.'io.containerd.grpc.v1.cri'.cni]
    bin_dir = 'C:\opt\cni\bin'
    conf_dir = 'C:\etc\cni\net.d'
  [plugins.'io.containerd.grpc.v1.cri'.registry]
    config_path = 'C:\certs.d'
"""
_KUBELET = (
    r"C:\k\kubelet.exe --windows-service --bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf "
    r"--kubeconfig=C:\etc\kubernetes\kubelet.conf --config=C:\var\lib\kubelet\config.yaml "
    r"--cert-dir=C:\var\lib\kubelet\pki"
)
_CONTAINERD = r"C:\containerd\containerd.exe --run-service --config C:\containerd\config.toml"


def server(name: str, **more: object) -> dict[str, object]:
    """Return a fleet file's entry for a server that is going to be a node."""
    return {"name": name, "features": ["Containers"], "link_drop_seconds": 0.2, "time_scale": 0.02, **more}


def join(site: Site, hosts: Sequence[str], kubernetes: str = KUBERNETES) -> None:
    """Make hosts Ready nodes of the site's cluster, with their own names and with flannel running.

    Args:
        kubernetes: the version of Kubernetes on the nodes.
    """
    for host in hosts:
        prepare(site, host, kubernetes)
    join_prepared(site, hosts)


def join_prepared(site: Site, hosts: Sequence[str]) -> None:
    """Make prepared hosts Ready nodes of the site's cluster, as `join` does."""
    _name(site, hosts)
    token = make_token(site)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda host: _join_one(site, host, token), hosts))
    deploy_flannel(site)
    wait_for(lambda: set(hosts) <= ready_nodes(site), "all nodes are ready", 60)


def register(site: Site, hosts: Sequence[str]) -> None:
    """Register hosts as nodes that have not reported yet, for tests that only read the nodes and need no kubelet."""
    _name(site, hosts)
    labels = {"kubernetes.io/os": "windows"}
    for host in hosts:
        client.CoreV1Api(cluster_api(site)).create_node({"metadata": {"name": host, "labels": labels}})


def ready_nodes(site: Site) -> set[str]:
    """Return the names of the nodes that are Ready."""
    return {
        node.metadata.name
        for node in client.CoreV1Api(cluster_api(site)).list_node().items
        if any(one.type == "Ready" and one.status == "True" for one in node.status.conditions or ())
    }


def _name(site: Site, hosts: Sequence[str]) -> None:
    for host in hosts:
        site.host_variables.setdefault(host, {})["kubernetes_node_hostname"] = host


def prepare(site: Site, host: str, kubernetes: str = KUBERNETES) -> None:
    """Put containerd, the kubelet, kubeadm and their services on a server, so that it can join."""
    assert site.world.registry is not None
    machine = site.machine(host)
    for path, (program, version) in _PROGRAMS.items():
        machine.files.make_directory(path.rpartition("\\")[0])
        machine.files.write_bytes(path, make(program, kubernetes if path.startswith("C:\\k\\") else version))
    _write(machine, r"C:\containerd\config.toml", _CONTAINERD_CONFIG)
    for upstream in ("registry.k8s.io", "mcr.microsoft.com"):
        mirror = f"[host.'{site.world.registry.url}']\n  capabilities = ['pull', 'resolve']\n"
        _write(machine, rf"C:\certs.d\{upstream}\hosts.toml", f"server = 'https://{upstream}'\n{mirror}")
    path = str(machine.registry.data(ENVIRONMENT, "Path"))
    machine.registry.set(ENVIRONMENT, "Path", rf"{path};C:\containerd;C:\k", "ExpandString")
    machine.files.make_directory(r"C:\etc\cni\net.d")
    machine.services.create("containerd", _CONTAINERD, Start=2)
    machine.services.start("containerd")
    machine.services.create("kubelet", _KUBELET, Start=2, DependOnService=["containerd"])


def join_configuration(site: Site, name: str, token: str) -> str:
    """Return the configuration with which kubeadm joins a node of this name."""
    assert site.world.cluster is not None
    cluster = site.world.cluster
    endpoint = {"apiServerEndpoint": cluster.server.removeprefix("https://"), "caCertHashes": [cluster.ca_hash]}
    return json.dumps(
        {
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "JoinConfiguration",
            "discovery": {"bootstrapToken": {**endpoint, "token": token}},
            "nodeRegistration": {"name": name, "criSocket": _PIPE, "taints": []},
        }
    )


def _join_one(site: Site, host: str, token: str) -> None:
    machine = site.machine(host)
    _write(machine, CONFIGURATION, join_configuration(site, host, token))
    result = machine.programs.run(r"C:\k\kubeadm.exe", ["join", "--config", CONFIGURATION])
    assert result.exit_code == 0, f"{host}: {result.stderr}"


def _write(machine: Machine, path: str, text: str) -> None:
    machine.files.make_directory(path.rpartition("\\")[0])
    machine.files.write_text(path, text)


def make_token(site: Site) -> str:
    """Create a bootstrap token in the site's cluster, and return it."""
    token_id, secret = uuid.uuid4().hex[:6], uuid.uuid4().hex[:16]
    data = {
        "token-id": token_id,
        "token-secret": secret,
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
    }
    metadata = {"name": f"bootstrap-token-{token_id}"}
    body = {"metadata": metadata, "type": "bootstrap.kubernetes.io/token", "stringData": data}
    client.CoreV1Api(cluster_api(site)).create_namespaced_secret("kube-system", body)
    return f"{token_id}.{secret}"


def deploy_flannel(site: Site) -> None:
    """Run flannel on all Windows nodes of the site's cluster."""
    assert site.world.cluster is not None
    api = cluster_api(site)
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    client.RbacAuthorizationV1Api(api).create_cluster_role_binding(
        {"metadata": {"name": "flannel"}, "roleRef": role, "subjects": [subject]}
    )
    config = manifests.flannel_config("flannel", site.world.cluster.server, "host-gw")
    client.CoreV1Api(api).create_namespaced_config_map("default", config)
    spec = manifests.flannel("", "flannel")["spec"]
    del spec["nodeName"]
    labels = {"app": "flannel"}
    template = {"metadata": {"labels": labels}, "spec": spec | {"nodeSelector": {"kubernetes.io/os": "windows"}}}
    client.AppsV1Api(api).create_namespaced_daemon_set(
        "default",
        {"metadata": {"name": "flannel"}, "spec": {"selector": {"matchLabels": labels}, "template": template}},
    )
