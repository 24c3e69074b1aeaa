# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the cni role which host changes the cluster, which labels nodes get, and what a new network replaces."""

from __future__ import annotations

import dataclasses
import types
import typing as t

from ...module_utils.node_labels import NETWORK_LABEL, RUN_AS_LABEL
from ..node_resources import cni
from ..node_resources.services import DOCKER_RUNTIMES, KUBE_PROXY
from ..node_resources.variables import Variables
from ..pod_networks.catalogue import catalogue
from ..pod_networks.linux_daemon_sets import Restricted
from ..pod_networks.mtu import linux_mtu
from ..pod_networks.network import account_objects, accounts, daemon_sets, former_account_objects
from ..windows.node_paths import HOST_LOCAL_ADDRESSES


def runs_as(plugin: str, run_as: str, runtime: str) -> str:
    """Return how a host's pod network runs: `daemonset`, `service`, or an empty string if another tool installs it.

    Args:
        plugin: value of `cni_plugin`.
        run_as: value of `cni_run_as`; empty if the host does not set it.
        runtime: value of `container_runtime`.
    """
    known = catalogue().get(plugin)
    if known is None or not known.is_managed:
        return ""
    return run_as or ("service" if runtime in DOCKER_RUNTIMES else "daemonset")


def first_host(hosts: t.Iterable[str], how: t.Callable[[str], str], expected: str) -> str:
    """Return the first host whose pod network runs in the expected way, or an empty string if there is none.

    Args:
        hosts: hosts in the play's order.
        how: function that returns `daemonset` or `service` for a host. It is called only until a host matches.
        expected: the expected way, `daemonset` or `service`.
    """
    return next((host for host in hosts if how(host) == expected), "")


def network_differs(recorded: t.Mapping[str, t.Any], expected: t.Mapping[str, t.Any]) -> bool:
    """Return whether the node has an unexpected pod network, which must be removed first.

    Args:
        recorded: the network in the node's record; empty if there is no record.
        expected: identity of the network that the variables describe.
    """
    # The network is the same whether flannel is a service or a pod.
    networks = [{key: value for key, value in one.items() if key != "services"} for one in (recorded, expected)]
    return bool(recorded) and networks[0] != networks[1]


def runs_of(host: Variables, name: str) -> tuple[str, str]:
    """Return the pod network of one of the play's hosts, and the way in which it runs (see `runs_as`).

    If the named host does not set `cni_plugin`, the value of the host for which the decision is made is used. Any
    other variable that the named host does not set has its default value.

    Args:
        host: the variables of the host for which the decision is made.
        name: name of the host whose network is returned.
    """
    own = str(host.value("cni_plugin"))
    if name == str(host.value("inventory_hostname")):
        return own, runs_as(own, str(host.value("cni_run_as")), host.runtime)
    plugin = str(host.of_host(name, "cni_plugin", default=own))
    runtime = str(host.of_host(name, "container_runtime", default="containerd"))
    return plugin, runs_as(plugin, str(host.of_host(name, "cni_run_as")), runtime)


def _applying_host(host: Variables, expected: str) -> str:
    """Return the host that changes the cluster for all hosts whose pod network runs as `expected`, such as `service`.

    The result is empty if the pod network of `host` runs in another way. Such a host never makes these changes.
    """
    if runs_of(host, str(host.value("inventory_hostname")))[1] != expected:
        return ""
    return first_host(host.value("ansible_play_hosts"), lambda name: runs_of(host, name)[1], expected)


def networks_of_pods(host: Variables) -> dict[str, str]:
    """Return a mapping from hosts to pod networks: `PLUGIN`, or `PLUGIN MODE` if hosts may have different modes.

    The mapping contains the hosts whose nodes can run the DaemonSets of pod networks. The DaemonSets run on all nodes
    that `PodNetwork.node_label` does not exclude, even if another tool provides the pod network.

    Args:
        host: the variables of the host for which the decision is made.
    """
    own_name = str(host.value("inventory_hostname"))
    networks = {}
    for name in host.value("ansible_play_hosts_all"):
        plugin, how = runs_of(host, name)
        runtime = host.runtime if name == own_name else str(host.of_host(name, "container_runtime"))
        if how != "service" and runtime not in DOCKER_RUNTIMES:
            networks[name] = f"{plugin} {_own_mode(host, name, plugin)}".strip()
    return networks


def _own_mode(host: Variables, name: str, plugin: str) -> str:
    """Return the mode of a host's pod network, or an empty string if hosts cannot have different modes."""
    known = catalogue().get(plugin)
    is_own = known is not None and known.mode_variable and not known.mode_of_cluster
    variable = f"cni_{known.mode_variable}" if known is not None else ""
    return str(host.of_host(name, variable, default=host.value(variable))) if is_own else ""


