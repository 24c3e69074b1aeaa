# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources with which the cni role installs a node's pod network, records it, and removes a former network."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.addresses import DEFAULT_DNS_DOMAIN
from ..pod_networks.addresses import reachable_dns
from ..pod_networks.catalogue import KnownNetwork, Mode, Program, network
from ..pod_networks.network import PodNetwork, cluster_mode, images
from ..pod_networks.settings import ClusterSettings, NetworkSettings
from ..resources.archive import record_of
from ..resources.directory import closed
from ..role_variables.cni import CniProgramVariables, PodNetworkVariables
from ..values.versions import Version
from ..windows import node_paths
from ..windows.azure_platform import platform
from .downloads import Downloads, ResourceMapping, unpacked
from .services import DOCKER_RUNTIMES
from .variables import Variables

ROLE = "cni"
_WIRE_SERVER_RULE = "winkube-azure-wireserver"
_SYSTEM = "S-1-5-18"
_ROUTER = "BGP"


def pod_network(variables: Variables, *, in_azure: bool | None = None) -> PodNetwork:
    """Return the pod network that a host's variables describe.

    Args:
        variables: the host's variables.
        in_azure: whether the network is for machines in Azure; None to use the value that this host reported.

    Raises:
        ResourceError: a variable is invalid.
    """
    values = variables.read(PodNetworkVariables, ROLE)
    known = network(values.plugin)
    mode = str(getattr(values, known.mode_variable)) if known.mode_variable else next(iter(known.modes))
    mode = mode or cluster_mode(known, linux_facts(known, variables), variables.templates.of_cluster)
    known_azure = in_azure is not None or variables.has("winkube_node_information", "azure")
    if in_azure is None:
        in_azure = bool(variables.part("winkube_node_information", "azure", default=False))
    return PodNetwork(
        NetworkSettings(
            plugin=values.plugin,
            mode=mode,
            run_as=values.run_as,
            is_docker=variables.runtime in DOCKER_RUNTIMES,
            pods_subnet=values.pods_subnet,
            services_subnet=values.services_subnet,
            cluster_dns=_cluster_dns(variables),
            dns_domain=str(variables.part("winkube_cluster", "dns_domain", default="") or DEFAULT_DNS_DOMAIN),
            kubernetes=_kubernetes(variables),
            block_wireserver=values.block_wireserver == "always" or (in_azure and values.block_wireserver == "auto"),
            blocks_in_azure=values.block_wireserver == "auto" and not known_azure,
            block_imds=values.block_imds,
            vnet_subnets=values.azure_vnet_subnets,
        )
    )


def _cluster_dns(variables: Variables) -> tuple[str, ...]:
    """Return the cluster DNS addresses that Windows pods use, or an empty tuple if they are unknown."""
    if replaced := variables.optional("kubernetes_node_cluster_dns", ()):
        return tuple(replaced)
    configured = variables.part("winkube_cluster", "cluster_dns", default=())
    service = str(variables.part("winkube_cluster", "dns_service", default=""))
    return tuple(reachable_dns(configured, service) or configured)


def linux_facts(known: KnownNetwork, variables: Variables) -> t.Mapping[str, t.Any]:
    """Return facts about a pod network on the cluster's Linux nodes, or an empty mapping if there are none.

    Args:
        known: the pod network.
        variables: the host's variables.
    """
    facts = variables.part("winkube_cluster", known.linux, default={}) if known.linux else {}
    return t.cast("t.Mapping[str, t.Any]", facts)


def _kubernetes(variables: Variables) -> str:
    """Return the version of Kubernetes on the node, or an empty string if it is unknown."""
    version = str(variables.optional("kubernetes_node_version"))
    try:
        return str(Version.parse(version))
    except ValueError:
        return ""


def folders(variables: Variables) -> dict[str, str]:
    """Return the folders of the pod network's programs, by variable name without the prefix `cni_`.

    Args:
        variables: the host's variables.
    """
    programs = network(str(variables.value("cni_plugin"))).programs.values()
    return {name: str(variables.value(f"{ROLE}_{name}")) for name in {one.destination for one in programs}}


def cluster_settings(variables: Variables) -> ClusterSettings:
    """Return the settings from which the pod network's objects in the cluster are built.

    Args:
        variables: the variables of the host that applies the objects on behalf of all hosts.
    """
    image_variables = (
        *("flannel_image", "kube_proxy_image", "host_process_image"),
        *("calico_image_repo", "calico_cni_image", "calico_node_image"),
    )
    known = network(str(variables.value("cni_plugin")))
    archive = known.image_archive
    return ClusterSettings(
        api_server=str(variables.value("cni_api_server")),
        conf_dir=str(variables.value("cni_conf_dir")),
        folders={**folders(variables), "bin_dir": str(variables.value("cni_bin_dir"))},
        linux=linux_facts(known, variables),
        version="" if archive is None else str(variables.value(f"{ROLE}_{archive.variables}_version")),
        install_dir=str(variables.optional("kubernetes_node_install_dir", "C:\\k")),
        images={name: str(variables.value(f"{ROLE}_{name}")) for name in image_variables},
        cluster_cidr=str(
            variables.part("winkube_cluster", "pod_subnet", default="") or variables.value(f"{ROLE}_pods_subnet")
        ),
        kube_proxy_configuration=variables.optional("winkube_kube_proxy_configuration", {}),
    )


