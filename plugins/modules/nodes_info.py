#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the state of a cluster's nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodes_info
short_description: Read the state of a cluster's nodes
version_added: "0.1.0"
description:
  - Reads the conditions of all nodes, the pods that do not start on them, and the CA of the cluster.
    M(winkube.node.node_diagnosis) compares this state with what a node itself reports.
  - Runs on the controller or a control plane host, never on a Windows node.
  - The Kubernetes account that the task uses needs permission to list nodes. If the account is not allowed to read
    pods, events or the C(kube-public/cluster-info) ConfigMap, these are left out.
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
attributes:
  check_mode:
    description: Reads only.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Read the state of the nodes
  winkube.node.nodes_info:
    kubeconfig: ~/.kube/config
  delegate_to: localhost
  run_once: true
  register: cluster
"""

RETURN = r"""
server:
  description: URL of the API server that was queried.
  type: str
  returned: always
authorities:
  description: >-
    Certificates of the cluster's CA (PEM), from the C(kube-public/cluster-info) ConfigMap, and from O(kubeconfig) or
    O(ca_cert).
  type: list
  elements: str
  returned: always
nodes:
  description: The cluster's nodes by name.
  type: dict
  returned: always
  contains:
    ready:
      description: >-
        Status of the Ready condition, which is V(True), V(False) or V(Unknown). Empty if the kubelet has not reported
        yet.
      type: str
    reason:
      description: Why the node is not Ready. Empty if it is Ready, or if its kubelet has not reported yet.
      type: str
    since:
      description: When the Ready condition last changed.
      type: str
    pressure:
      description: Conditions other than Ready that are true, such as V(DiskPressure), with their messages.
      type: dict
    pending_pods:
      description: Pods that do not start on the node (at most ten), with the reason.
      type: list
      elements: str
    sandbox_errors:
      description: Recent errors that kept the kubelet from creating pod sandboxes (at most three).
      type: list
      elements: str
