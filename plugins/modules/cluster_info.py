#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read what a node needs to know about the cluster that it joins."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_info
short_description: Read what a node needs to know about the cluster that it joins
version_added: "0.1.0"
description:
  - Reads the C(cluster-info), C(kubeadm-config) and C(kubelet-config) ConfigMaps of a kubeadm cluster, its nodes,
    and the DaemonSets that would be scheduled on Windows nodes by mistake.
  - Runs on the controller or a control plane host, never on a Windows node. O(purposes) describes the permissions that
    the account of O(kubeconfig) needs.
options:
  nodes:
    description: Names of the nodes to return. The default is all nodes.
    type: list
    elements: str
  verify_ca:
    description:
      - Whether the CA in the C(kube-public/cluster-info) ConfigMap, which nodes will trust, must be a CA that
        O(kubeconfig) or O(ca_cert) trusts. Anyone who can write this ConfigMap could replace the CA.
      - Disable this check only if the API server is reached through a proxy whose certificate comes from a different
        CA. If neither O(kubeconfig) nor O(ca_cert) contains a CA, nothing is compared.
    type: bool
    default: true
  networks:
    description:
      - Pod networks of the hosts in the run (values of C(cni_plugin)). With V(calico), the module also reads how Calico
        is installed. The module always reads how flannel is configured.
    type: list
    elements: str
    default: []
  purposes:
    description:
      - What the run is going to do in the cluster. If a permission for this is missing, the module fails and lists the
        missing permissions.
      - V(read) covers what this module reads. V(join) labels nodes, and restricts DaemonSets for Linux to Linux nodes.
        V(tokens) creates and deletes bootstrap tokens, and V(delete_tokens) only deletes them. V(approve) approves the
        certificates of the nodes that join. V(rejoin) deletes nodes whose machines join again, and V(reset) deletes
        nodes of machines that are reset. V(flannel) applies flannel's and kube-proxy's DaemonSets, and V(kube_proxy)
        applies only kube-proxy's DaemonSet. V(services) creates the service accounts for nodes on which flannel and
        kube-proxy run as Windows services, and V(services_read) reads the tokens of these accounts. V(drain) cordons
        nodes and evicts pods. V(network_check) runs the pods of M(winkube.node.network_check).
      - V(calico_read) reads how Calico is installed. V(calico) applies Calico's and kube-proxy's DaemonSets.
        V(calico_affinity) changes Calico's C(IPAMConfig). V(calico_windows) changes the Tigera operator's
        C(Installation) and its C(kubernetes-services-endpoint) ConfigMap.
      - V(flannel_removal) and V(calico_removal) delete flannel's or Calico's DaemonSet for Windows.
        V(change_network) includes each of these removals if the cluster has the DaemonSet, and none of O(networks)
        needs it. A flannel that runs as a Windows service counts as a DaemonSet here. The network V(calico) does not
        need Calico's DaemonSet if the Tigera operator runs Calico.
    type: list
    elements: str
    choices: [read, calico_read, join, tokens, delete_tokens, approve, rejoin, reset, flannel, kube_proxy, calico,
      change_network, flannel_removal, calico_removal, calico_affinity, calico_windows, services_read, services,
      network_check, drain]
    default: []
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
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
    purposes: [read, join, tokens]
  delegate_to: localhost
  run_once: true
  register: cluster
"""

RETURN = r"""
api_server:
  description: Host and port of the control plane endpoint according to cluster-info.
  type: str
  returned: always
  sample: k8s.example.com:6443
ca_cert_hash:
  description: Hash of the cluster CA's public key, in the format of kubeadm's C(--discovery-token-ca-cert-hash).
  type: str
  returned: always
  sample: sha256:7c8bd655cab8b6ddc9ba85bf71d9bd1f3f6bd7f2d6b5b6f5a3ae31dea7a5b0d5
ca_certificate:
  description: The cluster CA's certificate in PEM.
  type: str
  returned: always
cluster_info_public:
  description:
    - Whether the C(kube-public/cluster-info) ConfigMap can be read without credentials. C(kubeadm join) needs this if
      it discovers the cluster with a bootstrap token. It is V(false) only if the API server refuses such access.
  type: bool
  returned: always
kubernetes_version:
  description: The API server's version.
  type: str
  returned: always
  sample: v1.37.1
