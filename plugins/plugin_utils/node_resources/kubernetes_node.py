# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of role kubernetes_node: the programs of Kubernetes, and the kubelet as a service."""

from __future__ import annotations

import dataclasses
import ntpath
import typing as t

import yaml

from ..resources.directory import closed
from ..role_variables.kubernetes_node import KubeletVariables
from ..values.versions import Version
from ..windows import node_paths
from .downloads import Downloads, ResourceMapping, unpacked
from .services import DOCKER_RUNTIMES, log_folders, network_services, recovery
from .variables import Variables

ROLE = "kubernetes_node"
_ROTATION = Version.parse("1.34.0")
"""The first version of Kubernetes whose kube-log-runner rotates files (kubernetes/kubernetes#127667)."""
_ARGUMENTS = (
    "--windows-service",
    f"--bootstrap-kubeconfig={node_paths.BOOTSTRAP_KUBELET_CONF}",
    f"--kubeconfig={node_paths.KUBELET_CONF}",
    f"--config={node_paths.KUBELET_CONFIG}",
    f"--config-dir={node_paths.KUBELET_DROPINS}",
    f"--cert-dir={node_paths.KUBELET_PKI}",
)

_OF_CLOUD: t.Mapping[str, str] = {"cloud-provider": "external", "node-ip": "0.0.0.0"}  # noqa: S104 - not an interface
"""Flags of a kubelet whose cloud provider is external. Without an address, the node has none until the provider has set
it, and pods that need the host's address cannot start. 0.0.0.0 is the address that a kubelet without a provider finds
(kubernetes/kubernetes#125337)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubernetesSettings(KubeletVariables):
    """The variables `kubernetes_node_*`, and the runtime."""

    downloads: Downloads
    is_docker: bool
    network_services: tuple[str, ...] = ()
    """Services of the pod network, which depend on the kubelet; each precedes the services on which it depends."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> KubernetesSettings:
        """Read the role's variables and the runtime, which all roles share.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.

        Returns:
            The settings.
        """
        docker = variables.runtime in DOCKER_RUNTIMES
        return variables.fields(cls, prefix, is_docker=docker, network_services=network_services(variables))

    @property
    def cri_socket(self) -> str:
        """CRI endpoint of the runtime. For Docker, cri-dockerd provides it (kubernetes.io: Container Runtimes)."""
        return node_paths.CRI_DOCKERD_PIPE if self.is_docker else node_paths.CONTAINERD_PIPE

    @property
    def log_runner(self) -> str:
        """Path of the program that runs a service's program and writes its output to log files."""
        return f"{self.install_dir}\\kube-log-runner.exe"

    @property
    def log_rotation(self) -> list[str]:
        """The log runner's flags for rotation. Older versions get none, because they reject these flags."""
        if self.kubelet_log_max_mb <= 0 or Version.parse(self.version) < _ROTATION:
            return []
        days = self.kubelet_log_max_days
        return [f"-log-file-size={self.kubelet_log_max_mb}Mi", *([f"-log-file-age={24 * days}h"] if days > 0 else [])]


def resources(settings: KubernetesSettings) -> list[ResourceMapping]:
    """Return the Kubernetes resources of a node. The kubelet's service comes last; it starts only when the node joins.

    Args:
        settings: the role's variables.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ArtifactError: the settings of a download are invalid.
        ValueError: another variable is invalid.
    """
    artifact = settings.downloads.artifact("kubernetes", settings.version, url=settings.url, sha256=settings.sha256)
    programs = ["kubeadm.exe", "kubectl.exe", "kubelet.exe", "kube-proxy.exe"]
    programs += ["kube-log-runner.exe"] if settings.kubelet_log_file else []
    return [
        *_folders(settings),
        artifact,
        unpacked(
            artifact,
            settings.install_dir,
            members=[f"kubernetes/node/bin/{program}" for program in programs],
            strip_components=3,
            check=programs,
            # kube-proxy may also be a service whose program comes from this archive. Services come before the services
            # that they depend on.
            stops=[*settings.network_services, "kubelet"],
        ),
        {"type": "Environment", "name": "PATH", "path_entries": [settings.install_dir]},
        {"type": "Directory", "name": "C:\\etc\\kubernetes\\manifests"},
        {
            "type": "File",
            "name": node_paths.KUBELET_DROPIN,
            "content": to_yaml(kubelet_configuration(settings)),
            "restarts": ["kubelet"],
        },
        *_firewall(settings),
        kubelet_service(settings),
    ]


