# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of role node_join: what a node gets from its cluster, once it is known there."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import ipaddress
import json
import ntpath
import typing as t

from ..node_config import nssm
from . import kubernetes_node
from .cni import PodNetwork, as_line, cni_conf, net_conf, noted
from .docker import nssm_program
from .downloads import Resource
from .kubernetes_node import KubernetesSettings, to_yaml
from .services import ADMINISTRATORS_ONLY, log_folders, recovery
from .variables import Variables

ROLE = "node_join"
FLANNEL_ACCOUNT = "kube-flannel/flannel-windows"
KUBE_PROXY_ACCOUNT = "kube-system/kube-proxy-windows"
_FLANNEL_KUBECONFIG = "C:\\etc\\kubernetes\\flannel.kubeconfig"
_KUBE_PROXY_KUBECONFIG = "C:\\etc\\kubernetes\\kube-proxy.kubeconfig"
_NET_CONF = "C:\\etc\\kube-flannel\\net-conf.json"
_FLANNEL_LOGS = "C:\\var\\log\\flannel"
_KUBE_PROXY_LOG = "C:\\var\\log\\kube-proxy\\kube-proxy.log"


@dataclasses.dataclass(frozen=True, kw_only=True)
class JoinedNode:
    """A node that its cluster knows."""

    name: str
    pod_cidr: str
    """Of its pods; empty: the cluster gave it none."""
    internal_ip: str
    """Its address as the cluster knows it; empty: unknown."""
    kube_proxy_configuration: t.Mapping[str, t.Any]
    network: PodNetwork
    kubernetes: KubernetesSettings
    api_server: str
    """Host and port."""
    ca_certificate: str
    """Of the cluster, as PEM text."""
    cluster_cidr: str
    """Of all pods."""
    tokens: t.Mapping[str, str]
    """Of the accounts of flannel and kube-proxy, by NAMESPACE/NAME."""
    tokens_known: bool
    conf_dir: str
    """The folder of CNI configurations."""
    flannel_dir: str
    nssm_dir: str
    network_changes: bool
    """Whether the node has another network still, which has to go first."""
    had_services: bool
    """Whether flannel and kube-proxy were services when the node was here last."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> JoinedNode:
        """Reads the variables of the roles that prepare and join a node.

        Args:
            variables: of the host.
            prefix: of role node_join's variables.

        Returns:
            The node.
        """
        network = variables.read(PodNetwork, "cni")
        cluster = variables.value("node_join_cluster")
        former = variables.value("cni_former")
        return variables.fields(
            cls,
            prefix,
            network=network,
            kubernetes=variables.read(KubernetesSettings, kubernetes_node.ROLE),
            api_server=str(variables.value("cni_api_server")),
            ca_certificate=str(cluster.get("ca_certificate", "")),
            cluster_cidr=str(cluster.get("pod_subnet") or network.pods_subnet),
            tokens=variables.value("cni_tokens") if network.has_services else {},
            tokens_known=bool(variables.value("cni_tokens_known")) if network.has_services else False,
            conf_dir=str(variables.value("cni_conf_dir")),
            flannel_dir=str(variables.value("cni_flannel_dir")),
            nssm_dir=str(variables.value("container_runtime_nssm_dir")) if network.has_services else "",
            network_changes=bool(variables.value("cni_changed")),
            had_services=bool(former.get("services", False)),
        )

    @property
    def kube_proxy_dir(self) -> str:
        """The folder of kube-proxy's configuration."""
        return f"{self.kubernetes.install_dir}\\kube-proxy"


def resources(node: JoinedNode) -> list[Resource]:
    """Returns what a node needs that depends on its cluster.

    Args:
        node: what the cluster knows of it.

    Returns:
        The resources, in the order in which they are made.

    Raises:
        ValueError: the pod CIDR is not a network, or too small.
    """
    network, has_pods = node.network, bool(node.pod_cidr)
    return [
        # kubeadm has left flags for the kubelet, and on a node it runs.
        {**kubernetes_node.kubelet_service(node.kubernetes), "state": "running"},
        *leftovers(),
        *(_kube_proxy_files(node) if network.is_flannel and has_pods else []),
        *([reserved_address(node)] if network.is_overlay and has_pods else []),
        *(_services(node) if network.has_services and has_pods and node.tokens_known else []),
        *(_former_services() if node.had_services and not network.has_services else []),
        *([] if node.network_changes else [noted(network)]),
    ]


