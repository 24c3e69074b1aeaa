#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A bootstrap token for one run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: bootstrap_token
short_description: Make or delete a bootstrap token for joining nodes
version_added: "0.1.0"
description:
  - Makes a bootstrap token with a short life as a Secret of the kube-system namespace, or deletes one.
  - The token is returned in RV(token); use C(no_log) on the task.
  - Runs on the controller or a control plane host, never on a Windows node.
  - O(kubeconfig) is of an account that may write Secrets of the kube-system namespace.
options:
  state:
    description: Whether a new token is made, or the one named by O(token_id) deleted.
    type: str
    choices: [present, absent]
    default: present
  token_id:
    description: The six characters before the dot of the token to delete.
    type: str
  ttl:
    description: Seconds after which the cluster deletes the token by itself.
    type: int
    default: 1800
  description:
    description: What the token says of itself to C(kubeadm token list).
    type: str
    default: winkube.node run
extends_documentation_fragment:
  - winkube.node.cluster_options
attributes:
  check_mode:
    description: Makes no token, and returns an empty one.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Make a token for this run
  winkube.node.bootstrap_token:
    kubeconfig: ~/.kube/config
    ttl: 900
  delegate_to: localhost
  run_once: true
  no_log: true
  register: made

- name: Delete it
  winkube.node.bootstrap_token:
    kubeconfig: ~/.kube/config
    state: absent
    token_id: "{{ made.token_id }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
token:
  description: The token.
  type: str
  returned: when O(state=present)
token_id:
  description: Its public half.
  type: str
  returned: always
expires:
  description: When the cluster deletes it, in UTC.
  type: str
  returned: when O(state=present)
  sample: "2026-11-21T12:30:00Z"
"""

import datetime
import secrets
import string
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.cluster_client import Cluster, cluster_arguments

NAMESPACE = "kube-system"
GROUP = "system:bootstrappers:kubeadm:default-node-token"
"""The group to which kubeadm's RBAC gives what joining nodes need."""
ALPHABET = string.ascii_lowercase + string.digits


def secret(token_id: str, token_secret: str, expires: str, description: str) -> dict[str, t.Any]:
    """The Secret that is a bootstrap token (kubernetes.io: Authenticating with Bootstrap Tokens)."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": f"bootstrap-token-{token_id}", "namespace": NAMESPACE},
        "stringData": {
            "token-id": token_id,
            "token-secret": token_secret,
            "expiration": expires,
            "description": description,
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": GROUP,
        },
    }


def make(module: AnsibleModule) -> dict[str, t.Any]:
    """Makes a token; in check mode none."""
    if module.check_mode:
        return {"changed": True, "token": "", "token_id": "", "expires": ""}
    token_id, token_secret = ("".join(secrets.choice(ALPHABET) for dummy in range(length)) for length in (6, 16))
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=module.params["ttl"])
    expires = end.strftime("%Y-%m-%dT%H:%M:%SZ")
    cluster = Cluster(module)
    body = secret(token_id, token_secret, expires, module.params["description"])
    cluster.request(cluster.core.create_namespaced_secret, NAMESPACE, body)
    return {"changed": True, "token": f"{token_id}.{token_secret}", "token_id": token_id, "expires": expires}


def delete(module: AnsibleModule) -> dict[str, t.Any]:
    """Deletes a token, if it is still there."""
    cluster = Cluster(module)
    name = f"bootstrap-token-{module.params['token_id']}"
    if module.check_mode:
        found = cluster.find(cluster.core.read_namespaced_secret, name, NAMESPACE)
    else:
        found = cluster.find(cluster.core.delete_namespaced_secret, name, NAMESPACE)
    return {"changed": found is not None, "token_id": module.params["token_id"]}


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
            token_id={"type": "str"},
            ttl={"type": "int", "default": 1800},
            description={"type": "str", "default": "winkube.node run"},
        ),
        required_if=[("state", "absent", ["token_id"])],
        supports_check_mode=True,
    )
    if module.params["ttl"] < 60:
        module.fail_json(msg=f"ttl: {module.params['ttl']} is not accepted; at least 60 seconds")
    module.exit_json(**(make(module) if module.params["state"] == "present" else delete(module)))


if __name__ == "__main__":
    main()
