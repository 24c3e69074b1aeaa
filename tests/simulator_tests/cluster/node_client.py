# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A client that sends an API server the requests of a kubelet or an administrator over HTTPS."""

from __future__ import annotations

import base64
import datetime
import json
import secrets
import ssl
import urllib.parse
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any, TypeVar

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster

T = TypeVar("T")
SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"


def now() -> str:
    """Return the current time in the format of the API."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Client:
    """Talks to an API server with a token, with a certificate, or anonymously."""

    cluster: SimulatedCluster
    token: str = ""
    certificate: Path | None = None

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """Send one request; return the status code and the object of the response.

        The object has the key `text` if the response is not JSON.
        """
        with closing(self._connect()) as connection:
            connection.request(
                method, path, json.dumps(body) if body is not None else None, self._headers(content_type)
            )
            answer = connection.getresponse()
            text = answer.read()
            is_json = answer.headers.get_content_type() == "application/json"
            return answer.status, json.loads(text) if is_json else {"text": text.decode()}

    def get(self, path: str) -> dict[str, Any]:
        """Return an object. Raise AssertionError if the status code is not 200."""
        code, body = self.request("GET", path)
        assert code == 200, body
        return body

    def watch(self, path: str, seconds: int = 10) -> Iterator[dict[str, Any]]:
        """Yield the events of a watch, which the API server ends after some seconds."""
        with closing(self._connect()) as connection:
            separator = "&" if "?" in path else "?"
            connection.request("GET", f"{path}{separator}watch=true&timeoutSeconds={seconds}", None, self._headers(""))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            while line := answer.readline():
                yield json.loads(line)

    def _connect(self) -> HTTPSConnection:
        url = urllib.parse.urlsplit(self.cluster.server)
        context = ssl.create_default_context(cadata=self.cluster.ca_certificate)
        if self.certificate:
            context.load_cert_chain(self.certificate)
        return HTTPSConnection(str(url.hostname), url.port, timeout=30, context=context)

    def _headers(self, content_type: str) -> dict[str, str]:
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        return headers | ({"Authorization": f"Bearer {self.token}"} if self.token else {})


def admin_client(cluster: SimulatedCluster, folder: Path) -> Client:
    """Return the administrator's client, with the certificate of the kubeconfig."""
    user = yaml.safe_load(cluster.kubeconfig.read_text())["users"][0]["user"]
    parts = (user["client-certificate-data"], user["client-key-data"])
    file = folder / "admin.pem"
    file.write_bytes(b"".join(base64.b64decode(part) for part in parts))
    return Client(cluster, certificate=file)


def bootstrap_token(admin: Client, seconds: float = 600, **changes: str) -> str:
    """Create a bootstrap token as kubeadm does, and return it.

    Args:
        admin: the administrator.
        seconds: the time until the token expires.
        changes: fields of the Secret that differ from kubeadm's.
    """
    token_id, token_secret = uuid.uuid4().hex[:6], secrets.token_hex(8)
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    values = {
        "token-id": token_id,
        "token-secret": token_secret,
        "expiration": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
    } | changes
    secret = {
        "metadata": {"name": f"bootstrap-token-{token_id}"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": values,
    }
    code, body = admin.request("POST", "/api/v1/namespaces/kube-system/secrets", secret)
    assert code == 201, body
    return f"{token_id}.{token_secret}"


def signing_request(node: str) -> tuple[ec.EllipticCurvePrivateKey, dict[str, Any]]:
    """Return a new key of a kubelet, and the CertificateSigningRequest for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
        x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}"),
    ]
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(name)).sign(key, hashes.SHA256())
    spec = {
        "request": base64.b64encode(request.public_bytes(Encoding.PEM)).decode(),
        "signerName": SIGNER,
        "usages": ["digital signature", "client auth"],
    }
    return key, {"metadata": {"generateName": "node-csr-"}, "spec": spec}


def token_client(cluster: SimulatedCluster, token: str) -> Client:
    """Return a client with a new bootstrap token that the API server already accepts.

    A real API server looks up tokens in its cache. Until the cache contains a new token, the response is 401.
    """
    client = Client(cluster, token=token)
    path = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
    wait_for(lambda: client.request("GET", path)[0] != 401, "the bootstrap token is known")
    return client


def node_client(cluster: SimulatedCluster, token: str, node: str, folder: Path) -> Client:
    """Get a client certificate for a node with a bootstrap token; return a client with this certificate."""
    client = token_client(cluster, token)
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    key, csr = signing_request(node)
    code, created = client.request("POST", path, csr)
    assert code == 201, created

    def signed() -> str | None:
        status = client.get(f"{path}/{created['metadata']['name']}").get("status", {})
        return status.get("certificate")

    pem = base64.b64decode(wait_for(signed, "the kubelet's certificate is signed"))
    file = folder / f"{node}.pem"
    file.write_bytes(pem + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return Client(cluster, certificate=file)


def node_object(node: str, ready: bool = False, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the Node that a Windows kubelet registers."""
    known = {"kubernetes.io/hostname": node, "kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64"}
    known["node.kubernetes.io/windows-build"] = "10.0.20348"
    status = {
        "conditions": conditions(ready),
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": node}],
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "nodeInfo": {"operatingSystem": "windows", "architecture": "amd64", "kubeletVersion": "v1.37.1"}
        | dict.fromkeys(("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion"), "")
        | dict.fromkeys(("machineID", "osImage", "systemUUID"), ""),
    }
    return {"metadata": {"name": node, "labels": known | (labels or {})}, "spec": {}, "status": status}


def conditions(ready: bool) -> list[dict[str, str]]:
    """Return the conditions that a kubelet posts."""
    when = {"lastHeartbeatTime": now(), "lastTransitionTime": now()}
    reason = ("KubeletReady", "kubelet is posting ready status") if ready else ("KubeletNotReady", "no CNI")
    value = {"type": "Ready", "status": str(ready), "reason": reason[0], "message": reason[1]}
    calm = {"status": "False", "reason": "KubeletHasSufficientMemory", "message": "enough"}
    return [value | when, {"type": "MemoryPressure"} | calm | when]


def set_ready(client: Client, node: str, ready: bool = True) -> None:
    """Post a node's conditions as its kubelet does."""
    body = {"status": {"conditions": conditions(ready)}}
    code, answer = client.request("PATCH", f"/api/v1/nodes/{node}/status", body, STRATEGIC)
    assert code == 200, answer


def run_pod(client: Client, pod: dict[str, Any]) -> None:
    """Post a pod's status as a kubelet does when it runs and is ready."""
    metadata = pod["metadata"]
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now()}]}
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
    code, answer = client.request("PATCH", path, {"status": status}, STRATEGIC)
    assert code == 200, answer
