# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Look up a variable of a host, or of the cluster's other hosts if the host does not have it."""

from __future__ import annotations

DOCUMENTATION = """
name: cluster_variable
short_description: Return a variable of the host itself, or of a host in the cluster's groups
version_added: 0.1.0
description:
  - Returns the value of a variable of the host. If the host does not have the variable, or if its value is null, the
    lookup reads the first host of each of the cluster's groups, and returns the first value that is not null.
    Templates in this value use the variables of the host from which the value comes.
  - kubespray keeps variables of all nodes in C(group_vars/k8s_cluster), and Windows hosts are never members of this
    group. With this lookup, Windows hosts use the same variables, so you define them only once.
  - An empty string is also a value, and ends the search. If only the control plane needs a proxy, set an empty
    C(http_proxy) and C(https_proxy) for the group of the Windows hosts.
  - The cluster's groups are C(kube_control_plane), C(kube-master), C(master-ubuntu), C(k8s_cluster) and
    C(k8s-cluster), in this order.
options:
  _terms:
    description: Names of variables.
    type: list
    elements: str
    required: true
  default:
    description: The value to return if no host has the variable.
    type: raw
    default: ''
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = """
- name: Show the version in the cluster's inventory
  ansible.builtin.debug:
    msg: "{{ lookup('winkube.node.cluster_variable', 'kube_version', default='1.37.1') }}"
"""

RETURN = """
_raw:
  description: The values of the variables, in the order of the given names.
  type: list
  elements: raw
"""

import typing as t

from ansible.plugins.lookup import LookupBase

from ..plugin_utils.node_resources.own_templates import OwnTemplates


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible ships no type information
    """Returns variables of a host, or of the cluster's other hosts if the host does not have them."""

    def run(
        self, terms: t.Sequence[str], variables: t.Mapping[str, t.Any] | None = None, **keywords: t.Any
    ) -> list[t.Any]:
        """Run the lookup; Ansible calls this method."""
        self.set_options(var_options=variables, direct=keywords)
        templates = OwnTemplates(variables or {}, self._templar.template)
        return [templates.of_cluster(str(name), self.get_option("default")) for name in terms]
