# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the control plane's address and CA, and kubeadm's configuration, from the ConfigMaps of a kubeadm cluster."""

from __future__ import annotations

import base64
import hashlib
import traceback
import typing as t
import urllib.parse

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.yaml import yaml_load

from .api_forms import Form, problem
from .cluster_ca import check_ca
from .cluster_client import Cluster
from .cluster_state import config_map

try:
    import yaml
except ImportError:
    YAML_ERROR = traceback.format_exc()
else:
    YAML_ERROR = ""
try:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
except ImportError:
    CRYPTOGRAPHY_ERROR = traceback.format_exc()
else:
    CRYPTOGRAPHY_ERROR = ""

CLUSTER_INFO_PATH = ("api/v1/namespaces", "kube-public", "configmaps", "cluster-info")
CLUSTER_INFO: Form = {"clusters": [{"cluster!": {"server!": str, "certificate-authority-data!": str}}]}


def ca_hash(certificate: bytes) -> str:
    """Return the SHA-256 of the public key of a CA certificate, for `kubeadm join --discovery-token-ca-cert-hash`."""
    key = x509.load_pem_x509_certificate(certificate).public_key()
    return "sha256:" + hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def document(module: AnsibleModule, cluster: Cluster, place: str, key: str, form: Form) -> dict[str, t.Any]:
    """Return the parsed YAML document in a key of a ConfigMap, or an empty mapping if the document does not exist.

    The module fails if the text is not YAML, or does not have the expected form.

    Args:
        module: the running module.
        cluster: the cluster.
        place: the ConfigMap, as `NAMESPACE/NAME`.
        key: the key.
        form: the expected form of the document (see `api_forms`).
    """
    try:
        parsed = yaml_load((config_map(cluster, *place.split("/")) or {}).get(key) or "") or {}
        why = problem(parsed, form) if parsed else ""
    except yaml.YAMLError:
        why = "expected YAML"
    if why:
        module.fail_json(msg=f"the ConfigMap {place} of the cluster at {cluster.server} cannot be used: {key}: {why}")
    return parsed


def control_plane(module: AnsibleModule, cluster: Cluster) -> dict[str, str]:
    """Return the address and the CA of the control plane. The module fails if it cannot find them or trust the CA."""
    info = document(module, cluster, "kube-public/cluster-info", "kubeconfig", CLUSTER_INFO)
    if not info.get("clusters"):
        module.fail_json(
            msg=f"the cluster at {cluster.server} has no ConfigMap kube-public/cluster-info that names a cluster. "
            "kubeadm join needs this ConfigMap. To create it, run `kubeadm init phase bootstrap-token` on a control "
            "plane node"
        )
    entry = info["clusters"][0]["cluster"]
    try:
        certificate = base64.b64decode(entry["certificate-authority-data"])
        pin, text = ca_hash(certificate), certificate.decode()
        address = urllib.parse.urlsplit(entry["server"]).netloc
    except ValueError as error:
        module.fail_json(msg=f"the ConfigMap kube-public/cluster-info of the cluster at {cluster.server}: {error}")
    check_ca(module, cluster, certificate)
    return {"api_server": address, "ca_cert_hash": pin, "ca_certificate": text}
