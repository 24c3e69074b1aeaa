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
  - Waits until all of O(nodes) are registered with the cluster and, by default, Ready.
  - A node with the taint C(node.cloudprovider.kubernetes.io/uninitialized) does not count as Ready, because only
    pods that tolerate this taint can run on it. The cloud controller manager removes the taint.
  - One task waits for all nodes. The task runs on the controller or a control plane host, never on a Windows node.
  - The Kubernetes account that the task uses needs permission to read nodes.
options:
  condition:
    description:
      - V(registered) waits until the cluster has a Node object.
      - V(ready) also waits until the node is Ready. O(host_process), O(daemon_sets), O(before) and O(versions) have an
        effect only with V(ready).
      - With both values, O(pod_cidr) and O(overlay_address) can make the module wait for further conditions.
    type: str
    choices: [registered, ready]
    default: ready
  pod_cidr:
    description: Whether to also wait until the cluster has assigned a pod CIDR to each node.
    type: bool
    default: false
  overlay_address:
    description:
      - Whether to also wait until Calico has published each node's address on Calico's overlay network, in the
        annotation C(projectcalico.org/IPv4VXLANTunnelAddr). kube-proxy needs this address for its source VIP.
    type: bool
    default: false
  host_process:
    description:
      - Whether to also wait until the pods of HostProcess DaemonSets on each node, such as kube-proxy, are ready.
    type: bool
    default: false
  pods:
    description: Whether to report which nodes have pods on the pod network, as RV(nodes.has_pods).
    type: bool
    default: false
  daemon_sets:
    description:
      - Maps the name of each node to a list of DaemonSets (C(NAMESPACE/NAME)). The node counts as Ready only if each of
        these DaemonSets has a ready pod on it. The Kubernetes account needs permission to list pods in the namespaces
        of the DaemonSets.
    type: dict
    default: {}
  before:
    description:
      - State of each rebooted node before its reboot, as RV(winkube.node.nodes_drain#module:nodes) returned it
        (C(boot_id), C(host_process)). For a few seconds after a reboot, the cluster still shows the earlier state. With
        this option the module waits until the kubelet has reported after the reboot.
    type: dict
    default: {}
  versions:
    description:
      - Maps the name of each node to the expected version of its kubelet, such as C(1.37.1). With this option the
        module waits until the kubelet has reported after its upgrade. Before that, the cluster still shows the state of
        the earlier kubelet.
    type: dict
    default: {}
  required:
    description:
      - Whether the task fails if a node does not reach the expected state in time. With V(false), the task succeeds,
        and RV(waiting) lists these nodes, so that a later task can fail for their hosts only.
    type: bool
    default: true
  timeout:
    description: >-
      Time limit in seconds. If the API server cannot be reached at the start, the module fails after 15 seconds.
    type: int
    default: 600
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
  - winkube.node.cluster_options.nodes
attributes:
  check_mode:
    description: Reads the state once and does not wait.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Wait until two nodes are Ready
  winkube.node.nodes_ready:
    kubeconfig: ~/.kube/config
    nodes: [windows01, windows02]
    timeout: 300
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
nodes:
  description: The last known state of every node, by name.
  type: dict
  returned: always
  contains:
    registered:
      description: Whether the cluster has a Node object of this name.
      type: bool
    ready:
      description: Whether the node is Ready.
      type: bool
    pod_cidr:
      description: The node's pod CIDR, or empty if it does not have one yet.
      type: str
    internal_ip:
      description: The node's first internal address, or empty if it does not have one yet.
      type: str
    overlay_address:
      description: The node's address on Calico's overlay network, or empty if it does not have one yet.
      type: str
    has_pods:
      description:
        - Whether the node has pods on the pod network that have not ended. Pods on the host network, such as
          HostProcess pods, do not count. Also V(true) if the Kubernetes account is not allowed to list the pods of all
          namespaces.
      type: bool
      returned: if O(pods=true)
    reason:
      description: Why the node is not Ready. Empty if it is Ready.
      type: str
waiting:
  description: Names of the nodes that did not reach the expected state.
  type: list
  elements: str
  returned: always
"""

import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.api_error import ApiError
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.cluster_state import overlay_address
from ..module_utils.node_api import NodeApi
from ..module_utils.pods import (
    Pod,
    daemon_set_missing,
    has_own_network,
    host_process_missing,
    host_process_sets,
    may_run_on,
)
from ..module_utils.printable import printable

POLL_SECONDS = 1.0
"""Maximum pause between two polls. The first pause is a quarter of it, and each further pause is twice as long as the
previous one."""
FIRST_ANSWER_SECONDS = 15.0
FORBIDDEN = 403
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
"""The taint that a node with an external cloud provider has until the provider has initialized the node.

Source: kubernetes.io, Cloud Controller Manager Administration, "Running cloud-controller-manager".
"""


def describe(node: t.Mapping[str, t.Any] | None, boot_id: str = "", version: str = "") -> dict[str, t.Any]:
    """Return the state of a node.

    Args:
        node: the node as the API returns it, or None if it is not registered.
        boot_id: the boot ID before a reboot, or empty if the node did not reboot.
        version: the expected version of the kubelet, or empty to accept any.
    """
    if node is None:
        why = "the node is not registered"
        empty = {"pod_cidr": "", "internal_ip": "", "overlay_address": ""}
        return {"registered": False, "ready": False, **empty, "reason": why}
    status = node.get("status") or {}
    ready = next((item for item in status.get("conditions") or () if item["type"] == "Ready"), None)
    reason = "" if ready else "the kubelet has not reported yet"
    if ready and ready["status"] != "True":
        # This text comes from the node's kubelet.
        reason = printable(str(ready.get("message") or "NotReady"))
    elif boot_id and (status.get("nodeInfo") or {}).get("bootID") == boot_id:
        reason = "the kubelet has not reported since the reboot"
    elif version and version != (reported := reported_version(status)):
        reason = f"expected the kubelet {version}, got {reported or 'no version'}"
    elif not reason and UNINITIALIZED in [one["key"] for one in (node.get("spec") or {}).get("taints") or ()]:
        reason = f"the cloud provider has not initialized the node (taint {UNINITIALIZED})"
    return {
        "registered": True,
        "ready": not reason,
        "pod_cidr": (node.get("spec") or {}).get("podCIDR") or "",
        "internal_ip": next(
            (item["address"] for item in status.get("addresses") or () if item["type"] == "InternalIP"), ""
        ),
        "overlay_address": overlay_address(node),
        "reason": reason,
    }


def reported_version(status: t.Mapping[str, t.Any]) -> str:
    """Return the version that a node's kubelet reported, without the leading v, and safe to print."""
    version = (status.get("nodeInfo") or {}).get("kubeletVersion") or ""
    return printable(str(version)[1:] if str(version).startswith("v") else str(version))


REQUIRED = {"pod_cidr": "no pod CIDR", "overlay_address": "no address on the overlay network"}
"""Options that make the task wait for a property of the nodes, each with the reason to report while it is missing."""


def is_done(state: t.Mapping[str, t.Any], params: t.Mapping[str, t.Any]) -> bool:
    """Return whether a node is in the state that the task waits for."""
    return bool(state[params["condition"]]) and all(state[name] for name in REQUIRED if params[name])


def why(state: t.Mapping[str, t.Any], params: t.Mapping[str, t.Any]) -> str:
    """Return why a node is not in the state that the task waits for."""
    return state["reason"] or ", ".join(text for name, text in REQUIRED.items() if params[name] and not state[name])


def remaining_sets(
    api: NodeApi, node: t.Mapping[str, t.Any], pods: t.Sequence[Pod], before: t.Mapping[str, t.Any]
) -> dict[str, t.Any]:
    """Return the entries of `before` whose DaemonSets still exist and can still run on a node.

    A change of the cluster's network may have removed the other DaemonSets, such as those of the earlier CNI plugin.

    Args:
        api: the cluster.
        node: the node.
        pods: the pods of the node.
        before: maps each DaemonSet to the IDs of its containers before the reboot.

    Raises:
        ApiError: a request to the cluster failed.
    """
    labels, present = node["metadata"].get("labels") or {}, host_process_sets(pods)
    without_pod = {place: api.daemon_set(place) for place in before if place not in present}
    gone = [place for place, one in without_pod.items() if one is None or not may_run_on(one, labels)]
    return {place: ids for place, ids in before.items() if place not in gone}


def describe_nodes(params: t.Mapping[str, t.Any], api: NodeApi) -> dict[str, dict[str, t.Any]]:
    """Return the current state of each node in the option `nodes`.

    Raises:
        ApiError: a request to the cluster failed.
    """
    nodes = {node["metadata"]["name"]: node for node in api.nodes()}
    states = {}
    expected = {str(name): list(sets or ()) for name, sets in params["daemon_sets"].items()}
    # Pods are listed after the nodes, so that they are requested only if a node is Ready.
    pods: dict[str, list[t.Any]] = {}
    for name in params["nodes"]:
        before = params["before"].get(name) or {}
        state = describe(nodes.get(name), before.get("boot_id") or "", str(params["versions"].get(name) or ""))
        if state["ready"] and params["host_process"]:
            listed = api.pods(name)
            sets = remaining_sets(api, nodes[name], listed, before.get("host_process") or {})
            missing = host_process_missing(listed, sets)
            state.update(ready=not missing, reason="; ".join(missing))
        if state["ready"] and expected.get(name):
            for namespace in sorted({one.partition("/")[0] for one in expected[name]} - set(pods)):
                pods[namespace] = api.namespaced_pods(namespace)
            missing = daemon_set_missing((pod for listed in pods.values() for pod in listed), name, expected[name])
            state.update(ready=not missing, reason="; ".join(missing))
        states[name] = state
    return states


def has_pods(api: NodeApi, node: str) -> bool:
    """Return whether a node has, or may have, pods on the pod network.

    The result is True if the Kubernetes account is not allowed to list pods.

    Raises:
        ApiError: the request failed for a different reason.
    """
    try:
        return any(map(has_own_network, api.pods(node)))
    except ApiError as error:
        if error.status == FORBIDDEN:
            return True
        raise


def wait(module: AnsibleModule, api: NodeApi) -> dict[str, t.Any]:
    """Poll until all nodes are in the state that the task waits for, or until the time is up.

    In check mode, poll only once.

    Returns:
        The module's result.
    """
    params = module.params
    begin = time.monotonic()
    end = begin + params["timeout"]
    pause = POLL_SECONDS / 4
    nodes: dict[str, dict[str, t.Any]] = {}
    while True:
        try:
            nodes = describe_nodes(params, api)
            waiting = [name for name in nodes if not is_done(nodes[name], params)]
            if not waiting or module.check_mode or time.monotonic() >= end:
                for name in nodes if params["pods"] else ():
                    nodes[name]["has_pods"] = has_pods(api, name)
                return {"nodes": nodes, "waiting": waiting}
        except ApiError as error:
            # An API server may be unavailable for a while, for example during its upgrade. If it has never responded,
            # give up sooner.
            limit = end if nodes else min(end, begin + FIRST_ANSWER_SECONDS)
            if not error.is_temporary or time.monotonic() >= limit:
                module.fail_json(msg=str(error), nodes=nodes, waiting=params["nodes"])
        time.sleep(pause)
        pause = min(pause * 2, POLL_SECONDS)


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            of_nodes=True,
            condition={"type": "str", "choices": ["registered", "ready"], "default": "ready"},
            pod_cidr={"type": "bool", "default": False},
            overlay_address={"type": "bool", "default": False},
            host_process={"type": "bool", "default": False},
            pods={"type": "bool", "default": False},
            daemon_sets={"type": "dict", "default": {}},
            before={"type": "dict", "default": {}},
            versions={"type": "dict", "default": {}},
            required={"type": "bool", "default": True},
            timeout={"type": "int", "default": 600},
        ),
        supports_check_mode=True,
    )
    result = wait(module, NodeApi(Cluster(module)))
    if result["waiting"] and module.params["required"] and not module.check_mode:
        reasons = "; ".join(f"{name}: {why(result['nodes'][name], module.params)}" for name in result["waiting"])
        module.fail_json(
            msg=f"not {module.params['condition']} after {module.params['timeout']} seconds: {reasons}", **result
        )
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
