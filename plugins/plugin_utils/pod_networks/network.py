# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The class that describes a node's pod network to other packages. Each network's rules have a separate module."""

from __future__ import annotations

import dataclasses
import types
import typing as t

from . import cni_setup, kube_proxy, kube_proxy_pods
from .azure import AzureCni
from .calico import Calico
from .catalogue import KnownNetwork, Mode, NetworkFiles
from .flannel import Flannel
from .rules import NetworkRules
from .sdn import SdnBridge, SdnOverlay
from .settings import (
    ClusterSettings,
    KubernetesObject,
    NetworkFile,
    NetworkService,
    NetworkSettings,
    NodeSettings,
    as_line,
    as_lines,
)

_RULES: t.Mapping[str, type[NetworkRules]] = types.MappingProxyType(
    {
        "flannel": Flannel,
        "calico": Calico,
        "azure": AzureCni,
        "sdnbridge": SdnBridge,
        "sdnoverlay": SdnOverlay,
        "none": NetworkRules,
    }
)


class PodNetwork:
    """A pod network: a CNI plugin in one of its modes, as the `cni_*` variables describe it.

    Args:
        settings: the values of these variables.

    Raises:
        ResourceError: the plugin has no such mode.
    """

    def __init__(self, settings: NetworkSettings) -> None:
        self.settings = settings
        self.rules = _RULES[settings.plugin](settings)
        self.known: KnownNetwork = settings.known
        self.mode: Mode = settings.known_mode

    @property
    def name(self) -> str:
        """Name of the pods' HNS network; empty if another tool creates the HNS network."""
        return self.mode.hns_network

    @property
    def is_overlay(self) -> bool:
        """Whether packets between nodes are encapsulated (VXLAN)."""
        return self.mode.is_overlay

    @property
    def is_managed(self) -> bool:
        """Whether this collection installs the network."""
        return self.known.is_managed

    @property
    def needs_pod_cidr(self) -> bool:
        """Whether a node can use the network only after the cluster has assigned a pod CIDR to it."""
        return self.known.needs_pod_cidr

    @property
    def needs_overlay_address(self) -> bool:
        """Whether kube-proxy's source address is known only after the network has started on the node."""
        rules = self.mode.kube_proxy
        return rules is not None and rules.source_vip == "network-endpoint"

    @property
    def pod_network_label(self) -> str:
        """Value of the node label that lets the network's DaemonSet run on the node; empty if no label is needed."""
        return self.settings.plugin if self.known.needs_node_label else ""

    @property
    def runs_as_services(self) -> bool:
        """Whether the network's programs and kube-proxy run as services on the node."""
        return self.settings.runs_as_services

    @property
    def runs_as_pods(self) -> bool:
        """Whether the network's programs and kube-proxy run as pods of DaemonSets."""
        return self.is_managed and not self.runs_as_services

    @property
    def node_label(self) -> str:
        """Value of the node label that keeps networks' DaemonSets off the node; empty if the label must be absent.

        Docker cannot run the DaemonSets' HostProcess containers, regardless of the node's network.
        """
        return "service" if self.runs_as_services or self.settings.is_docker else ""

    @property
    def files(self) -> NetworkFiles:
        """The network's files and folders on a node."""
        return self.known.files

    @property
    def accounts(self) -> list[str]:
        """The service accounts (`NAMESPACE/NAME`) whose tokens the services of the network and of kube-proxy use."""
        return [*self.rules.accounts, kube_proxy_pods.ACCOUNT] if self.runs_as_services else []

    def identity(self) -> dict[str, str]:
        """Return the identity of the node's network. If the identity changes, the previous network must be removed."""
        return {
            "plugin": self.settings.plugin,
            "mode": self.settings.mode if self.is_managed else "",
            "network": self.name,
        }

    def record(self) -> dict[str, t.Any]:
        """Return the node's record of its network: the identity, and whether the network runs as services.

        A later run reads this record, and removes services that are no longer needed.
        """
        return {**self.identity(), **({"services": True} if self.runs_as_services else {})}

    def record_text(self) -> str:
        """Return the content of the file that stores the record of the node's network."""
        return as_line(self.record())

    @property
    def writes_configuration(self) -> bool:
        """Whether playbooks write the CNI configuration on the node. Otherwise the network's pod or another tool does.

        If playbooks write this configuration for a network that runs as pods, kube-proxy's pod writes the same file on
        nodes that join by themselves.
        """
        return self.is_managed and (self.runs_as_services or self.rules.configured_on_node)

    def cni_configuration(self, internal_ip: str = "") -> tuple[str, dict[str, t.Any]] | None:
        """Return the name and content of the CNI configuration file.

        Args:
            internal_ip: address of the node in the cluster; empty if unknown.

        Returns:
            Name and content, or None if only the network's container or another tool can write the file.
        """
        configuration = self.rules.cni_configuration(internal_ip)
        return None if configuration is None else (self.files.configuration, configuration)

    def cni_configuration_in_azure(self, internal_ip: str = "") -> dict[str, t.Any] | None:
        """Return the content of the CNI configuration file on a machine in Azure.

        Args:
            internal_ip: address of the node in the cluster; empty if unknown.

        Returns:
            The content, or None if it is the same on all platforms or the machine's platform is already known.
        """
        if not self.settings.blocks_in_azure:
            return None
        blocking = dataclasses.replace(self.settings, block_wireserver=True, blocks_in_azure=False)
        return type(self.rules)(blocking).cni_configuration(internal_ip)

    def winkernel(self, pod_cidr: str, overlay_address: str = "") -> dict[str, t.Any]:
        """Return the `winkernel` section of kube-proxy's configuration.

        Args:
            pod_cidr: the node's pod CIDR.
            overlay_address: the node's address in the network's overlay; empty if unknown.

        Raises:
            ValueError: the pod CIDR is not a network, or too small for a Windows node, or `overlay_address` is not an
                IP address.
        """
        return kube_proxy.winkernel(self.mode, pod_cidr, overlay_address)

    def feature_gates(self) -> dict[str, bool]:
        """Return the feature gates that kube-proxy needs with this network."""
        return kube_proxy.feature_gates(self.mode, self.settings.kubernetes)

    def reservation(self, pod_cidr: str) -> tuple[str, str] | None:
        """Return the path and content of the file that reserves kube-proxy's address, or None if no file is needed.

        Args:
            pod_cidr: the node's pod CIDR.

        Raises:
            ValueError: the pod CIDR is not a network, or too small for a Windows node.
        """
        return kube_proxy.reservation(self.mode, pod_cidr)

    def cluster_objects(self, cluster: ClusterSettings) -> list[KubernetesObject]:
        """Return the Kubernetes objects that run the network and kube-proxy as pods.

        Args:
            cluster: the cluster.
        """
        if not self.is_managed:
            return []
        cni = self._configuration_by_pod(cluster) if self.rules.configured_on_node else None
        return [
            *self.rules.cluster_objects(cluster),
            *kube_proxy_pods.objects(cluster, self.mode, self.settings.kubernetes, cni),
        ]

    def _configuration_by_pod(self, cluster: ClusterSettings) -> NetworkFile | None:
        """Return the CNI configuration that kube-proxy's pod writes to the node after adding the node's address."""
        named = self.cni_configuration(cni_setup.ADDRESS)
        if named is None:
            return None
        name, configuration = named
        return NetworkFile(path=f"{cluster.conf_dir}\\{name}", content=as_lines(configuration))

    def service_files(self, node: NodeSettings) -> list[NetworkFile]:
        """Return the files that the network's services read.

        Args:
            node: the node.
        """
        return self.rules.files(node) if self.runs_as_services else []

    def services(self, node: NodeSettings) -> list[NetworkService]:
        """Return the network's services, without kube-proxy.

        Args:
            node: the node.
        """
        return self.rules.services(node) if self.runs_as_services else []


