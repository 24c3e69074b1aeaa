# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the kubernetes_node role: the programs of Kubernetes, and the kubelet as a service."""

from __future__ import annotations

import dataclasses
import ntpath
import types
import typing as t

from ..lifecycle import join_commands
from ..node_config import kubelet_resources, nssm
from ..resources.directory import closed
from ..role_variables.kubernetes_node import KubeletVariables
from ..values.version_support import reads_dropins, required_gates
from ..values.versions import Version
from ..values.yaml_text import to_yaml
from ..windows import node_paths
from ..windows.command_line import join, merge_flags
from . import ccg_plugins, kubelet_launcher, provider_programs, service_manager
from .downloads import Downloads, ResourceMapping, unpacked
from .services import DOCKER_RUNTIMES, log_folders, network_services, recovery
from .variables import Variables

ROLE = "kubernetes_node"
_ROTATION = Version.parse("1.34.0")
"""The first version of Kubernetes whose kube-log-runner rotates files (kubernetes/kubernetes#127667)."""
_ARGUMENTS = (
    f"--bootstrap-kubeconfig={node_paths.BOOTSTRAP_KUBELET_CONF}",
    f"--kubeconfig={node_paths.KUBELET_CONF}",
    f"--config={node_paths.KUBELET_CONFIG}",
)
_DROPINS = (f"--config-dir={node_paths.KUBELET_DROPINS}",)
_WITHOUT_DROPINS = ("--resolv-conf=", "--cgroups-per-qos=false", "--enforce-node-allocatable=")
"""Flags for kubelets that read no drop-in files, in place of the fields that `kubelet_configuration` always sets.
kubeadm writes the flag for the runtime's endpoint. Source: kubernetes-sigs/sig-windows-tools,
hostprocess/PrepareNode.ps1."""


_NSSM_DIR = "C:\\Program Files\\nssm"
"""Default folder of nssm, which the container_runtime role installs."""
_FLAGS: t.Mapping[str, str] = types.MappingProxyType(
    {
        # kubeadm writes flags to this file. They must be on the command line, or the kubelet starts without them.
        "arguments_from_file": "C:\\var\\lib\\kubelet\\kubeadm-flags.env",
        "arguments_variable": "KUBELET_KUBEADM_ARGS",
    }
)
_LOG_FOLDER = "C:\\var\\log\\kubelet"
"""Folder in which nssm writes the kubelet's log if the settings name no log file."""

_OF_CLOUD: t.Mapping[str, str] = {"cloud-provider": "external", "node-ip": "0.0.0.0"}  # noqa: S104 - not an interface
"""Flags of a kubelet whose cloud provider is external. Without `node-ip`, the node has no address until the provider
has set its address, and pods that need the host's address cannot start. With 0.0.0.0, the kubelet uses the address that
it would detect without a provider (kubernetes/kubernetes#125337)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubernetesSettings(KubeletVariables):
    """The `kubernetes_node_*` variables, and settings that depend on the container runtime and the pod network."""

    downloads: Downloads
    is_docker: bool
    network_services: tuple[str, ...] = ()
    """The pod network's services, which depend on the kubelet. They are stopped in this order."""
    nssm_dir: str = ""
    """Folder of nssm, which runs the kubelet unless `kubelet_service` is native."""
    network_labels: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Node labels for the pod network, set when the machine joins by itself; empty if no launcher runs the kubelet."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> KubernetesSettings:
        """Return the settings from the role's variables, and from variables of other roles that it needs.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.

        Returns:
            The settings.
        """
        docker = variables.runtime in DOCKER_RUNTIMES
        nssm_dir = str(variables.optional("winkube_nssm_dir", _NSSM_DIR))
        services = network_services(variables)
        has_launcher = variables.optional(f"{prefix}_kubelet_service", "native") == "launcher"
        given = variables.optional("winkube_node_labels", {}) if has_launcher else {}
        labels = {name: str(value) for name, value in given.items() if value}
        return variables.fields(
            cls, prefix, is_docker=docker, network_services=services, nssm_dir=nssm_dir, network_labels=labels
        )

    @property
    def cri_socket(self) -> str:
        """CRI endpoint of the container runtime. For Docker, cri-dockerd provides this endpoint.

        Source: kubernetes.io (Container Runtimes).
        """
        return node_paths.CRI_DOCKERD_PIPE if self.is_docker else node_paths.CONTAINERD_PIPE

    @property
    def log_runner(self) -> str:
        """Path of kube-log-runner, which runs another program and writes that program's output to log files."""
        return f"{self.install_dir}\\kube-log-runner.exe"

    @property
    def log_folders(self) -> list[str]:
        """Folders that contain the kubelet's log files."""
        if self.kubelet_log_file:
            return [ntpath.dirname(self.kubelet_log_file)]
        return [] if self.kubelet_service == "native" else [_LOG_FOLDER]

    @property
    def credential_provider_dir(self) -> str:
        """Folder of the programs that provide credentials for registries."""
        return f"{self.install_dir}\\credential-providers"

    @property
    def kubelet_flags(self) -> list[str]:
        """The kubelet's arguments, except --windows-service and the flags that kubeadm writes to a file."""
        providers = {
            "image-credential-provider-bin-dir": self.credential_provider_dir,
            "image-credential-provider-config": provider_programs.CONFIGURATION,
        }
        own = {
            **(_OF_CLOUD if self.cloud_provider else {}),
            **(providers if self.credential_providers else {}),
            **self.kubelet_arguments,
        }
        version = Version.parse(self.version)
        gates = [] if "feature-gates" in own else required_gates(version)
        return [
            *_ARGUMENTS,
            *(_DROPINS if reads_dropins(version) else _WITHOUT_DROPINS),
            f"--cert-dir={node_paths.KUBELET_PKI}",
            *(f"--feature-gates={gate}=true" for gate in gates),
            *(f"--{name}={value}" for name, value in sorted(own.items())),
        ]

    @property
    def log_rotation(self) -> list[str]:
        """Flags of kube-log-runner for log rotation; empty for older versions, which would reject the flags."""
        if self.kubelet_log_max_mb <= 0 or Version.parse(self.version) < _ROTATION:
            return []
        days = self.kubelet_log_max_days
        return [f"-log-file-size={self.kubelet_log_max_mb}Mi", *([f"-log-file-age={24 * days}h"] if days > 0 else [])]


