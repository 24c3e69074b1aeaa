# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Install Calico as kubespray does: apply `data/kubespray.yaml` and the objects that kubespray applies with calicoctl.

Sources: kubespray v2.31.0 roles/network_plugin/calico/tasks/install.yml (FelixConfiguration, IPPool, BGPConfiguration,
IPAMConfig), roles/kubernetes/control-plane/templates/kubeadm-config.v1beta4.yaml.j2 (clusterDNS of the kubelets).
"""

from __future__ import annotations

import re
from typing import Any

from .client import AdminClient, Object
from .objects import calico, cluster_information, documents, linux_nodes, pool
from .options import CalicoOptions

_NODELOCAL = "169.254.25.10"
_IMAGES = re.compile(r"(quay\.io/calico/[a-z-]+):v[0-9.]+")


def install(client: AdminClient, options: CalicoOptions) -> None:
    """Install Calico and the DNS service as kubespray does."""
    etcd = options.datastore == "etcd"
    if not etcd:
        client.apply_all(documents("calico-crds.yaml"))
    _replace_dns(client)
    for one in _manifests(options):
        client.apply(one)
    if not etcd:
        client.apply_all(_configuration(options))
        client.apply_all(linux_nodes(options))
    if options.nodelocaldns:
        _point_kubelets_to_the_local_dns(client)


def _replace_dns(client: AdminClient) -> None:
    """Remove the DNS service that kubeadm created, and run kubeadm's DNS pods only on Linux nodes.

    kubespray skips kubeadm's DNS add-on. kubespray's own DNS service is called coredns.
    """
    client.delete("/api/v1/namespaces/kube-system/services/kube-dns")
    selector = {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/os": "linux"}}}}}
    if client.find("/apis/apps/v1/namespaces/kube-system/deployments/coredns"):
        client.merge("/apis/apps/v1/namespaces/kube-system/deployments/coredns", selector)


def _manifests(options: CalicoOptions) -> list[Object]:
    found = []
    for one in documents("kubespray.yaml"):
        kind, name = one["kind"], one["metadata"]["name"]
        if name == "nodelocaldns" and not options.nodelocaldns:
            continue
        if kind == "Service":
            one["spec"]["clusterIP"] = options.dns_address
        if name == "calico-config":
            _calico_config(one["data"], options)
        if kind == "DaemonSet" and name == "calico-node":
            _calico_node(one["spec"]["template"]["spec"], options)
        if kind in ("DaemonSet", "Deployment"):
            for container in _containers(one["spec"]["template"]["spec"]):
                container["image"] = _IMAGES.sub(rf"\1:v{options.version}", container["image"])
        found.append(one)
    return found


def _containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [*(spec.get("initContainers") or []), *spec["containers"]]


def _calico_config(data: dict[str, str], options: CalicoOptions) -> None:
    data["calico_backend"] = options.backend
    data["cluster_type"] = "kubespray,bgp" if options.backend == "bird" else "kubespray"
    if options.datastore == "etcd":
        paths = {"etcd_ca": "ca_cert.crt", "etcd_cert": "cert.crt", "etcd_key": "key.pem"}
        data |= {name: f"/calico-secrets/{file}" for name, file in paths.items()}
        data["etcd_endpoints"] = "https://192.0.2.11:2379"


def _calico_node(spec: dict[str, Any], options: CalicoOptions) -> None:
    environment = spec["containers"][0]["env"]
    values = {"FELIX_VXLANVNI": str(options.vxlan_vni), "FELIX_VXLANPORT": str(options.vxlan_port)}
    kept = [item for item in environment if item["name"] not in values]
    if options.backend == "vxlan":
        kept += [{"name": name, "value": value} for name, value in values.items()]
    if options.mtu:
        names = ("FELIX_IPINIPMTU", "FELIX_VXLANMTU", "FELIX_WIREGUARDMTU")
        kept += [{"name": name, "value": str(options.mtu)} for name in names]
    spec["containers"][0]["env"] = kept


def _configuration(options: CalicoOptions) -> list[Object]:
    felix = {
        "bpfEnabled": options.bpf,
        "bpfExternalServiceMode": "Tunnel",
        "bpfLogLevel": "",
        "featureDetectOverride": "",
        "floatingIPs": "Disabled",
        "ipipEnabled": options.ipip_mode != "Never",
        "logSeverityScreen": "Info",
        "reportingInterval": "0s",
        "vxlanEnabled": options.vxlan_mode != "Never",
        "wireguardEnabled": options.wireguard,
    }
    bgp = {"asNumber": 64512, "listenPort": 179, "logSeverityScreen": "Info", "nodeToNodeMeshEnabled": True}
    found = [
        calico("FelixConfiguration", "default", felix),
        pool(options),
        calico("BGPConfiguration", "default", bgp),
        cluster_information(options, "kubespray,k8s,bgp" if options.backend == "bird" else "kubespray,k8s"),
    ]
    if options.strict_affinity is not None:
        ipam = {"autoAllocateBlocks": True, "maxBlocksPerHost": 0, "strictAffinity": options.strict_affinity}
        found.append(calico("IPAMConfig", "default", ipam))
    return found


def _point_kubelets_to_the_local_dns(client: AdminClient) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/kubelet-config"
    known = client.find(path)
    if known is None:
        return
    text = re.sub(r"clusterDNS:\n(- .*\n)+", f"clusterDNS:\n- {_NODELOCAL}\n", known["data"]["kubelet"])
    client.merge(path, {"data": {"kubelet": text}})
