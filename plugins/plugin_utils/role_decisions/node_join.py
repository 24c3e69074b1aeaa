# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the node_join role how to change the cluster, when to wait for nodes, and which addresses nodes have."""

from __future__ import annotations

import math
import types
import typing as t

from ansible.plugins.filter.core import to_bool

from ..node_resources import node_join, roles
from ..node_resources.variables import Variables
from ..pod_networks.catalogue import catalogue
from ..values.shown import text_without_secrets
from . import node_prepare
from .cni import network_differs, runs_of

_SHORTEST_TTL = 1800
_SECONDS_PER_GROUP = 300
"""Seconds that one group of nodes needs to join. A group has as many nodes as Ansible has forks."""
_CHANGES = (
    *("node_prepare_converged", "node_join_domain_joined", "node_join_guard", "node_join_tokens", "node_join_result"),
    "node_join_finished",
    *("node_join_permitted", "node_join_kubeadm_tokens", "node_join_converged", "node_join_metadata"),
    *("cni_daemon_sets_bound", "cni_accounts_applied", "cni_applied", "cni_labelled", "cni_daemon_sets_removed"),
    *("cni_network_removed", "cni_network_recorded", "cni_pods_deleted", "cni_former_label", "cni_new_label"),
    *("cni_affinity_set", "cni_windows_enabled", "cni_config_maps_removed", "node_join_pods_restarted"),
    *("cni_guard", "cni_guard_ended", "cni_calico_former_removed", "cni_former_account_removed"),
)
"""Registered results of the tasks that may change a node, or the cluster on behalf of a node."""
_STEPS = (
    *("node_prepare_converged", "node_join_domain_joined", "node_join_guard"),
    *("node_join_result", "node_join_converged"),
)
"""Registered results of the steps from a machine's preparation until its node is Ready."""


def purposes(
    *,
    read_only: bool,
    drains: bool,
    approves: bool,
    tokens: bool,
    rejoins: bool,
    services: bool,
    pods: t.Sequence[str],
    linux: t.Sequence[str] = (),
) -> list[str]:
    """Return the purposes for which the run uses the cluster. The cluster_info module checks the permissions.

    Args:
        read_only: whether the run makes no changes in the cluster, as with plan.yml.
        drains: whether the run may drain nodes.
        approves: whether the run approves certificates of nodes.
        tokens: whether the run creates bootstrap tokens through the API.
        rejoins: whether the run may delete nodes whose machines join again.
        services: whether the pod network of any host runs as services.
        pods: purposes that are needed because networks run as pods on the hosts.
        linux: purposes that are needed because the run reads or changes networks on Linux nodes.
    """
    needed = {
        "read": True,
        **dict.fromkeys(linux, True),
        "services_read": services,
        "drain": drains,
        "join": not read_only,
        "tokens": not read_only and tokens,
        "delete_tokens": not read_only and approves and not tokens,
        "approve": not read_only and approves,
        "rejoin": not read_only and rejoins,
        **dict.fromkeys(pods, not read_only),
        "services": not read_only and services,
        "change_network": not read_only,
    }
    return [name for name, applies in needed.items() if applies]


def token_ttl(nodes: int, forks: int) -> int:
    """Return the lifetime of bootstrap tokens in seconds. It is half an hour, or longer if nodes join in many groups.

    Args:
        nodes: number of nodes that may join.
        forks: number of nodes that join at a time.
    """
    return max(_SHORTEST_TTL, math.ceil(nodes / forks) * _SECONDS_PER_GROUP)


def clock_problem(host: str, skew: float, limit: float) -> str:
    """Return why the host's clock is rejected, or an empty string if it is accepted.

    Args:
        host: name of the host.
        skew: seconds by which the host's clock is ahead of the controller's clock.
        limit: accepted difference in seconds; 0 accepts any difference.
    """
    if limit == 0 or abs(skew) <= limit:
        return ""
    return (
        f"{host}: its clock is {round(abs(skew))} s {'ahead of' if skew > 0 else 'behind'} the controller's; at most "
        f"{limit:g} s (node_join_clock_skew_limit) are accepted, because certificates fail otherwise"
    )


