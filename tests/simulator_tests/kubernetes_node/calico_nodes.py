# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Clusters with Calico and their nodes: the DaemonSet for a cluster of kubespray, its pods and its logs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster, start_cluster
from simulator.cluster.calico import rendering
from simulator.kubernetes_node.cni.calico.environment import Logs
from simulator.kubernetes_node.registry.server import SimulatedRegistry

from .conftest import Admin, Node, administrator

CRD = "/apis/crd.projectcalico.org/v1"
NETWORKS = {"pod_cidr": "10.233.64.0/18", "service_cidr": "10.233.0.0/18"}


def calico_cluster(kind: str = "memory", **options: Any) -> Admin:
    """Start a cluster with Calico. The caller stops `cluster`."""
    found: SimulatedCluster = start_cluster(kind=kind, calico=options, **NETWORKS)  # type: ignore[arg-type]
    return Admin(found, administrator(found))


def daemon_set(
    cluster: SimulatedCluster, version: str = "3.31.5", *, bgp: bool = False, vni: int = 4096
) -> dict[str, Any]:
    """Return a DaemonSet like the operator's, for a cluster of kubespray: in kube-system, and without Typha."""
    parts = urlsplit(cluster.server)
    network = {"bgp": "Enabled" if bgp else "Disabled"}
    spec = {"serviceCIDRs": [NETWORKS["service_cidr"]], "calicoNetwork": network, "registry": "quay.io"}
    about = rendering.Rendered(version, spec, str(parts.hostname), str(parts.port), ("10.233.0.3",), vni)
    found = copy.deepcopy(rendering.daemon_set(about))
    found["metadata"]["namespace"] = "kube-system"
    pod = found["spec"]["template"]["spec"]
    pod["initContainers"] = pod["initContainers"][1:]
    kept = [item for item in pod["volumes"] if "hostPath" in item]
    names = [item["name"] for item in kept]
    for container in pod["containers"]:
        container["env"] = [item for item in container["env"] if "TYPHA" not in item["name"]]
        container["env"].append({"name": "NO_DEFAULT_POOLS", "value": "true"})
        container["volumeMounts"] = [item for item in container["volumeMounts"] if item["name"] in names]
    pod["volumes"] = kept
    return found


def deploy(admin: Admin, daemon: dict[str, Any]) -> None:
    """Create the ConfigMap and the DaemonSet in kube-system."""
    parts = urlsplit(admin.cluster.server)
    backend = next(item["value"] for item in environment(daemon, "node") if item["name"].endswith("_BACKEND"))
    network = {"bgp": "Disabled" if backend == "vxlan" else "Enabled"}
    spec = {"serviceCIDRs": [NETWORKS["service_cidr"]], "calicoNetwork": network}
    about = rendering.Rendered("3.31.5", spec, str(parts.hostname), str(parts.port), ("10.233.0.3",), 4096)
    config = rendering.config_map(about)
    config["metadata"]["namespace"] = "kube-system"
    admin.client.create("/api/v1/namespaces/kube-system/configmaps", config)
    admin.client.create("/apis/apps/v1/namespaces/kube-system/daemonsets", daemon)


def environment(daemon: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the environment of a container, which the caller may change."""
    spec = daemon["spec"]["template"]["spec"]
    containers = [*spec["initContainers"], *spec["containers"]]
    found: list[dict[str, Any]] = next(item["env"] for item in containers if item["name"] == name)
    return found


def joined(make_node: Callable[..., Node], registry: SimulatedRegistry, admin: Admin, **options: Any) -> Node:
    """Return a node that joined the cluster and has no network yet."""
    node = make_node(**options)
    for host in ("registry.k8s.io", "mcr.microsoft.com", "quay.io", "docker.io"):
        text = f"server = 'https://{host}'\n[host.'{registry.url}']\n  capabilities = ['pull', 'resolve']\n"
        node.write(rf"C:\certs.d\{host}\hosts.toml", text)
    node.machine.files.make_directory(r"C:\etc\cni\net.d")
    node.start_containerd()
    node.install_kubernetes()
    node.join_configuration(admin.cluster, admin.token())
    result = node.join()
    assert result.exit_code == 0, result.stderr
    return node


def calico_pod(admin: Admin, node: Node) -> dict[str, Any]:
    """Return the pod calico-node-windows of a node; empty if there is none."""
    found = admin.client.get("/api/v1/pods", fieldSelector=f"spec.nodeName={node.name}").get("items") or []
    return next((item for item in found if item["metadata"]["name"].startswith("calico-node-windows")), {})


def is_ready(pod: dict[str, Any]) -> bool:
    """Return whether a pod is ready."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def wait_calico(admin: Admin, node: Node, seconds: float = 60) -> dict[str, Any]:
    """Wait until Calico's pod on a node is ready, and return it."""
    wait_for(lambda: is_ready(calico_pod(admin, node)), f"calico is ready; logs: {logs(node)}", seconds)
    return calico_pod(admin, node)


def logs(node: Node) -> dict[str, list[str]]:
    """Return the lines that each of Calico's programs has logged on a node."""
    return {name: list(lines) for name, lines in node.machine.part(Logs).lines.items()}


def wait_log(node: Node, program: str, text: str, seconds: float = 60) -> None:
    """Wait until a program of Calico has logged a line that contains a text."""
    wait_for(lambda: any(text in line for line in logs(node).get(program, [])), f"{program}: {text}", seconds)
