# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Choose the nodes that take part in a network check, and explain why other nodes cannot (no I/O)."""

from __future__ import annotations

import typing as t

from ..printable import printable

WINDOWS, LINUX = "windows", "linux"
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


class CheckedNode(t.NamedTuple):
    """The properties of a node that the network check needs."""

    name: str
    os: str
    address: str = ""
    """The node's first internal IP address."""
    problem: str = ""
    """Why the node cannot take part, or an empty string if it can."""
    control_plane: bool = False


class Participants(t.NamedTuple):
    """The nodes that take part in a run of the network check, and those that should take part but cannot."""

    windows: list[CheckedNode]
    linux: list[CheckedNode]
    unusable: list[CheckedNode]
    """Windows nodes that should take part, but cannot, and requested nodes that are not Windows nodes or do not exist.
    The `problem` attribute of each of these nodes contains the reason.
    """
    windows_total: int
    """Number of Windows nodes in the cluster."""


def describe(node: t.Mapping[str, t.Any]) -> CheckedNode:
    """Return the properties of a node that the network check needs.

    Args:
        node: the node as the API returned it.
    """
    status, labels = node.get("status") or {}, node["metadata"].get("labels") or {}
    address = next((one["address"] for one in status.get("addresses") or () if one["type"] == "InternalIP"), "")
    ready = next((one for one in status.get("conditions") or () if one["type"] == "Ready"), None)
    problem = ""
    if ready is None:
        problem = "the node is not Ready: its kubelet has not reported yet"
    elif ready["status"] != "True":
        # This text comes from the node's kubelet.
        problem = f"the node is not Ready: {printable(str(ready.get('message') or 'no reason given'))}"
    elif not address:
        problem = "the node has no internal IP address"
    return CheckedNode(
        node["metadata"]["name"], labels.get("kubernetes.io/os", ""), address, problem, _CONTROL_PLANE in labels
    )


def sample(nodes: t.Sequence[CheckedNode], count: int) -> list[CheckedNode]:
    """Return nodes from a list, chosen at even intervals.

    Args:
        nodes: the list of nodes.
        count: how many nodes to return; 0 means all of them.
    """
    if not count or count >= len(nodes):
        return list(nodes)
    return [nodes[index * len(nodes) // count] for index in range(count)]


def choose(
    nodes: t.Iterable[CheckedNode], names: t.Sequence[str], windows_count: int, linux_count: int
) -> Participants:
    """Choose the nodes that take part in a run.

    Args:
        nodes: all nodes of the cluster.
        names: names of the Windows nodes to check. If it is empty, `windows_count` applies.
        windows_count: how many Windows nodes to choose if `names` is empty; 0 means all.
        linux_count: how many usable Linux nodes to choose; 0 means all. Otherwise, nodes of the control plane are
            chosen only if there are not enough workers.
    """
    ordered = sorted(nodes, key=lambda node: (node.control_plane, node.name))
    windows = [node for node in ordered if node.os == WINDOWS]
    by_name = {node.name: node for node in ordered}
    chosen = [by_name.get(name) or CheckedNode(name, WINDOWS) for name in dict.fromkeys(names)] or sample(
        windows, windows_count
    )
    chosen = [node if not names else _requested(node, by_name) for node in chosen]
    linux = [node for node in ordered if node.os == LINUX and not node.problem]
    workers = [node for node in linux if not node.control_plane]
    preferred = workers if linux_count and len(workers) >= linux_count else linux
    return Participants(
        [node for node in chosen if not node.problem],
        sample(preferred, linux_count),
        [node for node in chosen if node.problem],
        len(windows),
    )


def _requested(node: CheckedNode, known: t.Mapping[str, CheckedNode]) -> CheckedNode:
    """Return a node that the user requested. Its `problem` is set if it does not exist or is not a Windows node."""
    if node.name not in known:
        return node._replace(problem="the cluster has no node of this name")
    if node.os != WINDOWS:
        system = node.os or "no label kubernetes.io/os"
        return node._replace(problem=f"expected a Windows node, got {system}")
    return node
