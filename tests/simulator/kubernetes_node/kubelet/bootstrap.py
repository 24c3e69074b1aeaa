# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The kubelet's TLS bootstrap, which creates a key, a certificate signing request and the kubelet's own kubeconfig.

See https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/. Sources for the key and the name
of the request: kubernetes pkg/kubelet/certificate/bootstrap/bootstrap.go (LoadClientCert, digestedName) and
k8s.io/client-go/util/certificate/csr (RequestCertificate).
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from simulator.certificates import key_pem, named, new_key, request_pem
from simulator.kubernetes_node.api.client import ApiError, Client, KubeconfigError, read_kubeconfig
from simulator.kubernetes_node.kubelet.settings import KubeletSettings

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_KEY = "kubelet-client.key.tmp"
"""The name of the file with a key that has no certificate yet. The next start of the kubelet reuses the key."""
_CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


class BootstrapError(Exception):
    """A TLS bootstrap failed, so the kubelet has no credentials. The text is the kubelet's message."""


def usable(machine: Machine, path: str) -> bool:
    """Return whether a kubeconfig exists and contains a client certificate that has not expired.

    The kubelet does not check whether the certificate is already valid (bootstrap.go: isClientConfigStillValid).
    """
    certificate = _certificate(machine, path)
    return certificate is not None and machine.clock.now() <= certificate.not_valid_after_utc


def expired(machine: Machine, path: str) -> str:
    """Return the kubelet's log message if its client certificate has expired, or an empty string if it has not."""
    certificate = _certificate(machine, path)
    if certificate is None or machine.clock.now() <= certificate.not_valid_after_utc:
        return ""
    end = f"{certificate.not_valid_after_utc:%Y-%m-%d %H:%M:%S +0000 UTC}"
    return f"part of the existing bootstrap client certificate in {path} is expired: {end}"


def _certificate(machine: Machine, path: str) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(read_kubeconfig(machine, path).certificate.encode())
    except (KubeconfigError, ValueError):
        return None


def bootstrap(machine: Machine, settings: KubeletSettings, node: str, alive: Callable[[float], bool]) -> None:
    """Request a client certificate with the bootstrap token, and write the kubelet's kubeconfig.

    Args:
        alive: a function that waits a number of seconds, and returns False if the kubelet must end.

    Raises:
        BootstrapError: the kubelet gets no certificate.
    """
    path = settings.bootstrap_kubeconfig
    try:
        access = read_kubeconfig(machine, path)
    except KubeconfigError as error:
        raise BootstrapError(f"failed to run Kubelet: unable to load bootstrap kubeconfig: {error}") from error
    key = _key(machine, settings)
    client = Client(machine, access)
    try:
        certificate = _wait(client, key, node, alive)
    except ApiError as error:
        raise BootstrapError(f"failed to run Kubelet: cannot create certificate signing request: {error}") from error
    finally:
        client.close()
    if certificate is None:
        raise BootstrapError("failed to run Kubelet: timed out waiting for the condition")
    keep(machine, settings, certificate, key)
    _write(machine, settings, access.server, access.ca or "")
    if machine.files.is_file(f"{settings.cert_dir}\\{_KEY}"):
        machine.files.delete(f"{settings.cert_dir}\\{_KEY}")


def _key(machine: Machine, settings: KubeletSettings) -> ec.EllipticCurvePrivateKey:
    """Return the key that an earlier start of the kubelet stored, or create and store a new one.

    Raises:
        BootstrapError: the stored key cannot be loaded.
    """
    path = f"{settings.cert_dir}\\{_KEY}"
    if machine.files.is_file(path):
        try:
            found = load_pem_private_key(machine.files.read_bytes(path), None)
        except ValueError as error:
            raise BootstrapError(f"failed to run Kubelet: error loading key from {path}: {error}") from error
        assert isinstance(found, ec.EllipticCurvePrivateKey)
        return found
    key = new_key()
    machine.files.make_directory(settings.cert_dir)
    machine.files.write_text(path, key_pem(key, PrivateFormat.TraditionalOpenSSL).decode())
    return key


