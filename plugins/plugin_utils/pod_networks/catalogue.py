# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Facts about each pod network: its modes, programs, files and limits (one file per network in data/networks)."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing as t

from ..specification.convert import to_dataclass
from ..values.errors import ResourceError
from ..values.versions import Version, within
from . import network_data

NAMES = ("flannel", "calico", "azure", "sdnbridge", "sdnoverlay", "none")
"""The values of `cni_plugin`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubeProxyRules:
    """Settings that kube-proxy needs for a network."""

    source_vip: t.Literal["none", "host-local", "network-endpoint"]
    """Origin of kube-proxy's source address: `none` (none is needed), `host-local` (the last address of the node's pod
    CIDR, which is reserved in host-local) or `network-endpoint` (the address of an HNS endpoint that the network
    creates)."""
    dsr: bool
    """Whether direct server return is turned on."""
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Patches:
    """The oldest cumulative update with which a mode works on one version of Windows."""

    ubr: int
    """Update build revision: the fourth part of the Windows version number."""
    update: str
    """The update that installs this revision, such as KB5066835."""
    reason: str
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mode:
    """A mode of a pod network."""

    hns_type: t.Literal["L2Bridge", "Overlay", ""]
    """Type of the pods' HNS network; empty if it is unknown because another tool creates the network."""
    hns_network: str
    """Name of the pods' HNS network."""
    other_networks: tuple[str, ...] = ()
    """Names of further HNS networks that belong to this pod network."""
    is_overlay: bool
    """Whether packets between nodes are encapsulated (VXLAN)."""
    kube_proxy: KubeProxyRules | None = None
    """Settings that kube-proxy needs in this mode, or None if another tool runs kube-proxy."""
    fixed: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Settings that have only one possible value on Windows, such as the VXLAN network identifier (`vni`)."""
    mtu_overhead: int = 0
    """Number of bytes that the encapsulation adds to each packet."""
    other_subnets: str = ""
    """Advice on what to use instead if nodes are in several subnets, because this mode's routes cannot cross subnets.
    Empty if the mode works across subnets."""
    features: tuple[str, ...] = ()
    """Windows features that this mode needs. They work only after a reboot."""
    routing: bool = False
    """Whether this mode needs Windows' own router, which is part of Remote Access."""
    flannel_backend: t.Literal["host-gw", "vxlan", ""] = ""
    """The backend with which flanneld creates the HNS network; empty if flanneld is not used."""
    delegate: str = ""
    """The CNI plugin that flannel's CNI plugin calls."""
    patches: t.Mapping[str, Patches] = dataclasses.field(default_factory=dict)
    """Maps versions of Windows Server to the oldest update with which this mode works. Other versions need none."""
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Program:
    """Programs that are unpacked from one artifact."""

    title: str
    """Name of the resource that unpacks the artifact. If it is empty, the resource is named after its folder."""
    variables: str
    """The X in the names of the variables for version, URL and checksum, such as `cni_X_version`."""
    destination: str
    """Name of the variable for the programs' folder, without the prefix `cni_`: `bin_dir` for CNI plugins."""
    members: tuple[str, ...]
    renames: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    check: tuple[str, ...]
    """File names of the programs after unpacking."""
    disrupts: bool = False
    """Whether the programs are replaced only while the node is drained. This applies to CNI plugins, for example,
    because every new pod needs them."""
    stops: tuple[str, ...] = ()
    """Services to stop, in this order, before these programs are replaced, if the network runs as services."""
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkFiles:
    """The files and folders of a pod network on the node, except its programs."""

    configuration: str = ""
    """Name of the CNI configuration file."""
    folders: tuple[str, ...] = ()
    """Folders of the network's state that only administrators may change."""
    service_folders: tuple[str, ...] = ()
    """Folders with restricted access that exist only while the network runs as services."""
    service_logs: tuple[str, ...] = ()
    """Folders of the services' logs, which are removed with the services."""
    service_files: tuple[str, ...] = ()
    """Files that only the network's services read, such as their kubeconfigs. They are removed with the services."""
    state: tuple[str, ...] = ()
    """State files and folders that must be removed with the network."""
    beside: tuple[str, ...] = ()
    """Files in the folder of CNI configurations that must be removed with the network."""
    installed: tuple[str, ...] = ()
    """Programs that a container of the network installs in the folder of CNI plugins. They are removed with the
    network."""
    registry_keys: tuple[str, ...] = ()
    """Registry keys that must be removed with the network."""
    firewall_rules: tuple[str, ...] = ()
    """Names of firewall rules that must be removed with the network."""
    config_maps: tuple[str, ...] = ()
    """ConfigMaps (`NAMESPACE/NAME`) that are removed with the network's DaemonSets."""
    annotations: tuple[str, ...] = ()
    """Annotations of the node that must be removed with the network."""
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Span:
    """A range of minor versions of Kubernetes, including both ends."""

    oldest: str
    newest: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Support:
    """The versions and container runtimes with which a network works."""

    kubernetes: Span | None = None
    """Supported versions of Kubernetes, or None if the network supports all versions that the collection supports."""
    windows: tuple[str, ...]
    """Supported versions of Windows Server."""
    runtimes: tuple[str, ...]
    """Supported container runtimes: containerd or docker."""
    reason: str = ""
    """A sentence that says why other versions and runtimes are not supported."""
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageArchiveKind:
    """An archive of the network's container images. Nodes can load it instead of pulling images from a registry."""

    artifact: str
    """The archive's kind in the catalogue of artifacts."""
    variables: str
    """The X in the names of the variables for version, URL and checksum, such as `cni_X_version`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegistryValue:
    """A registry value of a node. When it changes, the services that read it restart."""

    key: str
    value_name: str
    value: str
    restarts: tuple[str, ...]
    """Services that read the value when they start."""
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkRelease:
    """Properties of a network's releases, from the release `since` until the next release that has an entry."""

    since: str
    """The first release to which the entry applies."""
    cni_version: str
    """Version of the CNI specification in the network's configuration."""
    single_program: bool = False
    """Whether the network's container images contain one program instead of one for each task."""
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class BrokenReleases:
    """Releases of a network that do not work on Windows in some modes."""

    modes: tuple[str, ...]
    since: str
    before: str
    """The first release that works again."""
    reason: str
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownNetwork:
    """A pod network: one of the plugins that `cni_plugin` can select."""

    name: str
    title: str
    """The network's name in messages."""
    mode_variable: str = ""
    """The variable that selects the mode, without the prefix `cni_`; empty if there is only one mode."""
    mode_of_cluster: bool = False
    """Whether the mode of the cluster's Linux nodes is used if the mode variable is empty."""
    linux: str = ""
    """Key in cluster_info's result for the facts about the network on Linux nodes; empty if there are none."""
    modes: t.Mapping[str, Mode]
    is_managed: bool
    """Whether this collection installs the network; otherwise another tool installs it."""
    needs_pod_cidr: bool
    """Whether a node can use the network only after the cluster has assigned a pod CIDR to it (`spec.podCIDR`)."""
    pods_in_node_network: bool = False
    """Whether pods have addresses in the nodes' network."""
    needs_azure: bool = False
    """Whether the network works only on Azure virtual machines, whose network interfaces provide pods' addresses."""
    programs: t.Mapping[str, Program]
    """Maps kinds of artifacts to the network's programs in these artifacts, in the order of installation."""
    files: NetworkFiles
    run_as: tuple[t.Literal["daemonset", "service"], ...]
    """How the network's programs and kube-proxy may run: as pods of a DaemonSet, or as services. Empty if another tool
    runs them."""
    services: tuple[str, ...] = ()
    """The network's services, without kube-proxy. Services that depend on other services come first."""
    supported: Support
    drive: str = ""
    """The drive that must contain CNI plugins and configurations, such as `C:`; empty if any drive works."""
    image_archive: ImageArchiveKind | None = None
    """The archive of the network's container images, or None if the network has no images."""
    oldest_version: str = ""
    """The oldest version of the network that works on Windows; empty if this collection chooses the version."""
    releases: tuple[NetworkRelease, ...] = ()
    """Differences between the network's releases, from the oldest to the newest."""
    broken: tuple[BrokenReleases, ...] = ()
    needs_node_label: bool = False
    """Whether the network's DaemonSet runs only on nodes with the winkube.node/pod-network label."""
    registry: tuple[RegistryValue, ...] = ()
    """Registry values that the network needs."""
    has_access_lists: bool = True
    """Whether this collection writes the CNI configuration, and can therefore block containers' access to Azure
    services."""
    purpose: t.Literal["flannel", "calico", "kube_proxy"] = "kube_proxy"
    """Access purpose (see module_utils/cluster_access.py) for applying the DaemonSets of the network and kube-proxy."""
    read_purpose: str = ""
    """Purpose of the cluster access that reads the network's state on Linux nodes; empty if `read` suffices."""
    requested_purposes: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The access purpose for each change that a variable requests, by the variable's name without `cni_`."""
    policy: tuple[t.Literal["azure", "calico"], ...] = ()
    """The network policy engines that work with the network."""
    refused_policies: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Maps each network policy engine that is not in `policy` to the reason why the network does not work with it."""

    def mode(self, name: str) -> Mode:
        """Return a mode of the network.

        Args:
            name: the mode's name.

        Raises:
            ResourceError: the network has no such mode.
        """
        if name not in self.modes:
            where = f"cni_{self.mode_variable}" if self.mode_variable else "mode"
            raise ResourceError(where, name, f"expected {' or '.join(self.modes)} with {self.title}")
        return self.modes[name]

    def release(self, version: str) -> NetworkRelease:
        """Return the properties of a release of the network.

        Args:
            version: the version. If it is malformed or too old, the properties of the oldest release are returned.
        """
        try:
            parsed_version = Version.parse(version)[:3]
        except ValueError:
            return self.releases[0]
        known = [one for one in self.releases if Version.parse(one.since)[:3] <= parsed_version]
        return known[-1] if known else self.releases[0]

    def broken_release(self, version: str, mode: str) -> BrokenReleases | None:
        """Return the entry that says why a release does not work in a mode, or None if no problem is known.

        Args:
            version: the network's version.
            mode: the mode.

        Raises:
            ValueError: the version is not a full version such as 1.2.3.
        """
        parsed_version = Version.parse(version)[:3]
        for one in self.broken:
            span = (Version.parse(one.since)[:3], Version.parse(one.before)[:3])
            if mode in one.modes and span[0] <= parsed_version < span[1]:
                return one
        return None

    def working_release(self, version: str, mode: str) -> str:
        """Return the oldest release that works in a mode and is not older than the given version.

        Args:
            version: the network's version.
            mode: the mode.

        Raises:
            ValueError: the version is not a full version such as 1.2.3.
        """
        broken = self.broken_release(version, mode)
        return version if broken is None else self.working_release(broken.before, mode)

    def support_problem(self, *, kubernetes: str, windows: str, runtime: str) -> str | None:
        """Return an error message if the network does not support a version or the runtime, or None if it does.

        Args:
            kubernetes: version of Kubernetes; empty if unknown.
            windows: version of Windows Server, such as 2022; empty if unknown.
            runtime: `containerd` or `docker`.
        """
        supported, span = self.supported, self.supported.kubernetes
        if runtime not in supported.runtimes:
            return f"expected the container runtime {' or '.join(supported.runtimes)} with {self.title}"
        if windows and windows not in supported.windows:
            return f"expected Windows Server {' or '.join(supported.windows)} with {self.title}"
        if kubernetes and span is not None:
            minor = Version.parse(kubernetes).minor_version
            if not within(minor, {"oldest": span.oldest, "newest": span.newest}):
                return f"expected Kubernetes {span.oldest} to {span.newest} with {self.title}"
        return None

    def patch_problem(self, mode: str, *, windows: str, ubr: int) -> str | None:
        """Return an error message if the node lacks patches that a mode needs, or None if it has them.

        Args:
            mode: name of the mode; empty if it is not known yet.
            windows: version of Windows Server, such as 2025.
            ubr: update build revision of the node.
        """
        needed = self.modes[mode].patches.get(windows) if mode in self.modes else None
        if needed is None or ubr >= needed.ubr:
            return None
        return (
            f"Windows Server {windows} has the update build revision {ubr}, expected {needed.ubr} ({needed.update}) or "
            f"newer with {self.title}. {needed.reason}"
        )


@functools.cache
def catalogue() -> t.Mapping[str, KnownNetwork]:
    """Map the name of each pod network to the facts about the network.

    Raises:
        ResourceError: a data file has an unknown or missing key, a value of the wrong type, the wrong name, or a
            mode_variable that does not fit the number of modes.
    """
    return types.MappingProxyType({name: parsed(name, network_data.text_of(name)) for name in NAMES})


def network(name: str) -> KnownNetwork:
    """Return the facts about a pod network.

    Args:
        name: value of `cni_plugin`.

    Raises:
        ResourceError: there is no such network.
    """
    if name not in catalogue():
        raise ResourceError("cni_plugin", name, f"expected one of {', '.join(NAMES)}")
    return catalogue()[name]


def parsed(name: str, text: str) -> KnownNetwork:
    """Return a network from the text of its data file.

    Args:
        name: the expected name.
        text: the file's text, which is YAML.

    Raises:
        ResourceError: the data file is invalid, or is for a network with another name.
    """
    where = f"data/networks/{name}.yml"
    loaded = t.cast("KnownNetwork", to_dataclass(KnownNetwork, network_data.content(text), where))
    if loaded.name != name:
        raise ResourceError(f"{where}.name", loaded.name, f"expected {name}")
    if bool(loaded.mode_variable) == (len(loaded.modes) == 1):
        raise ResourceError(
            f"{where}.mode_variable", loaded.mode_variable, "expected a name if, and only if, there are several modes"
        )
    return loaded