def cluster_mode(known: KnownNetwork, facts: t.Mapping[str, t.Any], of_cluster: t.Callable[[str], t.Any]) -> str:
    """Return a network's mode on the cluster's Linux nodes, or an empty string if the cluster does not determine it.

    Args:
        known: the network.
        facts: how the network is installed on Linux nodes, as cluster_info returns it; empty if unknown.
        of_cluster: function that returns a variable of the cluster, or an empty string if it is not set.
    """
    return _RULES[known.name].cluster_mode(facts, of_cluster) if known.mode_of_cluster else ""


def images(settings: NetworkSettings, cluster: ClusterSettings) -> list[str]:
    """Return the container images that a network's DaemonSets pull, except the base image of HostProcess containers.

    Images that the user sets for flannel and kube-proxy are not included.

    Args:
        settings: the network's variables.
        cluster: the cluster.
    """
    return _RULES[settings.plugin](settings).images(cluster)


def accounts(plugins: t.Iterable[str]) -> list[str]:
    """Return the service accounts (`NAMESPACE/NAME`) that pod networks and kube-proxy use when they run as services.

    Args:
        plugins: the pod networks (values of `cni_plugin`).
    """
    names = [name for plugin in plugins for name in (*_RULES[plugin].accounts, kube_proxy_pods.ACCOUNT)]
    return [*dict.fromkeys(names)]


def account_objects(plugins: t.Iterable[str]) -> list[KubernetesObject]:
    """Return the cluster objects that give service accounts to kube-proxy and to networks that run as services.

    Args:
        plugins: values of `cni_plugin`.
    """
    objects: list[KubernetesObject] = []
    for plugin in plugins:
        needed = [*_RULES[plugin].account_objects(), *kube_proxy_pods.account_objects()]
        objects += [one for one in needed if one not in objects]
    return objects


def former_account_objects(former: str, plugins: t.Iterable[str]) -> list[KubernetesObject]:
    """Return the objects to remove from the cluster: a former network's service account and what belongs to it.

    The list is empty if the account is still in use.

    Args:
        former: the former network; an unknown network has no account.
        plugins: the networks in use. Unknown networks, for example those of failed hosts, are ignored.
    """
    used = accounts(plugin for plugin in plugins if plugin in _RULES)
    if former not in _RULES or set(_RULES[former].accounts) & set(used):
        return []
    # Linux nodes may have flannel in the same namespace. The account goes last, so that nothing refers to it.
    objects = [one for one in _RULES[former].account_objects() if one["kind"] != "Namespace"]
    return [
        {
            "apiVersion": one["apiVersion"],
            "kind": one["kind"],
            "metadata": {key: one["metadata"][key] for key in ("namespace", "name") if key in one["metadata"]},
        }
        for one in sorted(objects, key=lambda one: one["kind"] == "ServiceAccount")
    ]


def daemon_sets(plugin: str) -> tuple[str, ...]:
    """Return the DaemonSets (`NAMESPACE/NAME`) of a network, without kube-proxy's.

    Args:
        plugin: a value of `cni_plugin`, for example from a node's record. An unknown value has no DaemonSets.
    """
    return _RULES[plugin].daemon_sets if plugin in _RULES else ()
