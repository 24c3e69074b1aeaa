# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create the objects that a cluster has after `kubeadm init`.

These are namespaces, roles, the ConfigMaps that joining nodes read, and add-ons.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import yaml

from ..options import ADVERTISED, ClusterOptions
from .resources import Object

_DATA = Path(__file__).parent / "data"
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
# kubeadm has written v1beta4 since 1.31 (kubernetes/kubernetes#124834).
_V1BETA4_SINCE = 31


def objects(options: ClusterOptions, server: str, ca: str) -> Iterator[Object]:
    """Yield the objects of a new cluster, in the order in which they can be created.

    Args:
        options: the cluster's options.
        server: the API server's URL.
        ca: the cluster's CA certificate in PEM.
    """
    for name in NAMESPACES:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield from yaml.safe_load_all((_DATA / "bootstrap-policy.yaml").read_text())
    yield _config_map("kube-public", "cluster-info", {"kubeconfig": _discovery_kubeconfig(server, ca)})
    yield _config_map(
        "kube-system", "kubeadm-config", {"ClusterConfiguration": _cluster_configuration(options, server)}
    )
    kubelet = _kubelet_configuration(options)
    digest = hashlib.sha256(kubelet.encode()).hexdigest()
    made = {"kubeadm.kubernetes.io/component-config.hash": f"sha256:{digest}"}
    yield _config_map("kube-system", "kubelet-config", {"kubelet": kubelet}, made)
    text = Template((_DATA / "addons.yaml").read_text()).substitute(_values(options, server))
    yield from yaml.safe_load_all(text)


def _values(options: ClusterOptions, server: str) -> dict[str, str]:
    services = ipaddress.IPv4Network(options.service_cidr)
    return {
        "SERVER": server,
        "PORT": server.rpartition(":")[2],
        "ADVERTISED": ADVERTISED,
        "POD_CIDR": options.pod_cidr,
        "VERSION": options.version,
        "DNS_DOMAIN": options.dns_domain,
        "API_ADDRESS": str(services[1]),
        "DNS_ADDRESS": str(services[10]),
    }


def _config_map(namespace: str, name: str, data: dict[str, str], annotations: dict[str, str] | None = None) -> Object:
    metadata: Object = {"namespace": namespace, "name": name}
    metadata |= {"annotations": annotations} if annotations else {}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _discovery_kubeconfig(server: str, ca: str) -> str:
    cluster = {"certificate-authority-data": base64.b64encode(ca.encode()).decode(), "server": server}
    config: dict[str, Any] = {"apiVersion": "v1", "clusters": [{"cluster": cluster, "name": ""}], "contexts": None}
    return yaml.safe_dump(config | {"current-context": "", "kind": "Config", "users": None}, width=100000)


def _cluster_configuration(options: ClusterOptions, server: str) -> str:
    new = int(options.version.split(".")[1]) >= _V1BETA4_SINCE
    sans = list(dict.fromkeys([options.address, "127.0.0.1", "localhost", *options.extra_sans]))
    config: dict[str, Any] = {
        "apiServer": {"certSANs": sans} | ({} if new else {"timeoutForControlPlane": "4m0s"}),
        "apiVersion": "kubeadm.k8s.io/v1beta4" if new else "kubeadm.k8s.io/v1beta3",
        "certificatesDir": "/etc/kubernetes/pki",
        "clusterName": options.cluster_name,
        "controlPlaneEndpoint": server.removeprefix("https://"),
        "controllerManager": {},
        "dns": {},
        "etcd": {"local": {"dataDir": "/var/lib/etcd"}},
        "imageRepository": "registry.k8s.io",
        "kind": "ClusterConfiguration",
        "kubernetesVersion": f"v{options.version}",
        "networking": {
            "dnsDomain": options.dns_domain,
            "podSubnet": options.pod_cidr,
            "serviceSubnet": options.service_cidr,
        },
        "scheduler": {},
    }
    if new:
        config |= {"encryptionAlgorithm": "ECDSA-P256", "proxy": {}}
        config |= {"caCertificateValidityPeriod": "87600h0m0s", "certificateValidityPeriod": "8760h0m0s"}
    return yaml.safe_dump(config)


def _kubelet_configuration(options: ClusterOptions) -> str:
    """Return the kubelet configuration that kubeadm 1.37.1 uploads.

    Most fields with a zero value are left out, because kubeadm's set of such fields varies by version.
    """
    dns = ipaddress.IPv4Network(options.service_cidr)[10]
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"cacheTTL": "0s", "enabled": True},
            "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
        },
        "authorization": {
            "mode": "Webhook",
            "webhook": {"cacheAuthorizedTTL": "0s", "cacheUnauthorizedTTL": "0s"},
        },
        "cgroupDriver": "systemd",
        "clusterDNS": [str(dns)],
        "clusterDomain": options.dns_domain,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": 10248,
        "kind": "KubeletConfiguration",
        "rotateCertificates": True,
        "staticPodPath": "/etc/kubernetes/manifests",
    }
    return yaml.safe_dump(config)
