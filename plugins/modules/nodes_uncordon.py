#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Uncordon nodes that nodes_drain cordoned."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodes_uncordon
short_description: Uncordon nodes that were cordoned for a given owner
version_added: "0.1.0"
description:
  - Uncordons nodes that M(winkube.node.nodes_drain) cordoned for O(owner), and removes the C(winkube.node/cordoned)
    annotation.
  - Nodes that were cordoned for a different owner, or by other means, stay cordoned.
  - The Kubernetes account that the task uses needs permission to change nodes.
options:
  owner:
    description: Owner of the cordons, as given to M(winkube.node.nodes_drain).
    type: str
    required: true
  timeout:
    description: >-
      How long to retry, in seconds, if the API server cannot be reached or another client changes a node at the same
      time.
    type: int
    default: 60
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
  - winkube.node.cluster_options.nodes
attributes:
  check_mode:
    description: Reports which nodes would be uncordoned.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Put nodes back into service
  winkube.node.nodes_uncordon:
    kubeconfig: ~/.kube/config
    nodes: [windows01, windows02]
    owner: replace_disks
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
nodes:
  description: The result of each node, by name.
  type: dict
  returned: always
  contains:
    changed:
      description: Whether the node was uncordoned.
      type: bool
    unschedulable:
      description: Whether the node stays cordoned. Also V(true) if uncordoning failed.
      type: bool
    msg:
      description: Why the node could not be uncordoned, or who cordoned it instead of O(owner).
      type: str
    failed:
      description: Whether uncordoning failed.
      type: bool
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.api_error import ApiError
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.cordon import read_cordon, uncordon_patch
from ..module_utils.node_api import NodeApi
from ..module_utils.node_changes import change_nodes


def uncordon(api: NodeApi, name: str, owner: str, dry: bool) -> dict[str, t.Any]:
    """Uncordon a node if it was cordoned for `owner`, and return the result for this node.

    Raises:
        ApiError: the node could not be uncordoned.
    """
    node = api.node(name)
    if node is None:
        raise ApiError("the cluster has no node of this name", 400)
    cordon = read_cordon(node)
    patch = uncordon_patch(node, owner)
    if patch is None:
        who = cordon.mark or "another client"
        message = f"{name}: the node stays cordoned by {who}" if cordon.unschedulable else ""
        return {"changed": False, "unschedulable": cordon.unschedulable, "msg": message, "failed": False}
    if not dry:
        api.patch_node(name, patch)
    return {"changed": True, "unschedulable": False, "msg": "", "failed": False}


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            of_nodes=True,
            owner={"type": "str", "required": True},
            timeout={"type": "int", "default": 60},
        ),
        supports_check_mode=True,
    )
    api, owner = NodeApi(Cluster(module)), module.params["owner"]
    change_nodes(
        module,
        module.params["nodes"],
        lambda name: uncordon(api, name, owner, module.check_mode),
        unschedulable=True,
    )


if __name__ == "__main__":
    main()
