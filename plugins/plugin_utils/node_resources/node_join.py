# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the node_join role, with settings that the cluster provides after the node is registered."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import ntpath
import typing as t

from ..lifecycle.join import LEFTOVERS
from ..node_config import nssm
from ..pod_networks import kube_proxy, kube_proxy_pods, kubeconfigs
from ..pod_networks.catalogue import NetworkFiles, catalogue
from ..pod_networks.catalogue import network as known_network
from ..pod_networks.network import PodNetwork
from ..pod_networks.settings import NetworkService, NodeSettings, as_lines
from ..windows import node_paths
from ..windows.sddl import ADMINISTRATORS_ONLY_FILE
from . import cni, kubernetes_node, service_manager
from .downloads import ResourceMapping
from .kubernetes_node import KubernetesSettings
from .services import KUBE_PROXY, log_folders, recovery
from .variables import Variables

ROLE = "node_join"
_KUBE_PROXY_KUBECONFIG = f"{node_paths.KUBERNETES}\\kube-proxy.kubeconfig"
_KUBE_PROXY_LOG = "C:\\var\\log\\kube-proxy\\kube-proxy.log"


@dataclasses.dataclass(frozen=True, kw_only=True)
class JoinedNode:
    """A node that is registered in the cluster."""

    name: str
    pod_cidr: str
    """CIDR of the node's pods; empty if the cluster has assigned none."""
    internal_ip: str
    """Address of the node in the cluster; empty if unknown."""
    overlay_address: str
    """Address of the node in the pod network's overlay; empty if there is no overlay, or no address yet."""
    kube_proxy_configuration: t.Mapping[str, t.Any]
    network: PodNetwork
    kubernetes: KubernetesSettings
    api_server: str
    """The API server as `host:port`."""
    ca_certificate: str
    """CA certificate of the cluster (PEM)."""
    cluster_cidr: str
    """CIDR of all pods in the cluster."""
    tokens: t.Mapping[str, str]
    """Maps each service account of the pod network and kube-proxy, as `NAMESPACE/NAME`, to its token; empty if the
    pod network and kube-proxy do not run as services."""
    tokens_known: bool
    conf_dir: str
    """Folder of CNI configurations."""
    folders: t.Mapping[str, str]
    """Maps the name of each folder variable of the pod network, without its `cni_` prefix, to the folder's path."""
    nssm_dir: str
    network_changes: bool
    """Whether the previous pod network must still be removed from the node before the new one can be recorded."""
    former_services: str
    """The pod network (a value of `cni_plugin`) whose programs ran as services in the last run; empty if none did."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> JoinedNode:
        """Read the variables of the roles that prepare a node and join it to a cluster.

        Args:
            variables: the host's variables.
            prefix: prefix of the node_join role's variables.

        Returns:
            The node.
        """
        network = cni.pod_network(variables)
        recorded = variables.value("cni_recorded_network")
        services = network.runs_as_services
        return variables.fields(
            cls,
            prefix,
            network=network,
            kubernetes=variables.read(KubernetesSettings, kubernetes_node.ROLE),
            api_server=str(variables.value("cni_api_server")),
            ca_certificate=str(variables.part("node_join_cluster", "ca_certificate", default="")),
            cluster_cidr=str(
                variables.part("node_join_cluster", "pod_subnet", default="") or network.settings.pods_subnet
            ),
            tokens=variables.value("cni_tokens") if services else {},
            tokens_known=bool(variables.value("cni_tokens_known")) if services else False,
            conf_dir=str(variables.value("cni_conf_dir")),
            folders=cni.folders(variables),
            nssm_dir=str(variables.value("container_runtime_nssm_dir")) if services else "",
            network_changes=bool(variables.value("cni_network_changes")),
            former_services=str(recorded.get("plugin", "")) if recorded.get("services", False) else "",
        )

    @property
    def kube_proxy_dir(self) -> str:
        """Folder of kube-proxy's configuration."""
        return f"{self.kubernetes.install_dir}\\kube-proxy"

    @property
    def is_ready_for_network(self) -> bool:
        """Whether the collection installs the pod network, and the node has the addresses that kube-proxy needs."""
        network = self.network
        has_addresses = (bool(self.pod_cidr) or not network.needs_pod_cidr) and (
            bool(self.overlay_address) or not network.needs_overlay_address
        )
        return network.is_managed and has_addresses

    @property
    def settings(self) -> NodeSettings:
        """The settings from which the pod network's services and files on the node are built."""
        return NodeSettings(
            name=self.name,
            internal_ip=self.internal_ip,
            api_server=self.api_server,
            ca_certificate=self.ca_certificate,
            tokens=self.tokens,
            folders=self.folders,
        )


