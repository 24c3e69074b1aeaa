# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Settings of a network, its cluster and its nodes, as read from variables, and what a network adds to a node."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...module_utils.addresses import DEFAULT_DNS_DOMAIN
from .catalogue import KnownNetwork, Mode, network

KubernetesObject: t.TypeAlias = dict[str, t.Any]
"""An object of the Kubernetes API."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """The variables of a pod network."""

    plugin: str
    """Value of `cni_plugin`."""
    mode: str
    """The mode; empty if it is not known yet, because it is read from the cluster."""
    run_as: str
    """Value of `cni_run_as`."""
    is_docker: bool
    """Whether the container runtime is Docker, which has no HostProcess containers."""
    pods_subnet: str
    services_subnet: str
    cluster_dns: tuple[str, ...] = ()
    """Addresses of the cluster's DNS that Windows pods can reach; empty if unknown."""
    dns_domain: str = DEFAULT_DNS_DOMAIN
    """The cluster's DNS domain."""
    kubernetes: str = ""
    """Version of Kubernetes on the node; empty if unknown."""
    block_wireserver: bool = False
    """Whether containers are denied access to Azure's WireServer."""
    blocks_in_azure: bool = False
    """Whether containers are denied access to WireServer if it turns out that the machine is in Azure."""
    block_imds: bool = False
    """Whether containers are denied access to Azure's Instance Metadata Service."""
    vnet_subnets: tuple[str, ...] = ()
    """Networks that Azure CNI's pods reach without outbound NAT, in addition to the pods' network."""

    @property
    def known(self) -> KnownNetwork:
        """The catalogue's entry for the network."""
        return network(self.plugin)

    @property
    def known_mode(self) -> Mode:
        """The catalogue's entry for the network's mode."""
        return self.known.mode(self.mode)

    @property
    def runs_as_services(self) -> bool:
        """Whether the network's programs and kube-proxy run as services instead of pods."""
        return self.known.is_managed and self.run_as == "service"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """Settings from which a network's objects in the cluster are built. They are the same for all nodes of a run."""

    api_server: str
    """The API server as `host:port`."""
    conf_dir: str
    """Folder of CNI configurations on the nodes."""
    folders: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Folders of programs, by variable name without the prefix `cni_`, such as `flannel_dir`."""
    install_dir: str
    """Folder of the Kubernetes programs on the nodes."""
    images: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Container images, by variable name without the prefix `cni_`, such as `flannel_image`."""
    cluster_cidr: str = ""
    """Network of all pods."""
    kube_proxy_configuration: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    linux: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    """How the network is installed on Linux nodes, as cluster_info returns it; empty if unknown."""
    version: str = ""
    """Version of the network plugin to assume if the cluster does not reveal it."""

    @property
    def network_version(self) -> str:
        """Version of the network on Linux nodes, or `version` if the cluster does not show it; empty if unknown."""
        return str(self.linux.get("version") or self.version).removeprefix("v")


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeSettings:
    """Settings from which a network's services and files on a node are built."""

    name: str
    """Name of the node."""
    internal_ip: str
    """Address of the node in the cluster; empty if unknown."""
    api_server: str
    """The API server as `host:port`."""
    ca_certificate: str
    """CA certificate of the cluster (PEM)."""
    tokens: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Tokens of service accounts by `NAMESPACE/NAME`, if the network runs as services."""
    folders: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Folders of programs by variable name, as in `ClusterSettings`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkFile:
    """A file that a network needs on a node."""

    path: str
    content: str
    is_secret: bool = False
    """Whether only administrators may read the file, and messages must not show it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkService:
    """A program of a network that nssm runs as a service."""

    name: str
    display_name: str
    description: str
    program: str
    """Windows path of the program."""
    arguments: tuple[str, ...]
    environment: t.Mapping[str, str]
    log_dir: str
    configuration: str
    """Everything that the program reads when it starts. The service restarts when this text changes."""
    cuts_connection: bool
    """Whether a start of the service may interrupt the connection to the node."""
    kube_proxy_first: bool
    """Whether kube-proxy starts before the service; otherwise the service starts before kube-proxy."""


def as_lines(value: t.Mapping[str, t.Any]) -> str:
    """Return JSON with sorted keys, and each value on a separate line.

    Args:
        value: plain JSON data.
    """
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def as_line(value: t.Mapping[str, t.Any]) -> str:
    """Return JSON on one line with sorted keys.

    Args:
        value: plain JSON data.
    """
    return json.dumps(value, sort_keys=True) + "\n"