def _service_plugins(host: Variables) -> list[str]:
    """Return the pod networks that run as services on any of the play's hosts."""
    networks = (runs_of(host, name) for name in host.value("ansible_play_hosts"))
    return [*dict.fromkeys(plugin for plugin, how in networks if how == "service")]


def _network_services(host: Variables) -> list[str]:
    """Return the services of the node's current and new pod networks, and kube-proxy, in the order in which they stop.

    The result is empty if neither network runs as services.
    """
    network = cni.pod_network(host)
    recorded = host.value("cni_recorded_network")
    plugins = [network.settings.plugin] if network.runs_as_services else []
    plugins += [str(recorded.get("plugin"))] if recorded.get("services") else []
    names = [name for plugin in plugins if plugin in catalogue() for name in catalogue()[plugin].services]
    return [*dict.fromkeys(names), KUBE_PROXY] if plugins else []


def _former_daemon_sets(host: Variables) -> list[str]:
    """Return the DaemonSets to remove with the node's former pod network.

    The DaemonSets of the new network, and the DaemonSets that other tools applied, are kept.
    """
    foreign = host.part("winkube_cluster", "foreign_daemon_sets", default=())
    kept = {*daemon_sets(str(host.value("cni_plugin"))), *foreign}
    former = daemon_sets(str(host.value("cni_recorded_network").get("plugin", "")))
    return [name for name in former if name not in kept] if host.value("cni_network_changes") else []


def _former_node_selector(host: Variables) -> str:
    """Return the label selector of the nodes that run the DaemonSets to be removed.

    The result is empty if these DaemonSets need no label, or if no DaemonSets are to be removed.
    """
    name = str(host.value("cni_recorded_network").get("plugin", ""))
    is_labelled = name in catalogue() and catalogue()[name].needs_node_label
    return f"{NETWORK_LABEL}={name}" if is_labelled and host.value("cni_former_daemon_sets") else ""


def _former_network_stays(host: Variables) -> bool:
    """Return whether any node except the host's node still has the label of the former pod network."""
    nodes = host.part("cni_former_nodes", "resources", default=[])
    return any(node["metadata"]["name"] != str(host.value("winkube_node_name")) for node in nodes)


def _former_account_objects(host: Variables) -> list[dict[str, t.Any]]:
    """Return the Kubernetes objects to remove: the former pod network's service account and related objects.

    The result is empty if the network of any host uses this account, or if the node's network does not change.

    The decision depends on the hosts' variables, because a node that has just joined does not yet have the
    annotations that show its network.
    """
    former = str(host.value("cni_recorded_network").get("plugin", ""))
    if not host.value("cni_network_changes"):
        return []
    return former_account_objects(former, {runs_of(host, name)[0] for name in host.value("ansible_play_hosts_all")})


def _former_account_stays(host: Variables) -> bool:
    """Return whether any Windows node except the host's node still has annotations of the former pod network.

    Such a node still needs the service account with which the network's program writes these annotations.
    """
    former = catalogue().get(str(host.value("cni_recorded_network").get("plugin", "")))
    names = set() if former is None else {*former.files.annotations}
    nodes = host.part("cni_former_account_nodes", "resources", default=[])
    others = (one["metadata"] for one in nodes if one["metadata"]["name"] != str(host.value("winkube_node_name")))
    return any(names & set(one.get("annotations") or {}) for one in others)


def _former_config_maps(host: Variables) -> list[str]:
    """Return the ConfigMaps of the DaemonSets that are removed with the node's former pod network."""
    former = catalogue().get(str(host.value("cni_recorded_network").get("plugin", "")))
    removed = bool(host.value("cni_former_daemon_sets")) and former is not None
    return list(former.files.config_maps) if removed and former is not None else []


def _former_hns_networks(host: Variables) -> list[str]:
    """Return the HNS networks of the former pod network that must be removed from the node.

    The result is empty if the new network keeps them, or if the network does not change.
    """
    recorded, own = host.value("cni_recorded_network"), cni.pod_network(host)
    name, former = str(recorded.get("network") or ""), catalogue().get(str(recorded.get("plugin", "")))
    mode = former.modes.get(str(recorded.get("mode") or "")) if former is not None else None
    if not host.value("cni_network_changes"):
        return []
    if name == own.name and (mode is None or mode.hns_type == own.mode.hns_type):
        return []
    return [one for one in (name, *(mode.other_networks if mode is not None else ())) if one]


