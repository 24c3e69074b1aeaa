# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find out why a node is not Ready, from what was observed of it and what the cluster knows (no I/O)."""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from . import check_cluster, check_kubelet, check_machine, check_network
from .causes import FoundCause, RankedCause, finding, known, ranked
from .examination import Examination

Check = t.Callable[[Examination], t.Iterator[FoundCause]]
_CHECKS: t.Sequence[Check] = (
    check_machine.disabled_services,
    check_machine.clock,
    check_machine.disk,
    check_machine.pending_reboot,
    check_kubelet.runtime,
    check_kubelet.service,
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

Status = t.Literal["Ready", "NotReady", "Unknown", "not in the cluster", "not asked"]
_STATUSES: t.Mapping[str, Status] = {"True": "Ready", "False": "NotReady", "Unknown": "Unknown", "": "NotReady"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The causes that were found on a node."""

    node_name: str
    status: Status
    """The node's state in the cluster."""
    status_detail: str
    """Why the node is not Ready according to the cluster, or why the cluster was not queried."""
    findings: tuple[RankedCause, ...]

    def to_result(self) -> dict[str, t.Any]:
        """Return the diagnosis as plain data for node_diagnosis."""
        return {
            "node_name": self.node_name,
            "status": self.status,
            "status_detail": self.status_detail,
            "causes": [_entry(one) for one in self.findings],
        }


def diagnose(node: Examination, now: datetime.datetime) -> Diagnosis:
    """Return the causes that were found on a node, in their order.

    Args:
        node: what is known about the node.
        now: time of the controller's clock (UTC).
    """
    findings = [one for check in _CHECKS for one in check(node)]
    findings += check_cluster.certificate(node, now)
    status, detail = _status(node)
    explained = any(known()[one.cause].effect != "risk" for one in findings)
    if not explained and status in ("NotReady", "Unknown"):
        findings.append(finding("unexplained", detail))
    return Diagnosis(node_name=node.node_name, status=status, status_detail=detail, findings=ranked(findings))


def _status(node: Examination) -> tuple[Status, str]:
    if not node.cluster.known:
        return "not asked", node.cluster.problem
    if node.node is None:
        return "not in the cluster", f"the cluster has no node {node.node_name}"
    since = f" (since {node.node.since})" if node.node.since and node.node.reason else ""
    return _STATUSES.get(node.node.ready, "Unknown"), f"{node.node.reason}{since}"


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
