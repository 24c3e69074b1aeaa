# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide which certificate signing requests of joining kubelets may be approved (no I/O).

The functions take CertificateSigningRequests as the API returns them. Each bootstrap token is created for one node. It
may be used only to request the certificate of this node, so nobody can use it to join as a different node.
"""

from __future__ import annotations

import base64
import binascii
import typing as t

try:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from cryptography.x509.oid import NameOID
except ImportError:
    HAS_CRYPTOGRAPHY = False
else:
    HAS_CRYPTOGRAPHY = True

Request = t.Mapping[str, t.Any]

SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
"""The signer of the client certificates of kubelets.

Source: kubernetes.io, Certificates and Certificate Signing Requests.
"""
USERNAME = "system:bootstrap:"
"""The beginning of the user name of a client that authenticates with a bootstrap token. The token's ID follows.

Source: kubernetes.io, Authenticating with Bootstrap Tokens.
"""
_USAGES = (
    frozenset({"client auth", "digital signature"}),
    # Only kubelets with RSA keys request the usage "key encipherment".
    frozenset({"client auth", "digital signature", "key encipherment"}),
)


class RequestDecision(t.NamedTuple):
    """The decision about a CertificateSigningRequest that was created with one of the expected bootstrap tokens."""

    request: str
    """Name of the CertificateSigningRequest."""
    node: str
    """Name of the node for which the bootstrap token was created."""
    decision: t.Literal["approve", "approved", "refuse"]
    """What to do with the request. `approved` means that it has already been approved."""
    reason: str = ""
    """The reason why the request is refused, or an empty string if it is not."""


class Subject(t.NamedTuple):
    """The public key in a CertificateSigningRequest, and the problems with the request."""

    key: bytes
    """Public key in DER. It is empty if the request cannot be read, or does not contain the expected node's name."""
    problems: tuple[str, ...]
    """How the request differs from the one that the kubelet of the expected node creates. Empty if it does not."""


def decide(
    requests: t.Iterable[Request], expected: t.Mapping[str, str], ready: t.Collection[str]
) -> list[RequestDecision]:
    """Return the decisions about the CertificateSigningRequests that were created with the expected bootstrap tokens.

    Args:
        requests: CertificateSigningRequests as the API returns them.
        expected: maps the name of each expected node to the ID of the token that was created for it.
        ready: names of the nodes that are Ready.

    Raises:
        ValueError: two nodes have the same token.
    """
    nodes = {USERNAME + token_id: node for node, token_id in expected.items()}
    if len(nodes) != len(expected):
        raise ValueError("token_ids: expected a different token for each node, got the same token for two nodes")
    own = [(nodes[user], request) for request in requests if (user := _spec(request).get("username")) in nodes]
    asked = [(node, request, read(request, node)) for node, request in own]
    keys: dict[str, set[bytes]] = {}
    for node, dummy, subject in asked:
        if subject.key:
            keys.setdefault(node, set()).add(subject.key)
    return [_judge(node, request, subject, len(keys.get(node, ())), ready) for node, request, subject in asked]


def read(request: Request, node: str) -> Subject:
    """Read a CertificateSigningRequest, and compare it with the one that the kubelet of a node creates.

    The approver of kube-controller-manager performs similar checks, but accepts the name of any node, and extensions
    other than subject alternative names. A kubelet's request has no extensions, so any extension is a problem here.
    Source: kubernetes/kubernetes, pkg/apis/certificates/helpers.go, ValidateKubeletClientCSR.

    Args:
        request: the request as the API returns it.
        node: the name of the node that the request must contain.
    """
    spec = _spec(request)
    problems = []
    if spec.get("signerName") != SIGNER:
        problems.append(f"its signer is {spec.get('signerName')!r}, expected {SIGNER!r}")
    usages = spec.get("usages")
    if not isinstance(usages, list) or frozenset(map(str, usages)) not in _USAGES:
        problems.append("its usages are not those of a kubelet's client certificate")
    try:
        parsed = x509.load_pem_x509_csr(base64.b64decode(str(spec.get("request") or ""), validate=True))
        key = parsed.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        commons = [one.value for one in parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        problems += _content_problems(parsed, node)
    except (binascii.Error, InvalidSignature, TypeError, UnsupportedAlgorithm, ValueError):
        return Subject(b"", (*problems, "it cannot be read"))
    return Subject(key if f"system:node:{node}" in commons else b"", tuple(problems))


def _content_problems(parsed: x509.CertificateSigningRequest, node: str) -> t.Iterator[str]:
    names = [(one.oid, one.value) for one in parsed.subject]
    commons = [value for oid, value in names if oid == NameOID.COMMON_NAME]
    organizations = [value for oid, value in names if oid == NameOID.ORGANIZATION_NAME]
    if commons != [f"system:node:{node}"]:
        yield f"its common name is {_shown(commons)}, expected 'system:node:{node}'"
    if organizations != ["system:nodes"]:
        yield f"its organization is {_shown(organizations)}, expected 'system:nodes'"
    if len(names) != len(commons) + len(organizations):
        yield "its subject has more than a common name and an organization"
    if len(parsed.extensions):
        yield "it asks for subject alternative names or other extensions"
    if not parsed.is_signature_valid:
        yield "it is not signed by its key"


def _judge(node: str, request: Request, subject: Subject, keys: int, ready: t.Collection[str]) -> RequestDecision:
    name = str(request["metadata"]["name"])
    if keys > 1:
        why = f"requests with {keys} different keys used the token that this run created for {node}"
        return RequestDecision(name, node, "refuse", f"{why}; none of these requests is approved")
    if subject.problems:
        return RequestDecision(name, node, "refuse", f"request {name}: {'; '.join(subject.problems)}")
    conditions = _conditions(request)
    if conditions & {"Denied", "Failed"}:
        return RequestDecision(
            name, node, "refuse", f"request {name} was denied in the cluster, or could not be signed"
        )
    if "Approved" in conditions:
        return RequestDecision(name, node, "approved")
    if node in ready:
        return RequestDecision(name, node, "refuse", f"the cluster already has a Ready node {node}; delete it first")
    return RequestDecision(name, node, "approve")


def is_issued(request: Request) -> bool:
    """Return whether the certificate that a CertificateSigningRequest asks for has been issued."""
    return bool((request.get("status") or {}).get("certificate"))


def approval(request: Request, message: str, now: str) -> dict[str, t.Any]:
    """Return a CertificateSigningRequest with an `Approved` condition, to send to the `approval` subresource.

    Args:
        request: the request as the API returns it.
        message: who approved the request, and why.
        now: the current time (UTC, ISO 8601).
    """
    status = dict(request.get("status") or {})
    condition = {"type": "Approved", "status": "True", "reason": "ApprovedByWinkube", "message": message}
    status["conditions"] = [*(status.get("conditions") or ()), {**condition, "lastUpdateTime": now}]
    return {**request, "status": status}


def _spec(request: Request) -> t.Mapping[str, t.Any]:
    spec = request.get("spec")
    return spec if isinstance(spec, dict) else {}


def _conditions(request: Request) -> set[str]:
    return {str(one.get("type")) for one in (request.get("status") or {}).get("conditions") or ()}


def _shown(values: t.Sequence[t.Any]) -> str:
    """Return names of a node's request for a message: at most three, each shortened and without control characters."""
    return ", ".join(ascii(value)[:80] for value in values[:3]) or "missing"
