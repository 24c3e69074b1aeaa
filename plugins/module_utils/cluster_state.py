# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the state of a cluster's nodes, pods, DaemonSets and ConfigMaps. Failed requests raise ApiError."""

from __future__ import annotations

import json
import typing as t

from .addresses import is_link_local
from .api_forms import CONFIG_MAP, DAEMON_SET, DNS_SERVICE, POD
from .cluster_client import Cluster
from .cordon import read_cordon
from .node_labels import GENERATION_LABEL, NETWORK_LABEL, REVISION_LABEL, RUN_AS_LABEL
from .pods import controller, is_pod_ready
from .replacement_record import read_replacement

FLANNEL = "kube-flannel-cfg"
FLANNEL_NAMESPACES = ("kube-flannel", "kube-system")
"""Namespaces that may contain flannel's ConfigMap. The namespace depends on the version of flannel or kubespray."""
DNS_SERVICES = ("kube-dns", "coredns")
"""Names that kubeadm and kubespray give the cluster's DNS service in kube-system. Sources: kubernetes/kubernetes,
cmd/kubeadm/app/phases/addons/dns/manifests.go; kubespray, roles/kubernetes-apps/ansible/templates/coredns-svc.yml.j2.
"""
OVERLAY_ADDRESS = "projectcalico.org/IPv4VXLANTunnelAddr"
"""The node annotation that contains the node's address in Calico's overlay network.

Source: projectcalico/calico v3.31.5, libcalico-go/lib/backend/k8s/resources/node.go.
"""
_FLANNEL_ANNOTATIONS = "flannel.alpha.coreos.com/"
NETWORK_PODS = (("kube-flannel", "app=flannel-windows"), ("kube-system", "k8s-app=kube-proxy-windows"))
"""Namespaces and labels of the pods of flannel and kube-proxy that the cni role runs on Windows nodes."""
MANAGERS = (
    "addonmanager.kubernetes.io/mode",
    "app.kubernetes.io/managed-by",
    "argocd.argoproj.io/instance",
    "helm.toolkit.fluxcd.io/name",
    "kustomize.toolkit.fluxcd.io/name",
    "meta.helm.sh/release-name",
)
"""Labels and annotations that show which tool manages an object. For sources, see
plugin_utils/data/linux_daemon_sets.yml."""


def describe_node(node: t.Mapping[str, t.Any], pods: t.Mapping[str, list[dict[str, t.Any]]]) -> dict[str, t.Any]:
    """Return the facts about a node that the roles use.

    Args:
        node: the node as the API returned it.
        pods: result of `network_pods`.
    """
    spec, status, cordon = node.get("spec") or {}, node.get("status") or {}, read_cordon(node)
    labels = node["metadata"].get("labels") or {}
    addresses = status.get("addresses") or ()
    return {
        "ready": any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ()),
        "pod_cidr": spec.get("podCIDR") or "",
        "os": labels.get("kubernetes.io/os", ""),
        "version": (status.get("nodeInfo") or {}).get("kubeletVersion") or "",
        "unschedulable": cordon.unschedulable,
        "cordon_owner": cordon.mark.by if cordon.unschedulable and cordon.mark else "",
        "addresses": [item["address"] for item in addresses],
        "internal_ip": next((item["address"] for item in addresses if item["type"] == "InternalIP"), ""),
        "labels": {str(name): str(value) for name, value in labels.items()},
        "network_runs_as": labels.get(RUN_AS_LABEL, ""),
        "pod_network": labels.get(NETWORK_LABEL, ""),
        "overlay_address": overlay_address(node),
        "network_pods": pods.get(node["metadata"]["name"], []),
        "generation": labels.get(GENERATION_LABEL, ""),
        "replacement": read_replacement(node),
    }


def overlay_address(node: t.Mapping[str, t.Any]) -> str:
    """Return a node's address in Calico's overlay network, or an empty string if the node has none yet."""
    return str((node["metadata"].get("annotations") or {}).get(OVERLAY_ADDRESS) or "")


def network_pods(cluster: Cluster, networks: t.Collection[str] = ()) -> dict[str, list[dict[str, t.Any]]]:
    """Return a mapping from each Windows node's name to its pods of flannel, kube-proxy and Calico.

    Calico's pods are included only if they have a revision label. Those without one belong to a DaemonSet that this
    collection does not manage.

    Args:
        cluster: the cluster.
        networks: the CNI plugins (`cni_plugin`) of the run's hosts. Without `calico`, Calico's pods are not read.
    """
    pods_by_node: dict[str, list[dict[str, t.Any]]] = {}
    own_pods = (("kube-system", "k8s-app=calico-node-windows"),) if "calico" in networks else ()
    for namespace, labels in (*NETWORK_PODS, *own_pods):
        path = ("api/v1/namespaces", namespace, "pods")
        for pod in cluster.items(*path, form=POD, query={"labelSelector": labels}):
            own = pod["metadata"].get("labels") or {}
            revision = own.get(REVISION_LABEL, "")
            if not revision and own.get("k8s-app") == "calico-node-windows":
                continue
            about = {
                "namespace": namespace,
                "name": pod["metadata"]["name"],
                "revision": revision,
                "daemon_set": _daemon_set(pod),
                "ready": is_pod_ready(pod),
            }
            pods_by_node.setdefault(pod["spec"].get("nodeName") or "", []).append(about)
    return pods_by_node