def join_problem(tokens: t.Mapping[str, t.Any], refused: str, joined: t.Mapping[str, t.Any], approvals: str) -> str:
    """Return why a machine could not join, or an empty string if the failed task shows the reason itself.

    The task that creates tokens shows no reason, because it has `no_log`. The task that runs kubeadm does not show why
    the certificate was not approved, because certificates are approved in the background. If the task that creates
    tokens ran `kubeadm token create` for each node, the reason is in the first result that failed.

    Args:
        tokens: result of the task that creates bootstrap tokens.
        refused: why the node's certificate was not approved; empty if it was approved.
        joined: result of the task that runs kubeadm.
        approvals: message of the task that approves certificates.
    """
    if tokens.get("failed"):
        failed = [one for one in tokens.get("results") or () if one.get("failed")]
        reason = str(failed[0].get("stderr") or failed[0].get("msg") or "").strip() if failed else ""
        return f"kubeadm token create: {text_without_secrets(reason)}" if reason else str(tokens.get("msg", ""))
    return refused or (approvals if joined.get("failed") else "")


def all_stay_ready(
    hosts_untouched: t.Iterable[bool], awaited: t.Iterable[str], nodes: t.Mapping[str, t.Mapping[str, t.Any]]
) -> bool:
    """Return whether the run need not wait for nodes, because all were ready at its beginning and no host was changed.

    A node is ready if it is Ready and the pods of its network are ready.

    Args:
        hosts_untouched: for each host of the play, whether the run has left it unchanged. False for a failed host,
            because its changes are unknown.
        awaited: nodes that must be Ready.
        nodes: the cluster's nodes at the beginning of the run.
    """
    known = [nodes.get(name, {}) for name in awaited]
    pods = [pod for node in known for pod in node.get("network_pods") or ()]
    return all(hosts_untouched) and all(node.get("ready") for node in known) and all(pod["ready"] for pod in pods)


def _in_azure(host: Variables) -> bool:
    """Return whether any host of the play is an Azure virtual machine."""
    hosts = host.value("ansible_play_hosts_all")
    return any(host.of_host(name, "node_join_info", "azure", default=False) for name in hosts)


def _purposes(host: Variables) -> list[str]:
    """Return the purposes for which the run uses the cluster for any host: cluster_info runs once for all hosts."""
    networks = {runs_of(host, name) for name in host.value("ansible_play_hosts")}
    read_only = bool(host.value("node_join_read_only"))
    return purposes(
        read_only=read_only,
        drains=to_bool(host.optional("node_maintenance_drain", False)),
        approves=host.value("node_join_approval") == "run",
        tokens=host.value("node_join_token_source") == "api",
        rejoins=to_bool(host.value("node_join_rejoin")),
        services=any(how == "service" for _plugin, how in networks),
        pods=sorted({catalogue()[plugin].purpose for plugin, how in networks if how == "daemonset"}),
        linux=[
            purpose
            for plugin in sorted({plugin for plugin, _how in networks})
            for purpose in linux_purposes(host, plugin, read_only=read_only)
        ],
    )


def linux_purposes(host: Variables, plugin: str, *, read_only: bool = False) -> list[str]:
    """Return the purposes (see cluster_info) for which the run reads or changes a pod network on Linux nodes.

    Args:
        host: the variables of the host for which the decision is made.
        plugin: name of the pod network.
        read_only: whether the run changes nothing.
    """
    known = catalogue().get(plugin)
    if known is None:
        return []
    requested = {} if read_only else known.requested_purposes
    changes = [purpose for name, purpose in requested.items() if to_bool(host.value(f"cni_{name}"))]
    return [*([known.read_purpose] if known.read_purpose else []), *changes]


def _networks(host: Variables) -> list[str]:
    """Return the names of the pod networks that the play's hosts use."""
    return sorted({runs_of(host, name)[0] for name in host.value("ansible_play_hosts")})