node_version:
  description: >-
    Kubernetes version for the cluster's nodes, which is the API server's version without C(v) and without a vendor's
    suffix.
  type: str
  returned: always
  sample: 1.37.1
flannel:
  description: Configuration of flannel on Linux nodes. It is empty if there is no C(kube-flannel-cfg) ConfigMap.
  type: dict
  returned: always
  contains:
    config_map:
      description: Namespace and name of the ConfigMap.
      type: str
    net_conf:
      description: The ConfigMap's C(net-conf.json), or empty if it cannot be parsed.
      type: dict
calico:
  description:
    - How Calico is installed on Linux nodes. Empty if O(networks) does not contain V(calico), or if there is no
      C(calico-node) DaemonSet. The fields are private to this collection, and may change with every release.
  type: dict
  returned: always
cluster_name:
  description: Name of the cluster in kubeadm's configuration.
  type: str
  returned: always
pod_subnet:
  description: The pods' CIDR, or empty if kubeadm's configuration does not set it.
  type: str
  returned: always
service_subnet:
  description: The services' CIDR, or empty if kubeadm's configuration does not set it.
  type: str
  returned: always
dns_domain:
  description: The cluster's DNS domain.
  type: str
  returned: always
cluster_dns:
  description: Addresses of the cluster's DNS service in the kubelets' configuration.
  type: list
  elements: str
  returned: always
dns_service:
  description: >-
    Address of the cluster's DNS service (C(kube-dns) or C(coredns) in kube-system), if RV(cluster_dns) contains a
    link-local address, which only Linux nodes serve. Otherwise empty.
  type: str
  returned: always
unbound_daemon_sets:
  description:
    - DaemonSets that select no operating system, neither by node selector nor by affinity. If they are for Linux, their
      pods would also be scheduled on Windows nodes and never start there.
  type: list
  elements: dict
  returned: always
  contains:
    namespace:
      description: The DaemonSet's namespace.
      type: str
    name:
      description: The DaemonSet's name.
      type: str
    owner:
      description: Kind and name of the object that controls the DaemonSet. Empty if there is none.
      type: str
    managers:
      description: Labels and annotations that name the tool that manages the DaemonSet, such as Helm.
      type: dict
foreign_daemon_sets:
  description:
    - DaemonSets (C(NAMESPACE/NAME)) that have the name of one of this collection's DaemonSets for pod networks, but
      were not applied by this collection. A run never removes them.
  type: list
  elements: str
  returned: always
  sample: [kube-system/calico-node-windows]
