# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Look up the value that Python code computes for a role variable."""

from __future__ import annotations

DOCUMENTATION = """
name: role_decision
short_description: Return the value that Python code computes for a role variable
version_added: 0.1.0
description:
  - Returns the value of a variable that depends on other variables of the host, on results of earlier tasks or on other
    hosts. Each role's C(vars/main.yml) and C(defaults/main.yml) show which of its variables use this lookup.
  - The lookup reads only the variables that the computation needs.
  - The names that the lookup accepts are private to the collection, and may change with every release.
options:
  _terms:
    description: The name of one variable that a role of this collection sets with this lookup.
    type: list
    elements: str
    required: true
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = """
- name: Show at which endpoint the kubelet reaches its container runtime
  ansible.builtin.debug:
    msg: "{{ lookup('winkube.node.role_decision', 'kubernetes_node_cri_socket') }}"
  vars:
    container_runtime: moby
"""

RETURN = """
_raw:
  description: The value.
  type: list
  elements: raw
"""

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils.node_resources.variables import MissingVariableError
from ..plugin_utils.role_decisions import table


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible ships no type information
    """Returns the value that Python code computes for a role variable."""

    def run(
        self, terms: t.Sequence[str], variables: t.Mapping[str, t.Any] | None = None, **keywords: t.Any
    ) -> list[t.Any]:
        """Run the lookup; Ansible calls this method."""
        if len(terms) != 1:
            raise AnsibleError(f"role_decision: expected the name of one variable, got {len(terms)} names")
        self.set_options(var_options=variables, direct=keywords)
        host = table.of_host(variables or {}, self._templar.template)
        try:
            return [table.decide(str(terms[0]), host)]
        except (MissingVariableError, ValueError, OSError) as error:
            # Drop the cause, which may contain a secret: ansible-core 2.19 appends causes to messages.
            raise AnsibleError(str(error)) from None