def _endpoint(host: Variables) -> str:
    given = host.value("node_join_api_server")
    return str(given or host.part("node_join_cluster", "api_server", default=""))


def _clock_problem(host: Variables) -> str:
    """Return why the host's clock is rejected after the preparation, or an empty string if the clock is accepted."""
    skew = host.part("node_prepare_converged", "clock_skew", default=None)
    return clock_problem(
        str(host.value("inventory_hostname")),
        float(host.part("node_join_info", "clock_skew") if skew is None else skew),
        float(host.value("node_join_clock_skew_limit")),
    )


def _node_names(host: Variables, hosts: t.Iterable[str]) -> list[str]:
    """Return the node names of the given hosts. The run must have queried these hosts before."""
    return [host.of_host(name, "node_join_info", "node_name") for name in hosts]


def _hosts(host: Variables) -> list[str]:
    """Return the hosts of this batch that have not failed.

    A host that failed in a block with a rescue section is part of its batch until the block has ended.
    """
    return [name for name in host.value("ansible_play_batch") if not _has_failed(host, name)]


def _has_failed(host: Variables, name: str) -> bool:
    """Return whether a host's results show that it has failed. A host whose node is unknown is treated as failed."""
    results = (host.of_host(name, result, default={}) for result in _STEPS)
    is_unknown = not host.of_host(name, "node_join_info", "node_name")
    return is_unknown or any(one.get("failed") or one.get("unreachable") for one in results)


def _awaited_hosts(host: Variables) -> list[str]:
    """Return the hosts whose nodes must be Ready in this step. Hosts that set `node_join_later` are left out."""
    return [name for name in _hosts(host) if not host.of_host(name, "node_join_later")]


def _awaited(host: Variables) -> list[str]:
    return _node_names(host, _awaited_hosts(host))


def _awaited_daemon_sets(host: Variables) -> dict[str, list[str]]:
    """Return the DaemonSets applied in this run, for each awaited node whose network runs as pods."""
    hosts = _awaited_hosts(host)
    applied = [
        f"{one['metadata']['namespace']}/{one['metadata']['name']}"
        for name in host.value("ansible_play_hosts_all")
        for one in (item["result"] for item in host.of_host(name, "cni_applied", "result", "results", default=[]))
        if one.get("kind") == "DaemonSet" and "metadata" in one
    ]
    with_pods = [name for name in hosts if runs_of(host, name)[1] == "daemonset"] if applied else []
    return dict.fromkeys(_node_names(host, with_pods), applied)


def _joining(host: Variables) -> list[str]:
    hosts = [name for name in _hosts(host) if not host.of_host(name, "node_join_info", "joined")]
    return _node_names(host, hosts)


def _all_stay_ready(host: Variables) -> bool:
    hosts = host.value("ansible_play_hosts_all")
    return all_stay_ready(
        (bool(host.of_host(name, "node_join_untouched")) for name in hosts),
        host.value("node_join_awaited_nodes"),
        host.part("node_join_cluster", "nodes", default={}),
    )


def _created_tokens(host: Variables) -> t.Mapping[str, t.Any]:
    """Return the result of the task that created bootstrap tokens."""
    api = host.value("node_join_token_source") == "api"
    return t.cast("t.Mapping[str, t.Any]", host.optional("node_join_tokens" if api else "node_join_kubeadm_tokens", {}))


def _join_problem(host: Variables) -> str:
    if host.part("node_join_info", "joined"):
        return ""
    return join_problem(
        _created_tokens(host),
        host.part("node_join_approvals", "refused", str(host.value("node_join_name")), default=""),
        host.optional("node_join_result", {}),
        host.part("node_join_approvals", "msg", default=""),
    )


def _registered(host: Variables, field: str) -> str:
    """Return a field of the host's node as the cluster reported it, or an empty string if the field is unknown.

    The value comes from the node's registration in this run or, if missing there, from an earlier query of the cluster.
    """
    name = str(host.value("node_join_name"))
    answers = (
        host.part(result, "nodes", name, field, default="") for result in ("node_join_registered", "node_join_cluster")
    )
    return next((str(value) for value in answers if value), "")


