# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The controllers of bootstrap tokens. One signs the cluster-info ConfigMap, and the other deletes expired tokens.

They correspond to Kubernetes' bootstrapsigner and tokencleaner.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

from ..authentication import BOOTSTRAP_SECRET, secret_values, token_expired, valid_bootstrap_token
from ..objects import Objects
from ..resources import Object, type_of

_PREFIX = "jws-kubeconfig-"


def detached_signature(content: str, token_id: str, token_secret: str) -> str:
    """Sign a string with a detached signature (JWS, HS256), as k8s.io/cluster-bootstrap/token/jws does.

    Returns:
        The header, an empty part and the signature, joined by dots.
    """

    def encode(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    header = encode(json.dumps({"alg": "HS256", "kid": token_id}, separators=(",", ":")).encode())
    signed = f"{header}.{encode(content.encode())}".encode()
    return f"{header}..{encode(hmac.new(token_secret.encode(), signed, hashlib.sha256).digest())}"


class BootstrapSigner:
    """The controller that signs the cluster-info ConfigMap with each bootstrap token that is valid for signing."""

    watches: tuple[str, ...] = ("secrets", "configmaps")
    every = 1.0  # a token can expire without a change

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def sync(self) -> None:
        """Update the signatures in the cluster-info ConfigMap if they are out of date."""
        store = self._objects.store
        info = store.peek("configmaps", "kube-public", "cluster-info")
        kubeconfig = (info or {}).get("data", {}).get("kubeconfig")
        if info is None or kubeconfig is None:
            return
        requested = {key: value for key, value in info["data"].items() if not key.startswith(_PREFIX)}
        for secret in store.peek_all("secrets", "kube-system"):
            if values := valid_bootstrap_token(secret, "signing"):
                token = values["token-id"]
                requested[_PREFIX + token] = detached_signature(kubeconfig, token, values.get("token-secret", ""))
        if requested != info["data"]:
            self._objects.update(
                type_of("configmaps"), "kube-public", "cluster-info", lambda live: live | {"data": requested}
            )


class TokenCleaner:
    """The controller that deletes expired bootstrap tokens."""

    watches: tuple[str, ...] = ("secrets",)
    every = 1.0

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def sync(self) -> None:
        """Delete expired bootstrap tokens."""
        for secret in self._objects.store.peek_all("secrets", "kube-system"):
            if secret.get("type") == BOOTSTRAP_SECRET and token_expired(secret_values(secret)):
                self._delete(secret)

    def _delete(self, secret: Object) -> None:
        options = {"preconditions": {"uid": secret["metadata"]["uid"]}}
        self._objects.delete(type_of("secrets"), "kube-system", secret["metadata"]["name"], options)
