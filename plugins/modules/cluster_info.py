#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a node needs to know of the cluster it joins."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_info
short_description: Read what a node needs to know of the cluster that it joins
version_added: "0.1.0"
description:
  - Reads the C(cluster-info), C(kubeadm-config) and C(kubelet-config) ConfigMaps of a kubeadm cluster, its nodes,
    and the DaemonSets that would be scheduled on Windows nodes by mistake, through the Kubernetes API.
  - Runs on the controller or a control plane host, never on a Windows node.
  - O(kubeconfig) is of an account that may read the kube-system, kube-public and kube-flannel namespaces and nodes.
options:
  nodes:
    description: Names of the nodes to describe; all by default.
    type: list
    elements: str
  verify_ca:
    description:
      - Whether the cluster's CA, which nodes are told to trust, has to be one that O(kubeconfig) trusts. Whoever may
        write the ConfigMap C(kube-public/cluster-info) could name another.
      - Turn it off only where the API server is reached through a proxy with a certificate of another CA. Without a CA
        in the kubeconfig there is nothing to compare.
    type: bool
    default: true
  purposes:
    description:
      - What the run is going to do in the cluster. The API server is asked whether the user of O(kubeconfig) may do
        all of it, and the module fails with a list of what is missing.
      - V(read) is what this module reads. V(join) makes and deletes bootstrap tokens and labels nodes.
        V(approve) approves the certificates of the nodes that join. V(rejoin) deletes nodes whose machines join anew.
        V(flannel) applies flannel's and kube-proxy's DaemonSets. V(services) makes the accounts of nodes with Docker,
        V(services_read) reads their tokens. V(drain) cordons nodes and evicts pods.
    type: list
    elements: str
    choices: [read, join, approve, rejoin, flannel, services, services_read, drain]
    default: []
extends_documentation_fragment:
  - winkube.node.cluster_options
attributes:
  check_mode:
    description: Reads only.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Read what joining nodes need to know
  winkube.node.cluster_info:
    kubeconfig: ~/.kube/config
    purposes: [read, join]
  delegate_to: localhost
  run_once: true
  register: cluster
"""

RETURN = r"""
api_server:
  description: Host and port of the control plane endpoint, as cluster-info tells it to joining nodes.
  type: str
  returned: always
  sample: k8s.example.com:6443
ca_cert_hash:
  description: Hash of the cluster CA's public key, as kubeadm pins it.
  type: str
  returned: always
  sample: sha256:7c8bd655cab8b6ddc9ba85bf71d9bd1f3f6bd7f2d6b5b6f5a3ae31dea7a5b0d5
ca_certificate:
  description: The cluster CA's certificate, PEM.
  type: str
  returned: always
kubernetes_version:
  description: The API server's version.
  type: str
  returned: always
  sample: v1.37.1
node_version:
  description: Version of Kubernetes for nodes of the cluster, that of the API server without what vendors add to it.
  type: str
  returned: always
  sample: 1.37.1
flannel:
  description: Configuration of flannel on Linux nodes; empty where the cluster has no ConfigMap C(kube-flannel-cfg).
  type: dict
  returned: always
  contains:
    config_map:
      description: Namespace and name of the ConfigMap.
      type: str
    net_conf:
      description: Its C(net-conf.json); empty where that cannot be read.
      type: dict
cluster_name:
  description: Name of the cluster in kubeadm's configuration.
  type: str
  returned: always
pod_subnet:
  description: The pods' CIDR; empty where kubeadm's configuration has none.
  type: str
  returned: always
service_subnet:
  description: The services' CIDR.
  type: str
  returned: always
dns_domain:
  description: The cluster's DNS domain.
  type: str
  returned: always
cluster_dns:
  description: Addresses of the cluster's DNS service, as kubelets are told.
  type: list
  elements: str
  returned: always
unbound_daemon_sets:
  description:
    - DaemonSets that name no operating system, neither by node selector nor by affinity. One of Linux would be
      scheduled on Windows nodes too, and hang there.
  type: list
  elements: dict
  returned: always
  contains:
    namespace:
      description: Its namespace.
      type: str
    name:
      description: Its name.
      type: str