def source_vip(pod_cidr: str) -> str:
    """Returns the address of a node's pod CIDR that kube-proxy uses as its source on an overlay: the last usable one.

    host-local hands addresses out from the first, and the first two belong to the gateway and the host's own endpoint.

    Args:
        pod_cidr: the node's.

    Raises:
        ValueError: it is not a network, or too small for a Windows node.
    """
    try:
        network = ipaddress.ip_network(str(pod_cidr))
    except ValueError as error:
        raise ValueError(f"pod CIDR {pod_cidr!r} is not a network: {error}") from error
    if network.num_addresses < 8:
        raise ValueError(f"pod CIDR {pod_cidr} is too small for a Windows node; it needs a /29 or larger")
    return str(network.broadcast_address - 1)


def kube_proxy_configuration(node: JoinedNode) -> dict[str, t.Any]:
    r"""Returns kube-proxy's configuration.

    The pod of kube-proxy's DaemonSet links its token and kubeconfig to the folder `access`.

    Args:
        node: whose.

    Returns:
        A KubeProxyConfiguration; what the site sets wins, key by key.
    """
    network = node.network
    kubeconfig = _KUBE_PROXY_KUBECONFIG if network.has_services else f"{node.kube_proxy_dir}\\access\\kubeconfig.conf"
    overlay = {"sourceVip": source_vip(node.pod_cidr)} if network.is_overlay else {}
    own = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "kernelspace",
        "clientConnection": {"kubeconfig": kubeconfig},
        "clusterCIDR": node.cluster_cidr,
        "hostnameOverride": node.name,
        "winkernel": {"networkName": network.name, "enableDSR": False, **overlay},
    }
    return _merged(own, node.kube_proxy_configuration)


def reserved_address(node: JoinedNode) -> Resource:
    """Returns the file by which host-local knows that kube-proxy's source address is taken.

    host-local keeps a reserved address as a file of its name (containernetworking/plugins, ipam/host-local).

    Args:
        node: whose.

    Returns:
        A resource of type File.
    """
    folder = f"C:\\var\\lib\\cni\\networks\\{node.network.name}"
    return {
        "type": "File",
        "name": f"{folder}\\{source_vip(node.pod_cidr)}",
        "content": "kube-proxy-source-vip\r\neth0",
        "line_ending": "as_is",
    }


def kubeconfig(node: JoinedNode, token: str) -> str:
    """Returns the kubeconfig of a service of the node.

    Args:
        node: whose.
        token: of the service's account.
    """
    authority = base64.b64encode(node.ca_certificate.encode()).decode()
    server = {"server": f"https://{node.api_server}", "certificate-authority-data": authority}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "default", "cluster": server}],
        "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
        "current-context": "default",
        "users": [{"name": "default", "user": {"token": token}}],
    }
    return json.dumps(config, indent=1, sort_keys=True, separators=(",", ": "))


def flannel_arguments(node: JoinedNode) -> list[str]:
    """Returns flanneld's command line where it is a service.

    Args:
        node: whose.
    """
    interface = [f"-iface={node.internal_ip}"] if node.internal_ip else []
    paths = [f"-kubeconfig-file={_FLANNEL_KUBECONFIG}", f"-net-config-path={_NET_CONF}"]
    return ["-kube-subnet-mgr", *paths, *interface]


