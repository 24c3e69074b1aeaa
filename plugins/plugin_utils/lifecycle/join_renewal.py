# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Undo the join of a node that cannot return to its cluster by itself, so that it can join again.

A machine that was off for a long time may come back with an expired certificate, with the cluster's former CA, or
without a Node object. Its kubelet cannot get a new certificate without a bootstrap token (kubernetes.io: TLS
bootstrapping, "Certificate rotation"), and does not register a deleted node again (kubernetes/kubernetes#71398).
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from ..node_config import kubelet_certificate
from ..node_config.kubelet_certificate import CURRENT_CERTIFICATE, READ_BYTES, ClientCertificate
from ..node_config.kubelet_kubeconfig import KubeletKubeconfig, decoded
from ..remote.errors import BatchLost, NodeError
from ..remote.protocol import RemoteNode
from ..windows import node_paths
from ..wire.calls import action, query
from ..wire.messages import Batch, Call, Input, Json, Observation

_REMOVED: t.Sequence[str] = (node_paths.KUBELET_CONF, CURRENT_CERTIFICATE, f"{node_paths.KUBERNETES}\\pki\\ca.crt")
"""Files whose existence makes the kubelet, kubeadm and this collection treat the machine as a node."""

_STOP = 120.0
"""Time limit for the kubelet to stop, in seconds."""
_SETTLED = datetime.timedelta(minutes=15)
"""Minimum age of a machine's certificate before its missing Node object counts as deleted. With a newer certificate,
the machine may have joined after the run listed the nodes, or its kubelet may not have registered its node yet.
Kubernetes issues certificates whose validity begins five minutes in the past (kubernetes
pkg/controller/certificates/signer/signer.go, Backdate)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubeletCredentials:
    """A machine's credentials in the cluster."""

    joined: bool
    kubeconfig: KubeletKubeconfig
    has_certificate: bool
    """Whether the kubelet has a client certificate. False only if its kubeconfig refers to the file that the kubelet
    rotates, and this file is missing or contains no PEM data, for example after a power failure."""
    certificate: ClientCertificate | None
    """The client certificate, or None if it is missing or cannot be read."""


def calls() -> tuple[Call, ...]:
    """Return the calls that read the kubelet's credentials.

    Of the file with the certificate, only the first part is read, which does not contain the private key. The
    kubeconfig is read completely and may contain a private key, so its call is private.
    """
    return (
        query("kubeconfig", "@read-file", {"paths": [node_paths.KUBELET_CONF], "content": True}, private=True),
        query(
            "certificate",
            "@read-file",
            {"paths": [CURRENT_CERTIFICATE], "content": True, "encoding": "base64", "limit": READ_BYTES},
        ),
    )


def read(seen: Observation) -> KubeletCredentials:
    """Return the kubelet's credentials, as read from the results of `calls`."""
    conf, pem = seen["kubeconfig"].first or {}, seen["certificate"].first or {}
    kubeconfig = KubeletKubeconfig.parse(conf.get("content") or "")
    own = kubelet_certificate.first_certificate(decoded(pem.get("content")))
    return KubeletCredentials(
        joined=bool(conf.get("exists")),
        kubeconfig=kubeconfig,
        # A certificate in another place was not read.
        has_certificate=not (kubeconfig.uses_current_certificate and _is_lost(pem)),
        certificate=kubeconfig.embedded or own,
    )


def _is_lost(pem: t.Mapping[str, t.Any]) -> bool:
    """Return whether the file with the certificate is missing or damaged. A file that was not read is neither."""
    content = pem.get("content")
    return pem.get("exists") is False or (isinstance(content, str) and b"-----BEGIN" not in decoded(content))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterFacts:
    """The cluster to which a machine should belong."""

    ca_certificate: str
    """The cluster's CA (PEM)."""
    nodes: t.Collection[str]
    """Names of all nodes of the cluster."""


def safe_time(seen: Observation, now: datetime.datetime) -> datetime.datetime:
    """Return the earlier of the controller's and the machine's time, so that a clock that is ahead has no effect.

    Args:
        seen: the results of `calls`.
        now: time of the controller's clock (UTC) when the results arrived.
    """
    return now + datetime.timedelta(seconds=min(seen.clock_skew(now) or 0.0, 0.0))


def reason(own: KubeletCredentials, cluster: ClusterFacts, now: datetime.datetime) -> str:
    """Return why a machine has to join its cluster again, or an empty string if it need not or has never joined.

    Args:
        own: the machine's credentials. The certificate contains the name of the machine's node.
        cluster: the cluster to which the machine should belong.
        now: the current time (UTC).
    """
    if not own.joined:
        return ""
    certificate = own.certificate
    if certificate is not None and now > certificate.ends:
        return f"the kubelet's certificate expired on {certificate.ends:%Y-%m-%d %H:%M} UTC"
    if not own.has_certificate:
        return "the kubelet's certificate is missing or damaged"
    if certificate is None or not certificate.node or not own.kubeconfig.authorities:
        return ""
    if certificate.node in cluster.nodes:
        return "the kubelet trusts a CA that is not the cluster's" if _trusts_another(own, cluster) else ""
    is_deleted = not _trusts_another(own, cluster) and now - certificate.begins > _SETTLED
    return f"the Node object {certificate.node} was deleted from the cluster" if is_deleted else ""


def other_cluster(own: KubeletCredentials, cluster: ClusterFacts) -> str:
    """Return why a machine is a node of another cluster, or an empty string if it is not.

    Call this only if `reason` returned an empty string.

    Two clusters can have the same address if they are in different networks, and the run may use the wrong kubeconfig.
    Only the CA and the names of the nodes distinguish two such clusters.

    Args:
        own: the machine's credentials.
        cluster: the cluster to which the machine should belong.
    """
    known = own.certificate is not None and own.certificate.node in cluster.nodes
    if not own.joined or known or not _trusts_another(own, cluster):
        return ""
    return (
        "its kubelet trusts a CA that is not the cluster's, and its certificate is for no node of the cluster, so it "
        "is a node of another cluster at the same address. Check the kubeconfig; reset the machine (reset_nodes.yml) "
        "if it is to join this cluster"
    )


def _trusts_another(own: KubeletCredentials, cluster: ClusterFacts) -> bool:
    """Return whether the kubelet's kubeconfig has CAs, none of which is the cluster's."""
    trusted = own.kubeconfig.authorities
    return bool(trusted) and trusted.isdisjoint(kubelet_certificate.authorities(cluster.ca_certificate))


def undo(node: RemoteNode) -> None:
    """Stop a machine's kubelet and remove its credentials, so that the machine counts as not joined.

    Args:
        node: the machine.

    Raises:
        NodeError: the kubelet did not stop, or a file could not be removed.
        AnsibleConnectionFailure: the node cannot be reached.
    """
    step = "undo the former join"
    try:
        seen = node.run(Batch(calls=undo_calls()), step=step)
    except BatchLost:
        # The batch only stops the kubelet and removes files, so it can be repeated.
        seen = node.run(Batch(calls=undo_calls()), step=step)
    if seen.stopped is not None:
        raise NodeError(f"{node.name}: {step}: {seen[seen.stopped.id].error}")


def undo_calls() -> tuple[Call, ...]:
    """Return the calls that stop the kubelet and remove its credentials."""
    existing = Input(calls=("credentials",), where={"exists": True}, parameter="LiteralPath", property="path")
    paths: dict[str, Json] = {"paths": list(_REMOVED)}
    return (
        action("stop-kubelet", "Stop-Service", {"Name": "kubelet", "Force": True}, timeout=_STOP),
        query("credentials", "@read-file", paths, select=("path", "exists"), on_error="stop"),
        action("remove", "Remove-Item", {"Force": True}, input=existing),
    )
