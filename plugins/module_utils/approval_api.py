# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Certificate signing requests, bootstrap tokens and their bindings; every method raises ApiError."""

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
_MESSAGE = "winkube.node approves the kubelet that a token of its run was made for."


class ApprovalApi(NodeApi):
    """What approving joining nodes needs of a cluster.

    Args:
        cluster: a cluster.
    """

    def requests(self) -> list[Request]:
        """All requests for client certificates of kubelets."""
        query = {"fieldSelector": f"spec.signerName={SIGNER}"}
        return t.cast("list[Request]", self._cluster.items(_REQUESTS, form=SIGNING_REQUEST, query=query))

    def approve(self, request: Request) -> None:
        """Approves a request as it was read: if somebody has changed it since, the server refuses."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = approval(request, _MESSAGE, now)
        self._cluster.ask("PUT", _REQUESTS, request["metadata"]["name"], "approval", body=body)

    def create_token(self, body: t.Mapping[str, t.Any]) -> None:
        """Makes the Secret of a token."""
        self._cluster.ask("POST", *_SECRETS, body=body)

    def delete_token(self, token_id: str, *, dry: bool = False) -> bool:
        """Deletes a token.

        Args:
            token_id: its public half.
            dry: only look whether it could be deleted: that needs no right to read Secrets.

        Returns:
            Whether it was there.
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
        """Lets tokens of the run's group join.

        Returns:
            Whether anything was changed.

        Raises:
            ValueError: a binding of that name binds another role.
        """
        role = (f"{_RBAC}/namespaces", bootstrap_tokens.NAMESPACE, "roles", "kube-proxy")
        kube_proxy = self._cluster.lookup(*role, form=ANYTHING) is not None
        changed = [self._ensure(wanted) for wanted in bootstrap_tokens.bindings(kube_proxy=kube_proxy)]
        return any(changed)

    def _ensure(self, wanted: t.Mapping[str, t.Any]) -> bool:
        name, namespace = wanted["metadata"]["name"], wanted["metadata"].get("namespace")
        place = (f"{_RBAC}/namespaces", namespace, "rolebindings") if namespace else (f"{_RBAC}/clusterrolebindings",)
        found = self._cluster.lookup(*place, name, form=BINDING)
        if found is None:
            try:
                self._cluster.ask("POST", *place, body=wanted)
            except ApiError as error:
                if error.status != 409:  # another run was faster
                    raise
            return True
        subjects = bootstrap_tokens.changed_subjects(found, wanted)
        if subjects is not None:
            self._cluster.ask("PATCH", *place, name, body={"subjects": subjects})
        return subjects is not None

    def may_approve(self) -> bool:
        """Whether this account may approve certificates of kubelets."""
        signers = {"verb": "approve", "group": _CERTIFICATES, "resource": "signers", "name": SIGNER}
        requests = {"verb": "update", "group": _CERTIFICATES, "resource": "certificatesigningrequests"}
        wanted = (signers, {**requests, "subresource": "approval"})
        return all(allowed(self._cluster, attributes) for attributes in wanted)

    def approves_by_itself(self) -> bool:
        """Whether the cluster approves what tokens of the run's group ask for; False where that may not be asked.

        kube-controller-manager asks the same of the API server before it approves (csrapproving).
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
