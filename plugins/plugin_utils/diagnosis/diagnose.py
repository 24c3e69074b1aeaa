# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find out why a node is not Ready, from the node's observed state and its state in the cluster (no I/O)."""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from . import check_cluster, check_kubelet, check_machine, check_network
from .causes import FoundCause, RankedCause, finding, known, ranked
from .cluster_view import state_of
from .examination import Examination

Check = t.Callable[[Examination], t.Iterator[FoundCause]]
_CHECKS: t.Sequence[Check] = (
    check_machine.disabled_services,
    check_machine.clock,
    check_machine.disk,
    check_machine.pending_reboot,
    check_kubelet.runtime,
    check_kubelet.service,
    check_kubelet.launcher,
    check_kubelet.flags,
    check_kubelet.configuration,
    check_cluster.join,
    check_cluster.authority,
    check_cluster.name,
    check_cluster.connection,
    check_cluster.node_object,
    check_network.hns,
    check_network.hns_networks,
    check_network.stale_endpoints,
    check_network.cni,
    check_network.kube_proxy,
    check_network.source_address,
    check_network.pause_image,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The state of a node, and the causes that were found for its problems."""

    node_name: str
    status: str
    """The node's state in the cluster (see `cluster_view.state_of`)."""
    status_detail: str
    """The reason for the status, such as why the node is not Ready or why the cluster was not queried."""
    findings: tuple[RankedCause, ...]

    def to_result(self) -> dict[str, t.Any]:
        """Return the diagnosis as plain data for the result of the node_diagnosis module."""
        return {
            "node_name": self.node_name,
            "status": self.status,
            "status_detail": self.status_detail,
            "causes": [_entry(one) for one in self.findings],
        }


def diagnose(node: Examination, now: datetime.datetime) -> Diagnosis:
    """Return the state of a node and the causes that were found, in the order in which they are reported.

    Args:
        node: the facts about the node.
        now: time of the controller's clock (UTC).
    """
    findings = [one for check in _CHECKS for one in check(node)]
    findings += check_cluster.certificate(node, now)
    state = state_of(node.cluster, node.node_name)
    status, detail = state["status"], state["status_detail"]
    explained = any(known()[one.cause].effect != "risk" for one in findings)
    if not explained and status in ("NotReady", "Unknown"):
        findings.append(finding("unexplained", detail))
    return Diagnosis(node_name=node.node_name, status=status, status_detail=detail, findings=ranked(findings))


def _entry(ranking: RankedCause) -> dict[str, t.Any]:
    cause = known()[ranking.finding.cause]
    return {
        "cause": ranking.finding.cause,
        "title": cause.title,
        "effect": cause.effect,
        "evidence": list(ranking.finding.evidence),
        "explanation": cause.explanation,
        "fix": cause.fix,
        "source": cause.source,
        "consequence_of": ranking.consequence_of,
    }
