#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Delete nodes from a cluster if their addresses show that they belong to the expected machines."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodes_delete
short_description: Delete the nodes of machines that were reset
version_added: "0.1.0"
description:
  - Deletes nodes from a cluster.
  - A node is deleted only if its kubelet reported one of the expected addresses, so that the node of a different
    machine with the same name is not deleted. The node's name, which the kubelet reports as a further address, does not
    count. A node without addresses is not deleted either.
  - The Kubernetes account that the task uses needs permission to read and delete nodes.
options:
  addresses:
    description: Maps the name of each node to a list of the addresses of the machine to which the node must belong.
    type: dict
    required: true
  timeout:
    description: How long to retry, in seconds, if the API server cannot be reached.
    type: int
    default: 60
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
attributes:
  check_mode:
    description: Reports which nodes would be deleted.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Delete the nodes of machines that were reset
  winkube.node.nodes_delete:
    kubeconfig: ~/.kube/config
    addresses:
      windows01: [10.0.0.11]
      windows02: [10.0.0.12]
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
      description: Whether the node was deleted.
      type: bool
    msg:
      description: Why the node was not deleted. Empty if it was deleted or did not exist.
      type: str
    failed:
      description: Whether the node could not be deleted.
      type: bool
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.addresses import identifies
from ..module_utils.api_error import ApiError
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.node_api import NodeApi
from ..module_utils.node_changes import change_nodes


def mismatch(node: t.Mapping[str, t.Any], expected: t.Collection[str]) -> str:
    """Return why a node does not belong to the expected machine, or an empty string if it does."""
    reported = [str(one["address"]) for one in (node.get("status") or {}).get("addresses") or ()]
    if identifies(str(node["metadata"]["name"]), reported, expected):
        return ""
    where = ", ".join(reported) or "no address"
    return f"expected a node with one of the addresses {', '.join(expected) or 'none'}, got one with {where}"


def delete(api: NodeApi, name: str, expected: t.Collection[str], dry: bool) -> dict[str, t.Any]:
    """Delete a node if it exists and reports one of the expected addresses, and return the result for this node.

    Raises:
        ApiError: the node could not be read or deleted.
    """
    node = api.node(name)
    if node is None:
        return {"changed": False, "msg": "", "failed": False}
    if why := mismatch(node, expected):
        return {"changed": False, "msg": f"{name}: the node was not deleted: {why}", "failed": True}
    try:
        if not dry:
            api.delete_node(node)
    except ApiError as error:
        if error.status != 404:
            raise
    return {"changed": True, "msg": "", "failed": False}


def expected_addresses(module: AnsibleModule) -> dict[str, list[str]]:
    """Return the value of the option `addresses`, or make the module fail if the value is malformed."""
    given = module.params["addresses"]
    for name, addresses in given.items():
        if not isinstance(addresses, list):
            module.fail_json(msg=f"addresses: {name}: expected a list of addresses, got {addresses!r}")
    return {str(name): [str(one) for one in addresses] for name, addresses in given.items()}


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            addresses={"type": "dict", "required": True}, timeout={"type": "int", "default": 60}
        ),
        supports_check_mode=True,
    )
    expected = expected_addresses(module)
    api = NodeApi(Cluster(module))
    change_nodes(module, expected, lambda name: delete(api, name, expected[name], module.check_mode))


if __name__ == "__main__":
    main()
