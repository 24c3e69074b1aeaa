#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create and delete bootstrap tokens for joining nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: bootstrap_token
short_description: Create or delete bootstrap tokens for joining nodes
version_added: "0.1.0"
description:
  - Creates short-lived bootstrap tokens as Secrets in the kube-system namespace, or deletes them.
  - The tokens are returned in RV(tokens) or RV(token); use C(no_log) on the task.
  - By default, a token belongs to the group C(system:bootstrappers:winkube:node-token). The module grants this group
    the roles that C(kubeadm join) needs, but not the automatic approval of certificates. So the certificate of each
    node has to be approved, for example by M(winkube.node.node_csr_approval).
  - Runs on the controller or a control plane host, never on a Windows node.
  - The account of O(kubeconfig) needs the permissions in C(docs/rbac.yaml) of this collection.
options:
  state:
    description:
      - V(present) creates new tokens. If one of them cannot be created, the others are deleted.
      - V(absent) deletes the tokens in O(token_ids). If the API server cannot be reached, this is tried for up to two
        minutes.
      - V(permitted) creates no tokens. It only grants the group C(system:bootstrappers:winkube:node-token) the roles
        that C(kubeadm join) needs, for tokens that C(kubeadm token create) creates with C(--groups).
    type: str
    choices: [present, permitted, absent]
    default: present
  nodes:
    description:
      - Names of nodes. Each node gets its own token in RV(tokens).
      - If the list is empty, one token is created and returned in RV(token).
    type: list
    elements: str
    default: []
  auto_approved:
    description:
      - Whether the tokens belong to kubeadm's own group C(system:bootstrappers:kubeadm:default-node-token) instead of
        C(system:bootstrappers:winkube:node-token). The cluster then immediately approves every certificate that is
        requested with such a token, for any node name.
      - Anyone who reads such a token can become any node of the cluster. Use this option only if certificates cannot be
        approved individually.
    type: bool
    default: false
  token_ids:
    description: IDs of the tokens to delete. An ID is the six characters before the dot in a token.
    type: list
    elements: str
    aliases: [token_id]
    default: []
  ttl:
    description: Lifetime of the tokens in seconds, at least V(60). The cluster deletes them afterwards.
    type: int
    default: 1800
  description:
    description: Description of the tokens, which C(kubeadm token list) shows.
    type: str
    default: winkube.node run
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
attributes:
  check_mode:
    description: Changes nothing. Empty strings are returned in place of new tokens, and RV(deleted) contains the tokens
      that would be deleted.
    support: full
seealso:
  - module: winkube.node.node_csr_approval
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Create a token for each node of this run
  winkube.node.bootstrap_token:
    kubeconfig: ~/.kube/config
    nodes: [windows01, windows02]
    ttl: 900
  delegate_to: localhost
  run_once: true
  no_log: true
  register: created

- name: Delete the tokens
  winkube.node.bootstrap_token:
    kubeconfig: ~/.kube/config
    state: absent
    token_ids: "{{ created.token_ids.values() | list }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
tokens:
  description: The tokens by node name.
  type: dict
  returned: when O(state=present)
token_ids:
  description: The IDs of the tokens by node name. The IDs are not secret.
  type: dict
  returned: when O(state=present)
token:
  description: The token that was created if O(nodes) is empty.
  type: str
  returned: when O(state=present) and O(nodes) is empty
token_id:
  description: ID of RV(token).
  type: str
  returned: when O(state=present) and O(nodes) is empty
expires:
  description: The time at which the cluster deletes the tokens, in UTC. Empty in check mode.
  type: str
  returned: when O(state=present)
  sample: "2026-11-21T12:30:00Z"
deleted:
  description: IDs of the tokens that existed and were deleted.
  type: list
  elements: str
  returned: when O(state=absent)
