# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Plan which node connects to which node, and how (no I/O).

The nodes of each operating system form a ring, in which each node connects to the next one, and each Windows node is
paired with one Linux node. The number of connections is therefore proportional to the number of nodes, not to its
square. Each node is the source and the target of connections between pods, the source of connections to Services and to
the outside, and the target of connections to a NodePort.
"""

from __future__ import annotations

import typing as t
import urllib.parse

from .nodes import LINUX, WINDOWS, CheckedNode, Participants

POD_TO_POD, SERVICE_IP, SERVICE_DNS = "pod_to_pod", "service_ip", "service_dns"
NODE_PORT, OUTBOUND, NETWORK_POLICY = "node_port", "outbound", "network_policy"
KINDS = (POD_TO_POD, SERVICE_IP, SERVICE_DNS, NODE_PORT, OUTBOUND, NETWORK_POLICY)
PASSED, FAILED, NOT_RUN, NOT_APPLICABLE = "passed", "failed", "not_run", "not_applicable"
STATUSES = (FAILED, NOT_RUN, PASSED, NOT_APPLICABLE)

CONTROLLER = "controller"
"""The name that stands for the machine on which the module runs, if that machine opens the connection."""
BACKENDS = 3
"""Maximum number of Services for each operating system. kube-proxy writes rules for each Service on every node, so the
number of Services must not grow with the cluster.
"""
_PORTS = {"http": 80, "https": 443}


class Check(t.NamedTuple):
    """One connection to check."""

    kind: str
    source: str
    """The node whose pod opens the connection, or CONTROLLER."""
    target: str
    """The node to which the connection goes, or the URL of an outbound connection."""
    backend: str = ""
    """The node whose pod responds, or an empty string if the pod on the target responds."""
    source_os: str = ""
    target_os: str = ""

    @property
    def server(self) -> str:
        """The node whose pod responds."""
        return self.backend or self.target


class Outcome(t.NamedTuple):
    """The result of a check. It becomes one row of the report."""

    check: Check
    status: str
    detail: str = ""
    address: str = ""
    """The destination of the connection, as HOST:PORT, or an empty string if the destination is unknown."""
    attempts: int = 0

    def to_result(self) -> dict[str, t.Any]:
        """Return the result of the check as a mapping for the module's result."""
        return {
            "check": self.check.kind,
            "from": self.check.source,
            "from_os": self.check.source_os,
            "to": self.check.target,
            "to_os": self.check.target_os,
            "answered_by": self.check.backend,
            "address": self.address,
            "status": self.status,
            "detail": self.detail,
            "attempts": self.attempts,
        }


class CheckPlan(t.NamedTuple):
    """The planned checks of a run."""

    checks: list[Check]
    backends: list[CheckedNode]
    """Nodes whose server pods each get a Service."""
    outcomes: list[Outcome]
    """Outcomes that are known without opening a connection, for example for nodes that cannot take part."""


def plan(nodes: Participants, url: str, *, from_controller: bool = False) -> CheckPlan:
    """Return the checks of a run, except those of the NetworkPolicy.

    Args:
        nodes: the nodes that take part, and those that cannot.
        url: the URL to which all nodes open an outbound connection. If it is empty, there are no such connections.
        from_controller: whether the machine on which the module runs also connects to NodePorts.
    """
    windows, linux = nodes.windows, nodes.linux
    backends = [*windows[:BACKENDS], *linux[:BACKENDS]]
    checks = _pod_to_pod(windows, linux)
    for number, source in enumerate([*windows, *linux]):
        checks += _to_services(source, backends, number)
    checks += _node_ports(windows, linux, backends, from_controller)
    if url:
        checks += [Check(OUTBOUND, node.name, url, "", node.os) for node in [*windows, *linux]]
    outcomes = [_unusable(node) for node in nodes.unusable]
    outcomes += _missing(windows, linux)
    if not url:
        outcomes.append(Outcome(Check(OUTBOUND, "", ""), NOT_APPLICABLE, "no URL for outbound connections is set"))
    return CheckPlan(checks, backends, outcomes)


