# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of role cni: the CNI plugins, and flannel's programs; and what flannel and the plugins read."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..resources.directory import closed
from .downloads import Downloads, Proxy, Resource, unpacked
from .services import DOCKER_RUNTIMES
from .variables import Variables

ROLE = "cni"
NOTE = "C:\\ProgramData\\winkube\\cni.json"
"""What the node has noted of its network. Where it differs from what it will note, the former network has to go."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PodNetwork:
    """The network of the cluster's pods, as the variables `cni_*` say."""

    plugin: str
    flannel_backend: str
    pods_subnet: str
    services_subnet: str
    is_docker: bool
    """Docker runs no HostProcess containers: flanneld and kube-proxy are services of the node there."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> PodNetwork:
        """Reads the role's variables, and the runtime, which is one choice of the whole site.

        Args:
            variables: of the host.
            prefix: of the role's variables.

        Returns:
            The network.
        """
        return variables.fields(cls, prefix, is_docker=variables.runtime in DOCKER_RUNTIMES)

    @property
    def is_flannel(self) -> bool:
        """Whether the collection sets the network up."""
        return self.plugin == "flannel"

    @property
    def is_overlay(self) -> bool:
        """Whether packets between nodes are wrapped (VXLAN)."""
        return self.is_flannel and self.flannel_backend == "vxlan"

    @property
    def has_services(self) -> bool:
        """Whether flanneld and kube-proxy are services of the node, and not pods."""
        return self.is_docker and self.is_flannel

    @property
    def name(self) -> str:
        """Its name on the node; that of VXLAN has the network's number in it."""
        return "cbr0" if self.flannel_backend == "host-gw" else "flannel.4096"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CniSettings:
    """The variables `cni_*`; see the role's argument specification."""

    plugins_version: str
    plugins_url: str
    plugins_sha256: str
    flannel_version: str
    flannel_url: str
    flannel_sha256: str
    flannel_plugin_version: str
    flannel_plugin_url: str
    flannel_plugin_sha256: str
    bin_dir: str
    conf_dir: str
    flannel_dir: str
    network: PodNetwork
    downloads: Downloads

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> CniSettings:
        """Reads the role's variables.

        Args:
            variables: of the host.
            prefix: of the role's variables.

        Returns:
            The settings.
        """
        # The role has one variable for the proxy, since it has downloads only.
        proxy = Proxy.for_downloads(variables, prefix)
        return variables.fields(cls, prefix, downloads=variables.fields(Downloads, prefix, proxy=proxy))


def resources(settings: CniSettings) -> list[Resource]:
    """Returns what a node's network needs before the node joins.

    Args:
        settings: the role's variables.

    Returns:
        The resources, in the order in which they are made.

    Raises:
        ArtifactError: a variable has a value that cannot be.
    """
    return [*_folders(settings), *_plugins(settings), *(_flannel(settings) if settings.network.is_flannel else [])]


def net_conf(network: PodNetwork) -> dict[str, t.Any]:
    """Returns flannel's net-conf.json (flannel Documentation/configuration.md and Documentation/backends.md).

    Args:
        network: of the pods.
    """
    backend: dict[str, t.Any] = {"Name": network.name, "Type": "host-gw"}
    if network.flannel_backend != "host-gw":
        # On Windows VXLAN has these values only (flannel Documentation/backends.md).
        backend = {"Name": network.name, "Type": "vxlan", "VNI": 4096, "Port": 4789}
    return {"Network": network.pods_subnet, "Backend": backend}


def cni_conf(network: PodNetwork) -> dict[str, t.Any]:
    """Returns the configuration of flannel's CNI plugin.

    Docker gives its containers no HCN namespace, which version 2 of the plugins' API expects: there the policies have
    HNS' older form (containernetworking/plugins win-bridge/sample-v1.conf and win-overlay/sample.conf).

    Args:
        network: of the pods.
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
    """Returns what tells a node's network from another: when it changes, the former one has to go.

    Args:
        network: of the pods.
    """
    if not network.is_flannel:
        return {"plugin": network.plugin, "backend": "", "network": ""}
    return {"plugin": network.plugin, "backend": network.flannel_backend, "network": network.name}


def noted(network: PodNetwork) -> Resource:
    """Returns the note of a node's network.

    Args:
        network: of the pods.

    Returns:
        A resource of type File.
    """
    # Where flannel and kube-proxy are services, that has to be known when the node gets another runtime.
    note: dict[str, t.Any] = {**identity(network), **({"services": True} if network.has_services else {})}
    return {"type": "File", "name": NOTE, "content": as_line(note)}


def described(network: PodNetwork) -> dict[str, t.Any]:
    """Returns all that other tasks read of a network: its name, its configuration, its identity and its note.

    Args:
        network: of the pods.
    """
    return {
        "name": network.name,
        "net_conf": net_conf(network),
        "cni_conf": cni_conf(network),
        "identity": identity(network),
        "note": noted(network),
    }


def as_line(value: t.Mapping[str, t.Any]) -> str:
    """Returns JSON on one line, with its keys in order.

    Args:
        value: as JSON knows it.
    """
    return json.dumps(value, sort_keys=True) + "\n"


def _folders(settings: CniSettings) -> list[Resource]:
    """Closed before anything is written there: the plugins find their network in them, and the addresses in use."""
    network = settings.network
    programs = [settings.bin_dir, settings.conf_dir, *([settings.flannel_dir] if network.is_flannel else [])]
    state = ["C:\\run\\flannel", "C:\\var\\lib\\cni", *(["C:\\etc\\kube-flannel"] if network.is_docker else [])]
    return [
        *closed(programs, users="read", disturbs=True),
        *(closed(state, users="read", content="nothing") if network.is_flannel else []),
    ]


def _plugins(settings: CniSettings) -> list[Resource]:
    artifact = settings.downloads.artifact(
        "cni-plugins", settings.plugins_version, url=settings.plugins_url, sha256=settings.plugins_sha256
    )
    programs = ["host-local.exe", "win-bridge.exe", "win-overlay.exe"]
    # Every new pod's network is made by them: a node gets others while it is drained.
    archive = unpacked(
        artifact, "CNI plugins", destination=settings.bin_dir, members=programs, check=programs, disturbs=True
    )
    return [artifact, archive]


def _flannel(settings: CniSettings) -> list[Resource]:
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
