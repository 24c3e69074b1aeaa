#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cordon and drain nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodes_drain
short_description: Cordon and drain nodes of a cluster, and record the owner of each cordon
version_added: "0.1.0"
description:
  - Cordons nodes and evicts their pods through the Eviction API, so that PodDisruptionBudgets are respected, and waits
    until the pods are gone. An eviction that a budget does not allow is retried until O(timeout).
  - The module works like C(kubectl drain --ignore-daemonsets). DaemonSet pods and static pods stay. A pod without a
    controller is evicted only with O(force), and a pod with an C(emptyDir) volume only with O(delete_emptydir_data). A
    node with a pod that must not be evicted is neither cordoned nor drained.
  - A node that the module cordons gets the C(winkube.node/cordoned) annotation with O(owner), the machine on which the
    task ran, and the time. M(winkube.node.nodes_uncordon) uncordons only nodes with this annotation. A node that was
    already cordoned is not annotated.
  - Pods of a node that is not Ready are also evicted, but the task does not wait for them, because the node's kubelet
    does not stop them.
  - One task drains many nodes at the same time. The task runs on the controller or a control plane host, never on a
    Windows node.
  - The Kubernetes account that the task uses needs permission to change nodes, and to list and evict pods.
options:
  owner:
    description: Owner of the cordons, such as the name of the playbook.
    type: str
    required: true
  force:
    description: Whether to evict pods without a controller. These pods are not recreated.
    type: bool
    default: false
  delete_emptydir_data:
    description: Whether to evict pods with C(emptyDir) volumes. The data in these volumes is lost.
    type: bool
    default: false
  grace_period:
    description: How many seconds each pod gets to stop. The default is the pod's own grace period.
    type: int
  timeout:
    description: Time limit for all nodes together, in seconds. V(0) means no limit.
    type: int
    default: 600
  check_access:
    description:
      - Whether to check first that the Kubernetes account is allowed to cordon nodes and evict pods. If it is not, the
        module fails with a list of the missing permissions.
    type: bool
    default: false
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
  - winkube.node.cluster_options.nodes
attributes:
  check_mode:
    description: Reports which nodes could not be drained, and who has cordoned which node. Changes nothing.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Drain two nodes
  winkube.node.nodes_drain:
    kubeconfig: ~/.kube/config
    nodes: [windows01, windows02]
    owner: replace_disks
    delete_emptydir_data: true
    timeout: 900
  delegate_to: localhost
  run_once: true
  register: drained

- name: Put them back into service
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
    status:
      description:
        - One of V(drained); V(checked) in check mode; V(refused) if O(force) or O(delete_emptydir_data) would be
          needed; V(timeout) if pods were left at the time limit; V(failed).
      type: str
    msg:
      description: Why the node was not drained, with the names of the pods and PodDisruptionBudgets that prevented it.
      type: str
    changed:
      description: Whether the node or its pods were changed.
      type: bool
    ours:
      description: Whether the node is cordoned for O(owner), by this task or by an earlier task.
      type: bool
    cordoned_before:
      description: Whether the node was cordoned when the task began.
      type: bool
    cordoned_by:
      description: Who cordoned the node, or empty if it is not cordoned.
      type: str
    evicted:
      description: Pods that were evicted, as C(NAMESPACE/NAME).
      type: list
      elements: str
    ignored:
      description: Maps each pod that stays on the node to the reason why it stays.
      type: dict
    labels:
      description: All labels of the node.
      type: dict
    boot_id:
      description: The node's boot ID, which changes with every reboot.
      type: str
    host_process:
      description: >-
        Maps each HostProcess DaemonSet to the IDs of its containers on the node.
        O(winkube.node.nodes_ready#module:before) needs these IDs.
      type: dict
"""

import datetime
import platform
import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.cluster_access import require_access
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.cordon import CordonMark
from ..module_utils.drain import DrainOptions, drain
from ..module_utils.node_api import NodeApi


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            of_nodes=True,
            owner={"type": "str", "required": True},
            force={"type": "bool", "default": False},
            delete_emptydir_data={"type": "bool", "default": False},
            grace_period={"type": "int"},
            timeout={"type": "int", "default": 600},
            check_access={"type": "bool", "default": False},
        ),
        supports_check_mode=True,
    )
    params = module.params
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    options = DrainOptions(
        mark=CordonMark(by=params["owner"], on=platform.node(), since=now),
        timeout=params["timeout"],
        force=params["force"],
        delete_emptydir_data=params["delete_emptydir_data"],
        grace_period=params["grace_period"],
        dry=module.check_mode,
    )
    cluster = Cluster(module)
    if params["check_access"]:
        with cluster.needed():
            require_access(module, cluster, ["drain"])
    nodes = drain(NodeApi(cluster), params["nodes"], options, clock=time.monotonic, sleep=time.sleep)
    changed = any(node["changed"] for node in nodes.values())
    messages = [node["msg"] for node in nodes.values() if node["status"] not in ("drained", "checked")]
    if messages:
        module.fail_json(msg="\n".join(messages), changed=changed, nodes=nodes)
    module.exit_json(changed=changed, nodes=nodes)


if __name__ == "__main__":
    main()