def resources(settings: KubernetesSettings) -> list[ResourceMapping]:
    """Return the Kubernetes resources of a node. The kubelet's service comes last, and is not started.

    Args:
        settings: the role's variables.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ArtifactError: the settings of a download are invalid.
        ValueError: any other variable is invalid.
    """
    artifact = settings.downloads.artifact("kubernetes", settings.version, url=settings.url, sha256=settings.sha256)
    programs = ["kubeadm.exe", "kubectl.exe", "kubelet.exe", "kube-proxy.exe"]
    programs += ["kube-log-runner.exe"] if settings.kubelet_log_file and settings.kubelet_service == "native" else []
    return [
        *_folders(settings),
        artifact,
        unpacked(
            artifact,
            settings.install_dir,
            members=[f"kubernetes/node/bin/{program}" for program in programs],
            strip_components=3,
            check=programs,
            # kube-proxy may also be a service whose program comes from this archive. All of these services depend on
            # the kubelet, so it stops last.
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
        *provider_programs.resources(
            settings.credential_providers,
            settings.downloads,
            settings.credential_provider_dir,
            stops=[*settings.network_services, "kubelet"],
        ),
        *ccg_plugins.resources(settings.ccg_plugins, settings.downloads, [*settings.network_services, "kubelet"]),
        *_firewall(settings),
        *kubelet_services(settings),
    ]


def kubelet_configuration(settings: KubernetesSettings) -> dict[str, t.Any]:
    """Return the kubelet's drop-in: additions and changes to kubeadm's configuration, which is meant for Linux.

    Args:
        settings: the role's variables.

    Returns:
        A KubeletConfiguration. The user's settings override the collection's settings.
    """
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": settings.cri_socket,
        "resolvConf": "",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        # The list replaces the list in kubeadm's configuration (kubernetes.io: Set Kubelet Parameters Via A
        # Configuration File, "Kubelet configuration merging order").
        **({"clusterDNS": list(settings.cluster_dns)} if settings.cluster_dns else {}),
        **_resources(settings),
        **settings.kubelet_configuration,
    }


def _resources(settings: KubernetesSettings) -> dict[str, t.Any]:
    """Return the configuration fields for reserved resources and eviction thresholds, without empty fields."""
    fields = {
        "kubeReserved": dict(settings.kube_reserved),
        "systemReserved": dict(settings.system_reserved),
        "evictionHard": kubelet_resources.hard_thresholds(settings.eviction_hard, settings.version),
    }
    return {field: value for field, value in fields.items() if value}


def kubelet_services(settings: KubernetesSettings) -> list[ResourceMapping]:
    """Return the kubelet's service, preceded by the settings of nssm or the launcher if one of them runs the kubelet.

    Args:
        settings: the role's variables.

    Returns:
        The resources. The service comes last, and has no state, because the join starts it.
    """
    service = kubelet_service(settings)
    if settings.kubelet_service == "native":
        return [service]
    if settings.kubelet_service == "launcher":
        return [*_launcher(settings), service]
    return [
        *nssm.parameters(
            "kubelet",
            application=f"{settings.install_dir}\\kubelet.exe",
            arguments=None,
            log_dir=settings.log_folders[0],
            log_max_mb=settings.kubelet_log_max_mb,
        ),
        {
            "type": "NssmArguments",
            "name": "kubelet",
            "arguments": settings.kubelet_flags,
            **_FLAGS,
            # An older version of kubeadm may have written the flags.
            "arguments_for_kubelet": settings.version,
            "restarts": ["kubelet"],
        },
        service,
    ]


