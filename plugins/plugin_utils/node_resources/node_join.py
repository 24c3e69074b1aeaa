# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of role node_join: settings that come from the cluster after the node is registered."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import ipaddress
import json
import ntpath
import typing as t

from ..node_config import nssm
from ..windows import node_paths
from ..windows.sddl import ADMINISTRATORS_ONLY_FILE
from . import kubernetes_node
from .cni import PodNetwork, as_line, cni_conf, net_conf, noted
from .docker import nssm_program
from .downloads import ResourceMapping
from .kubernetes_node import KubernetesSettings, to_yaml
from .services import log_folders, recovery
from .variables import Variables

ROLE = "node_join"
FLANNEL_ACCOUNT = "kube-flannel/flannel-windows"
KUBE_PROXY_ACCOUNT = "kube-system/kube-proxy-windows"
_FLANNEL_KUBECONFIG = f"{node_paths.KUBERNETES}\\flannel.kubeconfig"
_KUBE_PROXY_KUBECONFIG = f"{node_paths.KUBERNETES}\\kube-proxy.kubeconfig"
_NET_CONF = "C:\\etc\\kube-flannel\\net-conf.json"
_FLANNEL_LOGS = "C:\\var\\log\\flannel"
_KUBE_PROXY_LOG = "C:\\var\\log\\kube-proxy\\kube-proxy.log"


@dataclasses.dataclass(frozen=True, kw_only=True)
class JoinedNode:
    """A node that is registered in the cluster."""

    name: str
    pod_cidr: str
    """Pod network of the node; empty if the cluster has not assigned one."""
    internal_ip: str
    """Address of the node in the cluster; empty if unknown."""
    kube_proxy_configuration: t.Mapping[str, t.Any]
    network: PodNetwork
    kubernetes: KubernetesSettings
    api_server: str
    """The API server as `host:port`."""
    ca_certificate: str
    """CA certificate of the cluster (PEM)."""
    cluster_cidr: str
    """Network of all pods."""
    tokens: t.Mapping[str, str]
    """Tokens of the service accounts of flannel and kube-proxy, by `NAMESPACE/NAME` of the account."""
    tokens_known: bool
    conf_dir: str
    """Folder of CNI configurations."""
    flannel_dir: str
    nssm_dir: str
    network_changes: bool
    """Whether the node still has its previous network, which must be removed first."""
    had_services: bool
    """Whether flannel and kube-proxy were services at the last run."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> JoinedNode:
        """Read the variables of the roles that prepare and join a node.

        Args:
            variables: the host's variables.
            prefix: prefix of role node_join's variables.

        Returns:
            The node.
        """
        network = variables.read(PodNetwork, "cni")
        recorded = variables.value("cni_recorded_network")
        return variables.fields(
            cls,
            prefix,
            network=network,
            kubernetes=variables.read(KubernetesSettings, kubernetes_node.ROLE),
            api_server=str(variables.value("cni_api_server")),
            ca_certificate=str(variables.part("node_join_cluster", "ca_certificate", default="")),
            cluster_cidr=str(variables.part("node_join_cluster", "pod_subnet", default="") or network.pods_subnet),
            tokens=variables.value("cni_tokens") if network.has_services else {},
            tokens_known=bool(variables.value("cni_tokens_known")) if network.has_services else False,
            conf_dir=str(variables.value("cni_conf_dir")),
            flannel_dir=str(variables.value("cni_flannel_dir")),
            nssm_dir=str(variables.value("container_runtime_nssm_dir")) if network.has_services else "",
            network_changes=bool(variables.value("cni_network_changes")),
            had_services=bool(recorded.get("services", False)),
        )

    @property
    def kube_proxy_dir(self) -> str:
        """Folder of kube-proxy's configuration."""
        return f"{self.kubernetes.install_dir}\\kube-proxy"


def resources(node: JoinedNode) -> list[ResourceMapping]:
    """Return the resources that depend on the cluster.

    Args:
        node: the node.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ValueError: the pod CIDR is not a network, or too small for a Windows node.
    """
    network, has_pods = node.network, bool(node.pod_cidr)
    return [
        # On a joined node, kubeadm has written flags for the kubelet, and the kubelet runs.
        {**kubernetes_node.kubelet_service(node.kubernetes), "state": "running"},
        *leftovers(),
        *(_kube_proxy_files(node) if network.is_flannel and has_pods else []),
        *([reserved_address(node)] if network.is_overlay and has_pods else []),
        *(_services(node) if network.has_services and has_pods and node.tokens_known else []),
        *(_former_services() if node.had_services and not network.has_services else []),
        *([] if node.network_changes else [noted(network)]),
    ]


