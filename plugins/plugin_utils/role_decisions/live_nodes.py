# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the node_join role which changes of live nodes must wait for a drain, and which are not allowed."""

from __future__ import annotations

import types
import typing as t

from ..node_resources.variables import Variables


def is_live(*, joined: bool, known: bool | None) -> bool:
    """Return whether a machine is a node of the cluster and may therefore run pods.

    Args:
        joined: whether the machine reports that it has joined.
        known: whether the cluster has a node with the machine's name; None if the cluster was not queried.
    """
    return joined and known is not False


def version_problem(host: str, node: str, kubelet: str, expected: str) -> str:
    """Return why the minor version of a live node's kubelet stops the run, or an empty string if the run may continue.

    Args:
        host: name of the host.
        node: name of the host's node.
        kubelet: version of the node's kubelet; empty if unknown.
        expected: value of `kubernetes_node_version`.
    """
    minor = ".".join(kubelet.split(".")[:2])
    if not kubelet or minor == ".".join(expected.split(".")[:2]):
        return ""
    return (
        f"kubernetes_node_version (from kube_version): expected a release of {minor}, got {expected}. {host} is the "
        f"live node {node}, whose kubelet is {kubelet}. site.yml and join_nodes.yml do not change the minor version of "
        "a live node; the playbook upgrade_nodes.yml does. No node was changed."
    )


def drain_problem(host: str, node: str, address: str) -> str:
    """Return the message for a node that is not drained because only the machine itself reports the node's name.

    Nodes are drained with the administrator's kubeconfig, so a name that only the machine reports is not sufficient.

    Args:
        host: name of the host.
        node: name that the machine reports.
        address: address of the host in the inventory.
    """
    return (
        f"{host}: the machine reports that it is the node {node}, but the addresses of that node do not include "
        f"{address}. The node was not drained, and changes that disrupt pods were not made. Set "
        "kubernetes_node_hostname for this host"
    )


def first_unreachable(results: t.Iterable[t.Mapping[str, t.Any]]) -> str:
    """Return the message of the first task that could not reach its node, or an empty string if all nodes were reached.

    Args:
        results: registered results.
    """
    return next(
        (str(one.get("msg") or "the node is unreachable") for one in results if one.get("unreachable")),
        "",
    )


_MAINTENANCE_RESULTS = (
    *("node_prepare_converged", "node_join_domain_joined", "node_join_guard", "node_join_converged"),
    *("cni_daemon_sets_removed", "cni_config_maps_removed"),
    *("cni_network_removed", "cni_former_account_nodes", "cni_former_account_removed"),
    *("cni_network_recorded", "cni_pods_deleted", "cni_new_pods", "cni_former_label", "cni_new_label"),
    *("cni_guard", "cni_guard_ended", "cni_former_nodes"),
)
"""Registered results of the tasks that run only for a drained or a new node."""


def _is_live(host: Variables) -> bool:
    known = host.has("node_join_cluster", "nodes", str(host.value("node_join_name")))
    queried = host.has("node_join_cluster", "nodes")
    return is_live(joined=bool(host.part("node_join_info", "joined", default=False)), known=known if queried else None)


def _kubelet_version(host: Variables) -> str:
    name = str(host.value("node_join_name"))
    return str(host.part("node_join_cluster", "nodes", name, "version", default="")).removeprefix("v")


def _version_problem(host: Variables) -> str:
    if not host.value("node_join_is_live") or host.optional("winkube_upgrade", False):
        return ""
    return version_problem(
        str(host.value("inventory_hostname")),
        str(host.value("node_join_name")),
        _kubelet_version(host),
        str(host.value("kubernetes_node_version")),
    )


def _deferred(host: Variables) -> list[str]:
    """Return the names of the resources that wait until the node is drained."""
    results = ("node_prepare_converged", "node_join_converged")
    return [one["name"] for result in results for one in host.part(result, "deferred", default=[])]


def _has_deferred_changes(host: Variables) -> bool:
    if _deferred(host):
        return True
    joins = host.has("node_join_converged")
    return joins and bool(host.value("cni_network_changes") or host.value("cni_outdated_pods"))


def _drain_problem(host: Variables) -> str:
    if not host.value("node_join_has_deferred_changes") or host.value("node_join_name_is_proven"):
        return ""
    own = str(host.value("inventory_hostname"))
    return drain_problem(own, str(host.value("node_join_name")), str(host.optional("ansible_host", own)))


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "node_join_is_live": _is_live,
        "node_join_version_problem": _version_problem,
        "node_join_deferred_names": _deferred,
        "node_join_has_deferred_changes": _has_deferred_changes,
        "node_join_drain_problem": _drain_problem,
        "node_join_unreachable": lambda host: first_unreachable(
            host.optional(name, {}) for name in _MAINTENANCE_RESULTS
        ),
    }
)