def _launcher(settings: KubernetesSettings) -> list[ResourceMapping]:
    """Return the resources of the launcher, which sets `network_labels` in addition to kubeadm's labels."""
    labels = ",".join(f"{name}={value}" for name, value in settings.network_labels.items())
    commands = kubelet_launcher.Commands(
        join_commands.commands(settings.pre_kubeadm_commands, "pre_kubeadm_commands"),
        join_commands.commands(settings.post_kubeadm_commands, "post_kubeadm_commands"),
    )
    return kubelet_launcher.resources(
        settings.install_dir,
        [*settings.kubelet_flags, *([f"--node-labels={labels}"] if labels else [])],
        _FLAGS,
        commands,
        log_dir=settings.log_folders[0],
        log_mb=settings.kubelet_log_max_mb,
    )


def kubelet_service(settings: KubernetesSettings) -> ResourceMapping:
    """Return the kubelet's service.

    If nssm or the launcher runs the kubelet, the service starts nssm. Otherwise, if there is a log file, the service
    starts kube-log-runner, which runs the kubelet. Without a log file, it starts the kubelet directly.

    Args:
        settings: the role's variables.

    Returns:
        A Service resource without a state, because the join starts the service.
    """
    proxy = settings.downloads.proxy
    return {
        "type": "Service",
        "name": "kubelet",
        "display_name": "Kubernetes Kubelet",
        "description": "Runs the pods of this node",
        **_started(settings),
        "start_mode": "auto",
        "dependencies": ["cri-dockerd" if settings.is_docker else "containerd"],
        "environment": proxy.environment,
        # The service's environment may contain a proxy password.
        "no_log": proxy.has_password,
        "recovery": recovery(),
    }


def _started(settings: KubernetesSettings) -> ResourceMapping:
    """Return the properties of the service that define which program it starts."""
    if settings.kubelet_service != "native":
        return {"path": service_manager.program(settings.nssm_dir)}
    program = f"{settings.install_dir}\\kubelet.exe"
    logged = [f"-log-file={settings.kubelet_log_file}", *settings.log_rotation, program]
    return {
        "path": settings.log_runner if settings.kubelet_log_file else program,
        "arguments": [
            *(logged if settings.kubelet_log_file else []),
            "--windows-service",
            *settings.kubelet_flags,
        ],
        **_FLAGS,
        # An older version of kubeadm may have written the flags.
        "arguments_for_kubelet": settings.version,
    }


def started_with(settings: KubernetesSettings, flags: t.Sequence[str]) -> dict[str, str]:
    """Return service settings for a join. They already contain the flags that kubeadm is going to write.

    These flags include labels and taints, which a kubelet sets only when it registers its node, at its first start.
    kubeadm triggers that start, but does not change the service.

    Args:
        settings: the role's variables.
        flags: flags that kubeadm is going to write. They replace the service's flags of the same name.

    Returns:
        `command_line` of the service, or nssm's `parameters`. The result is empty if the launcher runs the kubelet,
        because the launcher reads the file that kubeadm writes.
    """
    if settings.kubelet_service == "launcher":
        return {}
    if settings.kubelet_service == "nssm":
        return {"parameters": nssm.arguments_line(merge_flags(settings.kubelet_flags, flags))}
    started = _started(settings)
    return {"command_line": join([started["path"], *merge_flags(started["arguments"], flags)])}


def _folders(settings: KubernetesSettings) -> list[ResourceMapping]:
    r"""Return resources for the folders of programs that run as SYSTEM, their settings and logs, and the node's key.

    Access to these folders is restricted before any file is written there, with two exceptions. C:\var\lib\kubelet\pods
    keeps the access list that Windows gives to folders in C:\, because containers that run as ContainerUser need
    the rights of the Users group to write to pods' volumes (kubernetes/kubernetes#75049). A log folder of the kubelet
    outside C:\var\log is not restricted either. A live node is drained (`disrupts`) before untrusted content, such as a
    kubelet.exe that a user owns, is moved out of the folders of programs and settings.
    """
    return [
        *closed([settings.install_dir], users="read", disrupts=True),
        *closed([node_paths.KUBERNETES], disrupts=True),
        *closed([node_paths.KUBELET], users="read", open_folders=["pods"], shallow=True, disrupts=True),
        *closed([node_paths.KUBELET_PKI], disrupts=True),
        *log_folders("C:\\var\\log\\pods", "C:\\var\\log\\containers"),
        *log_folders(*settings.log_folders, only_below="C:\\var\\log"),
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