def source_vip(pod_cidr: str) -> str:
    """Return kube-proxy's source address on an overlay: the last usable address of the node's pod CIDR.

    host-local assigns addresses in ascending order. The first two belong to the gateway and the host's own endpoint.

    Args:
        pod_cidr: the node's pod CIDR.

    Raises:
        ValueError: the pod CIDR is not a network, or too small for a Windows node.
    """
    try:
        network = ipaddress.ip_network(str(pod_cidr))
    except ValueError as error:
        raise ValueError(f"pod CIDR {pod_cidr!r} is not a network: {error}") from error
    if network.num_addresses < 8:
        raise ValueError(f"pod CIDR {pod_cidr} is too small for a Windows node, which needs a /29 or larger")
    return str(network.broadcast_address - 1)


def kube_proxy_configuration(node: JoinedNode) -> dict[str, t.Any]:
    r"""Return kube-proxy's configuration.

    If kube-proxy runs in a pod, the pod links the folder `access` to its token and kubeconfig.

    Args:
        node: the node.

    Returns:
        A KubeProxyConfiguration. The user's settings override the collection's key by key.
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


def reserved_address(node: JoinedNode) -> ResourceMapping:
    """Return the file that reserves kube-proxy's source address in host-local.

    host-local stores each reserved address as a file whose name is the address (containernetworking/plugins,
    ipam/host-local).

    Args:
        node: the node.

    Returns:
        A File resource.
    """
    folder = f"{node_paths.HOST_LOCAL_ADDRESSES}\\{node.network.name}"
    return {
        "type": "File",
        "name": f"{folder}\\{source_vip(node.pod_cidr)}",
        "content": "kube-proxy-source-vip\r\neth0",
        "line_ending": "as_is",
    }


def kubeconfig(node: JoinedNode, token: str) -> str:
    """Return the kubeconfig of a service on the node.

    Args:
        node: the node.
        token: token of the service account.
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
    """Return the command line of flanneld as a service.

    Args:
        node: the node.
    """
    interface = [f"-iface={node.internal_ip}"] if node.internal_ip else []
    paths = [f"-kubeconfig-file={_FLANNEL_KUBECONFIG}", f"-net-config-path={_NET_CONF}"]
    return ["-kube-subnet-mgr", *paths, *interface]


def _merged(under: t.Mapping[str, t.Any], over: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Merge two mappings recursively. Values of the second mapping override those of the first."""
    merged = dict(under)
    for key, value in over.items():
        old = merged.get(key)
        both = isinstance(old, t.Mapping) and isinstance(value, t.Mapping)
        merged[key] = _merged(t.cast("t.Mapping[str, t.Any]", old), value) if both else value
    return merged


def leftovers() -> list[ResourceMapping]:
    """Return the resources that remove files with the bootstrap token.

    The batch that runs kubeadm always removes these files, unless the machine goes down during the batch. The kubelet
    may then join without a second batch, and the files would stay.
    """
    paths = (node_paths.JOIN_CONFIGURATION, node_paths.BOOTSTRAP_KUBELET_CONF)
    return [{"type": "File", "name": path, "state": "absent"} for path in paths]


def _former_services() -> list[ResourceMapping]:
    """Return the resources that remove the services of a Docker node. With containerd, DaemonSets replace them."""
    return [
        *({"type": "Service", "name": name, "state": "absent"} for name in ("kube-proxy", "flanneld")),
        *({"type": "File", "name": path, "state": "absent"} for path in (_FLANNEL_KUBECONFIG, _KUBE_PROXY_KUBECONFIG)),
    ]


def _kube_proxy_files(node: JoinedNode) -> list[ResourceMapping]:
    return [
        {"type": "Directory", "name": node.kube_proxy_dir},
        {
            "type": "File",
            "name": f"{node.kube_proxy_dir}\\config.yaml",
            "content": to_yaml(kube_proxy_configuration(node)),
            # Needed only for the service. In a pod, kube-proxy exits when this file changes (kubernetes,
            # cmd/kube-proxy/app/options.go), and the pod is replaced as well.
            "restarts": ["kube-proxy"] if node.network.has_services else [],
            "disturbs": True,
        },
    ]


def _services(node: JoinedNode) -> list[ResourceMapping]:
    """Return flanneld and kube-proxy as services, in the same order as kubernetes-for-windows.

    On an overlay, flanneld comes first, because kube-proxy needs the source address from flannel's network
    (kubernetes/kubernetes#78338; kubernetes-for-windows: "Networking with kube-proxy and flanneld services").
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


def _service_files(node: JoinedNode) -> list[ResourceMapping]:
    secret = {"acl": ADMINISTRATORS_ONLY_FILE, "no_log": True}
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


def _flannel_service(node: JoinedNode) -> ResourceMapping:
    """Return flanneld's service.

    After a change of the configuration or token, a detached process restarts flanneld, because the restart may
    interrupt the connection.
    """
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
        "cuts_connection": True,
        "state": "running",
    }


def _kube_proxy_service(node: JoinedNode) -> ResourceMapping:
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