def _overlay_address(host: Variables) -> str:
    """Return the node's address in the overlay of its pod network, or an empty string if the address is unknown.

    For a machine that joins in this run, the query at the beginning of the run is ignored, because it may show the
    address of a former node with this name.
    """
    joined = bool(host.part("node_join_info", "joined", default=True))
    return _address_of(host, str(host.value("node_join_name")), joined=joined)


def _address_of(host: Variables, node: str, *, joined: bool) -> str:
    results = ["node_join_addressed", *(["node_join_cluster"] if joined else [])]
    reported = (host.part(result, "nodes", node, "overlay_address", default="") for result in results)
    return next((str(address) for address in reported if address), "")


def _unaddressed(host: Variables) -> list[str]:
    """Return the nodes whose pod network should run by now but whose address in the network's overlay is unknown.

    A live node with a different network gets its new network while it is drained, and is not included before that.
    """
    own, identity = host.value("cni_plugin"), host.value("cni_network_identity")
    is_drained = bool(host.value("node_join_defers")) and host.value("node_join_disruptive") == "apply"

    def is_pending(name: str) -> bool:
        recorded = host.of_host(name, "node_join_info", "cni", default={})
        return bool(host.of_host(name, "node_join_defers")) and network_differs(recorded, identity)

    hosts = [
        name
        for name in _hosts(host)
        if host.of_host(name, "cni_plugin", default=own) == own and (is_drained or not is_pending(name))
    ]
    joined = {name: bool(host.of_host(name, "node_join_info", "joined")) for name in hosts}
    nodes = dict(zip(_node_names(host, hosts), joined.values(), strict=True))
    return [name for name, is_joined in nodes.items() if not _address_of(host, name, joined=is_joined)]


def _node_resources(host: Variables) -> list[dict[str, t.Any]]:
    """Return the resources of a node. Without a kubeconfig, only roles that prepare the node contribute resources."""
    prepared = node_prepare.of_prepared(host)
    if not host.value("node_join_kubeconfig"):
        return prepared
    return node_prepare.with_join(prepared, roles.of_role(node_join.ROLE, host))


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "node_join_is_tagged": lambda host: node_prepare.runs_tagged(
            host.value("node_join_tags"), host.value("ansible_run_tags"), host.value("ansible_skip_tags")
        ),
        "winkube_play_in_azure": _in_azure,
        "node_join_purposes": _purposes,
        "node_join_networks": _networks,
        "node_join_overlay_address": _overlay_address,
        "node_join_unaddressed_nodes": _unaddressed,
        "node_join_endpoint": _endpoint,
        "node_join_token_ttl": lambda host: token_ttl(
            len(host.value("ansible_play_batch")), int(host.value("ansible_forks"))
        ),
        "node_join_clock_problem": _clock_problem,
        "node_join_is_ready": lambda host: bool(
            host.part("node_join_cluster", "nodes", str(host.value("node_join_name")), "ready", default=False)
        ),
        "node_join_play_nodes": lambda host: _node_names(host, _hosts(host)),
        "node_join_joining_nodes": _joining,
        "node_join_awaited_nodes": _awaited,
        "node_join_awaited_daemon_sets": _awaited_daemon_sets,
        "node_join_changed": lambda host: any(host.part(name, "changed", default=False) for name in _CHANGES),
        "node_join_all_stay_ready": _all_stay_ready,
        "node_join_problem": _join_problem,
        "node_join_pod_cidr": lambda host: _registered(host, "pod_cidr"),
        "node_join_internal_ip": lambda host: _registered(host, "internal_ip"),
        "node_join_node_resources": _node_resources,
        "winkube_cluster_node": lambda host: host.part(
            "node_join_cluster", "nodes", str(host.value("node_join_name")), default={}
        ),
    }
)
