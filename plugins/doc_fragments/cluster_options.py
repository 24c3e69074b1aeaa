# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the options of all modules for clusters (module_utils/cluster_client.py)."""

from __future__ import annotations


class ModuleDocFragment:
    """The fragments `winkube.node.cluster_options` and `winkube.node.cluster_options.nodes`."""

    DOCUMENTATION = r"""
options:
  kubeconfig:
    description: Path of a kubeconfig of the cluster.
    type: path
    required: true
  context:
    description: Context of the kubeconfig. The default is its current context.
    type: str
attributes:
  action_group:
    description: Use C(group/winkube.node.cluster) in C(module_defaults) to set options of all modules for clusters.
    support: full
    membership: [winkube.node.cluster]
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
