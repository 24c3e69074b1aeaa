# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the certificate authority (CA) that nodes will trust, and strip vendors' suffixes from Kubernetes versions."""

from __future__ import annotations

import re
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from .cluster_client import Cluster

try:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
except ImportError:
    pass  # the module reports it

RELEASE = re.compile(r"v?(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)")


def keys(certificates: bytes) -> set[bytes]:
    """Return the public keys, in DER, of certificates that are given in PEM."""
    return {
        one.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for one in x509.load_pem_x509_certificates(certificates)
    }


def check_ca(module: AnsibleModule, cluster: Cluster, certificates: bytes) -> None:
    """Fail the module if the CA in the cluster-info ConfigMap is not one that the kubeconfig or `ca_cert` contains.

    Nothing is checked if `verify_ca` is false, or if the client has no CA or does not verify certificates.

    Args:
        module: the running module.
        cluster: the cluster.
        certificates: the CA certificates in cluster-info, in PEM.
    """
    settings = cluster.configuration
    if not module.params["verify_ca"] or not settings.verify_ssl or not settings.ssl_ca_cert:
        return
    if not keys(certificates) <= keys(Path(settings.ssl_ca_cert).read_bytes()):
        module.fail_json(
            msg="the ConfigMap kube-public/cluster-info: expected the CA of the kubeconfig, got a different one. Nodes "
            "would trust anyone who has the key of that CA. Find out who changed the ConfigMap. If you reach the API "
            "server through a proxy whose certificate comes from a different CA, set the variable "
            "node_join_verify_ca (module option verify_ca) to false"
        )


def node_version(version: str) -> str:
    """Return a version without the leading `v` and the vendor's suffix, or an empty string if it is not a version.

    For example, `v1.34.4+k3s1` and `v1.34.4-eks-1a2b3c` become `1.34.4`.
    """
    match = RELEASE.match(version)
    return match[1] if match else ""