nodes:
  description: The cluster's nodes by name.
  type: dict
  returned: always
  contains:
    ready:
      description: Whether the node is Ready.
      type: bool
    pod_cidr:
      description: The node's pod CIDR; empty until the cluster has given one.
      type: str
    os:
      description: The node's operating system label.
      type: str
    version:
      description: The kubelet's version.
      type: str
    unschedulable:
      description: Whether the node is cordoned.
      type: bool
    addresses:
      description: All addresses and names that its kubelet has told.
      type: list
      elements: str
    internal_ip:
      description: The node's first internal address; empty until its kubelet has told one.
      type: str
    runtime_label:
      description: Its label C(winkube.node/container-runtime), which keeps HostProcess DaemonSets away from Docker.
      type: str
    network_pods:
      description: The pods on it of the DaemonSets of role cni, with V(read) in O(purposes).
      type: list
      elements: dict
      contains:
        namespace:
          description: Its namespace.
          type: str
        name:
          description: Its name.
          type: str
        revision:
          description: Its label C(winkube.node/revision), which says of which template and configuration it was made.
          type: str
"""

import base64
import hashlib
import json
import re
import traceback
import typing as t
import urllib.parse
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils.cluster_access import NEEDS, require_access
from ..module_utils.cluster_client import Cluster, cluster_arguments

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


FLANNEL = "kube-flannel-cfg"
FLANNEL_NAMESPACES = ("kube-flannel", "kube-system")
"""Where flannel's own manifest and kubespray, or older ones, put the ConfigMap."""
RELEASE = re.compile(r"v?(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)")
RUNTIME_LABEL = "winkube.node/container-runtime"
REVISION_LABEL = "winkube.node/revision"
NETWORK_PODS = (("kube-flannel", "app=flannel-windows"), ("kube-system", "k8s-app=kube-proxy-windows"))
"""Namespace and labels of the pods of role cni's DaemonSets."""


def ca_hash(certificate: bytes) -> str:
    """The pin that kubeadm checks: SHA-256 of the DER public key (kubeadm join --discovery-token-ca-cert-hash)."""
    key = x509.load_pem_x509_certificate(certificate).public_key()
    return "sha256:" + hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def keys(certificates: bytes) -> set[bytes]:
    """The public keys of PEM certificates, DER."""
    return {
        one.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for one in x509.load_pem_x509_certificates(certificates)
    }


def check_ca(module: AnsibleModule, cluster: Cluster, certificates: bytes) -> None:
    """Refuses a CA of cluster-info that the kubeconfig does not trust."""
    settings = cluster.api_client.configuration
    if not module.params["verify_ca"] or not settings.verify_ssl or not settings.ssl_ca_cert:
        return
    if not keys(certificates) <= keys(Path(settings.ssl_ca_cert).read_bytes()):
        module.fail_json(
            msg="the ConfigMap kube-public/cluster-info: expected the CA of the kubeconfig, got another one. Nodes "
            "would trust whoever has its key. Find out who changed it; if the API server is only reached through "
            "a proxy with a certificate of another CA, set node_join_verify_ca: false (verify_ca: false)"
        )


def describe_node(node: t.Any, pods: t.Mapping[str, list[dict[str, str]]]) -> dict[str, t.Any]:
    """What matters of a V1Node, and which pods of `network_pods` it has."""
    conditions = {item.type: item.status for item in node.status.conditions or ()}
    return {
        "ready": conditions.get("Ready") == "True",
        "pod_cidr": node.spec.pod_cidr or "",
        "os": (node.metadata.labels or {}).get("kubernetes.io/os", ""),
        "version": node.status.node_info.kubelet_version if node.status.node_info else "",
        "unschedulable": bool(node.spec.unschedulable),
        "addresses": [item.address for item in node.status.addresses or ()],
        "internal_ip": next((item.address for item in node.status.addresses or () if item.type == "InternalIP"), ""),
        "runtime_label": (node.metadata.labels or {}).get(RUNTIME_LABEL, ""),
        "network_pods": pods.get(node.metadata.name, []),
    }


def network_pods(cluster: Cluster) -> dict[str, list[dict[str, str]]]:
    """The pods that run the network of Windows nodes, by node."""
    found: dict[str, list[dict[str, str]]] = {}
    for namespace, labels in NETWORK_PODS:
        for pod in cluster.request(cluster.core.list_namespaced_pod, namespace, label_selector=labels).items:
            revision = (pod.metadata.labels or {}).get(REVISION_LABEL, "")
            about = {"namespace": namespace, "name": pod.metadata.name, "revision": revision}
            found.setdefault(pod.spec.node_name or "", []).append(about)
    return found


