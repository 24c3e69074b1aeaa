# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Issue service account tokens in Secrets, as kube-controller-manager's serviceaccount-token controller does."""

from __future__ import annotations

import base64

from ..authentication import ServiceAccountTokens
from ..objects import Objects
from ..resources import Object, type_of

SECRET = "kubernetes.io/service-account-token"
_NAME = "kubernetes.io/service-account.name"
_UID = "kubernetes.io/service-account.uid"
# In a real cluster, a token in a Secret does not expire. Here, it expires after ten years.
_FOREVER = 10 * 365 * 24 * 3600


class TokenController:
    """The controller that adds a token, the CA certificate and the namespace to each service account token Secret."""

    watches: tuple[str, ...] = ("secrets", "serviceaccounts")
    every = 0.0

    def __init__(self, objects: Objects, tokens: ServiceAccountTokens, ca: str) -> None:
        self._objects, self._tokens, self._ca = objects, tokens, ca

    def sync(self) -> None:
        """Fill each service account token Secret that has no token, or whose service account has been recreated."""
        store = self._objects.store
        for secret in store.peek_all("secrets"):
            if secret.get("type") != SECRET:
                continue
            metadata = secret["metadata"]
            annotations = metadata.get("annotations") or {}
            account = store.peek("serviceaccounts", metadata["namespace"], str(annotations.get(_NAME)))
            if account is None:
                continue
            if annotations.get(_UID) != account["metadata"]["uid"] or not (secret.get("data") or {}).get("token"):
                self._fill(secret, account)

    def _fill(self, secret: Object, account: Object) -> None:
        metadata, account_uid = secret["metadata"], account["metadata"]["uid"]

        def filled(live: Object) -> Object:
            values = {
                "token": self._tokens.issue(
                    account, [], _FOREVER, secret={"name": metadata["name"], "uid": metadata["uid"]}
                ),
                "ca.crt": self._ca,
                "namespace": metadata["namespace"],
            }
            data = {name: base64.b64encode(value.encode()).decode() for name, value in values.items()}
            annotations = {**(live["metadata"].get("annotations") or {}), _UID: account_uid}
            return live | {
                "metadata": live["metadata"] | {"annotations": annotations},
                "data": (live.get("data") or {}) | data,
            }

        self._objects.update(type_of("secrets"), metadata["namespace"], metadata["name"], filled)
