#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Approve the certificates of joining nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_csr_approval
short_description: Approve the client certificates of nodes that join
version_added: "0.1.0"
description:
  - Waits for the certificate signing requests of kubelets that join with tokens of M(winkube.node.bootstrap_token), and
    approves only these requests.
  - A request is approved if it was made with the token of a node that is not Ready, and if it has the content that a
    kubelet's request has. This is the signer C(kubernetes.io/kube-apiserver-client-kubelet), the usages of a kubelet,
    the common name C(system:node:) followed by that node's name, C(system:nodes) as the only organization, and no
    extensions such as subject alternative names.
  - If there are requests with different keys for the same node, none of them is approved.
  - Deletes the token of each node that has registered with its certificate. The task ends when all nodes have
    registered, when the remaining tokens have expired or have been deleted, or after O(timeout).
  - Nodes wait for the approval while they join, so run this module at the same time, with C(async).
  - Runs on the controller or a control plane host, never on a Windows node.
  - The account of O(kubeconfig) needs the permissions in C(docs/rbac.yaml) of this collection.
options:
  token_ids:
    description: IDs of the tokens by the names of the nodes for which they were created.
    type: dict
    required: true
  timeout:
    description: Time limit in seconds, after which no more requests are approved.
    type: int
    default: 1800
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
requirements:
  - cryptography (Python)
attributes:
  check_mode:
    description: Approves nothing and does not wait.
    support: full
seealso:
  - module: winkube.node.bootstrap_token
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Approve certificates while the nodes join
  winkube.node.node_csr_approval:
    kubeconfig: ~/.kube/config
    token_ids: "{{ created.token_ids }}"
    timeout: 900
  delegate_to: localhost
  run_once: true
  async: 900
  poll: 0
  register: approver
"""

RETURN = r"""
approved:
  description: Names of the approved certificate signing requests, by node name.
  type: dict
  returned: always
registered:
  description: Names of the nodes that have registered with their certificate.
  type: list
  elements: str
  returned: always
refused:
  description: Why certificate signing requests were not approved, by node name.
  type: dict
  returned: always
"""

import time
import traceback
import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils.api_error import ApiError
from ..module_utils.approval_api import ApprovalApi
from ..module_utils.cluster_client import Cluster, cluster_arguments
from ..module_utils.node_csr import HAS_CRYPTOGRAPHY, decide, is_issued

POLL_SECONDS = 1.0


def mark(node: t.Mapping[str, t.Any] | None) -> tuple[str, str]:
    """Return the UID and the last heartbeat of a Node object, or two empty strings if it does not exist.

    A new UID shows that the kubelet has registered again, and a new heartbeat that it has reported.
    """
    if node is None:
        return ("", "")
    beats = (str(one.get("lastHeartbeatTime")) for one in conditions(node) if one.get("type") == "Ready")
    return (str(node["metadata"].get("uid")), next(beats, ""))


def is_ready(node: t.Mapping[str, t.Any] | None) -> bool:
    """Return whether a node is Ready."""
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions(node or {}))


def conditions(node: t.Mapping[str, t.Any]) -> t.Sequence[t.Mapping[str, t.Any]]:
    """Return the conditions of a node."""
    return (node.get("status") or {}).get("conditions") or ()


class Approver:
    """Approves the certificate signing requests of joining nodes, one poll at a time.

    Args:
        api: the cluster.
        token_ids: IDs of the bootstrap tokens, by node name.
    """

    def __init__(self, api: ApprovalApi, token_ids: t.Mapping[str, str]) -> None:
        self._api = api
        self._token_ids = token_ids
        self._before: dict[str, tuple[str, str]] | None = None
        self.approved: dict[str, str] = {}
        self.registered: list[str] = []
        self.refused: dict[str, str] = {}

    def poll(self) -> bool:
        """Poll once, and approve the certificate signing requests that meet all conditions.

        Returns:
            Whether there is more to wait for.

        Raises:
            ApiError: a request to the cluster failed.
        """
        if self._before is None:
            self._before = {node["metadata"]["name"]: mark(node) for node in self._api.nodes()}
        requests = self._api.requests()
        by_name = {request["metadata"]["name"]: request for request in requests}
        # The content of the requests is checked first, because this check needs no request to the cluster.
        asking = {one.node for one in decide(requests, self._token_ids, ()) if one.decision == "approve"}
        nodes = {name: self._api.node(name) for name in sorted(asking)}
        ready = {name for name, node in nodes.items() if is_ready(node)}
        issued = set()
        for verdict in decide(requests, self._token_ids, ready):
            if verdict.decision == "refuse":
                self.refused[verdict.node] = verdict.reason
                continue
            if verdict.decision == "approve":
                self._approve(by_name[verdict.request])
            elif is_issued(by_name[verdict.request]):
                issued.add(verdict.node)
            self.approved[verdict.node] = verdict.request
        self._retire(issued, self._before)
        return self._is_awaited()

    def _approve(self, request: t.Mapping[str, t.Any]) -> None:
        try:
            self._api.approve(request)
        except ApiError as error:
            # Another client changed or deleted the request in the meantime. The next poll reads all requests again.
            if error.status not in (404, 409):
                raise

    def _retire(self, issued: set[str], before: t.Mapping[str, tuple[str, str]]) -> None:
        """Delete the tokens of nodes whose kubelet has used its certificate and no longer needs the token."""
        for name in sorted(issued - set(self.registered)):
            if mark(self._api.node(name)) not in (("", ""), before.get(name)):
                self._api.delete_token(self._token_ids[name])
                self.registered.append(name)

    def _is_awaited(self) -> bool:
        """Return whether to keep waiting because some nodes have not registered and their tokens still exist.

        The run deletes the remaining tokens together at its end, so checking one of them is enough.
        """
        left = [token_id for name, token_id in self._token_ids.items() if name not in self.registered]
        return bool(left) and self._api.delete_token(left[0], dry=True)

    def result(self) -> dict[str, t.Any]:
        """Return the module's result."""
        outcome = {"approved": self.approved, "registered": self.registered, "refused": self.refused}
        return {"changed": bool(self.approved), **outcome}


def wait(approver: Approver, timeout: float, clock: t.Callable[[], float], sleep: t.Callable[[float], None]) -> None:
    """Poll until there is nothing to wait for, or the time is up.

    Raises:
        ApiError: the cluster rejected a request, or could not be reached when the time was up.
    """
    end = clock() + timeout
    while True:
        try:
            if not approver.poll() or clock() >= end:
                return
        except ApiError as error:
            if not error.is_temporary or clock() >= end:
                raise
        sleep(POLL_SECONDS)


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            # Token IDs are public; kubectl prints them as well.
            token_ids={"type": "dict", "required": True, "no_log": False},
            timeout={"type": "int", "default": 1800},
        ),
        supports_check_mode=True,
    )
    cluster = Cluster(module)
    if not HAS_CRYPTOGRAPHY:
        module.fail_json(msg=missing_required_lib("cryptography"), exception=traceback.format_exc())
    approver = Approver(ApprovalApi(cluster), module.params["token_ids"])
    try:
        if not module.check_mode:
            wait(approver, module.params["timeout"], time.monotonic, time.sleep)
    except (ApiError, ValueError) as error:
        message = f"certificates of the cluster at {cluster.server} cannot be approved: {error}"
        module.fail_json(msg=message, **approver.result())
    module.exit_json(**approver.result())


if __name__ == "__main__":
    main()
