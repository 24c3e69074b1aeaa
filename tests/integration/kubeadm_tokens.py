# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`kubeadm token create` and `kubeadm token delete` for tests on machines without kubeadm.

Flags, output and Secrets are those of kubernetes/kubernetes cmd/kubeadm/app/cmd/token.go.
"""

from __future__ import annotations

import secrets
import sys

from kubernetes import client, config


def main(arguments: list[str]) -> int:
    """Create or delete a token, and return the exit code."""
    core = client.CoreV1Api(config.new_client_from_config())
    command, *rest = arguments[1:]
    if command == "delete":
        try:
            core.delete_namespaced_secret(f"bootstrap-token-{rest[0]}", "kube-system")
        except client.ApiException as error:
            name = f"bootstrap-token-{rest[0]}"
            print(f'failed to delete bootstrap token "{rest[0]}": secrets "{name}" not found', file=sys.stderr)
            return 1 if error.status == 404 else 2
        print(f'bootstrap token "{rest[0]}" deleted')
        return 0
    flags = dict(word.removeprefix("--").split("=", 1) for word in rest)
    token_id, secret = secrets.token_hex(3), secrets.token_hex(8)
    data = {
        "token-id": token_id,
        "token-secret": secret,
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": flags["groups"],
        "description": flags["description"],
    }
    name = {"name": f"bootstrap-token-{token_id}", "namespace": "kube-system"}
    core.create_namespaced_secret(
        "kube-system", {"metadata": name, "type": "bootstrap.kubernetes.io/token", "stringData": data}
    )
    print(f"{token_id}.{secret}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
