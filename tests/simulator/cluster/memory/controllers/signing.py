# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Approve and sign certificate signing requests.

In kube-controller-manager, the csrapproving and csrsigning controllers do this.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable

from cryptography import x509
from cryptography.x509.oid import NameOID

from .. import clock
from ..authorization import Authorizer
from ..certificates import USAGES, Authority
from ..kinds.core import KUBELET_CLIENT
from ..objects import Objects
from ..requests import Target, User
from ..resources import Object, type_of

_SIGNERS = (KUBELET_CLIENT, "kubernetes.io/kube-apiserver-client", "kubernetes.io/kubelet-serving")
_KUBELET_USAGES = ({"client auth", "digital signature"}, {"client auth", "digital signature", "key encipherment"})
_APPROVED = "Auto approving kubelet client certificate after SubjectAccessReview."
_APPROVED_SELF = "Auto approving self kubelet client certificate after SubjectAccessReview."


class SigningController:
    """The controller that approves kubelets' certificate signing requests, and signs approved requests."""

    watches: tuple[str, ...] = ("certificatesigningrequests",)
    every = 0.0

    def __init__(self, objects: Objects, authority: Authority, seconds: float) -> None:
        """Create the controller.

        Args:
            objects: the interface to the cluster's objects.
            authority: the cluster's certificate authority.
            seconds: the validity period of certificates in seconds, unless the request specifies one.
        """
        self._seconds = seconds
        self._objects = objects
        self._authority = authority
        self._authorizer = Authorizer(objects.store)
        self._kind = type_of("certificatesigningrequests")

    def sync(self) -> None:
        """Approve new certificate signing requests that qualify for automatic approval, and sign approved ones."""
        for request in self._objects.store.peek_all("certificatesigningrequests"):
            conditions = {one["type"] for one in request.get("status", {}).get("conditions") or []}
            if request.get("status", {}).get("certificate") or conditions & {"Denied", "Failed"}:
                continue
            if "Approved" in conditions:
                self._sign(request)
            elif message := self._approval(request):
                self._add_condition(request, "Approved", "AutoApproved", message)

    def _approval(self, request: Object) -> str:
        """Return why a certificate signing request is approved automatically, or an empty string if it is not."""
        spec = request["spec"]
        parsed = _parse(request)
        if parsed is None or spec["signerName"] != KUBELET_CLIENT or not _is_kubelets(parsed, spec["usages"]):
            return ""
        user = User(spec["username"], tuple(spec["groups"]))
        # A kubelet renews its own certificate, and a bootstrap token requests one for a new node.
        if _common_name(parsed) == user.name and self._may(user, "selfnodeclient"):
            return _APPROVED_SELF
        return _APPROVED if self._may(user, "nodeclient") else ""

    def _may(self, user: User, subresource: str) -> bool:
        target = Target("create", "", "certificates.k8s.io", "v1", "certificatesigningrequests", subresource)
        return self._authorizer.decide(user, target)[0]

    def _sign(self, request: Object) -> None:
        spec, parsed = request["spec"], _parse(request)
        if spec["signerName"] not in _SIGNERS or parsed is None:
            return
        usages = [one for one in spec["usages"] if one in USAGES]
        if spec["signerName"] == KUBELET_CLIENT and not _is_kubelets(parsed, spec["usages"]):
            self._add_condition(request, "Failed", "SignerValidationFailure", "subject or usages are not a kubelet's")
            return
        alternative = _alternative_names(parsed)
        lifetime = datetime.timedelta(seconds=spec.get("expirationSeconds") or self._seconds)
        pem = self._authority.issue(parsed.subject, parsed, usages, alternative, lifetime)
        certificate = base64.b64encode(pem).decode()
        self._write(request, lambda status: status | {"certificate": certificate})

    def _add_condition(self, request: Object, kind: str, reason: str, message: str) -> None:
        now = clock.now()
        condition = {"type": kind, "status": "True", "reason": reason, "message": message}
        condition |= {"lastUpdateTime": now, "lastTransitionTime": now}
        self._write(request, lambda status: status | {"conditions": [*(status.get("conditions") or []), condition]})

    def _write(self, request: Object, change: Callable[[Object], Object]) -> None:
        name = request["metadata"]["name"]

        def changed(live: Object) -> Object:
            return live | {"status": change(live.get("status") or {})}

        self._objects.update(self._kind, "", name, changed, subresource="status")


def _parse(request: Object) -> x509.CertificateSigningRequest | None:
    try:
        return x509.load_pem_x509_csr(base64.b64decode(request["spec"]["request"]))
    except ValueError:
        return None


def _common_name(parsed: x509.CertificateSigningRequest) -> str:
    return "".join(str(one.value) for one in parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME))


def _is_kubelets(parsed: x509.CertificateSigningRequest, usages: list[str]) -> bool:
    groups = [one.value for one in parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    named = groups == ["system:nodes"] and _common_name(parsed).startswith("system:node:")
    return named and not _alternative_names(parsed) and set(usages) in _KUBELET_USAGES


def _alternative_names(parsed: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    try:
        return list(parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []
