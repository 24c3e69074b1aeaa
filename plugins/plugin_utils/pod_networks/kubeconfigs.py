# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Kubeconfigs of services on a node."""

from __future__ import annotations

import base64
import json

from .settings import NodeSettings


def of_service(node: NodeSettings, account: str) -> str:
    """Return the kubeconfig of a service on the node.

    Args:
        node: the node.
        account: `NAMESPACE/NAME` of the service account whose token the service uses.
    """
    authority = base64.b64encode(node.ca_certificate.encode()).decode()
    server = {"server": f"https://{node.api_server}", "certificate-authority-data": authority}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "default", "cluster": server}],
        "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
        "current-context": "default",
        "users": [{"name": "default", "user": {"token": node.tokens[account]}}],
    }
    return json.dumps(config, indent=1, sort_keys=True, separators=(",", ": "))
