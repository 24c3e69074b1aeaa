# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation that all modules that work with a cluster share.

These modules also use the `k8s_auth_options` fragment of the kubernetes.core collection.
"""

from __future__ import annotations


class ModuleDocFragment:
    """The documentation fragments `winkube.node.cluster_options` and `winkube.node.cluster_options.nodes`."""

    DOCUMENTATION = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/winkube.node.cluster) in C(module_defaults) to set options for all modules that work with a
        cluster.
    support: full
    membership: [winkube.node.cluster]
notes:
  - The options for authentication, their environment variables and their precedence are those of
    P(kubernetes.core.k8s#module). If C(host) and credentials are set, no kubeconfig is read.
  - An empty C(kubeconfig) is an error and does not select C(~/.kube/config), so an empty variable cannot select a
    cluster by accident.
  - The path of the kubeconfig appears in messages. If the kubeconfig is given as a dictionary, its tokens, passwords
    and private keys do not appear in any output.
requirements:
  - kubernetes (Python)
"""

    NODES = r"""
options:
  nodes:
    description: Names of the nodes.
    type: list
    elements: str
    required: true
"""
