# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Look up the pod network that the cni role configures."""

from __future__ import annotations

DOCUMENTATION = """
name: pod_network
short_description: Return the pod network that the variables of the C(cni) role describe
version_added: 0.1.0
description:
  - Returns those properties of the pod network that tasks of roles depend on.
  - The lookup uses the variables C(cni_plugin), C(cni_run_as), C(cni_pods_subnet), C(cni_services_subnet),
    C(cni_network_policy), C(cni_block_wireserver), C(cni_block_imds), C(cni_azure_vnet_subnets) and
    C(container_runtime), and the variable with the mode of the network, such as C(cni_flannel_backend). If earlier
    tasks have read data from the cluster or the node, the lookup also uses this data.
options:
  _terms:
    description: The lookup takes no terms.
    type: list
    elements: str
    default: []
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = """
- name: Show the configuration of flannel's CNI plugin
  ansible.builtin.debug:
    msg: "{{ lookup('winkube.node.pod_network').cni_conf }}"
  vars:
    cni_plugin: flannel
    cni_run_as: daemonset
    cni_flannel_backend: vxlan
    cni_calico_mode: vxlan
    cni_pods_subnet: 10.244.0.0/16
    cni_services_subnet: 10.96.0.0/12
    cni_network_policy: ""
    cni_block_wireserver: auto
    cni_block_imds: false
    cni_azure_vnet_subnets: []
"""

RETURN = """
_raw:
  description: One mapping.
  type: list
  elements: dict
  contains:
    name:
      description: The network's name on the node.
      type: str
    is_managed:
      description: Whether this collection installs the pod network.
      type: bool
    is_overlay:
      description: Whether packets between nodes are encapsulated.
      type: bool
    needs_pod_cidr:
      description: Whether the pod network works only on a node to which Kubernetes has assigned a pod CIDR.
      type: bool
    needs_overlay_address:
      description: Whether kube-proxy needs the address that the pod network assigns to a node. The node gets this
        address only after the network's program has started.
      type: bool
    runs_as_services:
      description: Whether the pod network's programs and kube-proxy run as Windows services on the node.
      type: bool
    runs_as_pods:
      description: Whether the pod network's programs and kube-proxy run as pods of this collection's DaemonSets.
      type: bool
    cni_conf:
      description: The CNI configuration that this collection writes. Empty if no configuration is written.
      type: dict
    conf_file:
      description: Name of the file with the CNI configuration. Empty if the name is unknown.
      type: str
    accounts:
      description: The Kubernetes service accounts (C(NAMESPACE/NAME)) that the pod network's Windows services and the
        kube-proxy service use. Empty if there are no such services.
      type: list
      elements: str
    identity:
      description: The properties that distinguish this network from others. If one of them changes, the previous
        network must be removed.
      type: dict
    note:
      description: A resource for M(winkube.node.node_state). It describes the file on the node that records which pod
        network was installed.
      type: dict
"""

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils.node_resources import cni
from ..plugin_utils.node_resources.variables import MissingVariableError
from ..plugin_utils.role_decisions import table
from ..plugin_utils.values.errors import ResourceError


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible ships no type information
    """Returns those properties of the pod network that tasks of roles depend on."""

    def run(
        self, terms: t.Sequence[str], variables: t.Mapping[str, t.Any] | None = None, **keywords: t.Any
    ) -> list[t.Any]:
        """Run the lookup; Ansible calls this method."""
        if terms:
            raise AnsibleError(f"pod_network: expected no terms, got {', '.join(map(str, terms))}")
        self.set_options(var_options=variables, direct=keywords)
        try:
            network = cni.pod_network(table.of_host(variables or {}, self._templar.template))
        except (MissingVariableError, ResourceError) as error:
            raise AnsibleError(str(error)) from None
        return [cni.described(network)]
