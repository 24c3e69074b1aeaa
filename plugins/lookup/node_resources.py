# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Look up the resources that roles describe for a host."""

from __future__ import annotations

DOCUMENTATION = """
name: node_resources
short_description: Return the resources of roles, for the option O(winkube.node.node_state#module:resources)
version_added: 0.1.0
description:
  - For each role, returns the list of resources that the role describes for a host. The list is built from the host's
    variables and the role's defaults.
  - Each variable is templated once, even if several resources contain it.
options:
  _terms:
    description: Names of roles of this collection.
    type: list
    elements: str
    required: true
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = """
- name: Show the resources that the role gives a node
  ansible.builtin.debug:
    msg: "{{ lookup('winkube.node.node_resources', 'windows_features') }}"
  vars:
    windows_features_names: [Containers]
    windows_features_absent: []
    windows_features_hyper_v: false
"""

RETURN = """
_raw:
  description: A list of resources for each role, in the order of the given names.
  type: list
  elements: list
"""

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils.node_resources import roles
from ..plugin_utils.node_resources.variables import MissingVariableError
from ..plugin_utils.role_decisions import table
from ..plugin_utils.values.errors import ResourceError


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible ships no type information
    """Returns the resources that roles describe for a host."""

    def run(
        self, terms: t.Sequence[str], variables: t.Mapping[str, t.Any] | None = None, **keywords: t.Any
    ) -> list[t.Any]:
        """Run the lookup; Ansible calls this method."""
        self.set_options(var_options=variables, direct=keywords)
        host = table.of_host(variables or {}, self._templar.template)
        try:
            return [roles.of_role(str(role), host) for role in terms]
        except (MissingVariableError, ResourceError, ValueError) as error:
            # Drop the cause, which may contain a secret: ansible-core 2.19 appends causes to messages.
            raise AnsibleError(str(error)) from None