nodes:
  description: The cluster's nodes by name.
  type: dict
  returned: always
  contains:
    ready:
      description: Whether the node is Ready.
      type: bool
    pod_cidr:
      description: The node's pod CIDR, or empty if the cluster has not assigned one yet.
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
    cordon_owner:
      description: >-
        The value of O(winkube.node.nodes_drain#module:owner), if M(winkube.node.nodes_drain) cordoned the node.
        Otherwise empty.
      type: str
    addresses:
      description: All addresses and names of the node that its kubelet reported.
      type: list
      elements: str
    internal_ip:
      description: The node's first internal address, or empty if its kubelet has not reported one yet.
      type: str
    labels:
      description: All labels of the node.
      type: dict
    network_runs_as:
      description: The node's C(winkube.node/network-runs-as) label, which keeps the DaemonSets of pod networks off the
        node.
      type: str
    pod_network:
      description: The node's C(winkube.node/pod-network) label, which Calico's DaemonSet requires to run on the node.
      type: str
    overlay_address:
      description: The node's address in Calico's overlay. Empty if the node has none.
      type: str
    generation:
      description: >-
        The node's C(winkube.node-restriction.kubernetes.io/generation) label, which C(replace_nodes.yml) sets.
      type: str
    replacement:
      description: >-
        What C(replace_nodes.yml) has recorded about the machine that replaces the node (C(name), C(generation)), and
        what was done to the old machine (C(old), which is C(reset), C(shutdown) or empty). C(name) and C(generation)
        are C(unreadable) if the record is invalid. Empty if the node is not being replaced.
      type: dict
    network_pods:
      description: The node's pods from DaemonSets that the role P(winkube.node.cni#role) applies, if
        O(purposes) contains V(read).
      type: list
      elements: dict
      contains:
        namespace:
          description: The pod's namespace.
          type: str
        name:
          description: The pod's name.
          type: str
        revision:
          description: The pod's C(winkube.node/revision) label, which identifies its template and configuration.
          type: str
        daemon_set:
          description: The name of the pod's DaemonSet. Empty if no DaemonSet controls the pod.
          type: str
        ready:
          description: Whether the pod is ready.
          type: bool
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils import calico_state, cluster_state
from ..module_utils.addresses import DEFAULT_DNS_DOMAIN
from ..module_utils.api_forms import NODE
from ..module_utils.cluster_access import FLANNEL_DAEMON_SET, NEEDS, NETWORK_DAEMON_SETS, removals, require_access
from ..module_utils.cluster_ca import node_version
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.cluster_state import describe_node
from ..module_utils.control_plane_info import (
    CLUSTER_INFO_PATH,
    CRYPTOGRAPHY_ERROR,
    YAML_ERROR,
    control_plane,
    document,
)


def read(module: AnsibleModule, cluster: Cluster) -> dict[str, t.Any]:
    """Check the permissions of the kubeconfig's account, read the cluster, and return the module's result.

    Raises:
        ApiError: a request to the cluster failed.
    """
    purposes, networks = module.params["purposes"], module.params["networks"]
    require_access(module, cluster, purposes)
    about = control_plane(module, cluster)
    kubeadm = document(module, cluster, "kube-system/kubeadm-config", "ClusterConfiguration", {"networking": {}})
    kubelet = document(module, cluster, "kube-system/kubelet-config", "kubelet", {"clusterDNS": [str]})
    networking, cluster_dns = kubeadm.get("networking") or {}, kubelet.get("clusterDNS") or []
    daemon_sets = cluster_state.daemon_sets(cluster)
    calico = calico_state.calico(cluster) if "calico" in networks else {}
    if calico.get("installation"):
        # The operator runs Calico's pods and replaces them itself.
        networks = [name for name in networks if name != "calico"]
    own = {cluster_state.place(one) for one in daemon_sets if cluster_state.is_own(one)}
    nodes = list(cluster.items("api/v1/nodes", form=NODE))
    # If flannel runs as a service, it has no DaemonSet, but a service account.
    services = {FLANNEL_DAEMON_SET} if any(map(cluster_state.runs_flannel, nodes)) else set()
    require_access(module, cluster, removals(purposes, own | services, networks))
    version, names = cluster.version(), module.params["nodes"]
    pods = cluster_state.network_pods(cluster, networks) if "read" in purposes else {}
    facts = {node["metadata"]["name"]: describe_node(node, pods) for node in nodes}
    return {
        **about,
        "cluster_info_public": cluster.is_public(*CLUSTER_INFO_PATH),
        "kubernetes_version": version,
        "node_version": node_version(version),
        "flannel": cluster_state.flannel(cluster),
        "calico": calico,
        "cluster_name": kubeadm.get("clusterName") or "kubernetes",
        "pod_subnet": networking.get("podSubnet") or "",
        "service_subnet": networking.get("serviceSubnet") or "",
        "dns_domain": networking.get("dnsDomain") or DEFAULT_DNS_DOMAIN,
        "cluster_dns": cluster_dns,
        "dns_service": cluster_state.dns_service(cluster, cluster_dns),
        "unbound_daemon_sets": cluster_state.unbound_daemon_sets(daemon_sets),
        "foreign_daemon_sets": sorted({*map(cluster_state.place, daemon_sets)} & NETWORK_DAEMON_SETS - own),
        "nodes": {name: node for name, node in facts.items() if not names or name in names},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            nodes={"type": "list", "elements": "str"},
            verify_ca={"type": "bool", "default": True},
            networks={"type": "list", "elements": "str", "default": []},
            purposes={"type": "list", "elements": "str", "choices": list(NEEDS), "default": []},
        ),
        supports_check_mode=True,
    )
    for library, error in (("PyYAML", YAML_ERROR), ("cryptography", CRYPTOGRAPHY_ERROR)):
        if error:
            module.fail_json(msg=missing_required_lib(library), exception=error)
    cluster = Cluster(module)
    with cluster.needed():
        facts = read(module, cluster)
    module.exit_json(changed=False, **facts)


if __name__ == "__main__":
    main()
