# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Look up where a host downloads artifacts from."""

from __future__ import annotations

DOCUMENTATION = """
name: artifact_sources
short_description: Return where a host downloads artifacts from
version_added: 0.1.0
description:
  - Returns one mapping, built from variables that all roles share. These are C(artifact_sites), C(artifact_upstream),
    C(artifact_kinds), C(artifact_limit_rate), C(artifact_ignore_revocation), C(artifact_verify) and
    C(artifact_allowed_signers).
  - A host that is installed from a bundle downloads from the bundle's server first. It uses the publishers' servers
    only if C(artifact_upstream) is true.
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
- name: Show where this host downloads artifacts from
  ansible.builtin.debug:
    msg: "{{ lookup('winkube.node.artifact_sources').sites }}"
"""

RETURN = """
_raw:
  description: One mapping.
  type: list
  elements: dict
  contains:
    sites:
      description: Sources other than the publishers' servers, in the order in which the node tries them.
      type: list
    upstream:
      description: Whether the node may also download from the publishers' servers.
      type: bool
    kinds:
      description: Kinds of artifacts that the inventory defines in addition to those of the collection.
      type: dict
    limit_rate:
      description: Maximum download rate in bytes per second, such as V(2M). An empty string means no limit.
      type: str
    ignore_revocation:
      description: Whether to download even if the revocation of a server's certificate cannot be checked.
      type: bool
    verify:
      description: What to do with files that cannot be verified. V(warn) accepts them with a warning, and V(strict)
        rejects them.
      type: str
    allowed_signers:
      description: Accepted signers of the programs.
      type: raw
"""

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils.node_resources.artifact_sources import artifact_sources
from ..plugin_utils.role_decisions import table


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible ships no type information
    """Returns the sources from which a host downloads artifacts."""

    def run(
        self, terms: t.Sequence[str], variables: t.Mapping[str, t.Any] | None = None, **keywords: t.Any
    ) -> list[t.Any]:
        """Run the lookup; Ansible calls this method."""
        if terms:
            raise AnsibleError(f"artifact_sources: expected no terms, got {', '.join(map(str, terms))}")
        self.set_options(var_options=variables, direct=keywords)
        return [artifact_sources(table.of_host(variables or {}, self._templar.template).optional)]