def kubelet_configuration(settings: KubernetesSettings) -> dict[str, t.Any]:
    """Return the kubelet's drop-in: settings that are missing in kubeadm's configuration, which is meant for Linux.

    Args:
        settings: the role's variables.

    Returns:
        A KubeletConfiguration. The user's settings override the collection's.
    """
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": settings.cri_socket,
        "resolvConf": "",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        # The list replaces that of kubeadm's configuration (kubernetes.io: Set Kubelet Parameters Via A Configuration
        # File, "Kubelet configuration merging order").
        **({"clusterDNS": list(settings.cluster_dns)} if settings.cluster_dns else {}),
        **settings.kubelet_configuration,
    }


def kubelet_service(settings: KubernetesSettings) -> ResourceMapping:
    """Return the kubelet's service. If there is a log file, the service starts kube-log-runner, which runs the kubelet.

    Args:
        settings: the role's variables.

    Returns:
        A Service resource without a state, because the service starts when the node joins.
    """
    program = f"{settings.install_dir}\\kubelet.exe"
    logged = [f"-log-file={settings.kubelet_log_file}", *settings.log_rotation, program]
    flags = {**(_OF_CLOUD if settings.cloud_provider else {}), **settings.kubelet_arguments}
    own = [f"--{name}={value}" for name, value in sorted(flags.items())]
    proxy = settings.downloads.proxy
    return {
        "type": "Service",
        "name": "kubelet",
        "display_name": "Kubernetes Kubelet",
        "description": "Runs the pods of this node",
        "path": settings.log_runner if settings.kubelet_log_file else program,
        "arguments": [*(logged if settings.kubelet_log_file else []), *_ARGUMENTS, *own],
        # kubeadm writes flags to this file. They must be on the command line, or the kubelet starts without them.
        "arguments_from_file": "C:\\var\\lib\\kubelet\\kubeadm-flags.env",
        "arguments_variable": "KUBELET_KUBEADM_ARGS",
        # An older version of kubeadm may have written the flags.
        "arguments_for_kubelet": settings.version,
        "start_mode": "auto",
        "dependencies": ["cri-dockerd" if settings.is_docker else "containerd"],
        "environment": proxy.environment,
        # The service's environment may contain a proxy password.
        "no_log": proxy.has_password,
        "recovery": recovery(),
    }


def to_yaml(configuration: t.Mapping[str, t.Any]) -> str:
    """Return a component's configuration as YAML with sorted keys.

    Args:
        configuration: the configuration.
    """
    text: str = yaml.safe_dump(dict(configuration), indent=2, default_flow_style=False, allow_unicode=True)
    return text


def _folders(settings: KubernetesSettings) -> list[ResourceMapping]:
    r"""Return the folders of the programs that run as SYSTEM, of their settings, and of the node's key.

    Access to these folders is restricted before any file is written there. The exception is C:\var\lib\kubelet\pods,
    which contains the volumes of pods: containers that run as ContainerUser write to volumes with the rights of the
    group Users (kubernetes/kubernetes#75049). That folder keeps the access list that Windows gives to folders in C:\. A
    live node is drained (`disrupts`) before untrusted content, such as a kubelet.exe that a user owns, is moved out of
    the restricted folders.
    """
    logs = [ntpath.dirname(settings.kubelet_log_file)] if settings.kubelet_log_file else []
    return [
        *closed([settings.install_dir], users="read", disrupts=True),
        *closed([node_paths.KUBERNETES], disrupts=True),
        *closed([node_paths.KUBELET], users="read", open_folders=["pods"], shallow=True, disrupts=True),
        *closed([node_paths.KUBELET_PKI], disrupts=True),
        *log_folders("C:\\var\\log\\pods", "C:\\var\\log\\containers"),
        *log_folders(*logs, only_below="C:\\var\\log"),
    ]


def _firewall(settings: KubernetesSettings) -> list[ResourceMapping]:
    if not settings.open_kubelet_port:
        return []
    return [
        {
            "type": "FirewallRule",
            "name": "kubelet-in-tcp",
            "display_name": "Kubernetes kubelet (TCP 10250)",
            "direction": "Inbound",
            "action": "Allow",
            "protocol": "TCP",
            "local_ports": ["10250"],
            "remote_addresses": list(settings.kubelet_clients),
        }
    ]
