# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Authenticate requests with client certificates, bootstrap tokens or service account tokens."""

from __future__ import annotations

import base64
import datetime
import hmac
import json
import re
import time
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.x509.oid import NameOID

from simulator.certificates import new_key

from .clock import age
from .errors import unauthorized
from .requests import User
from .resources import Object
from .store import ObjectStore

ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
_BOOTSTRAP_TOKEN = re.compile(r"^([a-z0-9]{6})\.([a-z0-9]{16})$")
BOOTSTRAP_SECRET = "bootstrap.kubernetes.io/token"


def secret_values(secret: Object) -> dict[str, str]:
    """Return the decoded data of a secret."""
    return {key: base64.b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}


def valid_bootstrap_token(secret: Object, usage: str) -> dict[str, str] | None:
    """Return the values in a bootstrap token's secret, or None if the token is currently unusable.

    Args:
        secret: the token's secret.
        usage: the intended use, "authentication" or "signing".
    """
    if secret.get("type") != BOOTSTRAP_SECRET or secret["metadata"].get("deletionTimestamp"):
        return None
    values = secret_values(secret)
    if secret["metadata"]["name"] != f"bootstrap-token-{values.get('token-id')}":
        return None
    if token_expired(values) or values.get(f"usage-bootstrap-{usage}") != "true":
        return None
    return values


def token_expired(values: dict[str, str]) -> bool:
    """Return whether a bootstrap token has expired; a token with an invalid expiration time counts as expired."""
    if not values.get("expiration"):
        return False
    try:
        return age(values["expiration"]) >= 0
    except (ValueError, TypeError):
        return True


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class ServiceAccountTokens:
    """The issuer and verifier of service account tokens (JWT, ES256)."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._key = new_key()

    def issue(
        self,
        account: Object,
        audiences: list[str],
        seconds: int,
        pod: dict[str, str] | None = None,
        secret: dict[str, str] | None = None,
    ) -> str:
        """Create a token.

        Args:
            account: the service account.
            audiences: the servers that should accept the token. An empty list means the API server itself.
            seconds: the token's validity period.
            pod: the name and UID of the pod to which the token is bound.
            secret: the name and UID of the Secret that contains the token. Deleting the Secret invalidates the token.
        """
        metadata, now = account["metadata"], int(time.time())
        reference = {"name": metadata["name"], "uid": metadata["uid"]}
        private: dict[str, Any] = {"namespace": metadata["namespace"], "serviceaccount": reference}
        if pod:
            private["pod"] = pod
        if secret:
            private["secret"] = secret
        claims = {
            "aud": audiences or [self._issuer],
            "exp": now + seconds,
            "iat": now,
            "nbf": now,
            "iss": self._issuer,
            "sub": f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
            "kubernetes.io": private,
        }
        signed = (
            f"{_encode(json.dumps({'alg': 'ES256', 'typ': 'JWT'}).encode())}.{_encode(json.dumps(claims).encode())}"
        )
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{_encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    def claims(self, token: str) -> dict[str, Any] | None:
        """Return the claims of a token, or None if the token is invalid, expired, or not meant for this API server."""
        try:
            header, payload, signature = token.split(".")
            raw = _decode(signature)
            der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
            self._key.public_key().verify(der, f"{header}.{payload}".encode(), ec.ECDSA(hashes.SHA256()))
            claims: dict[str, Any] = json.loads(_decode(payload))
        except (ValueError, InvalidSignature):
            return None
        ours = claims["exp"] > time.time() and self._issuer in claims["aud"]
        return claims if ours else None


class Authenticator:
    """An authenticator, which determines the user that sent a request."""

    def __init__(self, store: ObjectStore, tokens: ServiceAccountTokens) -> None:
        self._store = store
        self._tokens = tokens
        self.ahead = datetime.timedelta()
        """The time by which the server's clock is ahead of real time when the server checks client certificates."""

    def authenticate(self, certificate: bytes | None, authorization: str) -> User:
        """Return the user that sent a request.

        Args:
            certificate: the client's certificate (DER). TLS has verified that the cluster's CA signed it, but has not
                checked its validity period. Like k8s.io/apiserver authentication/request/x509, this method refuses an
                expired certificate.
            authorization: the Authorization header; empty if it is missing.

        Raises:
            ApiErrorResponse: the credentials are wrong (401). A request without credentials is anonymous.
        """
        if certificate:
            return _certificate_user(certificate, datetime.datetime.now(datetime.UTC) + self.ahead)
        if not authorization:
            return ANONYMOUS
        scheme, _, token = authorization.partition(" ")
        user = self.token_user(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        return user

    def token_user(self, token: str) -> User | None:
        """Return the user for a bearer token, or None if the token is not valid."""
        return self._bootstrap_user(token) or self._service_account_user(token)

    def _bootstrap_user(self, token: str) -> User | None:
        found = _BOOTSTRAP_TOKEN.match(token)
        secret = self._store.peek("secrets", "kube-system", f"bootstrap-token-{found[1]}") if found else None
        values = valid_bootstrap_token(secret, "authentication") if secret else None
        if not found or not values or not hmac.compare_digest(values.get("token-secret", ""), found[2]):
            return None
        extra = [one for one in values.get("auth-extra-groups", "").split(",") if one]
        return User(f"system:bootstrap:{found[1]}", ("system:bootstrappers", *extra, "system:authenticated"))

    def _service_account_user(self, token: str) -> User | None:
        claims = self._tokens.claims(token)
        if claims is None:
            return None
        private = claims["kubernetes.io"]
        namespace, reference = private["namespace"], private["serviceaccount"]
        account = self._store.peek("serviceaccounts", namespace, reference["name"])
        if account is None or account["metadata"]["uid"] != reference["uid"]:
            return None
        for kind in ("pod", "secret"):
            if owner := private.get(kind):
                bound = self._store.peek(f"{kind}s", namespace, owner["name"])
                if bound is None or bound["metadata"]["uid"] != owner["uid"]:
                    return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        return User(claims["sub"], groups, reference["uid"])


def _certificate_user(der: bytes, moment: datetime.datetime) -> User:
    certificate = x509.load_der_x509_certificate(der)
    if not certificate.not_valid_before_utc <= moment <= certificate.not_valid_after_utc:
        raise unauthorized()
    name = certificate.subject
    common = [str(one.value) for one in name.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = [str(one.value) for one in name.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    if not common:
        raise unauthorized()
    return User(common[0], (*groups, "system:authenticated"))
