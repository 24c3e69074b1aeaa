# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the node_join role which name a node gets and whether a host may use it, and find other Windows nodes."""

from __future__ import annotations

import types
import typing as t

from ..lifecycle import node_names
from ..lifecycle.node_names import NameClaim
from ..node_resources.variables import Variables


def node_name(given: str, computer_name: str) -> str:
    """Return the name of a host's node.

    Args:
        given: the name in the inventory; empty if the inventory sets none.
        computer_name: the name that the machine reports; empty if the machine has not been queried yet.
    """
    return given or computer_name.lower()


def is_proven(
    *, self_named: bool, approved: bool, node_addresses: t.Collection[str], host_addresses: t.Collection[str]
) -> bool:
    """Return whether this run may use the administrator's kubeconfig to change the node with this name.

    Args:
        self_named: whether the name comes only from the machine, and not from the inventory.
        approved: whether this run approved the certificate of the node with this name.
        node_addresses: addresses that the node's kubelet reports.
        host_addresses: addresses of the host in the inventory.
    """
    return not self_named or approved or bool(set(node_addresses) & set(host_addresses))


def name_problem(reported: str, name: str, os: str) -> str:
    """Return why the host must not join under a name, or an empty string if it may join.

    Args:
        reported: the problem with a name that only the machine reports; empty if there is none.
        name: name of the node.
        os: operating system of the node that has this name in the cluster; empty if there is no such node.
    """
    if reported or os in ("", "windows"):
        return reported
    return f"the cluster has a node {name} with {os}; delete that node, or set another kubernetes_node_hostname"


def removal_problem(host: str, former: str, plugin: str, users: t.Sequence[str]) -> str:
    """Return why a pod network's DaemonSets must not be removed, or an empty string if nothing else needs them.

    Args:
        host: name of the host.
        former: the network that the node has.
        plugin: the network that the host's node gets instead.
        users: hosts and nodes that may need the DaemonSets.
    """
    if not users:
        return ""
    return (
        f"{host}: cni_plugin: expected {former}, got {plugin}. The node has {former}, whose DaemonSet would be removed,"
        f" but {', '.join(users)} may need it. Run for all Windows nodes of the cluster, or set "
        "cni_remove_daemon_sets: true"
    )


def other_windows_nodes(nodes: t.Mapping[str, t.Mapping[str, t.Any]], hosts: t.Container[str]) -> list[str]:
    """Return the cluster's Windows nodes that are not hosts of this run.

    Args:
        nodes: the cluster's nodes by name.
        hosts: names of the nodes of this run's hosts.
    """
    return [name for name, node in nodes.items() if node["os"] == "windows" and name not in hosts]


def _name(host: Variables) -> str:
    given = str(host.value("node_join_node_name") or "")
    return node_name(given, str(host.part("node_join_info", "computer_name", default="")))


def _claims(host: Variables) -> t.Iterator[NameClaim]:
    """Yield, for each host in the order of the inventory, the node name that the host claims."""
    for name in host.part("groups", "all"):
        inventory = [host.of_host(name, variable) for variable in ("node_join_node_name", "kubernetes_node_hostname")]
        address = str(host.of_host(name, "ansible_host") or name)
        yield node_names.claim(name, inventory, address, host.of_host(name, "node_join_info", default={}))


def _is_proven(host: Variables) -> bool:
    name = str(host.value("node_join_name"))
    own = str(host.value("inventory_hostname"))
    return is_proven(
        self_named=bool(host.part("node_join_info", "self_named")),
        approved=name in host.part("node_join_approvals", "approved", default={}),
        node_addresses=host.part("node_join_cluster", "nodes", name, "addresses", default=[]),
        host_addresses=[str(host.optional("ansible_host", own)), own],
    )


def _name_problem(host: Variables) -> str:
    name = str(host.value("node_join_name"))
    reported = host.part("node_join_reported_name_problems", str(host.value("inventory_hostname")), default="")
    return name_problem(reported, name, str(host.part("node_join_cluster", "nodes", name, "os", default="")))


def _other_windows_nodes(host: Variables) -> list[str]:
    hosts = host.value("ansible_play_hosts_all")
    own = {host.of_host(name, "node_join_info", "node_name") for name in hosts}
    return other_windows_nodes(host.part("node_join_cluster", "nodes", default={}), own)


def _removal_problem(host: Variables) -> str:
    users = [*host.value("node_join_other_windows_nodes"), *host.value("cni_former_network_hosts")]
    former = str(host.value("cni_recorded_network").get("plugin", ""))
    return removal_problem(str(host.value("inventory_hostname")), former, str(host.value("cni_plugin")), users)


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "node_join_name": _name,
        "node_join_has_self_named": lambda host: any(
            host.of_host(name, "node_join_info", "self_named", default=False)
            for name in host.value("ansible_play_batch")
        ),
        "node_join_claim_problems": lambda host: node_names.problems(
            list(_claims(host)), host.part("node_join_cluster", "nodes", default={})
        ),
        "node_join_name_problem": _name_problem,
        "node_join_name_is_proven": _is_proven,
        "node_join_other_windows_nodes": _other_windows_nodes,
        "node_join_removal_problem": _removal_problem,
    }
)