def _former_metadata(host: Variables) -> dict[str, dict[str, None]]:
    """Return the former pod network's label and annotations, each with the value None, which removes it.

    The result is empty if there are none, or if the node's network does not change. Annotations that the new network
    also uses are kept, unless the former network needs the label: without the label, it does not write them again.
    """
    former = catalogue().get(str(host.value("cni_recorded_network").get("plugin", "")))
    if former is None or not host.value("cni_network_changes"):
        return {}
    kept = () if former.needs_node_label else catalogue()[str(host.value("cni_plugin"))].files.annotations
    annotations = [name for name in former.files.annotations if name not in kept]
    return {
        **({"labels": {NETWORK_LABEL: None}} if former.needs_node_label else {}),
        **({"annotations": dict.fromkeys(annotations)} if annotations else {}),
    }


def _new_labels(host: Variables) -> dict[str, str]:
    """Return the label that allows the pods of the node's new pod network to run on the node.

    The result is empty if these pods need no label, or if the network does not change.
    """
    value = cni.pod_network(host).pod_network_label if host.value("cni_network_changes") else ""
    return {NETWORK_LABEL: value} if value else {}


def _node_labels(host: Variables) -> dict[str, str | None]:
    """Return the labels that a node's pod network needs. A label with the value None must not be on the node.

    While the node still has its former network, it keeps the label of that network. tasks/replace_network.yml changes
    the label.
    """
    network = cni.pod_network(host)
    own = {} if host.value("cni_network_changes") else {NETWORK_LABEL: network.pod_network_label or None}
    return {RUN_AS_LABEL: network.node_label or None, **own}


def _registered_labels(host: Variables) -> dict[str, str | None]:
    """Return the labels for the file that a kubelet reads when it registers its node.

    A change of this file restarts the kubelet, but does not change the labels of a node that has joined. So the file of
    such a node gets the label of a new network in advance, which saves a second change and restart.
    """
    labels: dict[str, str | None] = dict(host.value("cni_node_labels"))
    if not host.part("winkube_node_information", "joined", default=False):
        return labels
    return {**labels, NETWORK_LABEL: cni.pod_network(host).pod_network_label or None}


def _former_files(host: Variables) -> list[str]:
    """Return the paths of the former pod network's CNI configuration and state that the new network does not use.

    The paths do not include the address records of the host-local IPAM plugin: another cleanup removes these.
    """
    former = catalogue().get(str(host.value("cni_recorded_network").get("plugin", "")))
    own = catalogue()[str(host.value("cni_plugin"))].files
    if former is None or not former.is_managed:
        return []
    name, kept = former.files.configuration, {*own.state, HOST_LOCAL_ADDRESSES}
    names = [] if name in ("", own.configuration) else [name]
    names += [one for one in former.files.beside if one not in own.beside]
    configuration = [f"{host.value('cni_conf_dir')}\\{one}" for one in names]
    return [*configuration, *(path for path in former.files.state if path not in kept)]


def _recorded_resources(host: Variables) -> list[t.Any]:
    """Return the resources that complete a change of the node's pod network.

    The record of the network comes last. If a run ends before the record is written, the next run applies these
    resources again.
    """
    network, recorded = cni.pod_network(host), host.value("cni_recorded_network")
    former, mode = catalogue().get(str(recorded.get("plugin", ""))), str(recorded.get("mode") or "")
    remains = [] if former is None else cni.former_remains(former, mode, network, host)
    return [*remains, cni.noted(network)]


def _tokens(host: Variables) -> dict[str, str]:
    """Return the tokens of the host's service accounts, which one host of each play read for all hosts of that play.

    That host may have failed since, or may not be part of a later play, so all hosts are searched until all tokens are
    found. Tokens that this run created come first, because tokens that were read earlier may be incomplete.
    """
    hosts, needed = host.part("groups", "all"), set(host.value("cni_account_secrets"))
    tokens: dict[str, str] = {}
    for result in ("cni_accounts_made", "cni_accounts"):
        for name in hosts:
            tokens = {**host.of_host(name, result, "tokens", default={}), **tokens}
            if tokens and needed <= tokens.keys():
                return tokens
    return tokens


def _former_network_hosts(host: Variables) -> list[str]:
    """Return the hosts of the play whose variables request the node's former pod network."""
    own, former = host.value("cni_plugin"), host.value("cni_recorded_network").get("plugin", "")
    hosts = host.value("ansible_play_hosts_all")
    return [name for name in hosts if host.of_host(name, "cni_plugin", default=own) == former]