def _daemon_set(pod: t.Mapping[str, t.Any]) -> str:
    """Return the name of the DaemonSet that controls a pod, or an empty string if no DaemonSet controls it."""
    owner = controller(pod)
    return str(owner["name"]) if owner.get("kind") == "DaemonSet" else ""


def daemon_sets(cluster: Cluster) -> list[dict[str, t.Any]]:
    """Return all DaemonSets of the cluster."""
    return list(cluster.items("apis/apps/v1/daemonsets", form=DAEMON_SET))


def runs_flannel(node: t.Mapping[str, t.Any]) -> bool:
    """Return whether a node is a Windows node with annotations that flanneld writes, even if flanneld has stopped."""
    about = node["metadata"]
    is_windows = (about.get("labels") or {}).get("kubernetes.io/os") == "windows"
    return is_windows and any(name.startswith(_FLANNEL_ANNOTATIONS) for name in about.get("annotations") or {})


def is_own(daemon_set: t.Mapping[str, t.Any]) -> bool:
    """Return whether this collection created a DaemonSet. If so, the pod template has a revision label.

    Args:
        daemon_set: the DaemonSet as the API returned it.
    """
    labels = (daemon_set["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return REVISION_LABEL in labels


def place(daemon_set: t.Mapping[str, t.Any]) -> str:
    """Return the namespace and name of a DaemonSet as `NAMESPACE/NAME`."""
    return f"{daemon_set['metadata']['namespace']}/{daemon_set['metadata']['name']}"


def unbound_daemon_sets(existing: t.Iterable[t.Mapping[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Return the DaemonSets whose pods may run on nodes with any operating system.

    Each of these DaemonSets has no node selector and no node affinity for the label `kubernetes.io/os`.

    Args:
        existing: the DaemonSets of the cluster.

    Returns:
        A mapping for each DaemonSet, with its `namespace`, its `name`, and the keys that `managed_by` returns.
    """
    unbound = []
    for item in existing:
        spec = item["spec"]["template"]["spec"]
        constraints = f"{spec.get('nodeSelector')} {(spec.get('affinity') or {}).get('nodeAffinity')}"
        if "kubernetes.io/os" not in constraints:
            about = item["metadata"]
            unbound.append({"namespace": about["namespace"], "name": about["name"], **managed_by(about)})
    return unbound


def managed_by(metadata: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the controller, labels and annotations that show which tool manages an object.

    Args:
        metadata: the object's metadata.

    Returns:
        A mapping with `owner`, the object's controller as `KIND NAME` or an empty string if it has none, and with
        `managers`, the labels and annotations that name a tool.
    """
    owner = next((one for one in metadata.get("ownerReferences") or () if one.get("controller")), None)
    marks = {**(metadata.get("annotations") or {}), **(metadata.get("labels") or {})}
    return {
        "owner": "" if owner is None else f"{owner['kind']} {owner['name']}",
        "managers": {key: str(marks[key]) for key in MANAGERS if key in marks},
    }


def config_map(cluster: Cluster, namespace: str, name: str) -> dict[str, str] | None:
    """Return the data of a ConfigMap, or None if it does not exist."""
    existing = cluster.lookup("api/v1/namespaces", namespace, "configmaps", name, form=CONFIG_MAP)
    return existing if existing is None else existing.get("data") or {}


def dns_service(cluster: Cluster, configured: t.Iterable[str]) -> str:
    """Return the address of the cluster's DNS service, or an empty string if it is not needed or does not exist.

    It is needed if kubelets are configured with a link-local address, on which only Linux nodes have a DNS server.

    Args:
        cluster: the cluster.
        configured: the DNS addresses in the configuration of the kubelets.
    """
    if not any(is_link_local(address) for address in configured):
        return ""
    for name in DNS_SERVICES:
        service = cluster.lookup("api/v1/namespaces", "kube-system", "services", name, form=DNS_SERVICE)
        address = "" if service is None else service["spec"].get("clusterIP") or ""
        if address not in ("", "None"):
            return str(address)
    return ""


def flannel(cluster: Cluster) -> dict[str, t.Any]:
    """Return flannel's configuration for the Linux nodes, or an empty mapping if flannel's ConfigMap does not exist."""
    for namespace in FLANNEL_NAMESPACES:
        data = config_map(cluster, namespace, FLANNEL)
        if data is not None:
            try:
                conf = json.loads(data.get("net-conf.json") or "")
            except ValueError:
                conf = None
            return {"config_map": f"{namespace}/{FLANNEL}", "net_conf": conf if isinstance(conf, dict) else {}}
    return {}
