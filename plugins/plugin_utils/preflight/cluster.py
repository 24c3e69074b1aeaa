# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compare a host's variables with the cluster that it joins (no I/O)."""

from __future__ import annotations

import dataclasses
import ipaddress
import typing as t

from ..values.versions import EXPECTED, Version, skew_problem, supported, within
from .networks import NETWORKS
from .variables import Problem, version_problems

_VERSION = "kubernetes_node_version (from kube_version)"
_BACKEND = "cni_flannel_backend (from flannel_backend_type)"
WINDOWS_VXLAN = {"VNI": 4096, "Port": 4789}
"""Settings of flannel's vxlan that clusters with Windows nodes need (flannel, Documentation/backends.md, VXLAN)."""
_VXLAN_DEFAULTS = {"VNI": 1, "Port": 8472}
"""Defaults of flannel's vxlan on Linux, also from backends.md; the port is the Linux kernel's default."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostVariables:
    """The variables of a host that are compared with the cluster."""

    kubernetes: str
    """Version of Kubernetes; empty: unknown."""
    runtime: str
    containerd: str
    cni_plugin: str
    backend: str
    """The backend of flannel."""
    pods: str
    services: str
    api_server: str
    """`HOST:PORT` that replaces the cluster's own endpoint, or an empty string."""
    hosts: t.Mapping[str, str]
    """Addresses by name for the node's hosts file."""
    address: str
    """The address at which Ansible reaches the node."""


def problems(node: HostVariables, cluster: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return the problems with a host's variables in this cluster.

    Args:
        node: the host.
        cluster: the result of cluster_info.
    """
    mismatches = version_skew(node, str(cluster.get("kubernetes_version") or ""))
    if node.cni_plugin == "flannel":
        mismatches += networks(node, cluster)
        mismatches += flannel_backend(node, cluster.get("flannel") or {})
    return mismatches + endpoint(node, str(cluster.get("api_server") or ""))


def warnings(cluster: t.Mapping[str, t.Any], bound: t.Collection[str] = ()) -> list[str]:
    """Return warnings about settings of the cluster that harm Windows nodes, with remedies.

    Args:
        cluster: the result of cluster_info.
        bound: namespaces whose DaemonSets the run binds to Linux.
    """
    unbound = [f"{one['namespace']}/{one['name']}" for one in cluster.get("unbound_daemon_sets") or ()]
    names = sorted(name for name in unbound if name.split("/")[0] not in bound)
    if not names:
        return []
    namespace, name = names[0].split("/")
    patch = '{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}'
    return [
        (
            f"DaemonSets that select no operating system will be scheduled on Windows nodes, and fail there if their "
            f"images are for Linux: {', '.join(names)}. To keep a DaemonSet on Linux nodes: "
            f"kubectl -n {namespace} patch daemonset {name} --patch '{patch}'"
        )
    ]


def proxy_warnings(proxy: str, given: t.Collection[str], kubeconfig: str) -> list[str]:
    """Return a warning if nothing defines the cluster's networks, so that the proxy exceptions lack them.

    Args:
        proxy: the node's proxy, or an empty string.
        given: networks that the inventory defines.
        kubeconfig: kubeconfig for reading them from the cluster, or an empty string.
    """
    if not proxy or kubeconfig or len(given) == len(NETWORKS):
        return []
    lacking = "no_proxy lacks the networks of pods and services until the node joins, because no kubeconfig is set"
    return [f"{lacking}; set kube_pods_subnet and kube_service_addresses to add these networks now"]


def version_skew(node: HostVariables, server: str) -> list[Problem]:
    """Return the problem if the node's Kubernetes version does not fit that of the API server."""
    try:
        kubelet, api = Version.parse(node.kubernetes), Version.parse(server.partition("+")[0])
    except ValueError:
        hint = f"The API server's version is {server!r}."
        return [Problem(_VERSION, node.kubernetes, EXPECTED, hint)]
    skew = skew_problem(kubelet, api)
    if skew is not None:
        return [Problem(_VERSION, node.kubernetes, skew)]
    # The version may come from the cluster, so it has not been checked before.
    if node.runtime == "containerd":
        return version_problems(node.kubernetes, node.containerd)
    span = supported()["kubernetes"]
    if not within(kubelet.minor_version, span):
        return [Problem(_VERSION, node.kubernetes, f"expected {span['oldest']} to {span['newest']}")]
    return []


def networks(node: HostVariables, cluster: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return pod and service networks that differ from those that the cluster reports; skip those that it omits."""
    different = []
    for variable, given, key in (
        ("cni_pods_subnet (from kube_pods_subnet)", node.pods, "pod_subnet"),
        ("cni_services_subnet (from kube_service_addresses)", node.services, "service_subnet"),
    ):
        known = str(cluster.get(key) or "")
        if known and given not in known.split(","):
            hint = "If the variable is not set, the network is read from the cluster."
            different.append(Problem(variable, given, f"expected the cluster's network, {known}", hint))
    return different


def flannel_backend(node: HostVariables, flannel: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return the node's flannel settings that differ from those of the Linux nodes.

    Args:
        node: the host.
        flannel: `config_map` and `net_conf` of cluster_info; empty if the cluster has no flannel on Linux.
    """
    if not flannel:
        return []
    where = f"ConfigMap {flannel.get('config_map')} (net-conf.json)"
    conf = flannel.get("net_conf") or {}
    backend = conf.get("Backend") or {}
    kind = str(backend.get("Type") or "")
    if kind not in ("host-gw", "vxlan"):
        return [
            Problem(
                f"Backend.Type in {where}",
                kind,
                "expected host-gw or vxlan",
                "flannel on Windows supports no other backend. Change the ConfigMap and flannel_backend_type.",
            )
        ]
    if kind != node.backend:
        hint = f"flannel's Linux nodes use {kind} ({where}), and all nodes need the same backend."
        return [Problem(_BACKEND, node.backend, f"expected {kind}", hint)]
    return (_vxlan(backend, where) if kind == "vxlan" else []) + _pod_network(node, conf, where)


def _vxlan(backend: t.Mapping[str, t.Any], where: str) -> list[Problem]:
    """Return vxlan settings that Windows nodes do not support."""
    wrong = {name: backend.get(name) or default for name, default in _VXLAN_DEFAULTS.items()}
    if wrong == WINDOWS_VXLAN:
        return []
    required = ", ".join(f'"{name}": {value}' for name, value in WINDOWS_VXLAN.items())
    shown = ", ".join(f"{name} {value}" for name, value in wrong.items())
    expected = f'expected "Backend": {{"Type": "vxlan", {required}}}, which Windows nodes need'
    hint = (
        "Change the ConfigMap and restart flannel on the Linux nodes (kubespray: flannel_vxlan_vni: 4096, "
        "flannel_vxlan_port: 4789)."
    )
    return [Problem(f"Backend in {where}", shown, expected, hint)]


def _pod_network(node: HostVariables, conf: t.Mapping[str, t.Any], where: str) -> list[Problem]:
    """Return a problem if flannel's pod network differs from the node's."""
    network = str(conf.get("Network") or "")
    if not network or network == node.pods:
        return []
    hint = f"flannel's Linux nodes use this network ({where})."
    return [Problem("cni_pods_subnet (from kube_pods_subnet)", node.pods, f"expected {network}", hint)]


def endpoint(node: HostVariables, cluster_endpoint: str) -> list[Problem]:
    """Return problems with the control plane endpoint that the node would use.

    Args:
        node: the host.
        cluster_endpoint: the cluster's own endpoint, `HOST:PORT` in the ConfigMap cluster-info.
    """
    if node.api_server and not split_endpoint(node.api_server)[1]:
        return [Problem("node_join_api_server", node.api_server, "expected HOST:PORT such as k8s.example.com:6443")]
    used = node.api_server or cluster_endpoint
    name = split_endpoint(used)[0]
    if not is_loopback(node.hosts.get(name, name)) or is_loopback(node.address):
        return []
    return [
        Problem(
            "node_join_api_server",
            used,
            "expected HOST:PORT at which Windows nodes reach the control plane, with a host that the API server's "
            "certificate names",
            "This is a loopback address: on Linux nodes a local load balancer listens there, which Windows nodes do "
            "not have.",
        )
    ]


def split_endpoint(text: str) -> tuple[str, int | None]:
    """Return host and port of `HOST:PORT`; the port is None if the text does not have this form."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or "/" in host or (":" in host and not bracketed):
        return text.strip().strip("[]").lower(), None
    number = int(port) if port.isascii() and port.isdigit() else 0
    return host.strip("[]").lower(), number if 0 < number < 65536 else None


def is_loopback(host: str) -> bool:
    """Return whether a name or address refers to the machine itself."""
    text = host.strip().strip("[]").lower().rstrip(".")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text == "localhost" or text.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def name_to_resolve(api_server: str, hosts: t.Mapping[str, str]) -> str:
    """Return the endpoint's name if the node must resolve it; empty for an address or a name in its hosts file.

    Args:
        api_server: `HOST:PORT`.
        hosts: addresses by name for the node's hosts file.
    """
    name = split_endpoint(api_server)[0]
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return "" if name in hosts else name
    return ""
