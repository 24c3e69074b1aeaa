#!/usr/bin/python
# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read tokens of service accounts for programs that do not run in pods."""

from __future__ import annotations

DOCUMENTATION = r"""
module: service_account_tokens
short_description: Read long-lived tokens of service accounts
version_added: "0.1.0"
description:
  - Reads the tokens that the cluster writes into Secrets of type C(kubernetes.io/service-account-token). These tokens
    are for programs that do not run in pods, such as kube-proxy as a Windows service.
  - The tokens are returned in RV(tokens); use C(no_log) on the task.
  - Runs on the controller or a control plane host, never on a Windows node.
  - The Kubernetes account that the task uses needs permission to read the Secrets.
options:
  secrets:
    description: The Secrets, as C(NAMESPACE/NAME).
    type: list
    elements: str
    required: true
  timeout:
    description: >-
      Seconds to wait for missing tokens before the task fails. V(0) reads once and returns the tokens that exist.
    type: int
    default: 0
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - winkube.node.cluster_options
attributes:
  check_mode:
    description: Reads once and does not wait.
    support: full
author:
  - winkube.node contributors (@winkube)
"""

EXAMPLES = r"""
- name: Read kube-proxy's token
  winkube.node.service_account_tokens:
    kubeconfig: ~/.kube/config
    secrets: [kube-system/kube-proxy-windows]
    timeout: 30
  delegate_to: localhost
  no_log: true
  register: accounts
"""

RETURN = r"""
tokens:
  description: Maps the C(NAMESPACE/NAME) of each Secret to its token. Tokens that do not exist yet are left out.
  type: dict
  returned: always
"""

import base64
import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.api_forms import SECRET
from ..module_utils.cluster_client import Cluster, cluster_arguments

POLL_SECONDS = 0.5


def read(cluster: Cluster, secrets: t.Sequence[str]) -> dict[str, str]:
    """Return the tokens that exist, by the NAMESPACE/NAME of their Secrets.

    Raises:
        ApiError: a request to the cluster failed.
    """
    tokens = {}
    for secret in secrets:
        namespace, dummy, name = secret.partition("/")
        existing = cluster.lookup("api/v1/namespaces", namespace, "secrets", name, form=SECRET) or {}
        token = (existing.get("data") or {}).get("token")
        if token:
            tokens[secret] = base64.b64decode(token).decode()
    return tokens


def wait(cluster: Cluster, secrets: t.Sequence[str], seconds: float) -> dict[str, str]:
    """Poll until all tokens exist or the time is up, and return the tokens that exist."""
    end = time.monotonic() + seconds
    tokens = read(cluster, secrets)
    while len(tokens) < len(secrets) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
        tokens = read(cluster, secrets)
    return tokens


def main() -> None:
    module = AnsibleModule(
        argument_spec=cluster_arguments(
            secrets={"type": "list", "elements": "str", "required": True, "no_log": False},
            timeout={"type": "int", "default": 0},
        ),
        supports_check_mode=True,
    )
    secrets = module.params["secrets"]
    for secret in secrets:
        if not all(secret.partition("/")):
            module.fail_json(msg=f"secrets: expected NAMESPACE/NAME, got {secret!r}")
    cluster = Cluster(module)
    seconds = 0 if module.check_mode else module.params["timeout"]
    with cluster.needed():
        tokens = wait(cluster, secrets, seconds)
    missing = [secret for secret in secrets if secret not in tokens]
    if missing and seconds:
        module.fail_json(
            msg=f"expected a token in {', '.join(missing)}, got none after {seconds} seconds. Check that the service "
            "account exists, and that kube-controller-manager is running"
        )
    module.exit_json(changed=False, tokens=tokens)


if __name__ == "__main__":
    main()