def unbound_daemon_sets(cluster: Cluster) -> list[dict[str, str]]:
    """DaemonSets whose pods go to nodes of any operating system."""
    found = []
    for item in cluster.request(cluster.apps.list_daemon_set_for_all_namespaces).items:
        spec = item.spec.template.spec
        constraints = f"{spec.node_selector or ''} {spec.affinity.node_affinity if spec.affinity else ''}"
        if "kubernetes.io/os" not in constraints:
            found.append({"namespace": item.metadata.namespace, "name": item.metadata.name})
    return found


def flannel(cluster: Cluster) -> dict[str, t.Any]:
    """How flannel's Linux nodes are configured; empty where the cluster has no such ConfigMap."""
    for namespace in FLANNEL_NAMESPACES:
        found = cluster.find(cluster.core.read_namespaced_config_map, FLANNEL, namespace)
        if found is not None:
            try:
                conf = json.loads((found.data or {}).get("net-conf.json") or "")
            except ValueError:
                conf = None
            return {"config_map": f"{namespace}/{FLANNEL}", "net_conf": conf if isinstance(conf, dict) else {}}
    return {}


def node_version(version: str) -> str:
    """Upstream's release of an API server's version, to which vendors add: `v1.34.4+k3s1`, `v1.34.4-eks-1a2b3c`."""
    found = RELEASE.match(version)
    return found[1] if found else ""


def document(cluster: Cluster, namespace: str, name: str, key: str) -> dict[str, t.Any]:
    """A YAML document in a ConfigMap; empty where the ConfigMap does not exist."""
    found = cluster.find(cluster.core.read_namespaced_config_map, name, namespace)
    return (yaml.safe_load((found.data or {}).get(key) or "") or {}) if found else {}


def read(module: AnsibleModule, cluster: Cluster) -> dict[str, t.Any]:
    """All that the module returns."""
    require_access(module, cluster, module.params["purposes"])
    info = document(cluster, "kube-public", "cluster-info", "kubeconfig")
    if not info:
        module.fail_json(
            msg=f"the cluster at {cluster.server} has no ConfigMap kube-public/cluster-info: kubeadm join cannot "
            "discover it; `kubeadm init phase bootstrap-token` on the control plane makes it"
        )
    entry = info["clusters"][0]["cluster"]
    certificate = base64.b64decode(entry["certificate-authority-data"])
    check_ca(module, cluster, certificate)
    kubeadm = document(cluster, "kube-system", "kubeadm-config", "ClusterConfiguration")
    kubelet = document(cluster, "kube-system", "kubelet-config", "kubelet")
    networking = kubeadm.get("networking") or {}
    names = module.params["nodes"]
    version = cluster.version()
    pods = network_pods(cluster) if "read" in module.params["purposes"] else {}
    nodes = {node.metadata.name: describe_node(node, pods) for node in cluster.request(cluster.core.list_node).items}
    return {
        "api_server": urllib.parse.urlsplit(entry["server"]).netloc,
        "ca_cert_hash": ca_hash(certificate),
        "ca_certificate": certificate.decode(),
        "kubernetes_version": version,
        "node_version": node_version(version),
        "flannel": flannel(cluster),
        "cluster_name": kubeadm.get("clusterName") or "kubernetes",
        "pod_subnet": networking.get("podSubnet") or "",
        "service_subnet": networking.get("serviceSubnet") or "",
        "dns_domain": networking.get("dnsDomain") or "cluster.local",
        "cluster_dns": kubelet.get("clusterDNS") or [],
        "unbound_daemon_sets": unbound_daemon_sets(cluster),
        "nodes": {name: node for name, node in nodes.items() if not names or name in names},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            nodes={"type": "list", "elements": "str"},
            verify_ca={"type": "bool", "default": True},
            purposes={"type": "list", "elements": "str", "choices": list(NEEDS), "default": []},
        ),
        supports_check_mode=True,
    )
    for library, error in (("PyYAML", YAML_ERROR), ("cryptography", CRYPTOGRAPHY_ERROR)):
        if error:
            module.fail_json(msg=missing_required_lib(library), exception=error)
    module.exit_json(changed=False, **read(module, Cluster(module)))


if __name__ == "__main__":
    main()