"""

import base64
import binascii
import re
import typing as t
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.api_error import ApiError
from ..module_utils.api_forms import EVENT, NODE, POD
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.cluster_state import config_map
from ..module_utils.printable import printable

MOST_PODS = 10
MOST_ERRORS = 3
_SANDBOX = "FailedCreatePodSandBox"
"""The reason given in events about pod sandboxes that could not be created (kubernetes pkg/kubelet/events/event.go)."""
_REFUSED = (403, 404)
_AUTHORITY = re.compile(r"^\s*certificate-authority-data:\s*[\"']?([A-Za-z0-9+/=]+)", re.MULTILINE)

Object = t.Mapping[str, t.Any]


def conditions(node: Object) -> dict[str, t.Any]:
    """Return a summary of a node's conditions, with the kubelet's messages made safe to print."""
    listed = {one["type"]: one for one in (node.get("status") or {}).get("conditions") or ()}
    ready = listed.pop("Ready", {})
    reason = f"{ready.get('reason') or 'NotReady'}: {ready.get('message') or 'no message'}" if ready else ""
    return {
        "ready": ready.get("status") or "",
        "reason": "" if ready.get("status") == "True" else printable(reason),
        "since": printable(str(ready.get("lastTransitionTime") or "")),
        "pressure": {
            printable(name): printable(str(one.get("message") or ""))
            for name, one in listed.items()
            if one["status"] == "True"
        },
    }


def describe(node: Object, pods: t.Sequence[str], errors: t.Sequence[str]) -> dict[str, t.Any]:
    """Return the state of a node.

    Args:
        node: the node as the API returns it.
        pods: pods that do not start on the node, each with the reason.
        errors: the errors that kept the kubelet from creating pod sandboxes.
    """
    return {
        **conditions(node),
        "pending_pods": list(pods)[:MOST_PODS],
        "sandbox_errors": list(errors)[:MOST_ERRORS],
    }


def pending_reason(pod: Object) -> str:
    """Return the reason why a pod does not start, or an empty string if its status contains none."""
    status = pod.get("status") or {}
    states = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    waiting = [(one.get("state") or {}).get("waiting") or {} for one in states]
    texts = [str(one["message"]) for one in waiting if one.get("message")]
    reasons = [str(one["reason"]) for one in waiting if one.get("reason")]
    return next(filter(None, (str(status.get("message") or ""), *texts, *reasons)), "")


def pending_pods(cluster: Cluster) -> dict[str, list[str]]:
    """Return the pods that are assigned to a node but do not start, each with the reason, by node name.

    Raises:
        ApiError: the request failed.
    """
    by_node: dict[str, list[str]] = {}
    for pod in cluster.items("api/v1/pods", form=POD, query={"fieldSelector": "status.phase=Pending"}):
        node, about = pod["spec"].get("nodeName"), pod["metadata"]
        if node:
            text = f"{about['namespace']}/{about['name']}: {pending_reason(pod) or 'no reason given'}"
            by_node.setdefault(node, []).append(printable(text))
    return by_node


def sandbox_errors(cluster: Cluster) -> dict[str, list[str]]:
    """Return the errors that kept kubelets from creating pod sandboxes, grouped by node, the latest first.

    Raises:
        ApiError: the request failed.
    """
    events = cluster.items("api/v1/events", form=EVENT, query={"fieldSelector": f"reason={_SANDBOX}"})
    by_node: dict[str, list[str]] = {}
    for event in sorted(events, key=lambda one: str(one.get("lastTimestamp") or ""), reverse=True):
        node, text = (event.get("source") or {}).get("host"), printable(str(event.get("message") or ""))
        if node and text not in by_node.setdefault(node, []):
            by_node[node].append(text)
    return by_node


def if_allowed(read: t.Callable[[Cluster], t.Any], cluster: Cluster, otherwise: t.Any) -> t.Any:
    """Return the result of `read`, or `otherwise` if the object does not exist or the account cannot read it.

    Raises:
        ApiError: the request failed for a different reason.
    """
    try:
        return read(cluster)
    except ApiError as error:
        if error.status not in _REFUSED:
            raise
        return otherwise


def announced(cluster: Cluster) -> str:
    """Return the cluster-info ConfigMap's kubeconfig, which nodes use to join, or an empty string if there is none.

    Raises:
        ApiError: the request failed.
    """
    return str((config_map(cluster, "kube-public", "cluster-info") or {}).get("kubeconfig") or "")


def ca_of(kubeconfig: str) -> str:
    """Return the CA certificates (PEM) that a kubeconfig contains, or an empty string if there are none."""
    match = _AUTHORITY.search(kubeconfig)
    try:
        return base64.b64decode(match[1], validate=True).decode("ascii") if match else ""
    except (binascii.Error, ValueError):
        return ""


def authorities(cluster: Cluster) -> list[str]:
    """Return the CA certificates (PEM) from the cluster-info ConfigMap and from the client's configuration.

    Raises:
        ApiError: a request failed.
    """
    trusted = cluster.configuration.ssl_ca_cert
    texts = [ca_of(if_allowed(announced, cluster, ""))]
    texts += [Path(trusted).read_text(encoding="utf-8")] if trusted and Path(trusted).is_file() else []
    return [text for text in dict.fromkeys(texts) if text]


def read(cluster: Cluster) -> dict[str, t.Any]:
    """Read the state of the cluster's nodes, and return it as the module's result.

    Raises:
        ApiError: a request to the cluster failed.
    """
    nodes = cluster.items("api/v1/nodes", form=NODE)
    pods = if_allowed(pending_pods, cluster, {})
    errors = if_allowed(sandbox_errors, cluster, {})
    return {
        "server": cluster.server,
        "authorities": authorities(cluster),
        "nodes": {
            name: describe(node, pods.get(name, ()), errors.get(name, ()))
            for name, node in ((str(one["metadata"]["name"]), one) for one in nodes)
        },
    }


def main() -> None:
    module = AnsibleModule(argument_spec=cluster_arguments(), supports_check_mode=True)
    cluster = Cluster(module)
    with cluster.needed():
        result = read(cluster)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