"""

import contextlib
import datetime
import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import bootstrap_tokens
from ..module_utils.api_error import ApiError
from ..module_utils.approval_api import ApprovalApi
from ..module_utils.cluster_client import Cluster, cluster_arguments

MIN_TTL = 60
RETRY_SECONDS = 120.0
"""How many seconds the module keeps trying to delete a token if the API server cannot be reached."""
POLL_SECONDS = 1.0


def prepare(module: AnsibleModule, api: ApprovalApi) -> bool:
    """Grant `bootstrap_tokens.GROUP` the permissions to join.

    Fail the module if the kubeconfig's account is not allowed to approve certificates. Warn if the cluster itself
    approves the certificates that are requested with any bootstrap token.

    Returns:
        Whether anything changed.
    """
    if not api.may_approve():
        module.fail_json(
            msg="kubeconfig: expected an account that may approve certificates of kubelets, got one that may not; "
            "grant it the ClusterRole in docs/rbac.yaml, or let the cluster approve them (auto_approved: true; "
            "node_join_approval: cluster of the role node_join)"
        )
    changed = api.ensure_bindings()
    if api.approves_by_itself():
        module.warn(
            "the cluster approves every certificate that is requested with a bootstrap token: the group "
            "system:bootstrappers, to which all these tokens belong, is bound to the ClusterRole "
            "system:certificates.k8s.io:certificatesigningrequests:nodeclient. Anyone who reads a token of this run "
            "while it is valid can become any node. Bind that role only to the group "
            "system:bootstrappers:kubeadm:default-node-token"
        )
    return changed


def create(module: AnsibleModule, api: ApprovalApi) -> dict[str, t.Any]:
    """Create tokens, except in check mode, and return the result of the module."""
    auto_approved, nodes = module.params["auto_approved"], module.params["nodes"]
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=module.params["ttl"])
    expires = end.strftime("%Y-%m-%dT%H:%M:%SZ")
    tokens = dict.fromkeys(nodes or [""], "")
    if not module.check_mode:
        if not auto_approved:
            prepare(module, api)
        group = bootstrap_tokens.AUTO_APPROVED_GROUP if auto_approved else bootstrap_tokens.GROUP
        try:
            for name in tokens:
                tokens[name] = bootstrap_tokens.new_token()
                about = f"{module.params['description']}: {name}" if name else module.params["description"]
                api.create_token(bootstrap_tokens.secret(tokens[name], expires, about, group))
        except ApiError:
            # The module returns no tokens, so nothing else would delete them. The last one may exist as well: a
            # connection can break after the server has created it.
            with contextlib.suppress(ApiError):
                delete_all(api, [token.partition(".")[0] for token in tokens.values()])
            raise
    token_ids = {name: token.partition(".")[0] for name, token in tokens.items()}
    result = {"changed": True, "expires": expires if not module.check_mode else "", "tokens": {}, "token_ids": {}}
    if nodes:
        return {**result, "tokens": tokens, "token_ids": token_ids}
    return {**result, "token": tokens[""], "token_id": token_ids[""]}


def permit(module: AnsibleModule, api: ApprovalApi) -> dict[str, t.Any]:
    """Grant `bootstrap_tokens.GROUP` the permissions to join, except in check mode; return the result of the module."""
    return {"changed": not module.check_mode and prepare(module, api)}


def delete(module: AnsibleModule, api: ApprovalApi) -> dict[str, t.Any]:
    """Delete the tokens that still exist, except in check mode, and return the result of the module."""
    deleted = delete_all(api, module.params["token_ids"], dry=module.check_mode)
    return {"changed": bool(deleted), "deleted": deleted}


def delete_all(api: ApprovalApi, token_ids: t.Iterable[str], *, dry: bool = False) -> list[str]:
    """Delete tokens. If the API server cannot be reached, wait for it, so that no token remains after a run.

    Args:
        api: the API.
        token_ids: IDs of the tokens. Empty strings are ignored.
        dry: whether to only check that the tokens could be deleted.

    Returns:
        The IDs of the tokens that existed.

    Raises:
        ApiError: a request was rejected, or the API server could not be reached for too long.
    """
    end = time.monotonic() + RETRY_SECONDS
    return [one for one in token_ids if one and _delete(api, one, end, dry)]


def _delete(api: ApprovalApi, token_id: str, end: float, dry: bool) -> bool:
    while True:
        try:
            return api.delete_token(token_id, dry=dry)
        except ApiError as error:
            if not error.is_temporary or time.monotonic() >= end:
                raise
        time.sleep(POLL_SECONDS)


STATES = {"present": create, "permitted": permit, "absent": delete}


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            state={"type": "str", "choices": ["present", "permitted", "absent"], "default": "present"},
            nodes={"type": "list", "elements": "str", "default": []},
            auto_approved={"type": "bool", "default": False},
            token_ids={
                "type": "list",
                "elements": "str",
                "default": [],
                "aliases": ["token_id"],
                # Token IDs are public; kubectl prints them as well.
                "no_log": False,
            },
            ttl={"type": "int", "default": 1800},
            description={"type": "str", "default": "winkube.node run"},
        ),
        required_if=[("state", "absent", ["token_ids"])],
        supports_check_mode=True,
    )
    if module.params["ttl"] < MIN_TTL:
        module.fail_json(msg=f"ttl: expected at least {MIN_TTL} seconds, got {module.params['ttl']}")
    cluster = Cluster(module)
    try:
        result = STATES[module.params["state"]](module, ApprovalApi(cluster))
    except (ApiError, ValueError) as error:
        module.fail_json(msg=f"the bootstrap tokens of the cluster at {cluster.server} cannot be changed: {error}")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