def network_images(variables: Variables) -> list[str | ResourceMapping]:
    """Return the container images that the pod network needs, in the form of the image_cache role's lists.

    Args:
        variables: the host's variables.
    """
    archive = image_archive(variables)
    names = images(pod_network(variables).settings, cluster_settings(variables))
    return [name if archive is None else {"name": name, "archive": archive["path"]} for name in names]


def image_archive(variables: Variables) -> ResourceMapping | None:
    """Return the artifact with the pod network's images, or None if no image is needed or the user sets no URL.

    Args:
        variables: the host's variables.

    Raises:
        ArtifactError: a variable is invalid.
    """
    known = network(str(variables.value("cni_plugin"))).image_archive
    url = "" if known is None else str(variables.value(f"{ROLE}_{known.variables}_url"))
    cluster = cluster_settings(variables) if url else None
    if known is None or cluster is None or not images(pod_network(variables).settings, cluster):
        return None
    sha256 = str(variables.value(f"{ROLE}_{known.variables}_sha256"))
    downloads = Downloads.of_downloading_role(variables, ROLE)
    return downloads.artifact(known.artifact, cluster.network_version, url=url, sha256=sha256)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CniSettings(CniProgramVariables):
    """The settings of a node's pod network: the `cni_*` variables, and values that are derived from variables."""

    network: PodNetwork
    block_wireserver: t.Literal["auto", "always", "never"]
    downloads: Downloads
    image_archive: ResourceMapping | None = None
    """The artifact with the pod network's container images; None if they come from a registry."""

    @classmethod
    def of(cls, variables: Variables, prefix: str) -> CniSettings:
        """Return the role's settings, which are read from the host's variables.

        Args:
            variables: the host's variables.
            prefix: prefix of the role's variables.
        """
        network, archive = pod_network(variables), image_archive(variables)
        return variables.fields(
            cls,
            prefix,
            downloads=Downloads.of_downloading_role(variables, prefix),
            network=network,
            image_archive=archive,
        )


def resources(settings: CniSettings) -> list[ResourceMapping]:
    """Return the resources that a node's pod network needs before the node joins the cluster.

    Args:
        settings: the role's variables.

    Returns:
        The resources, in the order in which they are applied.

    Raises:
        ArtifactError: a variable is invalid.
    """
    programs = settings.network.known.programs
    unpacks = [_unpacks(settings, kind, program) for kind, program in programs.items()]
    return [
        *_features(settings.network.mode),
        *_folders(settings),
        *(one for pair in unpacks for one in pair),
        *([] if settings.image_archive is None else [settings.image_archive]),
        *_registry(settings.network),
        *_host_firewall(settings),
    ]


def _features(mode: Mode) -> list[ResourceMapping]:
    """Return resources for the Windows features that a pod network's mode needs, and for its router if it has one.

    After the installation of the last feature, the node always reboots.
    """
    features: list[ResourceMapping] = [{"type": "WindowsFeature", "name": name} for name in mode.features]
    if features:
        features[-1] = {**features[-1], "reboot": "always"}
    return [*features, *([{"type": "RemoteAccessRouting", "name": _ROUTER}] if mode.routing else [])]


def noted(network: PodNetwork) -> ResourceMapping:
    """Return the resource that records on a node which pod network the node has.

    Args:
        network: the pod network.

    Returns:
        A resource of type File.
    """
    return {"type": "File", "name": node_paths.NETWORK_RECORD, "content": network.record_text()}


def former_remains(former: KnownNetwork, mode: str, network: PodNetwork, variables: Variables) -> list[ResourceMapping]:
    """Return the resources that remove a node's former pod network and its router (see `remains`).

    The executables of the former network's pods are kept, because Windows cannot delete an executable while it runs,
    and a pod may take a long time to terminate. Services are not restarted, because a restart of HNS would remove all
    endpoints of pods. It would also remove a new network that does not persist, such as flannel's overlay. Source:
    flannel-io/flannel, pkg/backend/vxlan/device_windows.go (EnableNonPersistent).

    Args:
        former: the former pod network.
        mode: the mode of the former pod network; empty if unknown.
        network: the new pod network.
        variables: the host's variables.
    """
    router = _former_router(former.modes.get(mode), network, variables)
    return [*([] if former.name == network.known.name else remains(former, network, variables)), *router]