def policy_checks(checks: t.Iterable[Check]) -> list[Check]:
    """Return the checks that show whether a NetworkPolicy blocks connections to the server pods.

    There is one check for each node to which another node connects. It repeats this connection. Its result is
    meaningful only if the connection works without the NetworkPolicy.

    Args:
        checks: the other checks of the run.
    """
    by_target: dict[str, Check] = {}
    for check in checks:
        if check.kind == POD_TO_POD and check.source != check.target:
            by_target.setdefault(check.target, check._replace(kind=NETWORK_POLICY))
    return list(by_target.values())


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host and port of a URL.

    Raises:
        ValueError: the string is not a URL with the scheme http or https.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"expected a URL such as https://registry.k8s.io, got {url!r}")
    return parts.hostname, parts.port or _PORTS[parts.scheme]


def _pair(kind: str, source: CheckedNode, target: CheckedNode, backend: str = "") -> Check:
    return Check(kind, source.name, target.name, backend, source.os, target.os)


def _pod_to_pod(windows: t.Sequence[CheckedNode], linux: t.Sequence[CheckedNode]) -> list[Check]:
    checks = [_pair(POD_TO_POD, node, node) for node in [*windows, *linux]]
    for group in (windows, linux):
        if len(group) > 1:
            checks += [_pair(POD_TO_POD, node, group[(index + 1) % len(group)]) for index, node in enumerate(group)]
    if linux:
        for index, node in enumerate(windows):
            other = linux[index % len(linux)]
            checks += [_pair(POD_TO_POD, node, other), _pair(POD_TO_POD, other, node)]
    return checks


def _to_services(source: CheckedNode, backends: t.Sequence[CheckedNode], number: int) -> list[Check]:
    """Return the checks of connections from a node to a Service with a Windows pod and to a Service with a Linux pod.

    These pods never run on the node that connects.

    Args:
        source: the node that connects.
        backends: nodes whose server pods each get a Service.
        number: position of the source in the list of nodes, which distributes the nodes over the Services.
    """
    checks = []
    for system in (WINDOWS, LINUX):
        others = [node for node in backends if node.os == system and node.name != source.name]
        if others:
            target = others[number % len(others)]
            checks += [_pair(kind, source, target) for kind in (SERVICE_IP, SERVICE_DNS)]
    return checks


def _node_ports(
    windows: t.Sequence[CheckedNode],
    linux: t.Sequence[CheckedNode],
    backends: t.Sequence[CheckedNode],
    from_controller: bool,
) -> list[Check]:
    """Return the checks of connections to a NodePort on each node.

    Each node is tested from one other node, and also from the controller if `from_controller` is true. The source is
    never the tested node, because a Windows node cannot reach its own NodePort. The pod that responds is not on the
    tested node either, so the tested node has to forward the connection. Source: kubernetes.io, Networking on Windows,
    "Limitations".
    """
    everyone, checks = [*linux, *windows], []
    for number, entry in enumerate([*windows, *linux]):
        others = [node for node in everyone if node.name != entry.name]
        behind = [node for node in backends if node.name != entry.name]
        behind = [node for node in behind if node.os != entry.os] or behind
        if not others or not behind:
            continue
        near = [node for node in others if node.os == LINUX] or others
        source, backend = near[number % len(near)], behind[number % len(behind)]
        checks.append(_pair(NODE_PORT, source, entry, backend.name))
        if from_controller:
            checks.append(Check(NODE_PORT, CONTROLLER, entry.name, backend.name, "", entry.os))
    return checks


def _unusable(node: CheckedNode) -> Outcome:
    return Outcome(Check(POD_TO_POD, node.name, node.name, "", WINDOWS, WINDOWS), NOT_RUN, node.problem)


def _missing(windows: t.Sequence[CheckedNode], linux: t.Sequence[CheckedNode]) -> list[Outcome]:
    """Return outcomes for checks that are not possible because not enough nodes take part."""
    outcomes = []
    if len(windows) == 1:
        why = "only one Windows node takes part, so no connection between Windows nodes can be checked"
        only = windows[0].name
        outcomes.append(Outcome(Check(POD_TO_POD, only, "", "", WINDOWS, WINDOWS), NOT_APPLICABLE, why))
    if windows and not linux:
        why = "no Ready Linux node takes part, so no connection between Windows and Linux can be checked"
        outcomes.append(Outcome(Check(POD_TO_POD, "", "", "", WINDOWS, LINUX), NOT_APPLICABLE, why))
    return outcomes
