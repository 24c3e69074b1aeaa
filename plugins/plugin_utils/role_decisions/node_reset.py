# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the node_reset role which nodes belong to the machines to reset, and which to drain and delete."""

from __future__ import annotations

import dataclasses
import types
import typing as t

from ansible.plugins.filter.core import to_bool

from ...module_utils.addresses import identifies
from ..node_resources import node_reset
from ..node_resources.variables import Variables
from .node_names import node_name

_WITHOUT = "Set node_reset_without_cluster: true to reset the machine, and to leave all nodes in clusters as they are"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResetHost:
    """A machine, as the inventory and the machine itself describe it."""

    name: str
    """Name of the machine's node."""
    self_named: bool
    """Whether the name comes only from the machine, and not from the inventory."""
    joined: bool
    server: str
    """`host:port` of the API server that the machine's kubelet uses; empty if unknown."""
    host_addresses: tuple[str, ...]
    """Address and name of the host in the inventory."""
    own_addresses: tuple[str, ...]
    """Addresses that the machine reports."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of the machine, at least one of which the node must report.

        A machine that claims another node's name may also claim that node's addresses. The addresses that a machine
        reports are therefore used only if its name is also in the inventory.
        """
        in_inventory = self.name.casefold() in (one.casefold() for one in self.host_addresses)
        own = self.own_addresses if in_inventory or not self.self_named else ()
        return tuple(dict.fromkeys((*self.host_addresses, *own)))


def node_problem(machine: ResetHost, node: t.Mapping[str, t.Any], servers: t.Sequence[str]) -> str:
    """Return why the node of a machine must not be drained and deleted, or an empty string if there is no reason.

    A kubelet that uses another API server is a reason even if the cluster has no node with this name.

    Args:
        machine: the machine.
        node: the node with the machine's name, as cluster_info returns it; empty if the cluster has none.
        servers: addresses of the cluster's API server as `host:port`.
    """
    if machine.joined and machine.server and machine.server not in servers:
        known = " or ".join(servers) or "an unknown address"
        return (
            f"its kubelet uses the API server at {machine.server}, and the kubeconfig is for the cluster at {known}. "
            "Use the kubeconfig of its cluster. If that is the same cluster, set node_join_api_server: "
            f"{machine.server}. {_WITHOUT}"
        )
    if not node:
        return ""
    if node.get("os") not in ("windows", "", None):
        return f"the cluster's node {machine.name} has the operating system {node['os']}, expected windows. {_WITHOUT}"
    reported = list(node.get("addresses") or ())
    if not identifies(machine.name, reported, machine.addresses):
        others = [one for one in machine.addresses if one.casefold() != machine.name.casefold()]
        expected = f"one of {', '.join(others)}" if others else "the addresses of the machine"
        return (
            f"the cluster's node {machine.name} is at {', '.join(reported) or 'an unknown address'}, expected "
            f"{expected}. It may be another machine, so it is neither drained nor deleted. Set "
            f"kubernetes_node_hostname to the correct name, or delete the node yourself. {_WITHOUT}"
        )
    return ""


def _machine(host: Variables) -> ResetHost:
    own = str(host.value("inventory_hostname"))
    given = str(host.value("node_reset_node_name") or "")
    seen = host.value("node_reset_seen")
    return ResetHost(
        name=node_name(given, str(seen.get("computer_name", ""))),
        self_named=not given,
        joined=bool(seen.get("joined", False)),
        server=str(seen.get("server", "")),
        host_addresses=tuple(dict.fromkeys((str(host.optional("ansible_host", own)), own))),
        own_addresses=tuple(str(one) for one in seen.get("addresses", ())),
    )


def _node(host: Variables) -> t.Mapping[str, t.Any]:
    node: t.Mapping[str, t.Any] = host.part(
        "node_reset_cluster", "nodes", str(host.value("node_reset_name")), default={}
    )
    return node


def _problem(host: Variables) -> str:
    if not host.value("node_reset_uses_cluster"):
        return ""
    cluster, own = host.part("node_reset_cluster", "api_server", default=""), host.optional("node_join_api_server")
    servers = [str(cluster), str(own)]
    return node_problem(_machine(host), _node(host), [one for one in servers if one])


def _has_work(host: Variables) -> bool:
    """Return whether there is anything to remove from the machine, or a node to delete."""
    deletes = to_bool(host.value("node_reset_delete_node")) and bool(_node(host))
    return deletes or bool(host.value("node_reset_seen").get("needed", False))


def _uses_cluster(host: Variables) -> bool:
    changes = any(to_bool(host.value(name)) for name in ("node_reset_drain", "node_reset_delete_node"))
    return changes and not to_bool(host.value("node_reset_without_cluster"))


def _purposes(host: Variables) -> list[str]:
    """Return the purposes for which the reset uses the cluster. The cluster_info module checks the permissions."""
    needed = {"drain": "node_reset_drain", "reset": "node_reset_delete_node"}
    return [purpose for purpose, name in needed.items() if to_bool(host.value(name))]


def _batch(host: Variables, fact: str) -> list[t.Mapping[str, t.Any]]:
    """Return the facts (`node_reset_known`) of each host of the batch whose node exists in the cluster.

    Args:
        host: the variables of the host for which the decision is made.
        fact: name of a variable. Hosts for which it is false or empty are left out.
    """
    hosts = [name for name in host.value("ansible_play_batch") if host.of_host(name, fact)]
    known = [host.of_host(name, "node_reset_known") for name in hosts]
    return [one for one in known if one["exists"]]


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "node_reset_name": lambda host: _machine(host).name,
        "node_reset_node_problem": _problem,
        "node_reset_work": _has_work,
        "node_reset_found": lambda host: {
            "node": str(host.value("node_reset_name")),
            "exists": bool(_node(host)),
            "addresses": list(_machine(host).addresses),
            # Without its kubelet, a machine runs no pods, and cannot end any.
            "drain": _machine(host).joined and to_bool(host.value("node_reset_drain")),
            "delete": to_bool(host.value("node_reset_delete_node")),
        },
        "node_reset_nodes_to_drain": lambda host: [
            one["node"] for one in _batch(host, "node_reset_known") if one["drain"]
        ],
        "node_reset_nodes_to_delete": lambda host: {
            one["node"]: one["addresses"] for one in _batch(host, "node_reset_done") if one["delete"]
        },
        "node_reset_uses_cluster": _uses_cluster,
        "node_reset_purposes": _purposes,
        "node_reset_stopped_services": lambda dummy: list(node_reset.service_names()),
    }
)
