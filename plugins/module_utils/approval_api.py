# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""API requests about certificate signing requests, bootstrap tokens and their role bindings.

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
    """The API requests that the approval of joining nodes needs.

    Args:
        cluster: a client of the cluster.
    """

    def requests(self) -> list[Request]:
        """Return all requests for client certificates of kubelets."""
        query = {"fieldSelector": f"spec.signerName={SIGNER}"}
        return t.cast("list[Request]", self._cluster.items(_REQUESTS, form=SIGNING_REQUEST, query=query))

    def approve(self, request: Request) -> None:
        """Approve a request. The server rejects the approval if the request has changed since it was read."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = approval(request, _MESSAGE, now)
        self._cluster.ask("PUT", _REQUESTS, request["metadata"]["name"], "approval", body=body)

    def create_token(self, body: t.Mapping[str, t.Any]) -> None:
        """Create the Secret of a token."""
        self._cluster.ask("POST", *_SECRETS, body=body)

    def delete_token(self, token_id: str, *, dry: bool = False) -> bool:
        """Delete a token.

        Args:
            token_id: the public part of the token.
            dry: only check whether the token could be deleted. This check needs no permission to read Secrets.

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
        """Create the role bindings that let nodes join with tokens of `bootstrap_tokens.GROUP`.

        Returns:
            Whether anything changed.

        Raises:
            ValueError: a binding of the same name exists, but refers to a different role.
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
        """Return whether this account is allowed to approve certificates of kubelets."""
        signers = {"verb": "approve", "group": _CERTIFICATES, "resource": "signers", "name": SIGNER}
        requests = {"verb": "update", "group": _CERTIFICATES, "resource": "certificatesigningrequests"}
        needed = (signers, {**requests, "subresource": "approval"})
        return all(allowed(self._cluster, attributes) for attributes in needed)

    def approves_by_itself(self) -> bool:
        """Return whether the cluster itself approves requests that are made with tokens of `bootstrap_tokens.GROUP`.

        kube-controller-manager sends the same access review before it approves a request (csrapproving). The result is
        False if this account is not allowed to send that review.
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