def resources(node: JoinedNode) -> list[ResourceMapping]:
    """Return the resources that need settings from the cluster.

    Args:
        node: the registered node.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ValueError: the pod CIDR is not a network, or too small for a Windows node.
    """
    network = node.network
    return [
        # On a joined node, kubeadm has written flags for the kubelet, and the kubelet runs.
        *_running(kubernetes_node.kubelet_services(node.kubernetes)),
        *leftovers(),
        *([*_reserved_address(node), *_kube_proxy_files(node)] if node.is_ready_for_network else []),
        *(_services(node) if network.runs_as_services and node.is_ready_for_network and node.tokens_known else []),
        *(_cni_configuration(node) if _is_configured(node) else []),
        *_former_services(node),
        *([] if node.network_changes else [cni.noted(network)]),
    ]


def possible(node: JoinedNode) -> list[ResourceMapping]:
    """Return all resources that a join may have created, whatever pod network was configured at that time.

    A reset removes these resources. Only their types and names are meaningful.

    Args:
        node: a node with values for everything that a pod network needs, such as addresses and tokens.
    """
    known_names: dict[tuple[str, str], ResourceMapping] = {}
    for known in catalogue().values():
        for mode, run_as in itertools.product(known.modes, known.run_as or ("daemonset",)):
            settings = dataclasses.replace(
                node.network.settings, plugin=known.name, mode=mode, run_as=run_as, is_docker=run_as == "service"
            )
            for one in resources(dataclasses.replace(node, network=PodNetwork(settings))):
                known_names.setdefault((one["type"], str(one.get("name") or one.get("key"))), one)
    return list(known_names.values())


def kube_proxy_configuration(node: JoinedNode) -> dict[str, t.Any]:
    r"""Return kube-proxy's configuration.

    If kube-proxy runs in a pod, the configuration contains a path through the link `access`. The pod creates this link
    to the folder with the pod's token and kubeconfig.

    Args:
        node: the node.

    Returns:
        A KubeProxyConfiguration. The user's settings override the collection's settings key by key.
    """
    network = node.network
    in_pod = f"{node.kube_proxy_dir}\\access\\kubeconfig.conf"
    kubeconfig = _KUBE_PROXY_KUBECONFIG if network.runs_as_services else in_pod
    return kube_proxy.configuration(
        name=node.name,
        kubeconfig=kubeconfig,
        cluster_cidr=node.cluster_cidr,
        gates=network.feature_gates(),
        winkernel=network.winkernel(node.pod_cidr, node.overlay_address),
        given=node.kube_proxy_configuration,
    )


def _running(services: list[ResourceMapping]) -> list[ResourceMapping]:
    """Return the kubelet's resources, with the state of the service set to running."""
    *settings, service = services
    return [*settings, {**service, "state": "running"}]


def leftovers() -> list[ResourceMapping]:
    """Return the resources that remove the files with the bootstrap token.

    The batch that runs kubeadm removes these files at its end. If the machine goes down during the batch, the kubelet
    may still join the cluster after the reboot. In that case, the batch does not run again, and the files would remain.
    """
    return [{"type": "File", "name": path, "state": "absent"} for path in LEFTOVERS]


def _former_services(node: JoinedNode) -> list[ResourceMapping]:
    """Return the resources that remove services that the node no longer needs, and the files of these services."""
    if not node.former_services:
        return []
    former = known_network(node.former_services)
    needed = node.network.known if node.network.runs_as_services else None
    kept = {KUBE_PROXY, _KUBE_PROXY_KUBECONFIG, *needed.services, *_paths(needed.files)} if needed else set()
    unneeded = [
        *(("Service", name) for name in (KUBE_PROXY, *former.services)),
        *(("File", path) for path in (*former.files.service_files, _KUBE_PROXY_KUBECONFIG)),
        *(("Directory", path) for path in (*former.files.service_folders, *former.files.service_logs)),
    ]
    return [{"type": kind, "name": name, "state": "absent"} for kind, name in unneeded if name not in kept]


def _paths(files: NetworkFiles) -> list[str]:
    """Return the files and folders that a pod network's services need."""
    return [*files.service_files, *files.service_folders, *files.service_logs]


def _reserved_address(node: JoinedNode) -> list[ResourceMapping]:
    """Return the File resource that reserves kube-proxy's source address, or an empty list if none is reserved."""
    reserved = node.network.reservation(node.pod_cidr)
    if reserved is None:
        return []
    path, content = reserved
    return [{"type": "File", "name": path, "content": content, "line_ending": "as_is"}]


def _kube_proxy_files(node: JoinedNode) -> list[ResourceMapping]:
    return [
        {"type": "Directory", "name": node.kube_proxy_dir},
        {
            "type": "File",
            "name": f"{node.kube_proxy_dir}\\config.yaml",
            "content": kube_proxy.to_text(kube_proxy_configuration(node)),
            # kube-proxy's pod writes the same file on nodes that join by themselves, with the line endings of cmd.exe.
            "line_ending": "crlf",
            # Needed only for the service. In a pod, kube-proxy exits when this file changes (kubernetes,
            # cmd/kube-proxy/app/options.go), and the pod is replaced as well.
            "restarts": [KUBE_PROXY] if node.network.runs_as_services else [],
            "disrupts": True,
        },
    ]


def _services(node: JoinedNode) -> list[ResourceMapping]:
    """Return resources that run the pod network's programs and kube-proxy as services, in order of dependency."""
    services = node.network.services(node.settings)
    first = [one for one in services if not one.kube_proxy_first]
    last = [one for one in services if one.kube_proxy_first]
    return [
        *log_folders(*(one.log_dir for one in services), ntpath.dirname(_KUBE_PROXY_LOG)),
        *_service_files(node),
        *(parameter for one in services for parameter in _parameters(one)),
        *(_network_service(node, one, "kubelet") for one in first),
        _kube_proxy_service(node, [one.name for one in first]),
        *(_network_service(node, one, KUBE_PROXY) for one in last),
    ]


def _is_configured(node: JoinedNode) -> bool:
    """Return whether this run may write the CNI configuration.

    If the pod network runs as services, the tokens of its services must be known. Without them, no service is defined.
    """
    network = node.network
    known = node.tokens_known or not network.runs_as_services
    return network.writes_configuration and node.is_ready_for_network and known


def _cni_configuration(node: JoinedNode) -> list[ResourceMapping]:
    """Return the resource for the CNI configuration file, or an empty list if the collection does not write the file.

    On nodes that join by themselves, kube-proxy's pod writes the same file with the line endings of cmd.exe, so this
    resource uses them, too.
    """
    configuration = node.network.cni_configuration(node.internal_ip)
    if configuration is None:
        return []
    name, content = configuration
    in_azure = node.network.cni_configuration_in_azure(node.internal_ip)
    return [
        {
            "type": "File",
            "name": f"{node.conf_dir}\\{name}",
            "content": as_lines(content),
            # The drift check asks the machine for its platform and its state with one command.
            **({} if in_azure is None else {"azure_content": as_lines(in_azure)}),
            "line_ending": "crlf",
            "disrupts": True,
        }
    ]


def _service_files(node: JoinedNode) -> list[ResourceMapping]:
    secret = {"acl": ADMINISTRATORS_ONLY_FILE, "no_log": True}
    return [
        {
            "type": "File",
            "name": _KUBE_PROXY_KUBECONFIG,
            "content": kubeconfigs.of_service(node.settings, kube_proxy_pods.ACCOUNT),
            **secret,
            "restarts": [KUBE_PROXY],
        },
        *(
            {
                "type": "File",
                "name": file.path,
                "content": file.content,
                **(secret if file.is_secret else {}),
            }
            for file in node.network.service_files(node.settings)
        ),
    ]


def _parameters(service: NetworkService) -> list[ResourceMapping]:
    return nssm.parameters(
        service.name,
        application=service.program,
        arguments=service.arguments,
        log_dir=service.log_dir,
        restart=False,
        environment=service.environment,
    )


def _network_service(node: JoinedNode, service: NetworkService, needed: str) -> ResourceMapping:
    """Return the Service resource of one of the pod network's services.

    A change of the configuration or token restarts the service. If a start of the service may interrupt the
    connection, a detached process restarts the service.
    """
    return {
        "type": "Service",
        "name": service.name,
        "display_name": service.display_name,
        "description": service.description,
        "path": service_manager.program(node.nssm_dir),
        "start_mode": "auto",
        "dependencies": [needed],
        "environment": {"WINKUBE_CONFIGURATION": hashlib.sha256(service.configuration.encode()).hexdigest()},
        "recovery": recovery(),
        **({"cuts_connection": True} if service.cuts_connection else {}),
        "state": "running",
    }


def _kube_proxy_service(node: JoinedNode, needed: list[str]) -> ResourceMapping:
    """Return kube-proxy's service.

    Args:
        node: the node.
        needed: names of the pod network's services that kube-proxy depends on.
    """
    kubernetes = node.kubernetes
    program = f"{kubernetes.install_dir}\\kube-proxy.exe"
    logged = [f"-log-file={_KUBE_PROXY_LOG}", *kubernetes.log_rotation, program] if kubernetes.kubelet_log_file else []
    return {
        "type": "Service",
        "name": KUBE_PROXY,
        "display_name": "Kubernetes kube-proxy",
        "description": "Services of the cluster on this node",
        "path": kubernetes.log_runner if kubernetes.kubelet_log_file else program,
        "arguments": [*logged, "--windows-service", f"--config={node.kube_proxy_dir}\\config.yaml"],
        "start_mode": "auto",
        "dependencies": needed or ["kubelet"],
        "recovery": recovery(),
        "state": "running",
    }
