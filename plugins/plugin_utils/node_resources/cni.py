# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of role cni: the CNI plugins, the programs of flannel, and their configuration."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..resources.directory import closed
from ..role_variables.cni import CniProgramVariables, PodNetworkVariables
from ..windows import node_paths
from .downloads import Downloads, Proxy, ResourceMapping, unpacked
from .services import DOCKER_RUNTIMES
from .variables import Variables

ROLE = "cni"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PodNetwork(PodNetworkVariables):
    """The pod network that the variables `cni_*` describe."""

    is_docker: bool
    """Whether the runtime is Docker. Docker has no HostProcess containers, so flanneld and kube-proxy are services."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> PodNetwork:
        """Read the role's variables and the runtime, which all roles share.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.

        Returns:
            The network.
        """
        return variables.fields(cls, prefix, is_docker=variables.runtime in DOCKER_RUNTIMES)

    @property
    def is_flannel(self) -> bool:
        """Whether the collection installs the network."""
        return self.plugin == "flannel"

    @property
    def is_overlay(self) -> bool:
        """Whether packets between nodes are encapsulated (VXLAN)."""
        return self.is_flannel and self.flannel_backend == "vxlan"

    @property
    def has_services(self) -> bool:
        """Whether flanneld and kube-proxy are services instead of pods."""
        return self.is_docker and self.is_flannel

    @property
    def name(self) -> str:
        """Name of the HNS network. The name of a VXLAN network contains its number (VNI)."""
        return "cbr0" if self.flannel_backend == "host-gw" else "flannel.4096"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CniSettings(CniProgramVariables):
    """The variables `cni_*`."""

    network: PodNetwork
    downloads: Downloads

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> CniSettings:
        """Read the role's variables.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.

        Returns:
            The settings.
        """
        # The role has only one proxy variable, because it uses the proxy only for downloads.
        proxy = Proxy.for_downloads(variables, prefix)
        return variables.fields(cls, prefix, downloads=variables.fields(Downloads, prefix, proxy=proxy))


def resources(settings: CniSettings) -> list[ResourceMapping]:
    """Return the resources that a node's network needs before the node joins.

    Args:
        settings: the role's variables.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ArtifactError: a variable is not acceptable.
    """
    return [*_folders(settings), *_plugins(settings), *(_flannel(settings) if settings.network.is_flannel else [])]


def net_conf(network: PodNetwork) -> dict[str, t.Any]:
    """Return flannel's net-conf.json (flannel Documentation/configuration.md and Documentation/backends.md).

    Args:
        network: the pod network.
    """
    backend: dict[str, t.Any] = {"Name": network.name, "Type": "host-gw"}
    if network.flannel_backend != "host-gw":
        # Windows supports only these values for VXLAN (flannel Documentation/backends.md).
        backend = {"Name": network.name, "Type": "vxlan", "VNI": 4096, "Port": 4789}
    return {"Network": network.pods_subnet, "Backend": backend}


def cni_conf(network: PodNetwork) -> dict[str, t.Any]:
    """Return the configuration of flannel's CNI plugin.

    Version 2 of the plugins' API requires an HCN namespace, which Docker's containers do not have. With Docker, the
    plugins therefore use version 1, and the policies have HNS's older format (containernetworking/plugins
    win-bridge/sample-v1.conf and win-overlay/sample.conf).

    Args:
        network: the pod network.
    """
    local = [network.pods_subnet, network.services_subnet]
    service = network.services_subnet
    policies: list[dict[str, t.Any]] = [
        {"Type": "OutBoundNAT", "Settings": {"Exceptions": local}},
        {"Type": "SDNROUTE", "Settings": {"DestinationPrefix": service, "NeedEncap": True}},
    ]
    if network.is_docker:
        policies = [
            {"Type": "OutBoundNAT", "ExceptionList": local},
            {"Type": "ROUTE", "DestinationPrefix": service, "NeedEncap": True},
        ]
    return {
        "name": network.name,
        "cniVersion": "1.0.0",
        "type": "flannel",
        "capabilities": {"portMappings": True, "dns": True},
        "delegate": {
            "type": "win-bridge" if network.flannel_backend == "host-gw" else "win-overlay",
            "apiVersion": 1 if network.is_docker else 2,
            "policies": [{"Name": "EndpointPolicy", "Value": policy} for policy in policies],
        },
    }


def identity(network: PodNetwork) -> dict[str, str]:
    """Return the identity of a node's network. If the identity changes, the previous network must be removed.

    Args:
        network: the pod network.
    """
    if not network.is_flannel:
        return {"plugin": network.plugin, "backend": "", "network": ""}
    return {"plugin": network.plugin, "backend": network.flannel_backend, "network": network.name}


def noted(network: PodNetwork) -> ResourceMapping:
    """Return the resource that records a node's network.

    Args:
        network: the pod network.

    Returns:
        A resource of type File.
    """
    # Record that flannel and kube-proxy are services, so that a later run with a different runtime can remove them.
    note: dict[str, t.Any] = {**identity(network), **({"services": True} if network.has_services else {})}
    return {"type": "File", "name": node_paths.NETWORK_RECORD, "content": as_line(note)}


def described(network: PodNetwork) -> dict[str, t.Any]:
    """Return what tasks need to know about a network: name, configuration, identity and record.

    Args:
        network: the pod network.
    """
    return {
        "name": network.name,
        "net_conf": net_conf(network),
        "cni_conf": cni_conf(network),
        "identity": identity(network),
        "note": noted(network),
    }


def as_line(value: t.Mapping[str, t.Any]) -> str:
    """Return JSON on one line with sorted keys.

    Args:
        value: plain JSON data.
    """
    return json.dumps(value, sort_keys=True) + "\n"


def _folders(settings: CniSettings) -> list[ResourceMapping]:
    """Return the folders of programs and of network state; access is restricted before files are written there."""
    network = settings.network
    programs = [settings.bin_dir, settings.conf_dir, *([settings.flannel_dir] if network.is_flannel else [])]
    state = ["C:\\run\\flannel", node_paths.CNI_STATE, *(["C:\\etc\\kube-flannel"] if network.is_docker else [])]
    return [
        *closed(programs, users="read", disturbs=True),
        *(closed(state, users="read", content="nothing") if network.is_flannel else []),
    ]


def _plugins(settings: CniSettings) -> list[ResourceMapping]:
    artifact = settings.downloads.artifact(
        "cni-plugins", settings.plugins_version, url=settings.plugins_url, sha256=settings.plugins_sha256
    )
    programs = ["host-local.exe", "win-bridge.exe", "win-overlay.exe"]
    # The plugins set up the network of every new pod, so they are replaced only while the node is drained.
    archive = unpacked(
        artifact, "CNI plugins", destination=settings.bin_dir, members=programs, check=programs, disturbs=True
    )
    return [artifact, archive]


def _flannel(settings: CniSettings) -> list[ResourceMapping]:
    flannel = settings.downloads.artifact(
        "flannel", settings.flannel_version, url=settings.flannel_url, sha256=settings.flannel_sha256
    )
    plugin = settings.downloads.artifact(
        "flannel-cni-plugin",
        settings.flannel_plugin_version,
        url=settings.flannel_plugin_url,
        sha256=settings.flannel_plugin_sha256,
    )
    return [
        flannel,
        plugin,
        unpacked(
            flannel,
            settings.flannel_dir,
            members=["flanneld.exe"],
            check=["flanneld.exe"],
            stops=["kube-proxy", "flanneld"] if settings.network.is_docker else [],
        ),
        unpacked(
            plugin,
            "flannel's CNI plugin",
            destination=settings.bin_dir,
            members=["flannel-amd64.exe"],
            renames={"flannel-amd64.exe": "flannel.exe"},
            check=["flannel.exe"],
            disturbs=True,
        ),
    ]
