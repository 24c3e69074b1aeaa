#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Wait until nodes are Ready."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodes_ready
short_description: Wait until nodes of a cluster are Ready
version_added: "0.1.0"
description:
  - Waits through the Kubernetes API until all the nodes named are registered and, by default, Ready.
  - One task waits for a whole fleet. It runs on the controller or a control plane host, never on a Windows node.
options:
  kubeconfig:
    description: Path of a kubeconfig that may read nodes.
    type: path
    required: true
  context:
    description: Context of the kubeconfig; its current one by default.
    type: str
  nodes:
    description: Names of the nodes.
    type: list
    elements: str
    required: true
  condition:
    description:
      - What to wait for. V(registered) is there at all, with a pod CIDR where O(pod_cidr=true).
      - V(ready) is condition Ready.
    type: str
    choices: [registered, ready]
    default: ready
  pod_cidr:
    description: Whether a node counts only once the cluster has given it a pod CIDR.
    type: bool
    default: false
  timeout:
    description: Seconds to wait.
    type: int
    default: 600
requirements:
  - kubernetes (Python)
attributes:
  check_mode:
    description: Looks once and does not wait.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Wait for the fleet
  winkube.node.nodes_ready:
    kubeconfig: ~/.kube/config
    nodes: [windows01, windows02]
    timeout: 300
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
nodes:
  description: Every node by name, with what the cluster last said of it.
  type: dict
  returned: always
  contains:
    registered:
      description: Whether the cluster knows the node.
      type: bool
    ready:
      description: Whether it is Ready.
      type: bool
    pod_cidr:
      description: Its pod CIDR; empty while it has none.
      type: str
    reason:
      description: Why it is not Ready, in the kubelet's words.
      type: str
waiting:
  description: Names of the nodes that did not get there.
  type: list
  elements: str
  returned: always
"""

import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.cluster_client import CLUSTER_ARGUMENTS, Cluster

POLL_SECONDS = 1.0


def describe(node: t.Any | None) -> dict[str, t.Any]:
    """What the cluster says of a node; of one that it does not know, that."""
    if node is None:
        return {"registered": False, "ready": False, "pod_cidr": "", "reason": "the node is not registered"}
    ready = next((item for item in node.status.conditions or () if item.type == "Ready"), None)
    is_ready = ready is not None and ready.status == "True"
    return {
        "registered": True,
        "ready": is_ready,
        "pod_cidr": node.spec.pod_cidr or "",
        "reason": "" if is_ready else (ready.message if ready else "the kubelet has not reported yet"),
    }


def there(state: dict[str, t.Any], condition: str, pod_cidr: bool) -> bool:
    """Whether a node is where the task wants it."""
    return bool(state["registered"] if condition == "registered" else state["ready"]) and (
        bool(state["pod_cidr"]) or not pod_cidr
    )


def wait(module: AnsibleModule, cluster: Cluster) -> dict[str, t.Any]:
    """Looks until all are there or the time is up."""
    params = module.params
    end = time.monotonic() + params["timeout"]
    while True:
        found = {node.metadata.name: node for node in cluster.request(cluster.core.list_node).items}
        nodes = {name: describe(found.get(name)) for name in params["nodes"]}
        waiting = [name for name in nodes if not there(nodes[name], params["condition"], params["pod_cidr"])]
        if not waiting or module.check_mode or time.monotonic() >= end:
            return {"nodes": nodes, "waiting": waiting}
        time.sleep(POLL_SECONDS)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **CLUSTER_ARGUMENTS,
            "nodes": {"type": "list", "elements": "str", "required": True},
            "condition": {"type": "str", "choices": ["registered", "ready"], "default": "ready"},
            "pod_cidr": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 600},
        },
        supports_check_mode=True,
    )
    result = wait(module, Cluster(module))
    if result["waiting"] and not module.check_mode:
        reasons = "; ".join(f"{name}: {result['nodes'][name]['reason'] or 'no pod CIDR'}" for name in result["waiting"])
        module.fail_json(
            msg=f"not {module.params['condition']} after {module.params['timeout']} seconds: {reasons}", **result
        )
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
