# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check a node's join, certificate, CA, name, connection to the API server, and Node object (no I/O)."""

from __future__ import annotations

import datetime
import typing as t

from ..windows import node_paths
from .causes import FoundCause, finding
from .cluster_view import NO_KUBECONFIG
from .examination import Examination

_GRACE = datetime.timedelta(minutes=1)


def join(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether the machine has joined a cluster."""
    kubelet = node.first.kubelet
    if node.is_prepared and not kubelet.joined:
        interrupted = f"{node_paths.BOOTSTRAP_KUBELET_CONF} exists: a join was interrupted"
        known = node.node
        waits = kubelet.awaited_file and node.first.machine.services["kubelet"].running
        state = (known.ready or "never reported") if known else ""
        yield finding(
            "not_joined",
            f"{node_paths.KUBELET_CONF} does not exist",
            interrupted if kubelet.interrupted_join else "",
            f"the launcher waits for {kubelet.awaited_file} before it starts the kubelet" if waits else "",
            f"the cluster still has a node {node.node_name} (Ready: {state})" if known else "",
        )


def certificate(node: Examination, now: datetime.datetime) -> t.Iterator[FoundCause]:
    """Check the kubelet's client certificate.

    Args:
        node: the node.
        now: time of the controller's clock (UTC).
    """
    kubelet = node.first.kubelet
    if not kubelet.joined:
        return
    own = kubelet.certificate
    if own is None:
        path = kubelet.kubeconfig.certificate_file
        # A certificate in an unusual place was not read.
        if kubelet.kubeconfig.uses_current_certificate:
            yield finding("certificate_missing", f"{path} {kubelet.certificate_problem}")
    elif now > own.ends:
        yield finding(
            "certificate_expired",
            f"the certificate of {own.common_name} expired on {own.ends:%Y-%m-%d %H:%M} UTC, "
            f"{_duration(now - own.ends)} ago",
        )
    elif now + _GRACE < own.begins:
        yield finding(
            "certificate_not_yet_valid",
            f"the certificate of {own.common_name} is valid from {own.begins:%Y-%m-%d %H:%M} UTC, "
            f"which is in {_duration(own.begins - now)}",
        )


def authority(node: Examination) -> t.Iterator[FoundCause]:
    """Compare the CA that the kubelet trusts with the CA of the cluster."""
    kubeconfig = node.first.kubelet.kubeconfig
    trusted, actual = kubeconfig.authorities, node.cluster.authorities
    if trusted and actual and trusted.isdisjoint(actual):
        yield finding(
            "ca_changed",
            f"{node_paths.KUBELET_CONF} trusts a CA that is not the cluster's",
            f"its API server is {kubeconfig.address}",
        )


def name(node: Examination) -> t.Iterator[FoundCause]:
    """Compare the node name in the kubelet's certificate with the kubelet's own name and with the inventory."""
    own = node.first.kubelet.certificate
    certified = own.node if own else ""
    if certified and node.knows_kubelet_name and certified != node.kubelet_name:
        yield finding(
            "wrong_name",
            f"the kubelet uses the name {node.kubelet_name}, but its certificate is for the node {certified}",
        )
    elif certified and node.expected_name and certified != node.expected_name:
        yield finding(
            "wrong_name", f"the machine is the node {certified}, but the inventory expects {node.expected_name}"
        )


def connection(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether the node reaches the API server, directly or through the kubelet's proxy."""
    api, kubeconfig = node.second.api, node.first.kubelet.kubeconfig
    if not api.asked:
        return
    if api.resolution_problem and api.direct_problem:
        yield finding("api_name_unresolved", f"{kubeconfig.host}: {api.resolution_problem}")
    if api.direct_problem and (not api.proxy or api.proxy_problem):
        controller = "the controller cannot reach it either: " + node.cluster.problem if _asked_in_vain(node) else ""
        yield finding("api_unreachable", f"{kubeconfig.address}: {api.direct_problem}", controller)
    if api.proxy and api.proxy_problem and not api.direct_problem:
        yield finding(
            "api_proxy",
            f"{kubeconfig.address} through the proxy {api.proxy}: {api.proxy_problem}",
            f"{kubeconfig.address} without the proxy: reachable",
        )


def node_object(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether the cluster has a Node object for a machine that has joined."""
    if node.first.kubelet.joined and node.cluster.known and node.node is None:
        yield finding("node_missing", f"the cluster has no node {node.node_name}")


def _asked_in_vain(node: Examination) -> bool:
    """Return whether the cluster was queried, but without success."""
    return not node.cluster.known and node.cluster.problem != NO_KUBECONFIG


def _duration(span: datetime.timedelta) -> str:
    hours = span.total_seconds() / 3600
    return f"{hours / 24:.0f} days" if hours >= 48 else f"{hours:.1f} hours"