def _request_name(key: ec.EllipticCurvePrivateKey, node: str) -> str:
    """Return the name of a certificate signing request, which ends with a digest of the key and the node's name.

    A real kubelet computes a different digest.
    """
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    digest = hashlib.new("sha512_256", public + node.encode()).digest()
    return "node-csr-" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _wait(client: Client, key: ec.EllipticCurvePrivateKey, node: str, alive: Callable[[float], bool]) -> str | None:
    name = ""
    deadline = time.monotonic() + 3600  # kubelet also waits an hour
    while time.monotonic() < deadline:
        found: str | None = None
        try:
            name = name or ask(client, key, node)
            found = signed(client, name)
        except OSError:
            pass  # kubelet also retries if the server is not reachable
        if found:
            return found
        if not alive(0.1 if name else 1.0):
            return None
    return None


def ask(client: Client, key: ec.EllipticCurvePrivateKey, node: str) -> str:
    """Request a node's client certificate, and return the name of the certificate signing request.

    Raises:
        ApiError: the API server rejects the request.
        OSError: the API server is not reachable.
    """
    request = request_pem(named(f"system:node:{node}", ["system:nodes"]), key)
    return _create(client, {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": _request_name(key, node)},
        "spec": {
            "request": base64.b64encode(request).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    })  # fmt: skip


def signed(client: Client, name: str) -> str | None:
    """Return the certificate of a certificate signing request, or None if it is not issued yet.

    Raises:
        BootstrapError: the certificate signing request was denied.
        ApiError: the API server rejects the query for the certificate.
        OSError: the API server is not reachable.
    """
    found = client.get(f"{_CSRS}/{name}").get("status") or {}
    if found.get("certificate"):
        return base64.b64decode(found["certificate"]).decode()
    for item in found.get("conditions") or []:
        if item.get("type") == "Denied":
            message = f"is denied, reason: {item.get('reason', '')}, message: {item.get('message', '')}"
            raise BootstrapError(
                f"failed to run Kubelet: cannot watch on the certificate signing request: certificate signing request "
                f"{message}"
            )
    return None


def keep(machine: Machine, settings: KubeletSettings, certificate: str, key: ec.EllipticCurvePrivateKey) -> None:
    """Write a new client certificate and its key to the files that the kubelet uses from now on."""
    pem = key_pem(key, PrivateFormat.TraditionalOpenSSL).decode()
    folder = settings.cert_dir
    machine.files.make_directory(folder)
    stamp = machine.clock.now().strftime("%Y-%m-%d-%H-%M-%S")
    # A copy of the current one. The real kubelet creates a symbolic link, which needs a privilege that SYSTEM has.
    for name in (stamp, "current"):
        machine.files.write_text(f"{folder}\\kubelet-client-{name}.pem", certificate + pem)


def _create(client: Client, document: dict[str, Any]) -> str:
    """Create a certificate signing request, and return its name.

    If a request with this name exists, it is reused, because the name identifies the key.
    """
    name = str(document["metadata"]["name"])
    try:
        client.create(_CSRS, document)
    except ApiError as error:
        if error.status != 409:
            raise
    return name


def _write(machine: Machine, settings: KubeletSettings, server: str, authority: str) -> None:
    current = f"{settings.cert_dir}\\kubelet-client-current.pem"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "default-cluster",
                "cluster": {
                    "certificate-authority-data": base64.b64encode(authority.encode()).decode(),
                    "server": server,
                },
            }
        ],
        "contexts": [
            {
                "name": "default-context",
                "context": {"cluster": "default-cluster", "namespace": "default", "user": "default-auth"},
            }
        ],
        "current-context": "default-context",
        "preferences": {},
        "users": [{"name": "default-auth", "user": {"client-certificate": current, "client-key": current}}],
    }
    machine.files.make_directory(settings.kubeconfig.replace("/", "\\").rpartition("\\")[0])
    machine.files.write_text(settings.kubeconfig, yaml.safe_dump(document, sort_keys=False))
