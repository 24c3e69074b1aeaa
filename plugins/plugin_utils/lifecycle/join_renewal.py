# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Undo the join of a node that cannot return to its cluster by itself, so that it can join again.

A machine that was off for long may come back with an expired certificate, with the CA that the cluster had before, or
without a Node object. Its kubelet cannot get a new certificate without a bootstrap token (kubernetes.io: TLS
bootstrapping, "Certificate rotation"), and does not register a node again that was deleted
(kubernetes/kubernetes#71398).
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
"""The files whose existence makes the kubelet, kubeadm and this collection take the machine for a node."""

_STOP = 120.0
"""Time limit for the kubelet to stop, in seconds."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubeletCredentials:
    """A machine's credentials in the cluster."""

    joined: bool
    kubeconfig: KubeletKubeconfig
    has_certificate: bool
    """Whether the file with the client certificate exists, or is not the one that the kubelet rotates."""
    certificate: ClientCertificate | None
    """None: missing or unreadable."""


def calls() -> tuple[Call, ...]:
    """Return the calls that read the credentials, without the private key."""
    return (
        # A kubeconfig may contain a key.
        query("kubeconfig", "@read-file", {"paths": [node_paths.KUBELET_CONF], "content": True}, private=True),
        query(
            "certificate",
            "@read-file",
            {"paths": [CURRENT_CERTIFICATE], "content": True, "encoding": "base64", "limit": READ_BYTES},
        ),
    )


def read(seen: Observation) -> KubeletCredentials:
    """Read the results of `calls`."""
    conf, pem = seen["kubeconfig"].first or {}, seen["certificate"].first or {}
    kubeconfig = KubeletKubeconfig.parse(conf.get("content") or "")
    own = kubelet_certificate.first_certificate(decoded(pem.get("content")))
    return KubeletCredentials(
        joined=bool(conf.get("exists")),
        kubeconfig=kubeconfig,
        # A certificate in another place was not read.
        has_certificate=bool(pem.get("exists")) or not kubeconfig.uses_current_certificate,
        certificate=kubeconfig.embedded or own,
    )


def reason(own: KubeletCredentials, *, ca_certificate: str, nodes: t.Collection[str], now: datetime.datetime) -> str:
    """Return why a machine that has joined has to join again; empty if it does not have to, or has not joined.

    Args:
        own: the machine's credentials.
        ca_certificate: the cluster's CA (PEM).
        nodes: names of all nodes of the cluster. The certificate contains the name of the machine's own node.
        now: time of the controller's clock (UTC).
    """
    if not own.joined:
        return ""
    certificate, trusted = own.certificate, own.kubeconfig.authorities
    if certificate is not None and now > certificate.ends:
        return f"the kubelet's certificate expired on {certificate.ends:%Y-%m-%d %H:%M} UTC"
    if not own.has_certificate:
        return "the kubelet's certificate is missing"
    if trusted and trusted.isdisjoint(kubelet_certificate.authorities(ca_certificate)):
        return "the kubelet trusts another CA than the cluster has"
    name = certificate.node if certificate is not None else ""
    return f"the Node object {name} was deleted from the cluster" if name and name not in nodes else ""


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
        # The batch only removes, so it can be repeated.
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
