# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Discover a cluster as kubeadm join does, from the cluster-info ConfigMap or from a kubeconfig.

Two checks protect cluster-info: a JWS whose key is the bootstrap token's secret, and pinned hashes of the CA's public
key.

The messages are those of kubeadm 1.34.4 to 1.37.1 (kubernetes cmd/kubeadm/app/discovery/token/token.go and
file/file.go).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from simulator.kubernetes_node.api.client import ApiError, Client, ServerAccess

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_TOKEN = re.compile(r"^([a-z0-9]{6})\.([a-z0-9]{16})$")
_TOKEN_FORM = r"\\A([a-z0-9]{6})\\.([a-z0-9]{16})\\z"
"""The regular expression for a bootstrap token in Go's syntax, as Go quotes it in a message."""
_CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"


class DiscoveryError(Exception):
    """Raised if the cluster cannot be reached or trusted. The exception's message is kubeadm's."""


@dataclass(frozen=True)
class Discovery:
    """The discovery settings of a JoinConfiguration."""

    endpoint: str
    token: str
    hashes: tuple[str, ...] = ()
    skip_verification: bool = False
    file: str = ""
    """The path of a kubeconfig on the machine. If it is set, the other fields are ignored."""


def discover(machine: Machine, requested: Discovery, timeout: float, alive: Callable[[float], bool]) -> tuple[str, str]:
    """Return the URL of the cluster's API server, and the cluster's CA certificate in PEM format.

    Args:
        machine: the machine that joins.
        requested: the discovery settings.
        timeout: the time in seconds during which failed requests are retried. A request with a kubeconfig is not
            retried.
        alive: a function that waits a number of seconds, and returns False if the process must end.

    Raises:
        DiscoveryError: a setting is invalid, or the cluster cannot be reached or trusted.
    """
    try:
        if requested.file:
            return _of_file(machine, requested.file)
        return _of_token(machine, requested, timeout, alive)
    except DiscoveryError as error:
        raise DiscoveryError(f"couldn't validate the identity of the API Server: {error}") from error


def _of_token(
    machine: Machine, requested: Discovery, timeout: float, alive: Callable[[float], bool]
) -> tuple[str, str]:
    parts = _TOKEN.match(requested.token)
    if not parts:
        raise DiscoveryError(f'the bootstrap token "{requested.token}" was not of the form "{_TOKEN_FORM}"')
    for pin in requested.hashes:
        _check_form(pin)
    deadline = time.monotonic() + timeout
    while True:
        try:
            return _once(machine, requested, parts[1], parts[2])
        except (DiscoveryError, ApiError, OSError) as error:
            if time.monotonic() >= deadline or not alive(min(1.0, max(0.05, deadline - time.monotonic()))):
                if isinstance(error, DiscoveryError):
                    raise
                url = f"https://{requested.endpoint}{_CLUSTER_INFO}?timeout=10s"
                raise DiscoveryError(f'failed to request the cluster-info ConfigMap: Get "{url}": {error}') from error


def _of_file(machine: Machine, name: str) -> tuple[str, str]:
    """Return the server's URL and the CA certificate in a kubeconfig.

    Unlike discovery by token, discovery with a kubeconfig uses the server in the kubeconfig even if cluster-info names
    another one; kubeadm only warns about the difference. kubeadm reads cluster-info with the kubeconfig's credentials,
    and continues if the API server forbids this request (kubernetes cmd/kubeadm/app/discovery/file/file.go,
    ValidateConfigInfo). The only modelled credential is a token. The simulator does not retry a failed request.
    """
    # A path without a drive is on the drive of the current folder. The simulator's programs run on C:.
    path = name if name[1:2] == ":" else "C:" + name.replace("/", "\\")
    if not machine.files.is_file(path):
        raise DiscoveryError(
            f'discovery.file.kubeConfigPath: Invalid value: "{name}": not a valid HTTPS URL or a file on disk'
        )
    document: dict[str, Any] = yaml.safe_load(machine.files.read_text(path)) or {}
    contexts: dict[str, dict[str, Any]] = {item["name"]: item["context"] for item in document.get("contexts") or []}
    context = contexts.get(str(document.get("current-context") or ""))
    users = {item["name"]: item["user"] for item in document.get("users") or []}
    token = str(users.get((context or {}).get("user"), {}).get("token", ""))
    cluster = _cluster_of_file(document, context)
    authority = base64.b64decode(cluster.get("certificate-authority-data", "")).decode()
    try:
        _get(machine, ServerAccess(str(cluster["server"]), ca=authority, token=token))
    except (ApiError, OSError) as error:
        if not isinstance(error, ApiError) or error.status != 403:
            raise DiscoveryError(str(error)) from error
    return str(cluster["server"]), authority


