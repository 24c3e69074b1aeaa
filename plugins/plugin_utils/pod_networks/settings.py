# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Data classes for a pod network: settings of the network, its cluster and its nodes, its files and its services."""

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
    """Networks that Azure CNI's pods reach without outbound NAT, in addition to the pod network's subnet."""

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
    """Settings from which a network's Kubernetes objects are built. They are the same for all nodes of a run."""

    api_server: str
    """The API server as `host:port`."""
    conf_dir: str
    """Folder of CNI configurations on the nodes."""
    folders: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Maps the name of each folder variable without its `cni_` prefix, such as `flannel_dir`, to the folder's path."""
    install_dir: str
    """Folder of the Kubernetes programs on the nodes."""
    images: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Maps the name of each image variable without its `cni_` prefix, such as `flannel_image`, to the image."""
    cluster_cidr: str = ""
    """Network of all pods."""
    kube_proxy_configuration: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    linux: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    """How the network is installed on Linux nodes, as cluster_info returns it; empty if unknown."""
    version: str = ""
    """Version of the network plugin to assume if the cluster does not reveal it."""

    @property
    def network_version(self) -> str:
        """Version of the network plugin on Linux nodes, or `version` if the cluster shows none; empty if unknown."""
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
    """Maps each service account, as `NAMESPACE/NAME`, to its token; empty unless the network runs as services."""
    folders: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Maps the name of each folder variable, without its `cni_` prefix, to the folder's path."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkFile:
    """A file that a network needs on a node."""

    path: str
    content: str
    is_secret: bool = False
    """Whether only administrators may read the file. Messages do not show a secret file's content."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkService:
    """A pod network's program, which nssm runs as a Windows service."""

    name: str
    display_name: str
    description: str
    program: str
    """Windows path of the program."""
    arguments: tuple[str, ...]
    environment: t.Mapping[str, str]
    log_dir: str
    configuration: str
    """All configuration that the program reads when it starts, as one string. A change restarts the service."""
    cuts_connection: bool
    """Whether a start of the service may interrupt the connection to the node."""
    kube_proxy_first: bool
    """Whether kube-proxy starts before the service; otherwise the service starts before kube-proxy."""


def as_lines(value: t.Mapping[str, t.Any]) -> str:
    """Return a mapping as JSON with sorted keys, and each value on a separate line.

    Args:
        value: plain JSON data.
    """
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def as_line(value: t.Mapping[str, t.Any]) -> str:
    """Return a mapping as JSON on one line with sorted keys.

    Args:
        value: plain JSON data.
    """
    return json.dumps(value, sort_keys=True) + "\n"
