# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Certificate signing requests, bootstrap tokens and their bindings over the official Python client, as plain JSON.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import datetime
import typing as t

from . import bootstrap_tokens
from .cluster_client import Cluster
from .drain import ApiError
from .node_api import NodeApi
from .node_csr import SIGNER, Request, approval

with contextlib.suppress(ImportError):  # its absence is told by Cluster
    from kubernetes import client

_CERTIFICATES = "certificates.k8s.io"
_MESSAGE = "winkube.node approves the kubelet that a token of its run was made for."


class ApprovalApi(NodeApi):
    """What approving joining nodes needs of a cluster; every method raises ApiError.

    Args:
        cluster: a cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._certificates = client.CertificatesV1Api(cluster.api_client)
        self._rbac = client.RbacAuthorizationV1Api(cluster.api_client)
        self._authorization = client.AuthorizationV1Api(cluster.api_client)

    def requests(self) -> list[Request]:
        """All requests for client certificates of kubelets."""
        function = self._certificates.list_certificate_signing_request
        return t.cast("list[Request]", self._ask(function, field_selector=f"spec.signerName={SIGNER}")["items"])

    def approve(self, request: Request) -> None:
        """Approves a request as it was read: if somebody has changed it since, the server refuses."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        function = self._certificates.replace_certificate_signing_request_approval
        self._ask(function, request["metadata"]["name"], approval(request, _MESSAGE, now))

    def create_token(self, body: t.Mapping[str, t.Any]) -> None:
        """Makes the Secret of a token."""
        self._ask(self._cluster.core.create_namespaced_secret, bootstrap_tokens.NAMESPACE, body)

    def delete_token(self, token_id: str, *, dry: bool = False) -> bool:
        """Deletes a token.

        Args:
            token_id: its public half.
            dry: only look whether it could be deleted: that needs no right to read Secrets.

        Returns:
            Whether it was there.
        """
        options = {"dry_run": "All"} if dry else {}
        name = bootstrap_tokens.secret_name(token_id)
        try:
            self._ask(self._cluster.core.delete_namespaced_secret, name, bootstrap_tokens.NAMESPACE, **options)
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
        kube_proxy = self._find(self._rbac.read_namespaced_role, "kube-proxy", bootstrap_tokens.NAMESPACE) is not None
        changed = [self._ensure(wanted) for wanted in bootstrap_tokens.bindings(kube_proxy=kube_proxy)]
        return any(changed)

    def _ensure(self, wanted: t.Mapping[str, t.Any]) -> bool:
        name, namespace = wanted["metadata"]["name"], wanted["metadata"].get("namespace")
        place = (namespace,) if namespace else ()
        kind = "namespaced_role_binding" if namespace else "cluster_role_binding"
        found = self._find(getattr(self._rbac, f"read_{kind}"), name, *place)
        if found is None:
            try:
                self._ask(getattr(self._rbac, f"create_{kind}"), *place, wanted)
            except ApiError as error:
                if error.status != 409:  # another run was faster
                    raise
            return True
        subjects = bootstrap_tokens.changed_subjects(found, wanted)
        if subjects is not None:
            self._ask(getattr(self._rbac, f"patch_{kind}"), name, *place, {"subjects": subjects})
        return subjects is not None

    def may_approve(self) -> bool:
        """Whether this account may approve certificates of kubelets."""
        signers = {"verb": "approve", "group": _CERTIFICATES, "resource": "signers", "name": SIGNER}
        requests = {"verb": "update", "group": _CERTIFICATES, "resource": "certificatesigningrequests"}
        return all(
            self._ask(self._authorization.create_self_subject_access_review, _review(attributes))["status"]["allowed"]
            for attributes in (signers, {**requests, "subresource": "approval"})
        )

    def approves_by_itself(self) -> bool:
        """Whether the cluster approves what tokens of the run's group ask for; False where that may not be asked.

        kube-controller-manager asks the same of the API server before it approves (csrapproving).
        """
        groups = ["system:bootstrappers", bootstrap_tokens.GROUP, "system:authenticated"]
        attributes = {"verb": "create", "group": _CERTIFICATES, "resource": "certificatesigningrequests"}
        body = _review({**attributes, "subresource": "nodeclient"}, user="system:bootstrap:aaaaaa", groups=groups)
        try:
            answer = self._ask(self._authorization.create_subject_access_review, body)
        except ApiError as error:
            if error.status == 403:
                return False
            raise
        return bool(answer["status"]["allowed"])

    def _find(self, function: t.Callable[..., t.Any], *args: t.Any) -> t.Mapping[str, t.Any] | None:
        try:
            return t.cast("t.Mapping[str, t.Any]", self._ask(function, *args))
        except ApiError as error:
            if error.status == 404:
                return None
            raise


def _review(attributes: t.Mapping[str, str], **spec: t.Any) -> dict[str, t.Any]:
    kind = "SubjectAccessReview" if spec else "SelfSubjectAccessReview"
    identity = {"apiVersion": "authorization.k8s.io/v1", "kind": kind}
    return {**identity, "spec": {**spec, "resourceAttributes": dict(attributes)}}