def _cluster_of_file(document: dict[str, Any], context: dict[str, Any] | None) -> dict[str, Any]:
    """Return the unnamed cluster of a kubeconfig or, if every cluster has a name, that of the current context."""
    clusters: dict[str, dict[str, Any]] = {item["name"]: item["cluster"] for item in document.get("clusters") or []}
    current = str(document.get("current-context") or "")
    if not clusters:
        raise DiscoveryError("the provided kubeconfig file must have at least one Cluster defined")
    if "" in clusters:
        return clusters[""]
    malformed = "the provided kubeconfig file is malformed: "
    if context is None:
        raise DiscoveryError(f"{malformed}the current context is invalid: {current}")
    if context.get("cluster") not in clusters:
        raise DiscoveryError(f"{malformed}no matching cluster for the current context: {current}")
    return clusters[context["cluster"]]


def _check_form(pin: str) -> None:
    head = "invalid discovery token CA certificate hash: "
    kind, _, value = pin.partition(":")
    if kind != "sha256":
        raise DiscoveryError(f'{head}unknown hash format "{kind}". Known format(s) are: sha256')
    if not re.fullmatch(r"([0-9a-fA-F]{2})*", value) or len(value) != 64:
        raise DiscoveryError(
            f'{head}invalid hash "{pin}", expected a 32 byte SHA-256 hash, found {len(value) // 2} bytes'
        )


def _once(machine: Machine, requested: Discovery, token_id: str, secret: str) -> tuple[str, str]:
    server = f"https://{requested.endpoint}"
    info = _get(machine, ServerAccess(server))
    text = _verify(info, token_id, secret)
    cluster = _cluster(text)
    authority = base64.b64decode(cluster.get("certificate-authority-data", "")).decode()
    if requested.hashes:
        _check_pins(authority, requested.hashes)
    if requested.hashes or not requested.skip_verification:
        # Request cluster-info again with the verified certificate, to detect a man in the middle.
        again = _get(machine, ServerAccess(server, ca=authority))
        if _verify(again, token_id, secret) != text:
            raise DiscoveryError(
                "the second kubeconfig from the cluster-info ConfigMap (using validated TLS) was different from the "
                "first"
            )
    return str(cluster["server"]), authority


def _get(machine: Machine, access: ServerAccess) -> dict[str, Any]:
    client = Client(machine, access)
    try:
        found = client.get(_CLUSTER_INFO)
    finally:
        client.close()
    data: dict[str, Any] = found.get("data") or {}
    return data


def _verify(data: dict[str, Any], token_id: str, secret: str) -> str:
    text = data.get("kubeconfig", "")
    if not text:
        raise DiscoveryError(
            "there is no kubeconfig key in the cluster-info ConfigMap. This API Server isn't set up for token "
            "bootstrapping, can't connect"
        )
    signature = data.get(f"jws-kubeconfig-{token_id}", "")
    if not signature:
        raise DiscoveryError(f'could not find a JWS signature in the cluster-info ConfigMap for token ID "{token_id}"')
    if not signed(text.encode(), signature, f"{token_id}.{secret}"):
        raise DiscoveryError(
            "failed to verify JWS signature of received cluster info object, can't trust this API Server"
        )
    return str(text)


def signed(content: bytes, signature: str, token: str) -> bool:
    """Return whether a detached JWS (HS256, RFC 7515 appendix F) is valid for the given content.

    Args:
        signature: the JWS, `HEADER..SIGNATURE`.
        token: the whole bootstrap token. The part after the dot is the key.
    """
    parts = signature.split(".")
    token_id, _, secret = token.partition(".")
    if len(parts) != 3 or parts[1]:
        return False
    try:
        header = json.loads(_decode(parts[0]))
    except ValueError:
        return False
    if header.get("alg") != "HS256" or header.get("kid") != token_id:
        return False
    body = base64.urlsafe_b64encode(content).rstrip(b"=")
    expected = hmac.new(secret.encode(), parts[0].encode() + b"." + body, hashlib.sha256).digest()
    return hmac.compare_digest(expected, _decode(parts[2]))


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _cluster(text: str) -> dict[str, Any]:
    document = yaml.safe_load(text)
    found: dict[str, Any] = document["clusters"][0]["cluster"]
    return found


def _check_pins(authority: str, pins: tuple[str, ...]) -> None:
    found = []
    for certificate in x509.load_pem_x509_certificates(authority.encode()):
        key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        found.append("sha256:" + hashlib.sha256(key).hexdigest())
    if not {pin.lower() for pin in pins} & set(found):
        listed = ",".join(found)
        raise DiscoveryError(
            f'cluster CA found in cluster-info ConfigMap is invalid: none of the public keys "{listed}" are pinned'
        )