def _merged(under: t.Mapping[str, t.Any], over: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The one mapping with the other over it, mappings in them likewise."""
    merged = dict(under)
    for key, value in over.items():
        old = merged.get(key)
        both = isinstance(old, t.Mapping) and isinstance(value, t.Mapping)
        merged[key] = _merged(t.cast("t.Mapping[str, t.Any]", old), value) if both else value
    return merged


def leftovers() -> list[Resource]:
    """Returns the resources that remove files with the bootstrap token.

    kubeadm's batch removes them whatever happens, unless the machine goes down inside it: the kubelet may then join by
    itself, and no other batch follows.
    """
    paths = ("C:\\ProgramData\\winkube\\join.yaml", "C:\\etc\\kubernetes\\bootstrap-kubelet.conf")
    return [{"type": "File", "name": path, "state": "absent"} for path in paths]


def _former_services() -> list[Resource]:
    """What a node with Docker had, and was reset to be one with containerd: the DaemonSets do their work."""
    return [
        *({"type": "Service", "name": name, "state": "absent"} for name in ("kube-proxy", "flanneld")),
        *({"type": "File", "name": path, "state": "absent"} for path in (_FLANNEL_KUBECONFIG, _KUBE_PROXY_KUBECONFIG)),
    ]


def _kube_proxy_files(node: JoinedNode) -> list[Resource]:
    return [
        {"type": "Directory", "name": node.kube_proxy_dir},
        {
            "type": "File",
            "name": f"{node.kube_proxy_dir}\\config.yaml",
            "content": to_yaml(kube_proxy_configuration(node)),
            # Where it is a service. In a pod, kube-proxy ends by itself when this file changes (kubernetes,
            # cmd/kube-proxy/app/options.go), and the pod is replaced, too.
            "restarts": ["kube-proxy"] if node.network.has_services else [],
            "disturbs": True,
        },
    ]


def _services(node: JoinedNode) -> list[Resource]:
    """flanneld and kube-proxy as services, in the order of kubernetes-for-windows.

    "Networking with kube-proxy and flanneld services": on an overlay kube-proxy needs flannel's network for its source
    address first (kubernetes/kubernetes#78338).
    """
    flannel, proxy = _flannel_service(node), _kube_proxy_service(node)
    return [
        *log_folders(_FLANNEL_LOGS, ntpath.dirname(_KUBE_PROXY_LOG)),
        *_service_files(node),
        *nssm.parameters(
            "flanneld",
            application=f"{node.flannel_dir}\\flanneld.exe",
            arguments=flannel_arguments(node),
            log_dir=_FLANNEL_LOGS,
            restart=False,
            environment={"NODE_NAME": node.name},
        ),
        *([flannel, proxy] if node.network.is_overlay else [proxy, flannel]),
        {
            "type": "File",
            "name": f"{node.conf_dir}\\10-flannel.conf",
            "content": as_line(cni_conf(node.network)),
            "disturbs": True,
        },
    ]


def _service_files(node: JoinedNode) -> list[Resource]:
    secret = {"acl": ADMINISTRATORS_ONLY, "no_log": True}
    return [
        {
            "type": "File",
            "name": _KUBE_PROXY_KUBECONFIG,
            "content": kubeconfig(node, node.tokens[KUBE_PROXY_ACCOUNT]),
            **secret,
            "restarts": ["kube-proxy"],
        },
        {
            "type": "File",
            "name": _FLANNEL_KUBECONFIG,
            "content": kubeconfig(node, node.tokens[FLANNEL_ACCOUNT]),
            **secret,
        },
        {"type": "File", "name": _NET_CONF, "content": as_line(net_conf(node.network))},
    ]


def _flannel_service(node: JoinedNode) -> Resource:
    """flanneld. Another configuration or token restarts it, detached: that may cut the link for some seconds."""
    read = (
        json.dumps(net_conf(node.network), sort_keys=True),
        " ".join(flannel_arguments(node)),
        node.api_server,
        node.tokens[FLANNEL_ACCOUNT],
    )
    return {
        "type": "Service",
        "name": "flanneld",
        "display_name": "flannel",
        "description": "Network of the pods",
        "path": nssm_program(node.nssm_dir),
        "start_mode": "auto",
        "dependencies": ["kubelet" if node.network.is_overlay else "kube-proxy"],
        "environment": {"WINKUBE_CONFIGURATION": hashlib.sha256("".join(read).encode()).hexdigest()},
        "recovery": recovery(),
        "cuts_link": True,
        "state": "running",
    }


def _kube_proxy_service(node: JoinedNode) -> Resource:
    kubernetes = node.kubernetes
    program = f"{kubernetes.install_dir}\\kube-proxy.exe"
    logged = [f"-log-file={_KUBE_PROXY_LOG}", *kubernetes.log_rotation, program] if kubernetes.kubelet_log_file else []
    return {
        "type": "Service",
        "name": "kube-proxy",
        "display_name": "Kubernetes kube-proxy",
        "description": "Services of the cluster on this node",
        "path": kubernetes.log_runner if kubernetes.kubelet_log_file else program,
        "arguments": [*logged, "--windows-service", f"--config={node.kube_proxy_dir}\\config.yaml"],
        "start_mode": "auto",
        "dependencies": ["flanneld" if node.network.is_overlay else "kubelet"],
        "recovery": recovery(),
        "state": "running",
    }