def _cluster_objects(host: Variables) -> list[t.Any]:
    """Return the Kubernetes objects that the host's pod network needs in the cluster.

    All nodes share these objects. With `cni_block_wireserver: auto`, the objects block Azure's WireServer if any host
    of the play is in Azure, or if the network or the cloud provider works only in Azure. In cluster.yml, whose play
    has no Windows hosts, only the network and the cloud provider are considered.
    """
    in_azure = host.value("cni_block_wireserver") == "auto" and (
        catalogue()[str(host.value("cni_plugin"))].needs_azure
        or host.optional("kubernetes_node_cloud_provider") == "azure"
        or bool(host.optional("winkube_play_in_azure", False))
    )
    return cni.pod_network(host, in_azure=in_azure).cluster_objects(cni.cluster_settings(host))


def _daemon_sets_to_restrict(host: Variables) -> list[dict[str, str]]:
    """Return the DaemonSets that the run restricts to Linux nodes. They have no operating system selector."""
    namespaces, patterns = host.value("cni_linux_namespaces"), host.value("cni_linux_daemon_sets")
    return Restricted(namespaces=namespaces, patterns=patterns).of(host.value("cni_unbound_daemon_sets"))


def _linux_mtu(host: Variables) -> dict[str, t.Any]:
    """Return the MTU of pods on Linux nodes (the fields of `LinuxMtu`), or an empty mapping if it is unknown."""
    own = cni.pod_network(host)
    known = catalogue()[own.settings.plugin]
    mtu = linux_mtu(known, own.settings.mode, host.optional("winkube_cluster", {}))
    return {} if mtu is None else dataclasses.asdict(mtu)


def _node_addresses(host: Variables) -> dict[str, str]:
    """Return a mapping from node names to internal IP addresses; empty if the pod network can span several subnets."""
    if not cni.pod_network(host).mode.other_subnets:
        return {}
    nodes = host.part("winkube_cluster", "nodes", default={})
    return {name: str(node["internal_ip"]) for name, node in nodes.items() if node.get("internal_ip")}


def _label_differs(host: Variables) -> bool:
    """Return whether the node's labels must be changed.

    A node that has just joined may lack the label of its network. On Windows, the kubelet gets kubeadm's flags only
    when the node_join role changes the kubelet's service, and some nodes need their pod network before that. So the
    label is always set on such a node.
    """
    facts = {RUN_AS_LABEL: "network_runs_as", NETWORK_LABEL: "pod_network"}
    expected = {facts[label]: value or "" for label, value in host.value("cni_node_labels").items()}
    if expected.get("pod_network") and not host.part("winkube_node_information", "joined", default=True):
        return True
    return any(host.part("winkube_cluster_node", name, default=value) != value for name, value in expected.items())


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "cni_daemon_set_host": lambda host: _applying_host(host, "daemonset"),
        "cni_service_host": lambda host: _applying_host(host, "service"),
        "cni_node_labels": _node_labels,
        "cni_new_labels": _new_labels,
        "cni_label_differs": _label_differs,
        "cni_cluster_objects": _cluster_objects,
        "cni_account_objects": lambda host: account_objects(_service_plugins(host)),
        "cni_all_account_secrets": lambda host: accounts(_service_plugins(host)),
        "cni_daemon_sets_to_restrict": _daemon_sets_to_restrict,
        "cni_linux_mtu": _linux_mtu,
        "cni_node_addresses": _node_addresses,
        "winkube_node_labels": _registered_labels,
        "winkube_network_services": _network_services,
        "cni_tokens": _tokens,
        "cni_missing_tokens": lambda host: [
            name for name in host.value("cni_account_secrets") if name not in host.value("cni_tokens")
        ],
        "cni_tokens_known": lambda host: not host.value("cni_missing_tokens"),
        "cni_network_changes": lambda host: network_differs(
            host.value("cni_recorded_network"), host.value("cni_network_identity")
        ),
        "cni_former_network_hosts": _former_network_hosts,
        "cni_former_daemon_sets": _former_daemon_sets,
        "cni_former_node_selector": _former_node_selector,
        "cni_former_network_stays": _former_network_stays,
        "cni_former_account_objects": _former_account_objects,
        "cni_former_account_stays": _former_account_stays,
        "cni_former_files": _former_files,
        "cni_recorded_resources": _recorded_resources,
        "cni_former_config_maps": _former_config_maps,
        "cni_former_hns_networks": _former_hns_networks,
        "cni_former_metadata": _former_metadata,
        "cni_network_images": cni.network_images,
    }
)
