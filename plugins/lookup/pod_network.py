# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Look up the pod network that the role cni configures."""

from __future__ import annotations

DOCUMENTATION = """
name: pod_network
short_description: The network of the pods, from the variables of role C(cni)
version_added: 0.1.0
description:
  - Returns what three files contain. These are flannel's configuration, the configuration of flannel's CNI plugin, and
    the node's record of its network. The content is built from C(cni_plugin), C(cni_flannel_backend),
    C(cni_pods_subnet), C(cni_services_subnet) and C(container_runtime).
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
- name: Show flannel's net-conf.json
  ansible.builtin.debug:
    msg: "{{ lookup('winkube.node.pod_network').net_conf }}"
  vars:
    cni_plugin: flannel
    cni_flannel_backend: vxlan
    cni_pods_subnet: 10.244.0.0/16
    cni_services_subnet: 10.96.0.0/12
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
    net_conf:
      description: flannel's C(net-conf.json).
      type: dict
    cni_conf:
      description: The configuration of flannel's CNI plugin.
      type: dict
    identity:
      description: The properties that distinguish this network from others.
      type: dict
    note:
      description: The file with the node's record of its network, as a resource for M(winkube.node.node_state).
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
    """Describes the pod network."""

    def run(
        self, terms: t.Sequence[str], variables: t.Mapping[str, t.Any] | None = None, **keywords: t.Any
    ) -> list[t.Any]:
        """Run the lookup; Ansible calls this method."""
        if terms:
            raise AnsibleError("pod_network: expected no terms")
        self.set_options(var_options=variables, direct=keywords)
        try:
            network = table.of_host(variables or {}, self._templar.template).read(cni.PodNetwork, cni.ROLE)
        except (MissingVariableError, ResourceError) as error:
            raise AnsibleError(str(error)) from None
        return [cni.described(network)]