def remains(former: KnownNetwork, network: PodNetwork, variables: Variables) -> list[ResourceMapping]:
    """Return the resources that remove a network's CNI plugins, firewall rules and registry entries from a node.

    Everything that the preparation of the node for `network` installs is kept. If `former` is the same network, only
    what the network's pods installed is removed.

    Args:
        former: the network to remove.
        network: the pod network that the host's variables describe.
        variables: the host's variables.
    """
    kept = {name for one in network.known.programs.values() for name in one.check}
    plugins = [name for one in former.programs.values() if one.destination == "bin_dir" for name in one.check]
    plugins += former.files.installed
    bin_dir = str(variables.value(f"{ROLE}_bin_dir"))
    records = [
        record_of(bin_dir, one.title)
        for kind, one in former.programs.items()
        if one.destination == "bin_dir" and kind not in network.known.programs
    ]
    values = {(one.key, one.value_name) for one in network.known.registry}
    return [
        *(
            {"type": "Registry", "key": one.key, "value_name": one.value_name, "state": "absent"}
            for one in former.registry
            if (one.key, one.value_name) not in values
        ),
        *({"type": "File", "name": f"{bin_dir}\\{name}", "state": "absent"} for name in plugins if name not in kept),
        *({"type": "Directory", "name": path, "state": "absent"} for path in records),
        *({"type": "FirewallRule", "name": name, "state": "absent"} for name in former.files.firewall_rules),
        *({"type": "Registry", "key": key, "state": "absent"} for key in former.files.registry_keys),
    ]


def _former_router(mode: Mode | None, network: PodNetwork, variables: Variables) -> list[ResourceMapping]:
    """Return the resource that removes a former mode's router and features, or an empty list if none is needed."""
    if mode is None or not mode.routing or network.mode.routing:
        return []
    kept = {str(name).lower() for name in variables.optional("windows_features_names", ())}
    features = [name for name in mode.features if name.lower() not in kept]
    return [{"type": "RemoteAccessRouting", "name": _ROUTER, "features": features, "state": "absent"}]


def described(network: PodNetwork) -> dict[str, t.Any]:
    """Return the properties of a pod network for use in the tasks of roles.

    Args:
        network: the pod network.
    """
    name, configuration = network.cni_configuration() or (network.files.configuration, {})
    return {
        "name": network.name,
        "is_managed": network.is_managed,
        "is_overlay": network.is_overlay,
        "needs_pod_cidr": network.needs_pod_cidr,
        "needs_overlay_address": network.needs_overlay_address,
        "runs_as_services": network.runs_as_services,
        "runs_as_pods": network.runs_as_pods,
        "conf_file": name,
        "cni_conf": configuration,
        "accounts": network.accounts,
        "identity": network.identity(),
        "note": noted(network),
    }


def _folders(settings: CniSettings) -> list[ResourceMapping]:
    """Return resources that restrict access to the folders of the pod network's programs and state."""
    network = settings.network
    programs = [getattr(settings, program.destination) for program in network.known.programs.values()]
    state = [*network.files.folders, *(network.files.service_folders if network.runs_as_services else ())]
    return [
        *closed([settings.bin_dir, settings.conf_dir, *programs], users="read", disrupts=True),
        *closed(state, users="read", content="nothing"),
    ]


def _registry(network: PodNetwork) -> list[ResourceMapping]:
    """Return resources for the pod network's registry values, with the services that a changed value restarts."""
    return [
        {
            "type": "Registry",
            "key": one.key,
            "value_name": one.value_name,
            "value": one.value,
            "restarts": list(one.restarts),
        }
        for one in network.known.registry
    ]


def _host_firewall(settings: CniSettings) -> list[ResourceMapping]:
    """Return the firewall rule that denies programs on the host access to Azure's WireServer.

    It also covers HostProcess containers, to which the ACLs of pods do not apply. SYSTEM (Azure's agents) and
    cloudbase-init are exempt, because otherwise machines do not come online (kubernetes-sigs/image-builder#719).
    """
    if not settings.network.is_managed:
        return []
    known = platform()
    rule = {"type": "FirewallRule", "name": _WIRE_SERVER_RULE}
    if settings.block_wireserver == "never":
        return [{**rule, "state": "absent"}]
    return [
        {
            **rule,
            "display_name": "Azure WireServer",
            "description": "Closes Azure's WireServer to programs other than the agents of the platform",
            "direction": "Outbound",
            "action": "Block",
            "protocol": "TCP",
            "remote_addresses": [known.wire_server.address],
            "remote_ports": [str(port) for port in known.host_ports],
            "except_users": [_SYSTEM, known.boot_user],
            **({"platform": "azure"} if settings.block_wireserver == "auto" else {}),
        }
    ]


def _unpacks(settings: CniSettings, kind: str, program: Program) -> tuple[ResourceMapping, ResourceMapping]:
    """Return the artifact that contains programs of the pod network, and the Archive resource that unpacks it."""
    version, url, sha256 = (
        str(getattr(settings, f"{program.variables}_{what}")) for what in ("version", "url", "sha256")
    )
    destination = str(getattr(settings, program.destination))
    artifact = settings.downloads.artifact(kind, version, url=url, sha256=sha256)
    archive = unpacked(
        artifact,
        program.title or destination,
        **({"destination": destination} if program.title else {}),
        members=list(program.members),
        **({"renames": dict(program.renames)} if program.renames else {}),
        check=list(program.check),
        **({"disrupts": True} if program.disrupts else {}),
        **({"stops": list(program.stops) if settings.network.runs_as_services else []} if program.stops else {}),
    )
    return artifact, archive
