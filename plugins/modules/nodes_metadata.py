#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Set labels and annotations of nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodes_metadata
short_description: Set labels and annotations of nodes
version_added: "0.1.0"
description:
  - Sets labels and annotations of several nodes, and changes only what differs. Other labels and annotations stay.
  - A kubelet is allowed to set only some labels of its own node. This module can set all of them.
  - Runs on the controller or a control plane host, never on a Windows node.
  - The Kubernetes account that the task uses needs permission to read and change nodes.
options:
  metadata:
    description:
      - Maps the name of each node to a dictionary with the expected C(labels), C(annotations) or both. A null value
        removes the label or annotation.
    type: dict
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
attributes:
  check_mode:
    description: Reports what would be changed. Nodes that do not exist yet are skipped.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Mark two nodes
  winkube.node.nodes_metadata:
    kubeconfig: ~/.kube/config
    metadata:
      windows01: {labels: {node-role.kubernetes.io/windows: ""}}
      windows02: {labels: {site: a, former-site: null}, annotations: {example.com/owner: team-a}}
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
nodes:
  description: The changes made to each node, by node name. A null value means that the label or annotation was removed.
  type: dict
  returned: always
  contains:
    labels:
      description: The changed labels.
      type: dict
    annotations:
      description: The changed annotations.
      type: dict
"""

import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.api_error import ApiError
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.node_api import NodeApi

POLL_SECONDS = 1.0
KINDS = ("labels", "annotations")


def differences(node: t.Mapping[str, t.Any], expected: t.Mapping[str, t.Any]) -> dict[str, dict[str, str | None]]:
    """Return the changes that a node's labels and annotations need. The value None removes an entry.

    Args:
        node: the node as the API returns it.
        expected: the node's expected `labels` and `annotations`.
    """
    changed_values: dict[str, dict[str, str | None]] = {}
    for kind in KINDS:
        current = node["metadata"].get(kind) or {}
        given = {str(key): None if value is None else str(value) for key, value in (expected.get(kind) or {}).items()}
        changed_values[kind] = {key: value for key, value in given.items() if current.get(key) != value}
    return changed_values


def apply(module: AnsibleModule, api: NodeApi, done: dict[str, t.Any]) -> None:
    """Set the labels and annotations of all nodes that are not in `done` yet, and add the changes to `done`.

    Raises:
        ApiError: a request failed, or (except in check mode) the cluster has no such node.
    """
    nodes = {node["metadata"]["name"]: node for node in api.nodes()}
    for name, expected in module.params["metadata"].items():
        if name in done:
            continue
        if name not in nodes:
            if not module.check_mode:
                raise ApiError(f"the cluster has no node {name}", 400)
            continue
        changed = differences(nodes[name], expected or {})
        if any(changed.values()) and not module.check_mode:
            api.patch_node(name, {"metadata": {kind: values for kind, values in changed.items() if values}})
        done[name] = changed


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            metadata={"type": "dict", "required": True},
            timeout={"type": "int", "default": 60},
        ),
        supports_check_mode=True,
    )
    api = NodeApi(Cluster(module))
    end = time.monotonic() + module.params["timeout"]
    done: dict[str, t.Any] = {}
    while True:
        try:
            apply(module, api, done)
            break
        except ApiError as error:
            if not error.is_temporary or time.monotonic() >= end:
                module.fail_json(msg=f"labels and annotations of nodes cannot be set: {error}", nodes=done)
        time.sleep(POLL_SECONDS)
    changed = any(any(values.values()) for values in done.values())
    module.exit_json(changed=changed, nodes=done)


if __name__ == "__main__":
    main()
