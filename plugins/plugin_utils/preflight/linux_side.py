# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find settings on the Linux side of a cluster that harm Windows nodes, and explain how to fix each of them (no I/O).

A finding's `outcome` says whether the run refuses to start, changes the setting or only reports it. Runs change only
DaemonSets and, on request, Calico's settings.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..pod_networks.catalogue import KnownNetwork, catalogue
from ..pod_networks.linux_daemon_sets import NODE_SELECTOR, Restricted, manager, place
from ..pod_networks.mtu import ETHERNET, linux_mtu
from ..pod_networks.network import cluster_mode
from ..values.shown import shown
from . import cluster as checks
from .host import HostVariables
from .variables import Problem, RequestedChange

_NO_SELECTOR = "the pods would be scheduled on Windows nodes, and fail there if their images are for Linux"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """A setting of the cluster that harms Windows nodes."""

    outcome: t.Literal["refused", "changed", "reported"]
    """What the run does about the finding: it refuses to start, changes the setting, or only reports the finding."""
    finding: str
    """What is wrong, or why it matters."""
    object: str
    value: str
    expected: str
    fix: str

    def to_json(self) -> dict[str, str]:
        """Return the finding's fields as a dictionary."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return f"{self.object}: expected {self.expected}, got {self.value}. {self.fix}"


def findings(
    node: HostVariables,
    cluster: t.Mapping[str, t.Any],
    refused: t.Iterable[Problem],
    restricted: Restricted,
) -> list[Finding]:
    """Return the findings on the Linux side of a cluster, starting with those that prevent the run.

    Args:
        node: the host's variables.
        cluster: the result of cluster_info.
        refused: problems with the network of the Linux nodes.
        restricted: the DaemonSets that the run may restrict to Linux nodes.
    """
    return [
        *(_refused(problem) for problem in refused),
        *(_requested(one) for one in checks.requested_changes(node, cluster)),
        *mtu(node, cluster),
        *daemon_sets(cluster.get("unbound_daemon_sets") or (), restricted),
    ]


def _refused(problem: Problem) -> Finding:
    """Return the finding for a problem that prevents the run."""
    return Finding(
        outcome="refused",
        finding="Windows nodes cannot use this network",
        object=problem.variable,
        value=shown(problem.value).strip("'"),
        expected=problem.expected.removeprefix("expected "),
        fix=problem.hint,
    )


def _requested(change: RequestedChange) -> Finding:
    """Return the finding for a change that a variable requests."""
    return Finding(
        outcome="changed",
        finding=f"{change.variable} requests a change",
        object=change.object,
        value=change.before,
        expected=change.after,
        fix=f"site.yml, join_nodes.yml and cluster.yml change it. {change.more}".strip(),
    )


def mtu(node: HostVariables, cluster: t.Mapping[str, t.Any]) -> list[Finding]:
    """Return a finding if the pods' packets have a different MTU on Linux nodes than on Windows nodes.

    The MTU on Windows nodes is taken to be `cni_mtu`, or, if this is 0, the usual MTU of network adapters minus the
    overlay's headers.

    Args:
        node: the host's variables.
        cluster: the result of cluster_info.
    """
    known = catalogue().get(node.cni_plugin)
    if known is None:
        return []
    mode = _mode(known, node, cluster)
    linux = linux_mtu(known, mode, cluster)
    if linux is None:
        return []
    overhead = known.mode(mode).mtu_overhead
    expected = node.mtu or ETHERNET - overhead
    if linux.pods == expected:
        return []
    why = "from cni_mtu" if node.mtu else f"the usual MTU of network adapters, {ETHERNET}, minus {overhead}"
    remedy = linux.remedy.format(mtu=expected, adapter=expected + overhead)
    return [
        Finding(
            outcome="reported",
            finding="the pods' packets have a different MTU on Linux nodes, and the MTU of Windows nodes cannot be set",
            object=linux.where,
            value=f"{linux.pods} for pods",
            expected=f"{expected} ({why})",
            fix=f"{remedy} If {linux.pods} is correct, set cni_mtu: {linux.pods}.",
        )
    ]


def _mode(known: KnownNetwork, node: HostVariables, cluster: t.Mapping[str, t.Any]) -> str:
    """Return the pod network's mode from the host's variables or the cluster, or else the default mode."""
    given = {"flannel_backend": node.backend, "calico_mode": node.calico_mode}.get(known.mode_variable)
    facts = (cluster.get(known.linux) or {}) if known.linux else {}
    return given or cluster_mode(known, facts, lambda _variable: "") or next(iter(known.modes))


def daemon_sets(unbound: t.Iterable[t.Mapping[str, t.Any]], restricted: Restricted) -> list[Finding]:
    """Return a finding for each DaemonSet that selects no operating system, sorted by namespace and name.

    Args:
        unbound: the DaemonSets that select no operating system (`unbound_daemon_sets` in the result of cluster_info).
        restricted: the DaemonSets that the run may restrict to Linux nodes.
    """
    return [_daemon_set(one, restricted) for one in sorted(unbound, key=place)]


def _daemon_set(one: t.Mapping[str, t.Any], restricted: Restricted) -> Finding:
    owner, changes = manager(one), bool(restricted.of([one]))
    owned = f", managed by {owner.title}" if owner is not None else ""
    if changes:
        fix = "site.yml, join_nodes.yml and cluster.yml add the node selector."
        if owner is not None:
            fix += f" The DaemonSet's manager may remove it again. {owner.remedy}"
    elif owner is not None and owner.reverts:
        fix = f"{owner.remedy} A change to the DaemonSet itself would be reverted."
    else:
        fix = f"{_command(one)}; or set cni_linux_daemon_sets: [{place(one)}]."
        fix += f" {owner.remedy}" if owner is not None else ""
    return Finding(
        outcome="changed" if changes else "reported",
        finding=_NO_SELECTOR,
        object=f"DaemonSet {place(one)}{owned}",
        value="no node selector for an operating system",
        expected=", ".join(f"{key}: {value}" for key, value in NODE_SELECTOR.items()),
        fix=fix,
    )


def _command(one: t.Mapping[str, t.Any]) -> str:
    patch = json.dumps({"spec": {"template": {"spec": {"nodeSelector": NODE_SELECTOR}}}}, separators=(",", ":"))
    return f"kubectl -n {one['namespace']} patch daemonset {one['name']} --patch '{patch}'"


def warnings(unbound: t.Iterable[t.Mapping[str, t.Any]], restricted: Restricted) -> list[str]:
    """Return warnings about DaemonSets that the run does not restrict to Linux nodes.

    Runs that do not print the table of findings show these warnings instead.

    Args:
        unbound: the DaemonSets that select no operating system (`unbound_daemon_sets` in the result of cluster_info).
        restricted: the DaemonSets that the run may restrict to Linux nodes.
    """
    groups: dict[str, list[Finding]] = {}
    for one in unbound:
        owner, finding = manager(one), _daemon_set(one, restricted)
        if finding.outcome == "reported":
            groups.setdefault(owner.title if owner is not None and owner.reverts else "", []).append(finding)
    texts = []
    for title, group in sorted(groups.items()):
        names = sorted((one.object.removeprefix("DaemonSet "), one.fix) for one in group)
        texts.append(
            "DaemonSets that select no operating system will be scheduled on Windows nodes, and fail there if their "
            f"images are for Linux: {', '.join(name for name, _fix in names)}. "
            f"{names[0][1] if title else f'To keep a DaemonSet on Linux nodes: {names[0][1]}'}"
        )
    return texts
