# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Send the API requests that approve certificates of kubelets and that manage bootstrap tokens.

Every method raises ApiError if its request fails.
"""

from __future__ import annotations

import datetime
import typing as t

from . import bootstrap_tokens
from .access_reviews import allowed
from .api_error import ApiError
from .api_forms import ANYTHING, BINDING, SIGNING_REQUEST
from .node_api import NodeApi
from .node_csr import SIGNER, Request, approval

_CERTIFICATES = "certificates.k8s.io"
_REQUESTS = f"apis/{_CERTIFICATES}/v1/certificatesigningrequests"
_RBAC = "apis/rbac.authorization.k8s.io/v1"
_SECRETS = ("api/v1/namespaces", bootstrap_tokens.NAMESPACE, "secrets")
_MESSAGE = "winkube.node approves the kubelet for which it created a token."


class ApprovalApi(NodeApi):
    """The requests to the Kubernetes API that are needed to let nodes join and to approve their certificates.

    Args:
        cluster: a client of the cluster.
    """

    def requests(self) -> list[Request]:
        """Return all CertificateSigningRequests for client certificates of kubelets."""
        query = {"fieldSelector": f"spec.signerName={SIGNER}"}
        return t.cast("list[Request]", self._cluster.items(_REQUESTS, form=SIGNING_REQUEST, query=query))

    def approve(self, request: Request) -> None:
        """Approve a CertificateSigningRequest.

        The API server rejects the approval if the CertificateSigningRequest has changed since it was read.
        """
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = approval(request, _MESSAGE, now)
        self._cluster.ask("PUT", _REQUESTS, request["metadata"]["name"], "approval", body=body)

    def create_token(self, body: t.Mapping[str, t.Any]) -> None:
        """Create the Secret of a bootstrap token.

        Args:
            body: the Secret.
        """
        self._cluster.ask("POST", *_SECRETS, body=body)

    def delete_token(self, token_id: str, *, dry: bool = False) -> bool:
        """Delete the Secret of a bootstrap token.

        Args:
            token_id: the public part of the token.
            dry: whether to check only that the Secret could be deleted. This does not need permission to read Secrets.

        Returns:
            Whether the token existed.
        """
        query = {"dryRun": "All"} if dry else {}
        try:
            self._cluster.ask("DELETE", *_SECRETS, bootstrap_tokens.secret_name(token_id), query=query)
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def ensure_bindings(self) -> bool:
        """Create or complete the role bindings that let nodes join with tokens of the group `bootstrap_tokens.GROUP`.

        Returns:
            Whether anything changed.

        Raises:
            ValueError: one of these role bindings exists, but refers to a different role.
        """
        role = (f"{_RBAC}/namespaces", bootstrap_tokens.NAMESPACE, "roles", "kube-proxy")
        kube_proxy = self._cluster.lookup(*role, form=ANYTHING) is not None
        changed = [self._ensure(binding) for binding in bootstrap_tokens.bindings(kube_proxy=kube_proxy)]
        return any(changed)

    def _ensure(self, expected: t.Mapping[str, t.Any]) -> bool:
        name, namespace = expected["metadata"]["name"], expected["metadata"].get("namespace")
        place = (f"{_RBAC}/namespaces", namespace, "rolebindings") if namespace else (f"{_RBAC}/clusterrolebindings",)
        existing = self._cluster.lookup(*place, name, form=BINDING)
        if existing is None:
            try:
                self._cluster.ask("POST", *place, body=expected)
            except ApiError as error:
                if error.status != 409:  # a different run has created the binding in the meantime
                    raise
            return True
        subjects = bootstrap_tokens.changed_subjects(existing, expected)
        if subjects is not None:
            self._cluster.ask("PATCH", *place, name, body={"subjects": subjects})
        return subjects is not None

    def may_approve(self) -> bool:
        """Return whether the current credentials allow approving client certificates of kubelets."""
        signers = {"verb": "approve", "group": _CERTIFICATES, "resource": "signers", "name": SIGNER}
        requests = {"verb": "update", "group": _CERTIFICATES, "resource": "certificatesigningrequests"}
        needed = (signers, {**requests, "subresource": "approval"})
        return all(allowed(self._cluster, attributes) for attributes in needed)

    def approves_by_itself(self) -> bool:
        """Return whether the cluster itself approves certificates requested with tokens of `bootstrap_tokens.GROUP`.

        This is decided by the access review that the `csrapproving` controller of kube-controller-manager also sends.
        The result is False if the current credentials are not allowed to send it.
        """
        groups = ["system:bootstrappers", bootstrap_tokens.GROUP, "system:authenticated"]
        requests = {"verb": "create", "group": _CERTIFICATES, "resource": "certificatesigningrequests"}
        attributes = {**requests, "subresource": "nodeclient"}
        try:
            return allowed(self._cluster, attributes, user="system:bootstrap:aaaaaa", groups=groups)
        except ApiError as error:
            if error.status == 403:
                return False
            raise
