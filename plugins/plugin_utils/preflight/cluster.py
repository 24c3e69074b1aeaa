# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compare a host's variables with the cluster that it joins (no I/O)."""

from __future__ import annotations

import ipaddress
import types
import typing as t

from ...module_utils.addresses import is_link_local, is_loopback
from ..pod_networks.catalogue import catalogue
from ..values.version_support import kubernetes_problems
from ..values.versions import EXPECTED, Version, skew_problem
from . import calico, flannel
from .host import HostVariables
from .networks import NETWORKS, overlaps, parsed_networks
from .pod_networks import supported_versions
from .variables import Problem, RequestedChange, UnsupportedVersion, allowed_versions, version_problems

_VERSION = "kubernetes_node_version (from kube_version)"
_SHARED: t.Mapping[str, tuple[str, str]] = {
    "cni_pods_subnet": ("the pods' network", "kube_pods_subnet"),
    "cni_services_subnet": ("the services' network", "kube_service_addresses"),
}
"""Maps each network variable to its description and to the shared variable that sets it."""
Facts: t.TypeAlias = t.Mapping[str, t.Any]


class LinuxChecks(t.NamedTuple):
    """The functions that check a pod network on the cluster's Linux nodes."""

    problems: t.Callable[[HostVariables, Facts], list[Problem]]
    """Function that checks the part of the result of cluster_info that describes the pod network."""
    conflicts: t.Callable[[HostVariables, Facts], list[Problem]] = lambda _node, _cluster: []
    """Function that checks the whole result of cluster_info."""
    changes: t.Callable[[HostVariables, Facts], list[RequestedChange]] = lambda _node, _facts: []
    """Function that returns the changes that the run makes because variables request them."""


_CHECKS: t.Mapping[str, LinuxChecks] = types.MappingProxyType(
    {
        "flannel": LinuxChecks(flannel.problems),
        "calico": LinuxChecks(calico.problems, calico.windows_nodes, calico.requested_changes),
    }
)
"""Maps each value of `KnownNetwork.linux` to the checks of this pod network."""


def problems(node: HostVariables, cluster: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return the problems that a host's variables would cause in the cluster that the host joins.

    Args:
        node: the host.
        cluster: the result of cluster_info.
    """
    versions = version_skew(node, str(cluster.get("kubernetes_version") or ""))
    mismatches = allowed_versions(versions, allowed=node.unsupported_versions, own_builds=node.own_builds)[0]
    known = catalogue().get(node.cni_plugin)
    if known is not None and known.is_managed:
        # The version may come from the cluster, so it has not been compared with the network before.
        mismatches += [] if mismatches else supported_versions(known, node.kubernetes, node.runtime)
        mismatches += networks(node, cluster)
        mismatches += overlaps(
            node.cni_plugin, parsed_networks(node.pods), parsed_networks(node.services), node.address
        )
    return mismatches + linux_problems(node, cluster) + endpoint(node, str(cluster.get("api_server") or ""))


def linux_problems(node: HostVariables, cluster: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return problems with the Linux nodes' pod network, and with the DNS address that the node's pods would use.

    Args:
        node: the host.
        cluster: the result of cluster_info.
    """
    checks, facts = _linux(node, cluster)
    own = [] if checks is None else [*checks.problems(node, facts), *checks.conflicts(node, cluster)]
    return [*own, *dns(node, cluster)]


def version_warnings(node: HostVariables, cluster: t.Mapping[str, t.Any]) -> list[str]:
    """Return warnings about versions that are not supported, but that users have allowed.

    Args:
        node: the host.
        cluster: the result of cluster_info.
    """
    versions = version_skew(node, str(cluster.get("kubernetes_version") or ""))
    return allowed_versions(versions, allowed=node.unsupported_versions, own_builds=node.own_builds)[1]


def _linux(node: HostVariables, cluster: Facts) -> tuple[LinuxChecks | None, Facts]:
    """Return the checks of the host's pod network on Linux nodes, and the facts that cluster_info reports about it.

    The first value is None if this pod network has no checks.
    """
    known = catalogue().get(node.cni_plugin)
    if known is None or not known.linux:
        return None, {}
    return _CHECKS[known.linux], cluster.get(known.linux) or {}


def requested_changes(node: HostVariables, cluster: t.Mapping[str, t.Any]) -> list[RequestedChange]:
    """Return the changes to the Linux nodes' network that the run makes because variables request them.

    Args:
        node: the host.
        cluster: the result of cluster_info.
    """
    checks, facts = _linux(node, cluster)
    return [] if checks is None else checks.changes(node, facts)


def proxy_warnings(proxy: str, given: t.Collection[str], kubeconfig: str) -> list[str]:
    """Return a warning if the proxy exceptions lack networks that neither the inventory nor a kubeconfig provides.

    Args:
        proxy: the node's proxy, or an empty string.
        given: names of the network variables that the inventory sets.
        kubeconfig: kubeconfig for reading the networks from the cluster, or an empty string.
    """
    lacking = [_SHARED[name] for name in NETWORKS if name not in given]
    if not proxy or kubeconfig or not lacking:
        return []
    what, shared = (" and ".join(texts) for texts in zip(*lacking, strict=True))
    return [f"no_proxy lacks {what} until the node joins, because no kubeconfig is set; to avoid this, set {shared}"]


def version_skew(node: HostVariables, server: str) -> list[Problem]:
    """Return problems if the node's Kubernetes is unsupported, or incompatible with the API server or containerd."""
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
    return [UnsupportedVersion.of(_VERSION, node.kubernetes, one) for one in kubernetes_problems(kubelet)]


def networks(node: HostVariables, cluster: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem for each pod or service network that differs from the network that the cluster reports."""
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


def dns(node: HostVariables, cluster: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem if pods on the node would use a DNS address that works only on Linux nodes."""
    local = [address for address in cluster.get("cluster_dns") or () if is_link_local(address)]
    if not local or node.cluster_dns:
        return []
    return [
        Problem(
            "clusterDNS in ConfigMap kube-system/kubelet-config",
            ",".join(local),
            "expected an address that Windows nodes reach",
            "This is a link-local address, which only Linux nodes serve, and the cluster has no Service kube-dns or "
            "coredns in kube-system that could replace it. Set kubernetes_node_cluster_dns to the addresses of the "
            "cluster's DNS.",
        )
    ]


def endpoint(node: HostVariables, cluster_endpoint: str) -> list[Problem]:
    """Return problems with the control plane endpoint that the node would use.

    Args:
        node: the host.
        cluster_endpoint: the cluster's endpoint, `HOST:PORT` in the cluster-info ConfigMap.
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
    """Return the host and port of a string of the form `HOST:PORT`. The port is None if the string has another form."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or "/" in host or (":" in host and not bracketed):
        return text.strip().strip("[]").lower(), None
    number = int(port) if port.isascii() and port.isdigit() else 0
    return host.strip("[]").lower(), number if 0 < number < 65536 else None


def name_to_resolve(api_server: str, hosts: t.Mapping[str, str]) -> str:
    """Return the API server's host name, or an empty string if the node needs no DNS server to resolve it.

    The result is empty for an IP address and for a name in the node's hosts file.

    Args:
        api_server: `HOST:PORT`.
        hosts: maps each name in the node's hosts file to its address.
    """
    name = split_endpoint(api_server)[0]
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return "" if name in hosts else name
    return ""
